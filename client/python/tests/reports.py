"""Reports made by hand."""

from __future__ import annotations

from edgekiln import Report
from edgekiln._proto.edgekiln.v1 import data_pb2, report_pb2


def report(cycles: dict[str, int], sram: int = 4096, model: str = "net.onnx",
           target: str = "chip") -> Report:
    """A report of layers with these cycles; a tile is 100 cycles."""
    message = report_pb2.Report(model_name=model, target_name=target)
    message.totals.cycles = sum(cycles.values())
    message.totals.latency_ms = message.totals.cycles / 500_000
    message.totals.fidelity = data_pb2.EXACT
    for layer_id, count in cycles.items():
        message.layers.add(id=layer_id, op="conv2d", engine="array", cycles=count,
                           tiles=count // 100, sram_bytes=sram)
    message.memory.sram_peak_bytes = sram
    message.memory.ram_bytes = 100
    message.memory.flash_bytes = 2048
    message.memory.memories.add(name="sram", used_bytes=sram, capacity_bytes=65536)
    return Report(message)


def validated(value: float, metric: str = "top1") -> Report:
    made = report({"a": 100})
    made.message.accuracy.metric = metric
    made.message.accuracy.value = value
    made.message.accuracy.samples = 1000
    made.message.accuracy.less_is_better = metric in ("mse", "mae")
    return Report(made.message)
