"""Builds a source distribution and the wheel out of it, installs that into a fresh
environment without a network, and runs the tests there.

usage: run_tests.py SOURCE BIN SHARED [PYTEST-ARGUMENT...]

SOURCE is the clone, BIN the folder of the programs, SHARED that of models. Runs
with Debian's Python, which has the packages of tools/install_packages. Exit code
77, which ctest shows as skipped, where one is absent; with CI=true that is a
failure.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

NEEDED = {"grpc": "python3-grpcio", "google.protobuf": "python3-protobuf",
          "numpy": "python3-numpy", "pandas": "python3-pandas",
          "pytest": "python3-pytest", "build": "python3-build", "wheel": "python3-wheel",
          "setuptools": "python3-setuptools", "mypy": "mypy",
          "ensurepip": "python3-venv"}


def absent() -> list[str]:
    packages = []
    for module, package in NEEDED.items():
        try:
            found = importlib.util.find_spec(module) is not None
        except ModuleNotFoundError:
            found = False
        if not found:
            packages.append(package)
    if shutil.which("protoc") is None:
        packages.append("protobuf-compiler")
    return packages


def build_wheel(source: pathlib.Path, scratch: pathlib.Path) -> pathlib.Path:
    """Out of a source distribution. In a copy: setuptools writes beside its sources."""
    copy = scratch / "clone/client/python"
    shutil.copytree(source / "client/python", copy)
    (scratch / "clone/proto").symlink_to(source / "proto")
    shutil.copy(source / "CMakeLists.txt", scratch / "clone")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir",
         str(scratch / "dist"), str(copy)], check=True, stdout=subprocess.DEVNULL)
    [wheel] = (scratch / "dist").glob("*.whl")
    return wheel


def install(wheel: pathlib.Path, environment: pathlib.Path) -> pathlib.Path:
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages",
                    str(environment)], check=True)
    python = environment / "bin/python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index",
                    "--no-deps", str(wheel)], check=True)
    return python


def copy_programs(programs: pathlib.Path, scratch: pathlib.Path) -> pathlib.Path:
    """A build that replaces the programs must not restart the daemons of tests."""
    copies = scratch / "bin"
    copies.mkdir()
    for name in ("edgekiln", "edgekilnd", "edgekiln-worker"):
        if (programs / name).exists():
            shutil.copy2(programs / name, copies)
    return copies


def main() -> int:
    # Shells start background jobs with SIGINT ignored, which children inherit.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    source, programs, shared = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
    missing = absent()
    if missing:
        print("SKIPPED: absent:", *missing)
        return 1 if os.environ.get("CI") == "true" else 77
    with tempfile.TemporaryDirectory(prefix="ek-") as name:
        scratch = pathlib.Path(name)
        python = install(build_wheel(source, scratch), scratch / "venv")
        environment = {**os.environ, "EDGEKILN_SOURCE": str(source),
                       "EDGEKILN_BIN": str(copy_programs(programs, scratch)),
                       "EDGEKILN_SHARED": str(shared),
                       "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("EDGEKILN_SERVER", None)
        environment.pop("PYTHONPATH", None)
        return subprocess.run(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs",
             str(source / "client/python/tests"), *sys.argv[4:]],
            cwd=scratch, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
