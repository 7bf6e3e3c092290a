"""The result of Client.sweep(): a row for each combination, as it ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from . import _html, _jobs
from ._connection import Connection
from ._jobs import Deadline, OnEvent
from ._proto.edgekiln.v1 import jobs_pb2, sweep_row_pb2
from ._rows import row_of
from ._status import detail_of
from ._text import format_seconds
from .errors import ErrorDetail
from .report import Report

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class SweepRow:
    cell: int    # 0, 1, 2, ... in the order of the plan.
    state: str   # "DONE", "FAILED", "REFUSED", "MERGED" or "CANCELLED".
    model: str
    target: str
    recipe: str
    values: dict[str, str | None]  # Of varied keys; None: no meaning for the target.
    report: Report | None          # Without layers; client.report(row.job) has all.
    same_as: int | None            # The cell that has the same figures or program.
    error: ErrorDetail | None
    job: str                       # Id of the cell's own job.
    stages_executed: int
    stages_hit: int
    cpu_seconds: float


@dataclass(frozen=True)
class SweepSummary:
    """Counts of cells, as far as they are known."""

    cells: int
    valid: int     # Run, or to be run.
    refused: int
    merged: int
    excluded: int
    done: int      # Of the valid ones.
    failed: int
    stages_executed: int
    stages_hit: int
    cpu_seconds: float


def sweep_row(message: sweep_row_pb2.SweepRow) -> SweepRow:
    has_same = message.WhichOneof("optional_same_as") is not None
    return row_of(
        SweepRow, message,
        values={one.key: None if one.dropped else one.value for one in message.values},
        report=Report(message.report) if message.HasField("report") else None,
        same_as=message.same_as if has_same else None,
        error=detail_of(message.error) if message.HasField("error") else None)


class SweepResult:
    """Iterating gives the rows as they come, those that were there before first.
    As a context, an unfinished sweep is cancelled at the end; Ctrl-C while waiting
    for a row cancels it, too. Otherwise the daemon goes on with it."""

    def __init__(self, connection: Connection, job_id: str, deadline: Deadline,
                 on_event: OnEvent | None = None) -> None:
        self.id = job_id
        self.keys: tuple[str, ...] = ()      # What is varied.
        self.warnings: tuple[str, ...] = ()
        self.finished = False
        self._connection = connection
        self._deadline = deadline
        self._on_event = on_event
        self._sequence = 0
        self._rows: list[SweepRow] = []
        self._summary = SweepSummary(0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0)

    def __enter__(self) -> SweepResult:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.finished:
            self.cancel()

    def __iter__(self) -> Iterator[SweepRow]:
        at = 0
        while True:
            while at < len(self._rows):
                yield self._rows[at]
                at += 1
            if self.finished:
                return
            self._wait_for_row()

    def rows(self) -> list[SweepRow]:
        """All rows, in the order of cells. Waits for the end of the sweep."""
        return sorted(self, key=lambda row: row.cell)

    def wait(self) -> SweepSummary:
        for _ in self:
            pass
        return self._summary

    @property
    def summary(self) -> SweepSummary:
        """What is known by now."""
        return self._summary

    def cancel(self) -> None:
        """Stops it; rows that were told stay."""
        self._connection.cancel(self.id)

    def to_pandas(self) -> pandas.DataFrame:
        """A row per cell; of the report, totals and memories as columns. Waits for
        the end of the sweep. Needs pandas."""
        import pandas

        return pandas.DataFrame([_flat(row) for row in self.rows()]).set_index("cell")

    def _wait_for_row(self) -> None:
        """Returns after the next row, or at the end."""
        before = len(self._rows)
        events = _jobs.follow(self._connection, self.id, self._sequence, self._deadline)
        try:
            for event in events:
                self._apply(event)
                if len(self._rows) > before:
                    return
        finally:
            events.close()
        self._finish()

    def _apply(self, event: jobs_pb2.JobEvent) -> None:
        self._sequence = event.sequence
        kind = event.WhichOneof("event")
        if kind == "planned":
            self.keys = tuple(event.planned.keys)
            self.warnings = tuple(event.planned.warnings)
            self._summary = row_of(SweepSummary, event.planned.summary)
        elif kind == "row":
            self._rows.append(sweep_row(event.row))
            self._summary = _counted(self._summary, self._rows[-1])
        if self._on_event is not None:
            self._on_event(event)

    def _finish(self) -> None:
        self.finished = True
        job = _jobs.get(self._connection, self.id, self._deadline)
        error = _jobs.job_error(job)
        if error is not None:
            raise error
        self._summary = row_of(SweepSummary, job.sweep)

    def __repr__(self) -> str:
        return (f"<SweepResult {self.id}: {len(self._rows)} of {self._summary.cells} "
                "cells>")

    def _repr_html_(self) -> str:
        state = "" if self.finished else ", not finished"
        cpu = format_seconds(self._summary.cpu_seconds)
        return (f"<div><p>{len(self._rows)} of {self._summary.cells} cells{state}; "
                f"CPU time {cpu}</p>{_html.sweep(self._rows)}</div>")


def _counted(summary: SweepSummary, row: SweepRow) -> SweepSummary:
    failed = row.state in ("FAILED", "CANCELLED")
    return replace(
        summary, done=summary.done + (row.state == "DONE"),
        failed=summary.failed + failed,
        stages_executed=summary.stages_executed + row.stages_executed,
        stages_hit=summary.stages_hit + row.stages_hit,
        cpu_seconds=summary.cpu_seconds + row.cpu_seconds)


def _flat(row: SweepRow) -> dict[str, Any]:
    made: dict[str, Any] = {"cell": row.cell, "state": row.state, "model": row.model,
                            "target": row.target, "recipe": row.recipe, **row.values}
    report = row.report
    if report is not None and row.state == "DONE":
        made.update(asdict(report.totals))
        made.update({f"memory.{use.name}": use.used_bytes
                     for use in report.memory.memories})
        if report.accuracy is not None:
            made["accuracy"] = report.accuracy.value
    made["same_as"] = row.same_as
    made["error"] = None if row.error is None else row.error.what
    return made
