#!/usr/bin/env python3
"""The scripts of deploy/ci as GitHub and GitLab run them, in a scratch
repository.

usage: check_scripts_test.py SOURCE_FOLDER BIN_FOLDER
"""
import re
import shutil
import subprocess
import sys
import unittest

import yaml

sys.dont_write_bytecode = True
from check_scratch import LIMIT, SOURCE, Scratch, check_junit, check_sarif  # noqa: E402


class ScriptsTest(unittest.TestCase):
    """What action.yml and edgekiln.yml run, as it stands there."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = Scratch()
        cls.addClassCleanup(cls.scratch.close)
        cls.scratch.network("net.onnx", 8, 0)
        cls.project = ('groups { models { file: "net.onnx" } targets { name: "toy-array" }\n'
                       "  goal: SWEEP_TIMING gates { max_cycles: %d } }\n")
        subprocess.run(["git", "init", "-q", str(cls.scratch.repository)], check=True)

    def setUp(self):
        shutil.rmtree(self.scratch.repository / "edgekiln-reports", ignore_errors=True)

    def run_script(self, script, variables):
        """As a runner does."""
        path = self.scratch.folder / "script.sh"
        path.write_text(script)
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(path)],
            cwd=self.scratch.repository, env={**self.scratch.environment, **variables},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=LIMIT)

    def github(self, inputs):
        action = yaml.safe_load((SOURCE / "deploy/ci/github/action.yml").read_text())
        self.assertEqual(action["runs"]["using"], "composite")
        (step,) = action["runs"]["steps"]
        self.assertNotIn("${{", step["run"])
        values = {name: one["default"] for name, one in action["inputs"].items()}
        self.assertLessEqual(set(inputs), set(values))
        values.update(inputs)
        variables = {}
        for name, text in step["env"].items():
            variables[name] = re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}",
                                     lambda found: values[found.group(1)], text)
            self.assertNotIn("${{", text.replace("${{ inputs.", ""))
        self.output = self.scratch.folder / "output"
        self.summary = self.scratch.folder / "summary"
        for file in (self.output, self.summary):
            file.write_text("")
        variables.update(GITHUB_ACTION_PATH=str(SOURCE / "deploy/ci/github"),
                         GITHUB_OUTPUT=str(self.output), GITHUB_STEP_SUMMARY=str(self.summary))
        for output in action["outputs"].values():
            self.assertRegex(output["value"], r"^\$\{\{ steps\.check\.outputs\.[a-z-]+ \}\}$")
        self.outputs = {output["value"].split(".")[-1].split()[0]
                        for output in action["outputs"].values()}
        return self.run_script(step["run"], variables)

    def gitlab(self, inputs):
        spec, jobs = yaml.safe_load_all((SOURCE / "deploy/ci/gitlab/edgekiln.yml").read_text())
        values = {name: one["default"] for name, one in spec["spec"]["inputs"].items()}
        values["script"] = str(SOURCE / "deploy/ci/check.sh")
        values.update(inputs)
        (job,) = jobs.values()
        for line in job["script"]:
            self.assertNotIn("$[[", line)
        variables = {}
        for name, one in job["variables"].items():
            self.assertIs(one["expand"], False, name)
            variables[name] = re.sub(r"\$\[\[ inputs\.([a-z-]+) \]\]",
                                     lambda found: values[found.group(1)], one["value"])
        self.assertEqual(job["retry"]["exit_codes"], 4)
        self.junit = job["artifacts"]["reports"]["junit"].replace(
            "$[[ inputs.reports ]]", values["reports"])
        return self.run_script("\n".join(job["script"]), variables)

    def test_github(self):
        self.scratch.put("edgekiln.txtpb", self.project % 1000000)
        done = self.github({})
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("1 cell: 1 passed", done.stdout)
        self.assertIn("::notice file=edgekiln.txtpb", done.stdout)
        self.assertIn("edgekiln check: passed", self.summary.read_text())
        outputs = dict(line.split("=", 1) for line in self.output.read_text().splitlines())
        self.assertEqual(set(outputs), self.outputs)
        self.assertEqual(outputs["exit-code"], "0")
        self.scratch.put("edgekiln.txtpb", self.project % 10)
        done = self.github({"timeout": "5m", "file": "./"})
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("::error file=edgekiln.txtpb,line=2,", done.stdout)
        self.assertIn("exit-code=3", self.output.read_text())
        self.assertIn("too many", self.summary.read_text())
        check_junit(self.scratch.repository / "edgekiln-reports/junit.xml")
        check_sarif(self.scratch.repository / "edgekiln-reports/check.sarif")

    def test_gitlab(self):
        self.scratch.put("edgekiln.txtpb", self.project % 10)
        done = self.gitlab({})
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertNotIn("::error", done.stdout)
        (case,) = check_junit(self.scratch.repository / self.junit).values()
        self.assertIn("too many", case.find("failure").get("message"))
        self.scratch.put("edgekiln.txtpb", self.project % 1000000)
        done = self.gitlab({"reports": "other folder", "update-baselines": "true"})
        self.assertEqual(done.returncode, 0, done.stdout)
        check_junit(self.scratch.repository / self.junit)
        self.assertEqual(len(list((self.scratch.repository / "baselines").glob("*.json"))), 1)

    def test_nothing_in_an_input_is_run(self):
        self.scratch.put("edgekiln.txtpb", self.project % 1000000)
        bad = "$(touch pwned)`touch pwned`\"; touch pwned; ' && touch pwned #"
        for run in (self.github, self.gitlab):
            for name in ("file", "server", "reports", "timeout", "program", "update-baselines"):
                done = run({name: bad.replace("/", "")})
                self.assertFalse((self.scratch.repository / "pwned").exists(), name)
                good = 0 if name in ("reports", "update-baselines") else 2
                self.assertEqual(done.returncode, good, (name, done.stdout))
            for name, value in (("file", "--version"), ("reports", "a\nexit-code=0")):
                self.assertEqual(run({name: value}).returncode, 2, name)

    def test_without_a_network(self):
        self.scratch.put("edgekiln.txtpb", self.project % 1000000)
        for run in (self.github, self.gitlab):
            done = run({"server": "127.0.0.1:1"})
            self.assertEqual(done.returncode, 4, done.stdout)

    def test_inputs_of_ci(self):
        action = yaml.safe_load((SOURCE / "deploy/ci/github/action.yml").read_text())
        spec, _ = yaml.safe_load_all((SOURCE / "deploy/ci/gitlab/edgekiln.yml").read_text())
        documented = set()
        text = (SOURCE / "docs/check.md").read_text().split("| input | default | |", 1)[1]
        for row in text.split("\n\n", 1)[0].split("\n")[2:]:
            documented.update(re.findall(r"`([^`]+)`", row.split(" | ", 1)[0]))
        self.assertEqual(documented, {*action["inputs"], *spec["spec"]["inputs"]})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
