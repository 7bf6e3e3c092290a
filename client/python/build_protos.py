"""Makes the modules of edgekiln._proto from the repository's .proto files.

`descriptors.pb` holds the files as protoc understood them. For each of them
there is a module that takes its messages from there (edgekiln/_proto/_pool.py),
and a stub with type hints. protoc's own Python modules are not used: they put
google/rpc/status.proto and others into the pool of the whole process, where
another package may have a different edition of the same file.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# What a client needs; what these import comes along.
ROOTS = (
    "build/bazel/remote/execution/v2/remote_execution.proto",
    "edgekiln/v1/jobs.proto",
    "edgekiln/v1/report_diff.proto",
    "google/bytestream/bytestream.proto",
    "google/rpc/error_details.proto",
    "google/rpc/status.proto",
)
PACKAGE = "edgekiln._proto"

MODULE = '''\
# Made by build_protos.py.
from {package}._pool import messages_of

globals().update(messages_of("{file}"))
'''


def repository(here: pathlib.Path) -> pathlib.Path:
    """The clone that the package's source lies in, or the source distribution."""
    for folder in (here, *here.parents):
        if (folder / "proto/edgekiln/v1/jobs.proto").is_file():
            return folder
    raise SystemExit("build inside a clone: ../../proto is needed")


def protoc() -> list[str]:
    program = shutil.which("protoc")
    if program is not None:
        return [program]
    try:
        import grpc_tools.protoc  # noqa: F401
    except ImportError:
        raise SystemExit("protoc is missing: install protobuf-compiler, or "
                         "grpcio-tools with pip") from None
    return [sys.executable, "-m", "grpc_tools.protoc"]


def files_below(protos: pathlib.Path) -> list[str]:
    """ROOTS and the files of ours that they import, sorted."""
    found: set[str] = set()
    left = list(ROOTS)
    while left:
        name = left.pop()
        if name in found or not (protos / name).is_file():
            continue
        found.add(name)
        left += re.findall(r'^import "([^"]+)";', (protos / name).read_text(), re.M)
    return sorted(found)


def module_path(name: str) -> str:
    return name.removesuffix(".proto") + "_pb2"


def rewrite_imports(stub: str, files: list[str]) -> str:
    """Stubs of protoc import each other from the root of all modules."""
    ours = {module_path(name) for name in files}

    def local(match: re.Match[str]) -> str:
        package, module = match.group(1), match.group(2)
        if f"{package.replace('.', '/')}/{module}" not in ours:
            return match.group(0)
        return f"from {PACKAGE}.{package} import {module}"

    return re.sub(r"^from ([\w.]+) import (\w+)", local, stub, flags=re.M)


def generate(protos: pathlib.Path, out: pathlib.Path) -> None:
    files = files_below(protos)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(
            [*protoc(), f"-I{protos}", f"--pyi_out={scratch}", "--include_imports",
             f"--descriptor_set_out={out / 'descriptors.pb'}", *files], check=True)
        for name in files:
            path = out / f"{module_path(name)}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(MODULE.format(package=PACKAGE, file=name))
            stub = (pathlib.Path(scratch) / f"{module_path(name)}.pyi").read_text()
            # Their base classes are Google's, which have no hints in Debian 12.
            path.with_suffix(".pyi").write_text(
                "# mypy: ignore-errors\n" + rewrite_imports(stub, files))
    for folder, _, _ in os.walk(out):
        (pathlib.Path(folder) / "__init__.py").touch()
