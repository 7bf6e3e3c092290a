#!/usr/bin/env python3
"""What a sweep shows in a terminal while it runs: its newest rows, redrawn in
place, and in the end the final table alone; nothing of it after Ctrl-C, and
nothing where an output is no terminal.

usage: live_table_test.py SOURCE BIN
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

LIMIT = 120  # Seconds for one command.
HEIGHT = 24
UP = re.compile(r"\x1b\[(\d+)A")


class Screen:
    """The rows of a terminal that never scrolls: those that it would have
    scrolled away are above."""

    def __init__(self):
        self.rows, self.row, self.column = [""], 0, 0

    def write(self, text):
        for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\r\n\x1b]+",
                               text):
            line = self.rows[self.row]
            if part == "\r":
                self.column = 0
            elif part == "\n":
                self.row += 1
                if self.row == len(self.rows):
                    self.rows.append("")
            elif part[0] != "\x1b":
                end = self.column + len(part)
                self.rows[self.row] = (line[:self.column].ljust(self.column) +
                                       part + line[end:])
                self.column = end
            elif part[-1] == "A":
                self.row -= int(part[2:-1] or 1)
                assert self.row >= 0, "above the first row"
            elif part[-1] in "KJ":
                self.rows[self.row] = line[:self.column]
                if part[-1] == "J":
                    del self.rows[self.row + 1:]
            else:
                assert part[-1] == "m", "unknown escape %r" % part

    def text(self):
        return "\n".join(self.rows).rstrip("\n")


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, command, environment, columns, stdout=None):
        self.ours, theirs = pty.openpty()
        # Otherwise ^C drops what is written and not read here yet.
        modes = termios.tcgetattr(theirs)
        modes[3] |= termios.NOFLSH
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
        self.resize(columns)
        self.output = ""

        def control():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # So that ^C is a signal.

        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=stdout or theirs, stderr=theirs,
            env=environment, start_new_session=True, preexec_fn=control)
        os.close(theirs)

    def resize(self, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ,
                    struct.pack("HHHH", HEIGHT, columns, 0, 0))

    def read(self, until=None):
        """Until the output has it (a pattern, or what a function says of the
        output), or to the end."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            if callable(until) and until(self.output):
                return True
            if isinstance(until, str) and re.search(until, self.output):
                return True
            if not select.select([self.ours], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(self.ours, 65536)
            except OSError:  # How Linux says that nobody writes any more.
                return False
            self.output += data.decode()
        return False

    def interrupt(self):
        os.write(self.ours, b"\x03")

    def finish(self):
        self.read()
        code = self.process.wait()
        os.close(self.ours)
        return code

    def screen(self):
        screen = Screen()
        screen.write(self.output)
        return screen.text()


class Checks:
    def __init__(self):
        self.failures = 0

    def __call__(self, condition, what, output):
        if not condition:
            self.failures += 1
            print("FAILED:", what)
            print(output if isinstance(output, str) else repr(output))


def check_rows(check, edgekiln, few, environment):
    """Rows come, and what is left is the final table."""
    terminal = Terminal([edgekiln, *few], environment, 100)
    code = terminal.finish()
    output = terminal.output
    check(code == 0, "the sweep ends well", output)
    ups = [int(up) for up in UP.findall(output)]
    check(len(ups) > 2, "the table is redrawn", output)
    check(max(ups, default=0) < HEIGHT, "it fits the window", str(ups))
    check(max(ups, default=0) > 3, "rows come", str(ups))
    check("?25l" not in output, "the cursor is not hidden", output)
    check(re.search(r"CELL.*FILL_CYCLES.*CYCLES", output),
          "varied keys are columns", output)
    check(re.search(r"\d \*", output) and "front" in output,
          "best and front are marked", output)
    shown = Terminal([edgekiln, "sweep", "show", "last"], environment, 100)
    check(shown.finish() == 0, "it can be shown", shown.output)
    final = re.sub(r"(?m)^stages: .*$", "", shown.screen())
    left = re.sub(r"(?m)^stages: .*$", "", terminal.screen())
    check(left == final, "what is left is the final table",
          left + "\n--\n" + final)


def check_narrower(check, edgekiln, few, environment):
    terminal = Terminal([edgekiln, *few], environment, 120)
    check(terminal.read(r"CELL"), "rows come", terminal.output)
    terminal.resize(60)
    resized = len(terminal.output)

    def widths(output):
        lines = re.sub(r"\x1b\[[0-9;]*[A-Za-z]|\r", "\n", output).split("\n")
        return max(map(len, lines))

    # Some of what comes now was on its way, and is of the old window.
    def narrow(output):
        drawn = UP.split(output[resized:])[::2]
        return len(drawn) > 2 and widths(drawn[-2]) <= 60
    check(terminal.read(narrow), "it is drawn anew", terminal.output)
    before = resized + terminal.output[resized:].rfind("\x1b[")
    check(terminal.finish() == 0, "the sweep ends well", terminal.output)
    after = terminal.output[before:]
    check(widths(after) <= 60, "60 columns once it is narrower", after)


def check_interrupts(check, edgekiln, many, environment):
    """Nothing of the table is left, and what follows begins in a new line."""
    terminal = Terminal([edgekiln, *many], environment, 100)
    check(terminal.read(UP.pattern), "rows come", terminal.output)
    terminal.interrupt()
    code = terminal.finish()
    check(code == 130, "exit code of an interrupted sweep", str(code))
    left = terminal.screen()
    check(left.startswith("error: "), "the error stands alone", left)
    check("CELL" not in left and "^C" not in left, "no rows are left", left)

    started = subprocess.run([edgekiln, *many, "--detach"], env=environment,
                             capture_output=True, text=True)
    check(started.returncode == 0, "it can be detached", started.stderr)
    identity = started.stdout.split()[0]
    terminal = Terminal([edgekiln, "sweep", "watch", identity], environment,
                        100)
    check(terminal.read(UP.pattern), "rows come", terminal.output)
    terminal.interrupt()
    code = terminal.finish()
    check(code == 130, "exit code of an interrupted watcher", str(code))
    check(terminal.screen() == "", "nothing is left", terminal.screen())
    subprocess.run([edgekiln, "sweep", "cancel", identity], env=environment,
                   capture_output=True)


def check_elsewhere(check, edgekiln, few, environment):
    """One line at most where a program reads, or nobody wants to see it."""
    with tempfile.TemporaryFile() as file:
        terminal = Terminal([edgekiln, *few], environment, 100, stdout=file)
        check(terminal.finish() == 0, "the sweep ends well", terminal.output)
        check("\x1b[K" in terminal.output, "progress is drawn",
              terminal.output)
        check(not UP.search(terminal.output), "no table beside a file",
              terminal.output)
    for option in ("--json", "--quiet"):
        terminal = Terminal([edgekiln, *few, option], environment, 100)
        check(terminal.finish() == 0, "the sweep ends well", terminal.output)
        check(not UP.search(terminal.output), "no table with " + option,
              terminal.output)
    dumb = Terminal([edgekiln, *few], dict(environment, TERM="dumb"), 100)
    check(dumb.finish() == 0, "the sweep ends well", dumb.output)
    check("\x1b" not in dumb.output, "TERM=dumb has no escapes", dumb.output)


def main():
    source, binaries = sys.argv[1:]
    edgekiln = os.path.join(binaries, "edgekiln")
    sweep = ["sweep", os.path.join(source, "docs", "example", "digits.onnx"),
             "--target", "dla-64-o-512k", "--timing-only", "--vary",
             "pes=16,32,64", "--vary", "offload=all,paying", "--vary"]
    few = [*sweep, "fill_cycles=" + ",".join(str(n) for n in range(16))]
    many = [*sweep, "fill_cycles=" + ",".join(str(n) for n in range(400))]
    check = Checks()
    with tempfile.TemporaryDirectory(prefix="ek-", dir="/tmp") as folder:
        environment = {"PATH": os.environ["PATH"], "HOME": folder,
                       "TERM": "xterm"}
        for name in ("RUNTIME_DIR", "STATE_HOME", "CACHE_HOME"):
            path = os.path.join(folder, name)
            os.mkdir(path, 0o700)
            environment["XDG_" + name] = path
        check_rows(check, edgekiln, few, environment)
        narrow = [word.replace("=16,32,64", "=8,24,48") for word in few]
        check_narrower(check, edgekiln, narrow, environment)
        check_interrupts(check, edgekiln, many, environment)
        check_elsewhere(check, edgekiln, few, environment)
    print("%d failures" % check.failures)
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
