"""Report: the result of a job for one model on one target.

`Report` wraps the message edgekiln.v1.Report. Fields have the names of the
message and of `edgekiln profile --json`; proto/edgekiln/v1/report.proto says
what each one means. `Report.message` is the message itself, with what has no
attribute here.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import _html, _json
from ._proto.edgekiln.v1 import report_pb2
from ._rows import row_of
from ._text import clean, format_latency, group_digits
from .errors import EdgekilnError, usage
from .quantized import Quantization, quantization_of

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Totals:
    cycles: int             # Wall clock of the target.
    macs: int               # Per inference.
    latency_ms: float       # cycles / clock.
    dma_bytes_read: int
    dma_bytes_written: int
    fidelity: str           # "EXACT", "CYCLE_APPROXIMATE" or "ESTIMATE".
    io: str                 # The form that `cycles` is of.
    cycles_other_io: int    # The same network with the other form.
    engine_macs: int        # Of `macs`, those on engines.
    host_cycles: int        # Of `cycles`, those of host layers.
    instructions: int       # Of firmware, on the first sample.
    setup_instructions: int
    cycles_min: int         # Of firmware, over all samples.
    cycles_max: int


@dataclass(frozen=True)
class Layer:
    id: str
    name: str
    op: str
    kind: str               # "CONV", "REQUANT", "DEPTH" or "OTHER".
    subgraph: int
    engine: str             # Or the host's name.
    reason: str             # Why it runs there.
    cycles: int             # Those of all layers sum to totals.cycles.
    compute_cycles: int
    stall_cycles: int
    macs: int
    utilization: float      # Of the engine's peak, 0..1.
    sram_bytes: int
    tiles: int
    fidelity: str
    dma_bytes_read: int
    dma_bytes_written: int
    predicted_cycles: int   # The compiler's estimate of `cycles`.
    job_cycles: int
    bound_cycles: int       # Proven minimum; 0: not known.
    compulsory_bytes: int
    macs_per_byte: float
    roofline_macs_per_cycle: float


@dataclass(frozen=True)
class Engine:
    name: str
    clock_hz: int
    busy_cycles: int  # Of its own clock.
    host: bool
    bound_cycles: int


@dataclass(frozen=True)
class Kind:
    """The layers of one kind on one engine."""

    kind: str
    engine: str
    layers: int
    cycles: int
    compute_cycles: int
    stall_cycles: int
    macs: int
    tiles: int


@dataclass(frozen=True)
class MemoryUse:
    name: str
    used_bytes: int
    capacity_bytes: int


@dataclass(frozen=True)
class Memory:
    flash_bytes: int
    ram_bytes: int
    sram_peak_bytes: int
    memories: tuple[MemoryUse, ...]  # Every memory of the target.


@dataclass(frozen=True)
class Interval:
    """A share of samples and its 95 % interval, all 0..1."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Accuracy:
    metric: str
    value: float            # Of the simulated chip.
    samples: int
    reference: str          # "FLOAT" or "SOURCE_INT8".
    reference_value: float
    less_is_better: bool    # mse, mae.
    interval: Interval | None
    top5_value: float | None
    disagreement: float | None  # Share of samples with another class.


@dataclass(frozen=True)
class BitExact:
    outputs_compared: int
    mismatches: int
    first_mismatch: str


@dataclass(frozen=True)
class Stage:
    name: str
    cache: str  # "HIT", "MISS" or "MERGED".
    seconds: float
    cpu_seconds: float


