"""The pytest plugin: fixtures `edgekiln` and `assert_budget`.

    def test_budget(edgekiln, assert_budget):
        report = edgekiln.profile("net.onnx", "dla-64-o-512k")
        assert_budget(report, cycles="200k", baseline="net.json", max_regression=2)

Relative names of baselines are looked for beside the test's file. `pytest
--edgekiln-update-baselines` writes them. A module of its own, because pytest loads
plugins in every run: it imports edgekiln only where a fixture is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from edgekiln import Client, Report
    from edgekiln.budget import Baseline


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("edgekiln")
    group.addoption("--edgekiln-server", metavar="ADDRESS", default=None,
                    help="the daemon of the fixture `edgekiln`; without it "
                         "EDGEKILN_SERVER, or the user's own")
    group.addoption("--edgekiln-update-baselines", action="store_true",
                    help="write the baselines of assert_budget")


@pytest.fixture(scope="session")
def edgekiln(request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client of the daemon; one for all tests."""
    from edgekiln import connect

    with connect(request.config.getoption("--edgekiln-server")) as client:
        yield client


@pytest.fixture
def assert_budget(request: pytest.FixtureRequest) -> Callable[..., None]:
    """edgekiln.assert_budget, with baselines beside the test's file."""
    from edgekiln import Report, budget

    update: bool = request.config.getoption("--edgekiln-update-baselines")
    folder = Path(request.path).parent

    def check(report: Report, *, baseline: Baseline | None = None,
              **limits: Any) -> None:
        __tracebackhide__ = True
        if baseline is not None and not isinstance(baseline, Report):
            baseline = folder / os.fspath(baseline)
            if update:
                report.save(baseline)
        budget.assert_budget(report, baseline=baseline, **limits)

    return check
