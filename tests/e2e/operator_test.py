#!/usr/bin/env python3
"""What an operator sees: `edgekiln top`, the dashboard's source and Prometheus
say the same, and it is true.

usage: operator_test.py SOURCE BIN
"""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.request

LIMIT = 60  # Seconds for anything.


class Checks:
    def __init__(self):
        self.failures = 0

    def __call__(self, condition, what, output=""):
        if not condition:
            self.failures += 1
            print("FAILED:", what)
            print(output)


def metrics_of(text):
    """{"name{labels}": value} of Prometheus' text."""
    lines = [line for line in text.splitlines()
             if line and not line.startswith("#")]
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
            for line in lines}


def counted(status):
    """What must be the same whoever asks, once nothing runs."""
    stages = {stage["name"]: (int(stage.get("executed", 0)),
                              int(stage.get("hit", 0)))
              for stage in status["stages"]}
    return stages, int(status["jobs"]["succeeded"])


def check_documented(check, source, text):
    """docs/metrics.md names every metric that there is, and no other."""
    with open(os.path.join(source, "docs", "metrics.md")) as file:
        table = [line for line in file if line.startswith("| `")]
    named = set(re.findall(r"`(edgekiln_\w+)`", "".join(
        line.split("|")[1] for line in table)))
    there = set(re.findall(r"(?m)^# TYPE (edgekiln_\w+)", text))
    check(named == there, "docs/metrics.md",
          "only in the page: %s; only in the answer: %s" %
          (sorted(named - there), sorted(there - named)))


def check_metrics(check, source, status, address):
    text = ""
    end = time.monotonic() + LIMIT
    # The size of the cache comes once its files have been counted.
    while "edgekiln_cache_bytes" not in text and time.monotonic() < end:
        with urllib.request.urlopen("http://%s/metrics" % address) as answer:
            text = answer.read().decode()
    check_documented(check, source, text)
    metrics = metrics_of(text)
    stages, succeeded = counted(status)
    check(metrics['edgekiln_jobs_finished_total{outcome="succeeded"}'] ==
          succeeded, "finished jobs", text)
    for name, (executed, hit) in stages.items():
        for how, value in (("executed", executed), ("hit", hit)):
            key = 'edgekiln_stages_total{stage="%s",how="%s"}' % (name, how)
            check(metrics.get(key) == value, key, text)
    check(metrics["edgekiln_ready"] == 1, "ready", text)
    check(metrics['edgekiln_workers{role="compile"}'] == 1, "workers", text)
    promtool = shutil.which("promtool")
    if promtool is None:
        print("skipped: promtool (package prometheus) is not installed")
        return
    ran = subprocess.run([promtool, "check", "metrics"], input=text,
                         capture_output=True, text=True)
    # It complains of Prometheus-cpp's own exposer_* metrics.
    ours = [line for line in (ran.stdout + ran.stderr).splitlines()
            if line.startswith("edgekiln_") or "error" in line]
    check(not ours, "promtool accepts the metrics", "\n".join(ours))


def check_screen(check, edgekiln, environment):
    """In a terminal it goes on until Ctrl-C, and its last picture stays."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen([edgekiln, "top", "--interval", "100ms"],
                               stdin=theirs, stdout=theirs, stderr=theirs,
                               env=environment, start_new_session=True)
    os.close(theirs)
    output = b""

    def read(until):
        """Up to the end, or until that many frames are there."""
        nonlocal output
        end = time.monotonic() + LIMIT
        while output.count(b"takes jobs") < until and time.monotonic() < end:
            if not select.select([ours], [], [], 0.1)[0]:
                continue
            try:
                output += os.read(ours, 65536)
            except OSError:  # How Linux says that nobody writes any more.
                return

    read(until=4)
    process.send_signal(signal.SIGINT)
    read(until=10**9)
    output = output.decode()
    check(output.count("per second") >= 3, "rates, in each frame but the first",
          output)
    check(process.wait() == 0, "Ctrl-C is how it ends", output)
    check(output.endswith("\n"), "what follows begins in a new line", output)
    check("takes jobs" in output and "WORKER" in output, "the picture", output)
    for line in re.sub(r"\x1b\[[0-9;]*[A-Za-z]|\r", "\n", output).split("\n"):
        check(len(line) <= 80, "80 columns", line)
    os.close(ours)


def main():
    source, binaries = sys.argv[1:]
    edgekiln = os.path.join(binaries, "edgekiln")
    check = Checks()
    with tempfile.TemporaryDirectory(prefix="ek-", dir="/tmp") as folder:
        ready = os.path.join(folder, "ready")
        socket = "unix:" + os.path.join(folder, "socket")
        environment = {"PATH": os.environ["PATH"], "HOME": folder,
                       "XDG_RUNTIME_DIR": folder, "TERM": "xterm",
                       "EDGEKILN_SERVER": socket}
        daemon = subprocess.Popen(
            [os.path.join(binaries, "edgekilnd"), "--listen", socket,
             "--workers-listen", "unix:" + os.path.join(folder, "workers"),
             "--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--state",
             os.path.join(folder, "state"), "--workers", "1", "--ready-file",
             ready, "--quiet"], env=environment)
        try:
            end = time.monotonic() + LIMIT
            while not os.path.exists(ready) and time.monotonic() < end:
                time.sleep(0.01)
            with open(ready) as file:
                _, _, http, metrics = file.read().split("\n")[:4]
            model = os.path.join(source, "docs", "example", "digits.onnx")
            for _ in range(2):  # Then all is at hand.
                ran = subprocess.run(
                    [edgekiln, "profile", model, "--target", "dla-64-o-512k",
                     "--timing-only", "--quiet"], env=environment,
                    capture_output=True, text=True)
                check(ran.returncode == 0, "a profile", ran.stderr)
            shown = subprocess.run([edgekiln, "top", "--json"],
                                   env=environment, capture_output=True,
                                   text=True)
            check(shown.returncode == 0, "top --json", shown.stderr)
            status = json.loads(shown.stdout)
            stages, succeeded = counted(status)
            check(succeeded == 2, "two jobs ended", shown.stdout)
            check(stages.get("tile") == (1, 1), "tile ran once", shown.stdout)
            check_metrics(check, source, status, metrics)
            with urllib.request.urlopen("http://%s/v1/daemon" % http) as answer:
                check(counted(json.load(answer)) == (stages, succeeded),
                      "the same over HTTP")
            once = subprocess.run([edgekiln, "top"], env=environment,
                                  capture_output=True, text=True)
            check(once.returncode == 0 and "\x1b" not in once.stdout and
                  "digits" in once.stdout, "once where nobody looks",
                  once.stdout + once.stderr)
            check_screen(check, edgekiln, environment)
        finally:
            daemon.terminate()
            daemon.wait()
    print("%d failures" % check.failures)
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