class Report:
    """A report; wraps `message`, an edgekiln.v1.Report."""

    def __init__(self, message: report_pb2.Report) -> None:
        self.message = message

    @classmethod
    def load(cls, path: str | os.PathLike[str], target: str | None = None) -> Report:
        """A report out of a file that `edgekiln profile --json`, `edgekiln report
        baseline` or save() wrote. Of a list, the one of `target`."""
        reports = [cls(message) for message in _json.read_reports(path)]
        if target is not None:
            reports = [one for one in reports if one.target_name == target]
        if len(reports) != 1:
            raise _ambiguous(os.fspath(path), target, len(reports))
        return reports[0]

    def save(self, path: str | os.PathLike[str], *, baseline: bool = True) -> None:
        """Writes it as JSON. A baseline is without what differs from run to run,
        and the same bytes that `edgekiln report baseline` writes."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json(baseline=baseline))

    def to_json(self, *, baseline: bool = False) -> str:
        """As `edgekiln profile --json` prints it."""
        without = _json.RUN_FIELDS if baseline else frozenset[str]()
        return _json.to_json(self.message, without)

    @property
    def job_id(self) -> str:
        return str(self.message.job_id)

    @property
    def model_name(self) -> str:
        return str(self.message.model_name)

    @property
    def target_name(self) -> str:
        return str(self.message.target_name)

    @property
    def version(self) -> str:
        """Of edgekiln."""
        return str(self.message.version)

    @property
    def recipe(self) -> str:
        return str(self.message.recipe)

    @property
    def offload(self) -> str:
        return str(self.message.offload)

    @property
    def calibration(self) -> str:
        """"DATA", "SYNTHETIC", or "" of a model that came quantized."""
        return str(self.message.calibration)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self.message.warnings)

    @cached_property
    def totals(self) -> Totals:
        return row_of(Totals, self.message.totals)

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        return tuple(row_of(Layer, layer) for layer in self.message.layers)

    @cached_property
    def engines(self) -> tuple[Engine, ...]:
        return tuple(row_of(Engine, engine) for engine in self.message.engines)

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(row_of(Kind, kind) for kind in self.message.kinds)

    @cached_property
    def memory(self) -> Memory:
        memory = self.message.memory
        return row_of(Memory, memory, memories=tuple(
            row_of(MemoryUse, use) for use in memory.memories))

    @cached_property
    def accuracy(self) -> Accuracy | None:
        """None if nothing was validated."""
        if not self.message.HasField("accuracy"):
            return None
        accuracy = self.message.accuracy
        top5 = accuracy.WhichOneof("optional_top5_value") is not None
        return row_of(
            Accuracy, accuracy,
            interval=(row_of(Interval, accuracy.interval)
                      if accuracy.HasField("interval") else None),
            top5_value=accuracy.top5_value if top5 else None,
            disagreement=(accuracy.disagreement.interval.value
                          if accuracy.HasField("disagreement") else None))

    @cached_property
    def bit_exact(self) -> BitExact | None:
        """None if nothing was simulated."""
        if not self.message.HasField("bit_exact"):
            return None
        return row_of(BitExact, self.message.bit_exact)

    @cached_property
    def quantized(self) -> Quantization | None:
        """None unless Client.quantize made the report."""
        if not self.message.HasField("quantized"):
            return None
        return quantization_of(self.message.quantized)

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        return tuple(row_of(Stage, stage) for stage in self.message.stages)

    def layer(self, layer_id: str) -> Layer:
        """The layer of that id. KeyError if there is none."""
        for layer in self.layers:
            if layer.id == layer_id:
                return layer
        raise KeyError(layer_id)

    def rows(self) -> list[dict[str, Any]]:
        """The layers as dicts, in order."""
        return [asdict(layer) for layer in self.layers]

    def to_pandas(self) -> pandas.DataFrame:
        """The layers as a frame with their ids as index. Needs pandas."""
        import pandas

        columns = [field.name for field in fields(Layer)]
        return pandas.DataFrame(self.rows(), columns=columns).set_index("id")

    def __repr__(self) -> str:
        return (f"<Report {clean(self.model_name)} on {clean(self.target_name)}: "
                f"{group_digits(self.totals.cycles)} cycles, "
                f"{format_latency(self.totals.latency_ms)}>")

    def _repr_html_(self) -> str:
        return _html.report(self)


def _ambiguous(path: str, target: str | None, found: int) -> EdgekilnError:
    of = f" of target '{target}'" if target is not None else ""
    return usage(f"the file holds {found} reports{of}, not one", path,
                 "one report, or the name of one target",
                 "Report.load(path, target='NAME')")
