#!/usr/bin/env python3
"""`edgekiln check` in a scratch repository of 4 models x 3 targets.

usage: check_test.py SOURCE_FOLDER BIN_FOLDER
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
import check_networks  # noqa: E402
from check_scratch import (  # noqa: E402
    BIN, JUNIT_SEEN, LIMIT, SARIF_SEEN, SOURCE, Scratch, check_junit, check_sarif)

TARGETS = ["dla-64-o-512k", "dla-128-i-1m", "toy-array"]
PROJECT = """groups {
  models { file: "edges.onnx" }
  models { file: "motion.onnx" }
  models { file: "noise.onnx" }
  targets { name: "dla-64-o-512k" }
  targets { name: "dla-128-i-1m" }
  targets { name: "toy-array" }
  gates { max_cycles: 400000 }
}
groups {
  models {
    file: "digits.onnx"
    calibration { file: "digits_calibration.npz" }
    data { file: "digits_test.npz" }
  }
  targets { name: "dla-64-o-512k" }
  targets { name: "dla-128-i-1m" }
  targets { name: "toy-array" }
  goal: SWEEP_VALIDATE
  options { limit: 30 }
}
regression {
  max_cycles_growth: 2
  max_memory_growth: 2
  max_accuracy_drop: 0.5
}
"""


def fill(scratch):
    """As it was committed, but for the baselines."""
    for name in ("digits.onnx", "digits_calibration.npz", "digits_test.npz"):
        shutil.copy(SOURCE / "docs/example" / name, scratch.repository)
    for seed, name in enumerate(("edges", "motion", "noise")):
        scratch.network(f"{name}.onnx", 8, seed)
    scratch.put("edgekiln.txtpb", PROJECT)


class CheckTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = Scratch()
        cls.addClassCleanup(cls.scratch.close)
        fill(cls.scratch)
        begin = time.monotonic()
        cls.first = cls.scratch.command(["check", "--json"])
        print(f"cold: {time.monotonic() - begin:.2f} s", file=sys.stderr)
        cls.update = cls.scratch.command(["check", "--update-baselines"])
        cls.committed = cls.scratch.folder / "committed"
        shutil.copytree(cls.scratch.repository, cls.committed)

    def setUp(self):
        shutil.rmtree(self.scratch.repository)
        shutil.copytree(self.committed, self.scratch.repository)

    def check(self, code, *arguments):
        """Runs it with every output; what they say."""
        done = self.scratch.command(
            ["check", *arguments, "--github-annotations", "--junit", "j.xml",
             "--sarif", "s.sarif", "--markdown", "m.md"])
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        root = self.scratch.repository
        self.cases = check_junit(root / "j.xml")
        self.results = check_sarif(root / "s.sarif")
        self.markdown = (root / "m.md").read_text(encoding="utf-8")
        # What GitHub obeys: nothing between these two.
        stop, token, obeyed = self.split(done.stdout)
        self.assertEqual(stop, "::stop-commands::" + token)
        self.annotations = [line for line in obeyed if line.startswith("::")]
        self.out, self.err = done.stdout, done.stderr
        self.assertNotIn("##[", self.out + self.err)

    def split(self, text):
        """The first line, its token, and the lines behind the line with that."""
        lines = text.split("\n")
        token = lines[0].rpartition("::")[2]
        self.assertRegex(token, "^[0-9a-f]{32}$")
        return lines[0], token, lines[lines.index(f"::{token}::") + 1:]

    def assert_named(self, cell, rule, texts, line):
        """In each output: the cell, the rule, how much and where."""
        case = self.cases[cell]
        failure = case.find("failure")
        self.assertIsNotNone(failure, cell)
        self.assertIn(rule, failure.get("type").split())
        sarif = [one for one in self.results if one["ruleId"] == rule
                 and one["message"]["text"].startswith(cell + ": ")]
        self.assertEqual(len(sarif), 1, self.results)
        place = sarif[0]["locations"][0]["physicalLocation"]
        self.assertEqual(place["artifactLocation"]["uri"], "edgekiln.txtpb")
        self.assertEqual(place["region"]["startLine"], line)
        annotation = [one for one in self.annotations
                      if f"title={cell} ({rule})" in one]
        self.assertEqual(len(annotation), 1, self.annotations)
        self.assertTrue(annotation[0].startswith(f"::error file=edgekiln.txtpb,line={line},"))
        plain = self.markdown.replace("\\", "")
        self.assertIn(f"### `{cell}`: broken", plain)
        for text in texts:
            for output in (failure.get("message"), sarif[0]["message"]["text"],
                           annotation[0].replace("%25", "%"), plain, self.out, self.err):
                self.assertIn(text, output)

    def test_cold_without_baselines(self):
        self.assertEqual(self.first.returncode, 0, self.first.stderr)
        result = json.loads(self.first.stdout)
        self.assertEqual(result["verdict"], "PASSED")
        self.assertEqual(result["counts"]["cells"], 12)
        self.assertEqual(result["counts"]["without_baseline"], 12)
        self.assertEqual({cell["target"] for cell in result["cells"]}, set(TARGETS))
        self.assertEqual([note["rule"] for note in result["notes"]], ["baseline.missing"])

    def test_baselines_are_those_of_report_baseline(self):
        self.assertEqual(self.update.returncode, 0, self.update.stderr)
        files = sorted((self.scratch.repository / "baselines").glob("*.baseline.json"))
        self.assertEqual(len(files), 12)
        job = json.loads(self.scratch.command(["check", "--json"]).stdout)["cells"][0]
        self.assertEqual(job["name"], "edges on dla-64-o-512k")
        other = self.scratch.command(["report", "baseline", job["job"]])
        self.assertEqual((self.scratch.repository / job["baseline"]["file"]).read_text(),
                         other.stdout)
        # Written again, nothing changes.
        before = {file: file.stat().st_mtime_ns for file in files}
        again = self.scratch.command(["check", "--update-baselines", "--json"])
        self.assertEqual(json.loads(again.stdout)["written"], [])
        self.assertEqual(before, {file: file.stat().st_mtime_ns for file in files})

    def test_warm(self):
        times = []
        for _ in range(3):
            begin = time.monotonic()
            done = self.scratch.command(["check", "--quiet"])
            times.append(time.monotonic() - begin)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("12 cells: 12 passed; baselines: 12 the same", done.stdout)
        print(f"warm: {sorted(times)[1]:.3f} s", file=sys.stderr)
        self.check(0)
        self.assertEqual(self.results, [])
        self.assertEqual(self.annotations, [])

    def test_a_layer_changed(self):
        self.scratch.network("edges.onnx", 160, 0)
        self.check(3)
        for target in TARGETS:
            cell = f"edges on {target}"
            line = PROJECT.split("\n").index("  max_cycles_growth: 2") + 1
            self.assert_named(cell, "regression.cycles", ["cycles grew from ", "most in conv2 (+"],
                              line)
        (result,) = [one for one in self.results if one["ruleId"] == "regression.cycles"
                     and one["properties"]["target"] == TARGETS[0]]
        self.assertEqual(result["properties"]["layer"], "conv2")
        self.assertEqual(result["relatedLocations"][0]["physicalLocation"]["artifactLocation"],
                         {"uri": "edges.onnx"})
        self.assertGreater(result["properties"]["change"], 0)
        self.assertIsNone(self.cases[f"motion on {TARGETS[0]}"].find("failure"))
        # Wanted: then it is the baseline.
        self.check(0, "--update-baselines")
        self.check(0)
        self.assertEqual(self.results, [])

    def test_a_budget_broken(self):
        self.scratch.put("edgekiln.txtpb", PROJECT.replace("400000", "5000"))
        self.check(3)
        self.assert_named(f"noise on {TARGETS[0]}", "budget.cycles",
                          ["at most 5 000: ", " too many (+", "most in conv"], 8)
        self.assertEqual(json.loads(self.scratch.command(["check", "--json"]).stdout)
                         ["exit_code"], 3)

    def test_an_accuracy_lost(self):
        self.scratch.put("digits.onnx", check_networks.spoiled(
            self.scratch.onnx, self.committed / "digits.onnx"))
        self.check(3)
        line = PROJECT.split("\n").index("  max_accuracy_drop: 0.5") + 1
        for target in TARGETS:
            self.assert_named(f"digits on {target}", "regression.accuracy",
                              ["accuracy fell from ", " points); allowed is -0.5 points"], line)
        self.scratch.put("edgekiln.txtpb", PROJECT.replace(
            "options { limit: 30 }", "options { limit: 30 } gates { min_accuracy: 0.9 }"))
        self.check(3)
        self.assert_named(f"digits on {TARGETS[0]}", "budget.accuracy",
                          ["at least 90.00 %", " points too low"], 20)

    def test_a_model_that_does_not_compile(self):
        self.scratch.put("noise.onnx", b"not a model")
        self.scratch.put("edgekiln.txtpb", PROJECT.replace("400000", "5000"))
        self.check(1)  # Before the budgets that are broken, too.
        error = self.cases[f"noise on {TARGETS[0]}"].find("error")
        self.assertEqual(error.get("type"), "model.failed")
        (result,) = [one for one in self.results if one["ruleId"] == "model.failed"
                     and one["properties"]["target"] == TARGETS[0]]
        self.assertEqual(result["locations"][0]["physicalLocation"]["region"]["startLine"], 4)
        self.assertEqual(result["relatedLocations"][0]["physicalLocation"]["artifactLocation"],
                         {"uri": "noise.onnx"})
        self.assertIsNotNone(self.cases[f"edges on {TARGETS[0]}"].find("failure"))

    def test_cells_that_are_gone_or_refused(self):
        self.scratch.put("edgekiln.txtpb", PROJECT.replace(
            '  models { file: "noise.onnx" }\n', "").replace(
            "  gates {", '  recipes: ["default", "paper"]\n  gates {'))
        self.check(0)
        stale = [one for one in self.results if one["ruleId"] == "baseline.stale"]
        self.assertEqual(len(stale), 3)
        self.assertIn("cell.skipped", {one["ruleId"] for one in self.results})
        self.assertIn("skipped", {child.tag for case in self.cases.values() for child in case})
        self.check(0, "--update-baselines")
        self.assertEqual(list((self.scratch.repository / "baselines").glob("noise*")), [])

    def test_hostile_names(self):
        name = "a%0A::error::x <b>&|`'\u00fc,:##[x].onnx"
        (self.scratch.repository / "edges.onnx").rename(self.scratch.repository / name)
        self.scratch.put("edgekiln.txtpb", PROJECT.replace("edges.onnx", name).replace(
            "400000", "10"))
        self.check(3)
        stem = name[:-len(".onnx")]
        self.assertIn(f"{stem} on {TARGETS[0]}", self.cases)
        mine = [line for line in self.annotations if "::error%3A%3A" in line or "a%250A" in line]
        self.assertGreaterEqual(len(mine), 3)
        self.assertEqual([line for line in self.out.split("\n")
                          if line.startswith("::error::x")], [])
        self.check(3, "--update-baselines")
        written = list((self.scratch.repository / "baselines").glob("a_0A__error__x*"))
        self.assertEqual(len(written), 3, written)
        # Nothing is a command without annotations either, and JSON keeps names.
        plain = self.scratch.command(["check"])
        self.assertIn("##(x] on", plain.stdout)
        self.assertNotIn("##[", plain.stdout + plain.stderr)
        shown = self.scratch.command(["check", "--json"])
        self.assertNotIn("##[", shown.stdout + shown.stderr)
        self.assertEqual(json.loads(shown.stdout)["cells"][0]["model"], stem)

    def test_no_name_is_a_command_in_a_log(self):
        name = "::error::x ##[y].onnx"
        (self.scratch.repository / "edges.onnx").rename(self.scratch.repository / name)
        shown = ":.error::x ##(y].onnx"
        for command, text in ((["profile", name, "--target", TARGETS[0]], shown),
                              (["inspect", name], shown),
                              (["inspect", "##[z].onnx"], "##(z].onnx")):
            done = self.scratch.command(command)
            self.assertIn(text, done.stdout + done.stderr)
            for line in (done.stdout + done.stderr).split("\n"):
                self.assertNotIn("##[", line)
                self.assertFalse(line.lstrip().startswith("::"), line)

    def test_two_projects_in_one_folder(self):
        self.scratch.put("nightly.txtpb", PROJECT.replace("gates", "goal: SWEEP_TIMING gates"))
        done = self.scratch.command(["check", "nightly.txtpb", "--update-baselines"])
        self.assertEqual(done.returncode, 0, done.stderr)
        folder = self.scratch.repository / "baselines"
        self.assertEqual(len(list(folder.glob("nightly/*.baseline.json"))), 12)
        for name in ("edgekiln.txtpb", "nightly.txtpb"):
            again = self.scratch.command(["check", name])
            self.assertIn("baselines: 12 the same", again.stdout, again.stderr)
        self.scratch.put("copy.txtpb", "baselines: 'baselines'\n"
                         + (self.scratch.repository / "nightly.txtpb").read_text())
        done = self.scratch.command(["check", "copy.txtpb", "--update-baselines"])
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn('baselines: "baselines/copy"', done.stderr)

    def test_a_daemon_killed_in_the_middle(self):
        # More work than can be done before the first line is read.
        names = [f"net{number}" for number in range(24)]
        for seed, name in enumerate(names):
            self.scratch.network(f"{name}.onnx", 16, 100 + seed)
        models = "".join(f'  models {{ file: "{name}.onnx" }}\n' for name in names)
        self.scratch.put("edgekiln.txtpb", PROJECT.replace(
            '  models { file: "edges.onnx" }\n', models +
            '  models { file: "edges.onnx" }\n').replace("limit: 30", "limit: 150"))
        process = subprocess.Popen(
            [str(BIN / "edgekiln"), "check", "--update-baselines", "--json"],
            cwd=self.scratch.repository, env=self.scratch.environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)  # Before the one above.
        # The first sign of the sweep's progress.
        told = process.stderr.readline()
        killed = list(self.scratch.daemons())
        self.assertEqual(len(killed), 1)
        os.kill(killed[0], signal.SIGKILL)
        out, err = process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 0, told + err)
        result = json.loads(out)
        cells = 3 * (len(names) + 4)
        self.assertEqual(result["counts"]["passed"], cells)
        self.assertEqual(len({cell["name"] for cell in result["cells"]}), cells)
        (daemon,) = self.scratch.daemons()
        self.assertNotEqual(daemon, killed[0])

    def test_without_a_network(self):
        self.check(4, "--server", "127.0.0.1:1")
        self.assertIn("127.0.0.1:1", self.err)
        self.assertEqual(self.cases["check"].find("error").get("type"), "service.failed")
        log = json.loads((self.scratch.repository / "s.sarif").read_text())
        (invocation,) = log["runs"][0]["invocations"]
        self.assertFalse(invocation["executionSuccessful"])
        self.assertEqual(invocation["exitCode"], 4)
        self.assertEqual(invocation["toolExecutionNotifications"][0]["descriptor"]["id"],
                         "DAEMON_UNREACHABLE")
        self.assertIn("did not finish", self.markdown)
        self.assertTrue(self.annotations[0].startswith("::error file=edgekiln.txtpb,title="))

    def test_without_a_daemon(self):
        """One that cannot be started: its program is not there."""
        alone = self.scratch.folder / "alone"
        alone.mkdir()
        shutil.copy(BIN / "edgekiln", alone)
        self.scratch.program = alone / "edgekiln"
        environment = self.scratch.environment
        (alone / "run").mkdir(mode=0o700)
        self.scratch.environment = {**environment, "XDG_RUNTIME_DIR": str(alone / "run")}
        try:
            self.check(4)
        finally:
            self.scratch.environment = environment
            self.scratch.program = BIN / "edgekiln"
        self.assertEqual(self.cases["check"].find("error").get("type"), "service.failed")
        self.assertIn("did not finish", self.markdown)
        self.assertTrue(self.annotations[0].startswith("::error file=edgekiln.txtpb,title="))

    def test_init(self):
        (self.scratch.repository / "edgekiln.txtpb").unlink()
        done = self.scratch.command(["init", "--target", "toy-array", "--json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        start = json.loads(done.stdout)
        self.assertEqual(start["models"],
                         ["digits.onnx", "edges.onnx", "motion.onnx", "noise.onnx"])
        self.assertEqual(start["data"], ["digits_calibration.npz", "digits_test.npz"])
        self.assertEqual(self.scratch.command(["init"]).returncode, 2)
        text = (self.scratch.repository / "edgekiln.txtpb").read_text()
        self.scratch.put("edgekiln.txtpb", text.replace(
            "goal: SWEEP_VALIDATE", "goal: SWEEP_VALIDATE options { limit: 30 }"))
        self.check(0)
        self.assertEqual(len(self.cases), 4)


class TheDocsTest(unittest.TestCase):
    """After the others: docs/check.md names what they have seen, and no more."""

    def table(self, title):
        text = (SOURCE / "docs/check.md").read_text()
        rows = text.split(title, 1)[1].split("\n\n", 1)[0].split("\n")[2:]
        found = {}
        for row in rows:
            first, _, second = row.strip("| ").partition(" | ")
            found[first.strip("`")] = second
        return found

    def test_sarif(self):
        documented = self.table("| object | properties |")
        self.assertEqual(set(documented), set(SARIF_SEEN))
        for name, text in documented.items():
            text = re.sub(r"\([^)]*\)", "", text).split(" as in ")[0]
            self.assertEqual(set(re.findall(r"`([^`]+)`", text)), SARIF_SEEN[name], name)

    def test_junit(self):
        documented = self.table("| attribute of | are |")
        seen = {name: value for name, value in JUNIT_SEEN.items() if value}
        self.assertEqual(set(documented), set(seen))
        for name, text in documented.items():
            if name == "testsuite":
                text = documented["testsuites"]
            text = re.sub(r"\([^)]*\)", "", text)
            text = re.sub(r": `?[a-z].*?(?=;|$)", "", text.split(". ")[0])
            self.assertEqual(set(re.findall(r"`([^`]+)`", text)), seen[name], name)


def load_tests(loader, *_):
    return unittest.TestSuite(loader.loadTestsFromTestCase(case)
                              for case in (CheckTest, TheDocsTest))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
