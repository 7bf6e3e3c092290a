"""edgekiln: compile models for embedded accelerators, count cycles, measure
accuracy.

    import edgekiln

    with edgekiln.connect() as client:
        report = client.profile("net.onnx", "dla-64-o-512k")
        print(report.totals.cycles)
"""

from .budget import BrokenLimit, BudgetError, assert_budget
from .bundle import Bundle
from .client import Client, connect
from .diff import LayerChange, Quantity, ReportDiff, diff
from .errors import (AccessError, CancelledError, DeadlineError, EdgekilnError,
                     ErrorDetail, GateError, ModelError, ServiceError, UsageError)
from .model import ModelDescription, ModelLayer, Port
from .options import Bindings, Options, Transform
from .quantized import Quantization, QuantizedLayer
from .report import (Accuracy, BitExact, Engine, Interval, Kind, Layer, Memory,
                     MemoryUse, Report, Stage, Totals)
from .sweep import SweepResult, SweepRow, SweepSummary

__all__ = [
    "AccessError", "Accuracy", "Bindings", "BitExact", "BrokenLimit", "BudgetError",
    "Bundle", "CancelledError", "Client", "DeadlineError", "EdgekilnError", "Engine",
    "ErrorDetail", "GateError", "Interval", "Kind", "Layer", "LayerChange", "Memory",
    "MemoryUse", "ModelDescription", "ModelError", "ModelLayer", "Options", "Port",
    "Quantity", "Quantization", "QuantizedLayer", "Report", "ReportDiff",
    "ServiceError", "Stage", "SweepResult", "SweepRow", "SweepSummary", "Totals",
    "Transform", "UsageError", "assert_budget", "connect", "diff",
]
