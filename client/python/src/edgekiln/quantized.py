"""What a quantized network costs, layer by layer: `Report.quantized`.

Fields have the names of edgekiln.v1.QuantizationReport and QuantizedLayer;
proto/edgekiln/v1/quantization.proto says what each one means. Ratios of signal
to noise are in decibels, and None where nothing was measured or nothing differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._proto.edgekiln.v1 import quantization_pb2
from ._rows import row_of


@dataclass(frozen=True)
class QuantizedLayer:
    id: str
    op: str
    is_float: bool
    reason: str             # Why it stayed float.
    weights: str            # "INT8", "INT4", ..; "WEIGHTS_UNSPECIFIED" without any.
    per_tensor: bool
    channels_per_scale: int
    rounding: str
    weight_sqnr_db: float | None
    worst_channel: int      # The output channel whose weights lost most.
    worst_channel_sqnr_db: float | None
    clipped_weights: float  # Share.
    adapted_weights: float  # Share that is not rounded to nearest.
    seen_low: float         # Of the result: all that calibration saw.
    seen_high: float
    range_low: float        # What its integers can hold.
    range_high: float
    scale: float
    zero_point: int
    saturated: float        # Share of values outside of the range.
    output_sqnr_db: float | None   # Of the result: what all up to here cost.
    network_sqnr_db: float | None  # Of the output, if only this one is quantized.
    converter: bool         # Sums become results by the engine's converter.
    accumulator_bits: int   # That hold sums of products; 0: 32.
    scale_growth: float     # The most that a scale of weights grew for that; 0: none.


@dataclass(frozen=True)
class Quantization:
    layers: tuple[QuantizedLayer, ...]  # In the order of the graph.
    samples: int                        # That figures are measured on.
    output_sqnr_db: float | None        # Of the network's first output.
    notes: tuple[str, ...]
    requantized: str                    # Why a quantized model was quantized anew.


def quantization_of(message: quantization_pb2.QuantizationReport) -> Quantization:
    return row_of(
        Quantization, message, notes=tuple(message.notes),
        layers=tuple(_layer_of(layer) for layer in message.layers),
        output_sqnr_db=_optional(message, "output_sqnr_db"))


def _layer_of(message: quantization_pb2.QuantizedLayer) -> QuantizedLayer:
    names = ("weight_sqnr_db", "worst_channel_sqnr_db", "output_sqnr_db",
             "network_sqnr_db")
    return row_of(QuantizedLayer, message,
                  **{name: _optional(message, name) for name in names})


def _optional(message: Any, name: str) -> float | None:
    if message.WhichOneof(f"optional_{name}") is None:
        return None
    return float(getattr(message, name))
