#!/usr/bin/env python3
"""Runs `edgekiln` in a pseudo-terminal, also while the window is resized.

usage: terminal_test.py SOURCE_FOLDER BIN_FOLDER
"""
import errno
import fcntl
import os
import pathlib
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
import unicodedata
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
BIN = pathlib.Path(sys.argv[2]).resolve()
MODEL = str(SOURCE / "docs/example/digits.onnx")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
TIMEOUT = 60


def columns(text):
    return sum(0 if unicodedata.combining(c) else
               2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Terminal:
    """A command in a window of its own."""

    def __init__(self, args, width, environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # The window has its size before the command looks.
            self.fd = 0
            self.resize(width)
            os.execve(str(BIN / "edgekiln"), ["edgekiln", *args], environment)
        self.text = ""

    def resize(self, width):
        size = struct.pack("HHHH", 24, width, 0, 0)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, size)  # The kernel sends SIGWINCH.

    def read(self, until, timeout=TIMEOUT):
        """What is written until `until(text)`; True if that came."""
        end = time.monotonic() + timeout
        seen = ""
        while not until(seen):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                return seen, False
            try:
                data = os.read(self.fd, 65536)
            except OSError as error:
                if error.errno != errno.EIO:  # Nobody has the other end.
                    raise
                data = b""
            if not data:
                return seen, until(seen)
            seen += data.decode()
            self.text += data.decode()
        return seen, True

    def finish(self):
        text, _ = self.read(lambda seen: False)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status), text


class TerminalTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="terminal_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {
            "HOME": str(self.folder), "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin",
            "TERM": "xterm", "XDG_RUNTIME_DIR": str(self.folder)}

    def start_daemon(self, workers):
        ready = self.folder / "ready"
        daemon = subprocess.Popen(
            [str(BIN / "edgekilnd"), "--listen", "127.0.0.1:0", "--workers-listen",
             "127.0.0.1:0", "--state", str(self.folder / "state"), "--ready-file",
             str(ready), "--workers", str(workers), "--quiet"],
            env=self.environment, stderr=subprocess.DEVNULL)
        def stop():
            daemon.terminate()
            daemon.wait(TIMEOUT)
        self.addCleanup(stop)
        end = time.monotonic() + TIMEOUT
        while not ready.exists() or len(ready.read_text().splitlines()) < 2:
            self.assertLess(time.monotonic(), end, "the daemon did not start")
            self.assertIsNone(daemon.poll(), "the daemon ended")
            time.sleep(0.02)
        return ready.read_text().splitlines()[0]

    def expect_fits(self, text, width):
        """Every line; what is drawn after a carriage return is one of its own."""
        for line in re.split(r"[\r\n]+", text):
            shown = COLOUR.sub("", line).replace("\x1b[K", "")
            self.assertNotIn("\x1b", shown, repr(line))
            self.assertLessEqual(columns(shown), width, repr(line))

    def test_resized_while_the_progress_is_shown(self):
        address = self.start_daemon(workers=0)  # The job waits, and says so.
        args = ["profile", MODEL, "--target", "dla-64-o-512k", "--server", address]
        terminal = Terminal(args, 120, self.environment)
        seen, told = terminal.read(lambda text: "waiting" in text)
        self.assertTrue(told, seen)
        self.expect_fits(seen, 120)
        for width in (60, 200, 61, 80):
            terminal.resize(width)
            # What may have been drawn before the command saw the new size,
            # then three lines of the clock.
            terminal.read(lambda text: False, timeout=0.5)
            seen, told = terminal.read(lambda text: text.count("\r") >= 3)
            self.assertTrue(told, repr(seen))
            self.assertIn("waiting", seen)
            self.expect_fits(seen, width)
            # One line: nothing is scrolled.
            self.assertNotIn("\n", seen)
        os.kill(terminal.pid, signal.SIGINT)
        code, _ = terminal.finish()
        self.assertEqual(code, 130, terminal.text[-500:])

    def test_no_line_wraps(self):
        address = self.start_daemon(workers=2)
        several = ["--target", "toy-array", "--target", "toy-two-array"]
        commands = [
            ["profile", MODEL, "--target", "dla-64-o-512k", "--stages"],
            ["profile", MODEL, "--target", "dla-64-o-512k", *several],
            ["inspect", MODEL, "--target", "toy-array"],
            ["targets", "list"], ["jobs", "list"], ["jobs", "log", "last"],
            ["jobs", "show", "last"], ["jobs", "show", "jffffffffffffffff"],
        ]
        for command in commands:
            for width in (60, 80, 120, 200):
                terminal = Terminal([*command, "--server", address], width,
                                    self.environment)
                code, text = terminal.finish()
                self.assertEqual(code, 1 if command[-1][0:2] == "jf" else 0, text)
                self.expect_fits(text, width)
                self.assertRegex(text, COLOUR)
                if command[0] == "profile" and "toy-array" not in command:
                    self.assertEqual("\u2588" in text, width >= 120, text)
                    self.assertIn("STAGE", text)

    def test_plain_where_that_is_asked_for(self):
        address = self.start_daemon(workers=2)
        for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
            terminal = Terminal(
                ["profile", MODEL, "--target", "dla-64-o-512k", "--limit", "2",
                 "--seed", str(len(name)), "--server", address],
                80, {**self.environment, name: value})
            code, text = terminal.finish()
            self.assertEqual(code, 0, text)
            self.assertNotIn("\x1b", text, name)
            # Line ends alone move the cursor.
            self.assertNotIn("\r", text.replace("\r\n", "\n"), name)
            self.assertIn("stage count_cycles", text)  # Progress, as lines.
            self.assertIn("LAYER", text)
            self.assertNotIn("\nSTAGE", text)
            self.expect_fits(text, 80)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
