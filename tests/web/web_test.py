#!/usr/bin/env python3
"""Pages of reports and the dashboard in a real browser (main.mjs).

usage: web_test.py SOURCE BIN SHARED [SCREENSHOTS]

Exit code 77, which ctest shows as skipped, where chromium or node is not
installed, or npm cannot fetch playwright-core and axe-core.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import npm_packages

HOSTILE = "<script>alert(1)</script>"
LARGE = 400  # Layers; such a page shows its head first.
MODEL = "mobilenet_v1_0.25_224_fp32.tflite"  # Takes a second.


class Farm:
    """A daemon whose port stays the same, and commands that use it."""

    def __init__(self, binaries, folder):
        self.binaries, self.folder = binaries, folder
        self.http = "127.0.0.1:0"
        self.socket = "unix:" + os.path.join(folder, "socket")
        self.environment = {"PATH": os.environ["PATH"], "HOME": folder,
                            "EDGEKILN_SERVER": self.socket}
        self.process = None
        self.background = None

    def start(self):
        ready = os.path.join(self.folder, "ready")
        if os.path.exists(ready):
            os.remove(ready)
        self.process = subprocess.Popen(
            [os.path.join(self.binaries, "edgekilnd"), "--listen", self.socket,
             "--workers-listen", "unix:" + os.path.join(self.folder, "workers"),
             "--http", self.http, "--state", os.path.join(self.folder, "state"),
             "--workers", "1", "--ready-file", ready, "--quiet"],
            env=self.environment, start_new_session=True)
        end = time.monotonic() + 60
        while not os.path.exists(ready) and time.monotonic() < end:
            time.sleep(0.01)
        with open(ready) as file:
            self.http = file.read().split("\n")[2]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        for process in (self.background, self.process):
            if process is not None:
                process.terminate()
                process.wait()

    def run(self, *arguments):
        ran = subprocess.run(
            [os.path.join(self.binaries, "edgekiln"), *arguments],
            env=self.environment, cwd=self.folder, capture_output=True,
            text=True)
        if ran.returncode != 0:
            sys.exit("edgekiln %s: %s" % (" ".join(arguments), ran.stderr))
        return ran.stdout


def make_pages(farm, source, folder):
    """Pages of one report, of two, of one with hostile names, of a large one."""
    example = os.path.join(source, "docs", "example")

    def validate(recipe):
        text = farm.run(
            "validate", os.path.join(example, "digits.onnx"), "--target",
            "dla-64-o-512k", "--recipe", recipe, "--calibration",
            os.path.join(example, "digits_calibration.npz"), "--data",
            os.path.join(example, "digits_test.npz"), "--confusion", "--json",
            "--quiet")
        path = os.path.join(folder, recipe + ".json")
        with open(path, "w") as file:
            file.write(text)
        return path, json.loads(text)

    one, report = validate("default")
    two, other = validate("serial")
    diff = json.loads(farm.run("report", "diff", one, two, "--json"))
    cycles = [total for total in diff["totals"] if total["name"] == "cycles"][0]
    report_of = lambda text: text[0] if isinstance(text, list) else text
    hostile = json.loads(json.dumps(report_of(report)))
    hostile["model_name"] = HOSTILE
    for layer in hostile["layers"]:
        layer["id"] = HOSTILE + layer["id"]
        layer["op"] = "</script>" + HOSTILE
    hostile_path = os.path.join(folder, "hostile.json")
    with open(hostile_path, "w") as file:
        json.dump(hostile, file)
    large = json.loads(json.dumps(report_of(report)))
    few = large["layers"]
    large["layers"] = [dict(few[i % len(few)], id="%d/%s" % (i, few[i % len(few)]["id"]))
                       for i in range(LARGE)]
    large_path = os.path.join(folder, "large.json")
    with open(large_path, "w") as file:
        json.dump(large, file)
    pages = {}
    for name, inputs in (("one", [one]), ("two", [one, two]),
                         ("hostile", [hostile_path]), ("large", [large_path])):
        pages[name] = os.path.join(folder, name + ".html")
        farm.run("report", "html", *inputs, "-o", pages[name])
    farm.run("sweep", os.path.join(example, "digits.onnx"), "--target",
             "dla-64-o-512k", "--timing-only", "--vary", "sram_bytes=64KiB,"
             "128KiB,256KiB", "--vary", "pes=16,32,64", "--quiet")
    lines = farm.run("sweep", "show", "last", "--json").splitlines()
    rows = [json.loads(line) for line in lines if "cell" in json.loads(line)]
    pages["sweep"] = os.path.join(folder, "sweep.html")
    farm.run("report", "html", "last", "-o", pages["sweep"])
    return {
        "sweep": {"html": pages["sweep"], "rows": rows},
        "one": {"html": pages["one"], "reports": [report_of(report)]},
        "two": {"html": pages["two"],
                "reports": [report_of(report), report_of(other)],
                "diff": {key: cycles.get(key, 0)
                         for key in ("a", "b", "change")}},
        "hostile": pages["hostile"],
        "large": {"html": pages["large"], "layers": LARGE}}


def start_job(farm, shared):
    """A job that runs for a while: its id, while it runs."""
    model = os.path.join(shared, "models", MODEL)
    farm.background = subprocess.Popen(
        [os.path.join(farm.binaries, "edgekiln"), "profile", model, "--target",
         "dla-64-o-512k", "--quiet"], env=farm.environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        listed = json.loads(farm.run("jobs", "list", "--limit", "1", "--json"))
        newest = listed["jobs"][0]
        if "mobilenet" in newest["request"]["model_name"]:
            return newest["id"]
        time.sleep(0.05)
    sys.exit("no job has begun")


def answer(farm, shared, what):
    if what == "start":
        return start_job(farm, shared)
    if what == "kill":
        farm.kill()
    elif what == "restart":
        farm.start()
    return "done"


def main():
    source, binaries, shared = map(os.path.abspath, sys.argv[1:4])
    npm_packages.need_programs("chromium", "node", "npm")
    if not os.path.exists(os.path.join(shared, "models", MODEL)):
        if os.environ.get("CI") == "true":
            sys.exit("FAILED: %s is missing" % MODEL)
        npm_packages.skip("%s is missing" % MODEL)
    with tempfile.TemporaryDirectory(prefix="ek-", dir="/tmp") as folder:
        packages = os.path.join(folder, "packages")
        os.mkdir(packages)
        here = os.path.dirname(os.path.abspath(__file__))
        for name in os.listdir(here):
            if name.endswith(".mjs"):
                shutil.copy(os.path.join(here, name), packages)
        npm_packages.fetch(packages)
        farm = Farm(binaries, folder)
        try:
            farm.start()
            files = make_pages(farm, source, folder)
            farm.run("profile", os.path.join(source, "docs/example/digits.onnx"),
                     "--target", "dla-64-o-512k", "--target", "dla-128-o-512k",
                     "--timing-only", "--quiet")
            hostile = os.path.join(folder, "a <script>alert(1)<_script>.onnx")
            shutil.copy(os.path.join(source, "docs/example/digits.onnx"),
                        hostile)
            farm.run("profile", hostile, "--target", "dla-64-o-512k", "--quiet")
            newest, several, sweep, other = json.loads(
                farm.run("jobs", "list", "--json"))["jobs"][:4]
            known = {
                "executable": shutil.which("chromium"), "files": files,
                "dashboard": {"address": "http://" + farm.http,
                              "job": newest["id"], "other": other["id"],
                              "several": several["id"], "sweep": sweep["id"],
                              "hostile": "<script>alert(1)<_script>"},
                "shots": os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else ""}
            test = subprocess.Popen(["node", "main.mjs"], cwd=packages,
                                    stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True,
                                    env=dict(farm.environment, CI="true"))
            print(json.dumps(known), file=test.stdin, flush=True)
            for line in test.stdout:
                if line.startswith("ask "):
                    print(answer(farm, shared, line[4:].strip()),
                          file=test.stdin, flush=True)
                else:
                    print(line, end="", flush=True)
            code = test.wait()
        finally:
            farm.stop()
    return code


if __name__ == "__main__":
    sys.exit(main())
