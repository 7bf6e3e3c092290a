"""What the tests of `edgekiln check` share: a scratch repository with a daemon of
its own, and readers of JUnit and SARIF that refuse what others would.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

import check_networks

LIMIT = 120  # Seconds for one command.
SOURCE = pathlib.Path(sys.argv[1]).resolve()
BIN = pathlib.Path(sys.argv[2]).resolve()
# Which properties and attributes were written by any command.
SARIF_SEEN = {}
JUNIT_SEEN = {}


def check_junit(path):
    """The shape that readers of JUnit expect; its cases by name."""
    root = ElementTree.parse(path).getroot()
    assert root.tag == "testsuites", root.tag
    cases = {}
    for suite in root:
        assert suite.tag == "testsuite", suite.tag
        found = {"failure": 0, "error": 0, "skipped": 0}
        for case in suite:
            assert case.tag == "testcase", case.tag
            assert case.get("name") not in cases, case.get("name")
            cases[case.get("name")] = case
            outcomes = [child.tag for child in case if child.tag in found]
            assert len(outcomes) <= 1, outcomes
            for tag in outcomes:
                found[tag] += 1
            float(case.get("time"))
            for child in case:
                assert child.tag in ("properties", "system-out", *found), child.tag
        assert int(suite.get("tests")) == len(suite)
        assert int(suite.get("failures")) == found["failure"]
        assert int(suite.get("errors")) == found["error"]
        assert int(suite.get("skipped")) == found["skipped"]
    for name in ("tests", "failures", "errors", "skipped"):
        assert int(root.get(name)) == sum(int(suite.get(name)) for suite in root)
    for element in root.iter():
        JUNIT_SEEN.setdefault(element.tag, set()).update(element.attrib)
    return cases


def check_sarif(path):
    """What the schema of SARIF 2.1.0 requires; the results."""
    log = json.loads(path.read_text(encoding="utf-8"))
    seen = lambda name, value: SARIF_SEEN.setdefault(name, set()).update(value)
    seen("log", log)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    seen("runs", run)
    driver = run["tool"]["driver"]
    seen("driver", driver)
    levels = ("none", "note", "warning", "error")
    for rule in driver["rules"]:
        seen("rules", rule)
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in levels
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    for invocation in run["invocations"]:
        seen("invocations", invocation)
        assert isinstance(invocation["executionSuccessful"], bool)
        assert isinstance(invocation["exitCode"], int)
        for notification in invocation.get("toolExecutionNotifications", []):
            assert notification["message"]["text"]
            assert notification["level"] in levels
            assert notification["descriptor"]["id"]
    for result in run["results"]:
        seen("results", result)
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in levels
        assert result["message"]["text"]
        assert all(isinstance(v, str) for v in result["partialFingerprints"].values())
        seen("properties", result.get("properties", {}))
        for location in result["locations"] + result.get("relatedLocations", []):
            seen("locations", location)
            physical = location["physicalLocation"]
            seen("physicalLocation", physical)
            assert re.fullmatch(r"[A-Za-z0-9._~/%:-]+", physical["artifactLocation"]["uri"])
            region = physical.get("region", {"startLine": 1, "startColumn": 1})
            assert region["startLine"] >= 1 and region["startColumn"] >= 1
    return run["results"]


class Scratch:
    """A repository, and what its commands share: a daemon of their own."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="edgekiln_check_"))
        self.repository = self.folder / "repository"
        self.program = BIN / "edgekiln"
        self.environment = {
            "HOME": str(self.folder / "home"), "LANG": "C.UTF-8", "TERM": "dumb",
            "PATH": f"{BIN}:/usr/bin:/bin", "XDG_RUNTIME_DIR": str(self.folder / "run"),
        }
        for name in ("home", "run", "repository"):
            (self.folder / name).mkdir(mode=0o700)
        self.onnx = check_networks.load_onnx(self.folder)

    def put(self, name, content):
        path = self.repository / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def network(self, name, channels, seed):
        self.put(name, check_networks.small(self.onnx, channels, seed))

    def command(self, arguments, **more):
        return subprocess.run(
            [str(self.program), *arguments], cwd=self.repository,
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            encoding="utf-8", timeout=LIMIT, **more)

    def daemons(self):
        mark = f"XDG_RUNTIME_DIR={self.folder}/run".encode()
        for entry in pathlib.Path("/proc").iterdir():
            try:
                mine = entry.name.isdigit() and mark in (entry / "environ").read_bytes()
                if mine and (entry / "comm").read_text().strip() == "edgekilnd":
                    yield int(entry.name)
            except OSError:
                continue

    def signal_daemons(self, number):
        for pid in self.daemons():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def close(self):
        self.signal_daemons(signal.SIGTERM)
        end = time.monotonic() + 10
        while any(True for _ in self.daemons()) and time.monotonic() < end:
            time.sleep(0.05)
        self.signal_daemons(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)
