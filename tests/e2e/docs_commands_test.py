#!/usr/bin/env python3
"""Runs the commands of README.md and of the pages below docs/, as they stand.

usage: docs_commands_test.py SOURCE_FOLDER BIN_FOLDER

Every fenced block that is marked `sh` runs in bash, block after block, in a
copy of the clone; pages but README.md start in a folder with the example's
files. A block with other marks must not hold a command of ours, so that none is
left out; blocks of `text` may, if the page they are on is in NOT_HERE.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
BIN = pathlib.Path(sys.argv[2]).resolve()
PROGRAMS = ("edgekiln", "edgekilnd", "edgekiln-worker")
COMMAND = re.compile(r"^\s*(?:\$ )?(?:%s)\s+[a-z-]" % "|".join(PROGRAMS))

# Pages with commands that need several machines, or other programs.
NOT_HERE = {"docs/hosting.md", "docs/api.md", "docs/http.md", "docs/metrics.md"}


def pages():
    found = [SOURCE / "README.md"]
    for page in sorted((SOURCE / "docs").rglob("*.md")):
        if "design" not in page.relative_to(SOURCE).parts:
            found.append(page)
    return found


def blocks(page):
    """All (mark, first line, text) of fenced blocks; and of what is outside."""
    mark, begin, lines, outside = None, 0, [], []
    for number, line in enumerate(page.read_text().split("\n"), 1):
        if line.startswith("```"):
            if mark is None:
                mark, begin, lines = line[3:].strip(), number, []
            else:
                yield mark, begin, "\n".join(lines) + "\n"
                mark = None
        elif mark is None:
            outside.append((number, line))
        else:
            lines.append(line)
    for number, line in outside:
        yield None, number, line


class DocsCommandsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="docs_commands_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        clone = self.folder / "clone"
        shutil.copytree(SOURCE / "docs", clone / "docs")
        (clone / "build/release").mkdir(parents=True)
        (clone / "build/release/bin").symlink_to(BIN)
        self.environment = {
            "HOME": str(self.folder / "home"), "LANG": "C.UTF-8",
            "PATH": "/usr/bin:/bin", "TERM": "dumb",
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
        }
        for name in ("home", "run"):
            (self.folder / name).mkdir(mode=0o700)
        self.addCleanup(self.stop_daemons)

    def stop_daemons(self):
        """Those that commands have started in our folder."""
        mark = str(self.folder / "run").encode()
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                mine = mark in (entry / "environ").read_bytes()
                name = (entry / "comm").read_text()
            except OSError:
                continue
            if mine and name.startswith("edgekilnd"):
                os.kill(int(entry.name), signal.SIGTERM)

    def run_page(self, page):
        folder = self.folder / "clone"
        path = self.environment["PATH"]
        if page.name != "README.md":
            folder = folder / "docs/example"
            path = f"{BIN}:{path}"
        script = ["set -e", f"cd {folder}"]
        script += [text for mark, _, text in blocks(page) if mark == "sh"]
        if len(script) == 2:
            return 0
        done = subprocess.run(
            ["bash", "-xc", "\n".join(script)], env={**self.environment, "PATH": path},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, f"{page}\n{done.stdout[-4000:]}")
        return len(script) - 2

    def test_commands_work(self):
        ran = [page for page in pages() if self.run_page(page)]
        self.assertGreaterEqual(len(ran), 3, ran)

    def test_no_command_is_left_out(self):
        for page in pages():
            name = str(page.relative_to(SOURCE))
            for mark, line, text in blocks(page):
                if mark == "sh" or (mark == "text" and name in NOT_HERE):
                    continue
                for one in text.split("\n"):
                    indented = mark is not None or one.startswith("    ")
                    self.assertFalse(indented and COMMAND.match(one),
                                     f"{name}:{line}: {one}: mark the block sh")

    def test_links_lead_somewhere(self):
        for page in pages():
            for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
                self.assertTrue((page.parent / link).exists(), f"{page}: {link}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
