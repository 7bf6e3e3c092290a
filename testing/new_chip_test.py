#!/usr/bin/env python3
"""Compares docs/new_chip.md with the tree: its list of files is that of all files
that the tutorial's chip has or that name it, and its excerpts are in their files.

usage: new_chip_test.py
"""
import os
import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = "docs/new_chip.md"
FOLDER = "testing/tiny_vector/"
# As text, identifiers, mnemonics of files and macros spell it.
NAME = re.compile(r"tiny[_-]?vector", re.I)
SKIPPED = {"build", ".git", ".cache", "docs"}
SUFFIXES = {".h", ".cc", ".inc", ".proto", ".txtpb", ".cmake", ".py", ".md"}
# Not the chip's: this test.
OTHERS = {"testing/new_chip_test.py"}

ROW = re.compile(r"^\| `([^`]+)` \|", re.M)
EXCERPT = re.compile(r"^`([^`\n]+)`\n```\n(.*?)^```$", re.M | re.S)


def is_text(path):
    return path.suffix in SUFFIXES or path.name == "CMakeLists.txt"


def touched(root):
    """Files that the chip has, or that name it."""
    found = set()
    for folder, names, files in os.walk(root):
        names[:] = [n for n in names if n not in SKIPPED]
        for file in files:
            path = pathlib.Path(folder, file)
            name = path.relative_to(root).as_posix()
            if name.startswith(FOLDER):
                found.add(name)
            elif is_text(path) and name not in OTHERS and NAME.search(
                    path.read_text(errors="replace")):
                found.add(name)
    return found


def differences(root):
    page = (root / PAGE).read_text()
    listed = ROW.findall(page[page.index("\n## Files\n"):])
    problems = [f"listed twice: {name}" for name in sorted(set(listed))
                if listed.count(name) > 1]
    found = touched(root)
    problems += [f"not in the list of {PAGE}: {name}"
                 for name in sorted(found - set(listed))]
    problems += [f"listed in {PAGE}, not the chip's: {name}"
                 for name in sorted(set(listed) - found)]
    excerpts = EXCERPT.findall(page)
    if not excerpts:
        problems.append("no excerpts")
    for name, excerpt in excerpts:
        path = root / name
        if not path.is_file():
            problems.append(f"excerpt of {name}, which is not there")
            continue
        text, at = path.read_text(), 0
        for part in re.split(r"^\.\.\.\n", excerpt, flags=re.M):
            at = text.find(part, at)
            if at < 0:
                problems.append(f"not in {name}: {part.strip()}")
                break
            at += len(part)
    return problems


class OfTheTree(unittest.TestCase):
    def test_the_page_is_true(self):
        self.assertEqual(differences(ROOT), [])


class CanFail(unittest.TestCase):
    """A small tree in which the page is true, and what breaks it."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.write(FOLDER + "model.cc", "one\ntwo\nthree\n")
        self.write("tests/row.cc", "TinyVector();\n")
        self.write("tests/other.cc", "Other();\n")
        self.page = ("`testing/tiny_vector/model.cc`\n```\none\n...\nthree\n```\n"
                     "\n## Files\n\n| `testing/tiny_vector/model.cc` | x |\n"
                     "| `tests/row.cc` | x |\n")
        self.write(PAGE, self.page)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def expect(self, part):
        problems = differences(self.root)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(part, problems[0])

    def test_a_true_page_passes(self):
        self.assertEqual(differences(self.root), [])

    def test_a_file_of_the_chip_is_left_out(self):
        self.write(FOLDER + "compiler/new.h", "")
        self.expect("testing/tiny_vector/compiler/new.h")

    def test_shared_code_names_the_chip(self):
        self.write("compiler/CMakeLists.txt", "link(tiny_vector_compiler)")
        self.expect("compiler/CMakeLists.txt")

    def test_a_file_is_gone(self):
        (self.root / "tests/row.cc").write_text("Row();\n")
        self.expect("not the chip's: tests/row.cc")

    def test_an_excerpt_is_old(self):
        self.write(FOLDER + "model.cc", "one\ntwo\nfour\n")
        self.expect("not in testing/tiny_vector/model.cc: three")

    def test_an_excerpt_is_out_of_order(self):
        self.write(FOLDER + "model.cc", "three\none\n")
        self.expect("not in testing/tiny_vector/model.cc: three")


if __name__ == "__main__":
    unittest.main()
