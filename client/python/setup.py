"""Builds the wheel. What pyproject.toml cannot say: the version, which is that
of the programs, and the messages, which are made from ../../proto."""

import pathlib
import re

from setuptools import setup
from setuptools.command.build_py import build_py

import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import build_protos  # noqa: E402


def version() -> str:
    text = (build_protos.repository(HERE) / "CMakeLists.txt").read_text()
    found = re.search(r"project\(edgekiln VERSION ([0-9.]+)", text)
    if found is None:
        raise SystemExit("CMakeLists.txt does not state the version")
    return found.group(1)


class BuildWithProtos(build_py):
    def run(self) -> None:
        super().run()
        build_protos.generate(
            build_protos.repository(HERE) / "proto",
            pathlib.Path(self.build_lib) / "edgekiln" / "_proto")


setup(version=version(), cmdclass={"build_py": BuildWithProtos})
