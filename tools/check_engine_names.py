#!/usr/bin/env python3
"""Fails if shared code names an engine: what knows one lives in its folders.

usage: check_engine_names.py ROOT

A name is a word of an identifier, a path or a comment ("kDlaPoolMax",
"engines/dla/", "COARSE_DLA"). Presets and help, such as "dla-64-o-512k" or
"targets show dla", are examples and may be anywhere. A test may say in a string
what a user would; what names an engine in code is that engine's own test.
"""
import os
import pathlib
import re
import sys

# Engine, as its folders are called -> further words that mean it; tests may use
# these as words of their own.
ENGINES = {"dla": ["coarse"]}

# Where an engine may be named: its own files, {} being its name.
OWN = [
    "compiler/engines/{}/",
    "proto/edgekiln/v1/engines/{}.proto",
    "simfarm/conformance/{}/",
    "simfarm/simulators/{}/",
    "target/data/",
    "target/models/{}.",
    "target/models/{}/",
    "tests/{}/",
]

# The three switches, the number that they switch on, the rows of the tests, and
# the build files that link what is behind them: lists of engines, nothing else.
LISTS = [
    "compiler/codegen/backends.cc",
    "simfarm/session/simulators.cc",
    "target/engine_models.cc",
    "proto/edgekiln/v1/target.proto",
    "compiler/CMakeLists.txt",
    "compiler/codegen/CMakeLists.txt",
    "proto/CMakeLists.txt",
    "tests/CMakeLists.txt",
    "tests/chips/CMakeLists.txt",
    "simfarm/CMakeLists.txt",
    "simfarm/conformance/CMakeLists.txt",
    "simfarm/session/CMakeLists.txt",
    "target/CMakeLists.txt",
    "tests/chips/chip_cases.cc",
    "testing/engines/backends.cc",
    "testing/engines/engine_models.cc",
    "testing/engines/simulators.cc",
    "testing/engines/CMakeLists.txt",
    # Runs a program that an engine's stream writer makes.
    "simfarm/session/session_test.cc",
]

SUFFIXES = {".h", ".cc", ".inc", ".proto", ".cmake", ".fbs", ".txt"}
SKIPPED = {"build", ".git", ".cache", "docs"}
TEST_FILE = re.compile(r"(^tests/|/testing/|(_test|_fuzz)\.\w+$)")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# A string or a comment, which a test may fill as it likes.
SAID = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*', re.S)
INCLUDE = re.compile(r"^\s*#\s*include\b.*$", re.M)


def is_source(path):
    # Of text files, those that cmake reads.
    return path.suffix in SUFFIXES and (
        path.suffix != ".txt" or path.name == "CMakeLists.txt")


def without_what_tests_say(text):
    """Strings and comments blanked, line by line; names of headers kept."""
    kept = {match.start(): match.group() for match in INCLUDE.finditer(text)}

    def blank(match):
        line = text.rfind("\n", 0, match.start()) + 1
        return match.group() if line in kept else re.sub(r"[^\n]", " ", match.group())

    return SAID.sub(blank, text)


def offenders(root):
    """(path, line number, line, engine) of each line that names an engine."""
    for folder, names, files in os.walk(root):
        names[:] = sorted(n for n in names if n not in SKIPPED)
        for file in sorted(files):
            path = pathlib.Path(folder, file)
            name = path.relative_to(root).as_posix()
            if is_source(path) and name not in LISTS:
                yield from offenders_in(name, path.read_text(errors="replace"))


def offenders_in(name, text):
    lines = text.split("\n")
    is_test = TEST_FILE.search(name) and name.endswith((".cc", ".h"))
    searched = without_what_tests_say(text) if is_test else text
    for engine, others in ENGINES.items():
        if name.startswith(tuple(own.format(engine) for own in OWN)):
            continue
        example = re.compile(rf"\b{engine}-\d[\w-]*|targets show {engine}\b")
        for number, line in enumerate(searched.split("\n")):
            words = {word.lower() for word in WORD.findall(example.sub("", line))}
            if engine in words or (not is_test and words & set(others)):
                yield name, number + 1, lines[number].strip(), engine


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = list(offenders(pathlib.Path(sys.argv[1]).resolve()))
    for name, number, line, engine in found:
        print(f"{name}:{number}: names {engine}: {line}")
    if found:
        files = len({name for name, _, _, _ in found})
        print(f"{len(found)} lines in {files} files that no engine owns")
    else:
        print("engines are named in their own files")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
