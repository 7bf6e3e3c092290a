"""The installed wheel: contents, types, and the examples of README.md and
docs/python.md. run_tests.py installs it."""

from __future__ import annotations

import doctest
import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass

import pytest
from conftest import need
from test_local_daemon import home  # noqa: F401

import edgekiln

PACKAGE = pathlib.Path(edgekiln.__file__).parent


def test_it_is_the_wheel_that_is_tested(source: pathlib.Path) -> None:
    assert PACKAGE.is_relative_to(sys.prefix)
    for path in (source / "client/python/src/edgekiln").glob("*.py"):
        assert (PACKAGE / path.name).read_bytes() == path.read_bytes(), path.name
    assert (PACKAGE / "py.typed").exists()


def test_metadata(source: pathlib.Path, bin_folder: pathlib.Path) -> None:
    version = subprocess.run([bin_folder / "edgekiln", "--version"], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    assert importlib.metadata.version("edgekiln") in version
    [plugin] = importlib.metadata.entry_points(group="pytest11", name="edgekiln")
    assert plugin.value == "pytest_edgekiln"


Mypy = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> Mypy:
    pytest.importorskip("mypy")
    cache = tmp_path_factory.mktemp("cache")

    def run(*arguments: str, cwd: pathlib.Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mypy", "--cache-dir", str(cache), *arguments],
            cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=100)

    return run


def test_mypy_is_clean(mypy: Mypy, source: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """In a copy, because mypy skips errors in site-packages."""
    shutil.copytree(PACKAGE, tmp_path / "edgekiln")
    shutil.copy(PACKAGE.parent / "pytest_edgekiln.py", tmp_path)
    done = mypy("--strict", "--config-file",
                str(source / "client/python/pyproject.toml"), "-p", "edgekiln",
                "-m", "pytest_edgekiln", cwd=tmp_path)
    assert done.returncode == 0, done.stdout


USER = """
import edgekiln
import numpy as np

client = edgekiln.connect()
report = client.profile("net.onnx", b"bytes", recipe="serial")
cycles: int = report.totals.cycles
names: list[str] = [layer.id for layer in report.layers]
value: float = report.accuracy.value if report.accuracy else 0.0
outputs = client.run("net.onnx", {"x": np.zeros(3)})
sizes: dict[str, int] = dict(client.compile("net.onnx", "chip").files)
quantized = client.quantize("net.onnx", output="net_int8.onnx").quantized
lost: float | None = quantized.layers[0].output_sqnr_db if quantized else None
for row in client.sweep(["a", "b"], "dla-*", vary={"pes": [1, 2]}):
    print(row.cell + 1, row.report)
"""
# Each has an error, and no other line.
WRONG = ("report.totals.cycles = 3", "report.cycles", "client.profile(3, 4)",
         "client.profile('a', 'b', recipes='x')", "row.target + 1")


def test_types_that_a_user_sees(mypy: Mypy, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(USER)
    done = mypy("--strict", str(program), cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    program.write_text(USER + "".join(f"    {line}\n" for line in WRONG))
    done = mypy("--strict", str(program), cwd=tmp_path)
    first = USER.count("\n") + 1
    wrong = {int(line) for line in re.findall(r"program.py:(\d+): error", done.stdout)}
    assert wrong == set(range(first, first + len(WRONG))), done.stdout


@pytest.mark.parametrize("page", ["client/python/README.md", "docs/python.md"])
def test_examples(page: str, source: pathlib.Path, home: pathlib.Path,  # noqa: F811
                  monkeypatch: pytest.MonkeyPatch) -> None:
    """The first example starts the local daemon."""
    folder = home / "example"
    shutil.copytree(source / "docs/example", folder)
    monkeypatch.chdir(folder)
    result = doctest.testfile(str(need(source / page)), module_relative=False,
                              optionflags=doctest.ELLIPSIS)
    assert result.failed == 0 and result.attempted > 5


def test_every_field_is_documented(source: pathlib.Path) -> None:
    """docs/python.md has a table row with all fields of each class."""
    text = (source / "docs/python.md").read_text()
    documented: dict[str, set[str]] = {}
    for line in text.split("\n"):
        if match := re.match(r"\| `(\w+)` \|(.*)", line):
            documented.setdefault(match.group(1), set()).update(
                re.findall(r"`(\w+)`", match.group(2)))
    for name in edgekiln.__all__:
        kind = getattr(edgekiln, name)
        if is_dataclass(kind):
            expected = {field.name for field in fields(kind)}
            assert documented.get(name, set()) >= expected, (
                f"docs/python.md, {name}: {expected - documented.get(name, set())}")


def test_every_public_name_is_documented(source: pathlib.Path) -> None:
    text = (source / "docs/python.md").read_text()
    missing = [name for name in edgekiln.__all__ if f"`{name}" not in text
               and f"edgekiln.{name}" not in text]
    assert not missing


def test_no_file_is_too_long(source: pathlib.Path) -> None:
    for folder in ("src/edgekiln", "tests", "."):
        for path in (source / "client/python" / folder).glob("*.py"):
            assert path.read_text().count("\n") <= 400, path


def test_import_is_small() -> None:
    """Neither pandas, numpy nor a daemon is needed, and the plugin, which pytest
    imports in every run, does not import the package."""
    code = ("import sys; sys.modules['pandas'] = sys.modules['numpy'] = None\n"
            "import pytest_edgekiln; assert 'edgekiln' not in sys.modules\n"
            "import edgekiln; edgekiln.connect('localhost:1')")
    subprocess.run([sys.executable, "-c", code], check=True, env={
        **os.environ, "PATH": "/nowhere"})
