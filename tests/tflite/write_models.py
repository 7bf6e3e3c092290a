#!/usr/bin/python3
"""Writes the models of all cases into a folder: what fuzzing starts from."""

import os
import sys

from coverage import all_cases
from model import model_bytes


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    for case in all_cases():
        with open(os.path.join(sys.argv[1], case.name), "wb") as f:
            f.write(model_bytes(case))


if __name__ == "__main__":
    main()
