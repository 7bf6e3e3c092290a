#!/usr/bin/python3
"""Writes the graphs that tests hold as text into a folder: what fuzzing of
graphs starts from."""

import pathlib
import re
import sys


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for test in sorted(root.glob("*/*_test.cc")):
        texts = re.findall(r'R"\(\n?(%.*?)\)"', test.read_text(), re.DOTALL)
        for number, text in enumerate(texts):
            (folder / f"{test.stem}-{number}").write_text(text)


if __name__ == "__main__":
    main()
