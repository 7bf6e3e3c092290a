"""Compares two reports, in total and by layer, as `edgekiln report diff` does."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from ._proto.edgekiln.v1 import data_pb2, report_pb2
from ._text import clean, clip_middle, format_bytes, group_digits, signed, table
from .report import Layer, Report

_NAME_WIDTH = 48


@dataclass(frozen=True)
class Quantity:
    """A total of both reports; of cycles and bytes, less is better."""

    name: str  # "cycles", "ram_bytes", "memory.flash".
    a: int
    b: int

    @property
    def change(self) -> int:
        return self.b - self.a

    @property
    def percent(self) -> float | None:
        """Of `a`; None if that is 0 and `b` is not."""
        if self.a == 0:
            return 0.0 if self.b == 0 else None
        return 100 * self.change / self.a


@dataclass(frozen=True)
class LayerChange:
    id: str
    a: Layer | None  # None: added.
    b: Layer | None  # None: removed.
    differences: tuple[str, ...]  # "engine array -> cpu", "tiles 4 -> 8".

    @property
    def change(self) -> int:
        """Of cycles."""
        return (self.b.cycles if self.b else 0) - (self.a.cycles if self.a else 0)

    @property
    def is_change(self) -> bool:
        return (self.change != 0 or bool(self.differences)
                or self.a is None or self.b is None)


@dataclass(frozen=True)
class ReportDiff:
    a: Report
    b: Report
    caveats: tuple[str, ...]  # Why the numbers may not compare.
    totals: tuple[Quantity, ...]
    layers: tuple[LayerChange, ...]  # Largest change of cycles first.

    def changed_layers(self) -> list[LayerChange]:
        return [layer for layer in self.layers if layer.is_change]

    def __str__(self) -> str:
        return "\n".join([*map(clean, self.caveats), *self._total_lines(), "",
                          *self.layer_lines()])

    def _total_lines(self) -> list[str]:
        # Skips flash, RAM and SRAM where both reports name the target's memories.
        named = any(one.name.startswith("memory.") for one in self.totals)
        unnamed = ("flash_bytes", "ram_bytes", "sram_peak_bytes")
        rows = [[clean(one.name), group_digits(one.a), group_digits(one.b),
                 signed(one.change) if one.change else "-",
                 _percent(one.percent) if one.change else "-"]
                for one in self.totals if not (named and one.name in unnamed)]
        return table(["TOTAL", "A", "B", "CHANGE", "%"], rows, {0})

    def layer_lines(self, most: int = 40) -> list[str]:
        """The changed layers as a table with at most `most` rows."""
        changed = self.changed_layers()
        if not changed:
            return ["no layer changed"]
        rows = [[clip_middle(clean(one.id), _NAME_WIDTH),
                 group_digits(one.a.cycles) if one.a else "-",
                 group_digits(one.b.cycles) if one.b else "-",
                 signed(one.change) if one.change else "-",
                 _what_else(one)] for one in changed[:most]]
        lines = table(["LAYER", "CYCLES A", "CYCLES B", "CHANGE", "WHAT ELSE"], rows,
                      {0, 4})
        if len(changed) > most:
            lines.append(f"and {len(changed) - most} more layers")
        return lines


def diff(a: Report, b: Report) -> ReportDiff:
    """What changed from `a` to `b`."""
    layers = _match_layers(a, b)
    layers.sort(key=lambda layer: (-abs(layer.change), not layer.is_change))
    return ReportDiff(a, b, tuple(_caveats(a.message, b.message)),
                      tuple(_totals(a, b)), tuple(layers))


def _totals(a: Report, b: Report) -> list[Quantity]:
    found = [Quantity(name, getattr(a.totals, name), getattr(b.totals, name))
             for name in ("cycles", "macs", "dma_bytes_read", "dma_bytes_written")]
    found += [Quantity(name, getattr(a.memory, name), getattr(b.memory, name))
              for name in ("flash_bytes", "ram_bytes", "sram_peak_bytes")]
    # Only memories that both targets have are compared.
    of_b = {use.name: use.used_bytes for use in reversed(b.memory.memories)}
    for use in a.memory.memories:
        if use.name in of_b:
            found.append(Quantity(f"memory.{use.name}", use.used_bytes,
                                  of_b.pop(use.name)))
    return found + _firmware_totals(a.message, b.message)


def _firmware_totals(a: report_pb2.Report, b: report_pb2.Report) -> list[Quantity]:
    """Only what both reports have is compared; an unbounded stack has 0 bytes."""
    found = []
    if a.totals.instructions > 0 and b.totals.instructions > 0:
        found += [Quantity(name, getattr(a.totals, name), getattr(b.totals, name))
                  for name in ("instructions", "setup_instructions")]
    if a.memory.HasField("sections") and b.memory.HasField("sections"):
        left, right = a.memory.sections, b.memory.sections
        for name in ("text", "rodata", "data", "bss", "stack"):
            one = Quantity(f"sections.{name}", getattr(left, f"{name}_bytes"),
                           getattr(right, f"{name}_bytes"))
            if name != "stack" or (one.a > 0 and one.b > 0):
                found.append(one)
    return found


def _match_layers(a: Report, b: Report) -> list[LayerChange]:
    """The layers of A in their order, then those that only B has."""
    of_b: defaultdict[str, list[Layer]] = defaultdict(list)
    for layer in b.layers:
        of_b[layer.id].append(layer)
    for same_id in of_b.values():
        same_id.reverse()
    changes = []
    for layer in a.layers:
        other = of_b[layer.id].pop() if of_b[layer.id] else None
        changes.append(LayerChange(layer.id, layer, other, _differences(layer, other)))
    left = {id(layer) for rest in of_b.values() for layer in rest}
    changes += [LayerChange(layer.id, None, layer, ()) for layer in b.layers
                if id(layer) in left]
    return changes


def _differences(a: Layer, b: Layer | None) -> tuple[str, ...]:
    """Scheduling decisions that differ; cycles are a result and not among them."""
    if b is None:
        return ()
    found = [f"{noun} {left or '-'} -> {right or '-'}" for noun, left, right in (
        ("engine", a.engine, b.engine), ("op", a.op, b.op),
        ("tiles", str(a.tiles), str(b.tiles)),
        ("SRAM", format_bytes(a.sram_bytes), format_bytes(b.sram_bytes)),
        ("subgraph", str(a.subgraph), str(b.subgraph)),
        ("MACs", group_digits(a.macs), group_digits(b.macs))) if left != right]
    if a.engine != b.engine and b.reason:
        found.append(f"because {b.reason}")
    return tuple(found)


def _what_else(one: LayerChange) -> str:
    if one.a is None and one.b is not None:
        return f"added, on {clean(one.b.engine)}"
    if one.b is None and one.a is not None:
        return f"removed, was on {clean(one.a.engine)}"
    return clean(", ".join(one.differences))


def _percent(percent: float | None) -> str:
    return "-" if percent is None else f"{percent:+.2f} %"


def _caveats(a: report_pb2.Report, b: report_pb2.Report) -> list[str]:
    found = [_unequal_digests("model", a.model_name, a.model, b.model_name, b.model),
             _unequal_digests("target", a.target_name, a.target, b.target_name,
                              b.target)]
    # Reports without these fields are older than recipes and offload.
    for noun, left, right in (
            ("recipes", a.recipe or "default", b.recipe or "default"),
            ("offload", a.offload or "all", b.offload or "all"),
            ("compilers", _compiler(a), _compiler(b)),
            ("calibration", a.calibration, b.calibration),
            ("needs of quantization", a.quantization, b.quantization),
            ("versions of edgekiln", a.version, b.version)):
        found.append(_unequal(noun, left, right))
    if _forms_differ(a.totals) or _forms_differ(b.totals):
        found.append(_unequal("forms of inputs and outputs", _io(a.totals),
                              _io(b.totals)))
    if a.HasField("accuracy") and b.HasField("accuracy"):
        if a.accuracy.metric != b.accuracy.metric:
            found.append(_unequal("metrics", a.accuracy.metric, b.accuracy.metric))
        elif a.accuracy.samples != b.accuracy.samples:
            found.append(f"accuracies of {a.accuracy.samples} and "
                         f"{b.accuracy.samples} samples")
    return [one for one in found if one]


def _unequal(noun: str, a: str, b: str) -> str:
    return "" if a == b else f"unequal {noun}: {a or 'none'} and {b or 'none'}"


def _unequal_digests(noun: str, a_name: str, a: data_pb2.Digest, b_name: str,
                     b: data_pb2.Digest) -> str:
    if a.hash == b.hash and (a.hash or a_name == b_name):
        return ""

    def shown(name: str, digest: data_pb2.Digest) -> str:
        return f"{name} ({digest.hash[:8]})" if digest.hash else name

    return f"unequal {noun}s: {shown(a_name, a)} and {shown(b_name, b)}"


def _compiler(report: report_pb2.Report) -> str:
    of = report.compiler
    return f"{of.program} {of.version} ({of.digest[:8]})" if of.program else ""


def _forms_differ(totals: report_pb2.Report.Totals) -> bool:
    """Whether the other form of inputs and outputs has other cycles."""
    return totals.cycles_other_io not in (0, totals.cycles)


def _io(totals: report_pb2.Report.Totals) -> str:
    return "--io int" if totals.io == data_pb2.IO_INTEGER else "--io float"
