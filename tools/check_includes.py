#!/usr/bin/env python3
"""Fails if an #include breaks the tables in cmake/Layers.cmake.

usage: check_includes.py ROOT

The configure-time check sees link lines only; this one sees what is written in
the files: quoted, <angle>, macro and relative includes, directly and through
other headers. Files are named from ROOT, so "../" is an error by itself.

x.cc includes x.h first, which proves that x.h compiles by itself.
"""
import os
import pathlib
import re
import sys

SUFFIXES = {".h", ".hh", ".hpp", ".inc", ".inl", ".c", ".cc", ".cpp", ".cxx"}
# docs: examples for others, which include nothing of ours.
SKIPPED = {"build", "docs", ".git", ".cache"}
DIRECTIVE = re.compile(
    r"^\s*(?:#|%:)\s*(?:/\*.*?\*/\s*)*(?:include|include_next|import)\b\s*(.*)")
NAME = re.compile(r'(?:"([^"]*)"|<([^>]*)>)')
TEST_FILE = re.compile(r"(_test|_fuzz|_testing)\.\w+$")


def read_table(text, name):
    """Rows of `set(<name> "a -> b c" ...)` as a list of (a, [b, c])."""
    block = re.search(rf"^set\({name}\n(.*?)^\)", text, re.M | re.S)
    if not block:
        sys.exit(f"cmake/Layers.cmake has no table {name}")
    rows = []
    for row in re.findall(r'^\s*"([^"]*)"', block[1], re.M):
        source, _, seen = row.partition("->")
        rows.append((source.strip(), seen.split()))
    if not rows:
        sys.exit(f"the table {name} in cmake/Layers.cmake is empty")
    return rows


def covers(pattern, folder):
    """The part of `folder` that `pattern` stands for, if it covers it."""
    match = re.match(f"({pattern.replace('*', '[^/]+')})(?:/|$)", folder)
    return match[1] if match else None


def logical_lines(text):
    """(number of its first line, text) of lines joined at a backslash."""
    joined, first = "", 1
    for number, line in enumerate(text.split("\n"), 1):
        if not joined:
            first = number
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        yield first, joined + line
        joined = ""


class Tree:
    def __init__(self, root):
        self.root = root
        text = (root / "cmake/Layers.cmake").read_text()
        self.layers = read_table(text, "EK_LAYERS")
        self.never = read_table(text, "EK_NEVER_REACHES")
        self.tops = {row.split("/")[0] for row, _ in self.layers}
        self.problems = []
        self.includes = {}  # File -> [(line, file or would-be file of ours)].

    def layer_of(self, path):
        """(row, layer, seen) of a file; longest row wins."""
        folder = os.path.dirname(path)
        best = (None, None, [])
        for row, seen in self.layers:
            layer = covers(row, folder)
            if layer and (not best[0] or row.count("/") > best[0].count("/")):
                best = (row, layer, seen)
        return best

    def report(self, path, line, message):
        self.problems.append(f"{path}:{line}: {message}")

    def files(self):
        for folder, names, files in os.walk(self.root):
            names[:] = sorted(n for n in names if n not in SKIPPED)
            for name in sorted(files):
                path = pathlib.Path(folder, name)
                if path.suffix in SUFFIXES:
                    yield path.relative_to(self.root).as_posix()

    def resolve(self, path, name):
        """The file of ours that `name` means in `path`; None if foreign.

        A quoted and an <angle> name are looked up alike: either form finds a
        file of ours when the root is on the include path.
        """
        beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
        if not beside.startswith("..") and (self.root / beside).is_file():
            return beside
        generated = re.sub(r"(\.grpc)?\.pb\.h$", ".proto", name)
        if generated != name and (self.root / "proto" / generated).is_file():
            return "proto/" + generated
        # Not necessarily there: headers may be generated.
        return name if name.split("/")[0] in self.tops else None

    def scan(self, path):
        found = self.includes.setdefault(path, [])
        if (self.root / path).is_symlink():
            self.report(path, 1, "a source file must not be a symbolic link")
        text = (self.root / path).read_text(errors="replace")
        own = path.removesuffix(".cc") + ".h"
        first = path.endswith(".cc") and (self.root / own).is_file()
        for number, line in logical_lines(text):
            directive = DIRECTIVE.match(line)
            if not directive:
                continue
            if first and directive[1].strip() != f'"{own}"':
                self.report(path, number, f'#include "{own}" comes first')
            first = False
            match = NAME.match(directive[1])
            if not match:
                self.report(path, number, "an #include must name a file, "
                            "not a macro")
                continue
            name = match[1] or match[2] or ""
            if name.startswith("/") or ".." in name.split("/"):
                self.report(path, number, f"name {name} from the root of the "
                            "repository")
            target = self.resolve(path, name)
            if target:
                found.append((number, target))

    def check_direct(self, path):
        row, layer, seen = self.layer_of(path)
        if not row:
            self.report(path, 1, f"{os.path.dirname(path) or 'the root'} has "
                        "no row in cmake/Layers.cmake")
            return
        for number, target in self.includes[path]:
            to_row, to_layer, _ = self.layer_of(target)
            if to_layer == layer or to_row in seen or "**" in seen:
                continue
            if to_row == "tests/support" and TEST_FILE.search(path):
                continue
            self.report(path, number,
                        f"{layer}/ must not include {to_layer}/: {target}")

    def check_reach(self, path):
        for row, forbidden in self.never:
            if not covers(row, os.path.dirname(path)):
                continue
            origin = {path: None}
            queue = [path]
            for file in queue:
                for _, target in self.includes.get(file, []):
                    if target not in origin:
                        origin[target] = file
                        queue.append(target)
            for file in queue[1:]:
                hit = [p for p in forbidden if covers(p, os.path.dirname(file))]
                if hit:
                    way = file
                    via = origin[file]
                    while via:
                        way = f"{via} -> {way}"
                        via = origin[via]
                    self.report(path, 1, f"{row} must not reach {hit[0]}: {way}")
                    break

    def check(self):
        for path in self.files():
            self.scan(path)
        for path in self.includes:
            self.check_direct(path)
            self.check_reach(path)
        return self.problems


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = Tree(pathlib.Path(sys.argv[1]).resolve()).check()
    print("\n".join(problems) or "includes follow the layers")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
