"""Builds the wheel and the source distribution. What pyproject.toml cannot say: the
version, which is that of the programs, and the messages, which are made from
../../proto, of which a source distribution has a copy."""

import pathlib
import re
import shutil
import sys

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import build_protos  # noqa: E402


def version() -> str:
    info = HERE / "PKG-INFO"  # Of a source distribution.
    if info.is_file():
        return re.findall(r"^Version: (.+)$", info.read_text(), re.M)[0]
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


class SdistWithProtos(sdist):
    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        protos = build_protos.repository(HERE) / "proto"
        for name in build_protos.files_below(protos):
            copy = pathlib.Path(base_dir) / "proto" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(protos / name, copy)


setup(version=version(),
      cmdclass={"build_py": BuildWithProtos, "sdist": SdistWithProtos})
