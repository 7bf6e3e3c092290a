#!/usr/bin/env python3
"""What people see in a terminal: `edgekiln` in a pseudo-terminal whose window
is made narrower while a job runs, without colours, and in one that cannot move
its cursor; and on a full disk.

usage: terminal_test.py SOURCE BIN
"""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time

LIMIT = 120  # Seconds for one command.
COLOURS = re.compile(rb"\x1b\[[0-9;]*m")
MOVES = re.compile(rb"\x1b\[K|\r")


def set_width(fd, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def run(command, environment, columns, narrower=None):
    """What it wrote, before and after the window was made `narrower`, which is
    done at the first sign of progress."""
    ours, theirs = pty.openpty()
    set_width(ours, columns)
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs,
                               stderr=theirs, env=environment,
                               start_new_session=True)
    os.close(theirs)
    before, after = b"", b""
    resized_at = None
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if not select.select([ours], [], [], 0.1)[0]:
            continue
        try:
            data = os.read(ours, 65536)
        except OSError:  # How Linux says that nobody writes any more.
            break
        if not data:
            break
        # What was on its way when the window changed is of the old one.
        if resized_at is None or time.monotonic() - resized_at < 0.5:
            before += data
        else:
            after += data
        if narrower and resized_at is None and b"\x1b[K" in before:
            set_width(ours, narrower)
            resized_at = time.monotonic()
    process.wait()
    os.close(ours)
    return process.returncode, before, after


def widest(output):
    lines = re.split(rb"[\r\n]+", MOVES.sub(b"\n", COLOURS.sub(b"", output)))
    return max(len(line.decode()) for line in lines)


def check(condition, what, output):
    if condition:
        return 0
    print("FAILED:", what)
    print(output.decode(errors="replace"))
    return 1


def main():
    source, binaries = sys.argv[1:]
    example = os.path.join(source, "docs", "example")
    edgekiln = os.path.join(binaries, "edgekiln")
    validate = [
        edgekiln, "validate", os.path.join(example, "digits.onnx"),
        "--target", "dla-64-o-512k", "--target", "dla-128-i-1m",
        "--calibration", os.path.join(example, "digits_calibration.npz"),
        "--data", os.path.join(example, "digits_test.npz")]
    profile = [edgekiln, "profile", os.path.join(example, "digits.onnx"),
               "--target", "dla-64-o-512k", "--offload", "paying"]
    failures = 0
    with tempfile.TemporaryDirectory(prefix="ek-", dir="/tmp") as folder:
        environment = {"PATH": os.environ["PATH"], "HOME": folder,
                       "TERM": "xterm"}
        for name in ("RUNTIME_DIR", "STATE_HOME", "CACHE_HOME"):
            path = os.path.join(folder, name)
            os.mkdir(path, 0o700)
            environment["XDG_" + name] = path

        code, before, after = run(validate, environment, 120, narrower=64)
        failures += check(code == 0, "validate ends well", before + after)
        failures += check(b"\x1b[K" in before, "progress is drawn", before)
        failures += check(b"TARGET" in after, "the report comes last", after)
        failures += check(widest(before) <= 120, "120 columns", before)
        failures += check(widest(after) <= 64, "64 columns once it is narrower",
                          after)

        code, output, _ = run(profile, dict(environment, NO_COLOR="1"), 60)
        failures += check(code == 0, "profile ends well", output)
        failures += check(not COLOURS.search(output), "NO_COLOR has no colours",
                          output)
        failures += check(widest(output) <= 60, "60 columns", output)

        code, output, _ = run(profile, dict(environment, TERM="dumb"), 80)
        failures += check(code == 0, "profile ends well", output)
        failures += check(b"\x1b" not in output, "TERM=dumb has no escapes",
                          output)
        failures += check(b"\r" not in output.replace(b"\r\n", b""),
                          "TERM=dumb has no returns", output)

        for text in (["--help"], ["completion", "bash"], ["man", "profile"],
                     ["targets", "list"]):
            with open("/dev/full", "wb") as full:
                process = subprocess.run([edgekiln, *text], stdout=full,
                                         stderr=subprocess.PIPE, env=environment)
            failures += check(
                process.returncode == 4 and
                b"the standard output cannot be written" in process.stderr,
                "%s on a full disk says so" % text[0], process.stderr)
    print("%d failures" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
