"""Options of jobs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, Union

from ._proto.edgekiln.v1 import data_pb2, firmware_pb2, jobs_pb2, quantization_pb2
from .errors import EdgekilnError, usage

Path = Union[str, "os.PathLike[str]"]
ChosenT = TypeVar("ChosenT")
_OFFLOADS = {"all": data_pb2.ALL, "paying": data_pb2.PAYING, "none": data_pb2.NONE}
_IO_FORMS = {"int": data_pb2.IO_INTEGER, "float": data_pb2.IO_FLOAT}
_CLASSES = {"interactive": jobs_pb2.INTERACTIVE, "ci": jobs_pb2.CI,
            "batch": jobs_pb2.BATCH}
_COMPILERS = {"gcc": firmware_pb2.GCC, "clang": firmware_pb2.CLANG,
              "none": firmware_pb2.NO_COMPILER}
_METHODS = {"minmax": data_pb2.CalibrateOptions.MIN_MAX,
            "moving-average": data_pb2.CalibrateOptions.MOVING_AVERAGE,
            "mse": data_pb2.CalibrateOptions.MSE,
            "kl": data_pb2.CalibrateOptions.KL,
            "output-mse": data_pb2.CalibrateOptions.OUTPUT_MSE}
_ORDERS = {"rgb": data_pb2.InputTransform.RGB, "bgr": data_pb2.InputTransform.BGR}
_LAYOUTS = {"nhwc": data_pb2.InputTransform.NHWC, "nchw": data_pb2.InputTransform.NCHW}
_METRICS = {"top1": data_pb2.METRIC_TOP1, "top5": data_pb2.METRIC_TOP5,
            "mse": data_pb2.METRIC_MSE, "auc": data_pb2.METRIC_AUC,
            "mae": data_pb2.METRIC_MAE, "cosine": data_pb2.METRIC_COSINE,
            "agreement": data_pb2.METRIC_AGREEMENT}
_MAX_QUANTIZATION_BYTES = 256 << 10


@dataclass(frozen=True)
class Transform:
    """How stored samples become one input of the model:
    real = x * scale + offset, as docs/data_sets.md says."""

    input: str = ""  # Of the model; empty: its only one.
    scale: float | Sequence[float] = ()   # One, or one per channel.
    offset: float | Sequence[float] = ()  # The same.
    order: str = ""   # "rgb" or "bgr": what the network expects of RGB data.
    layout: str = ""  # "nhwc" or "nchw": of the stored data.

    def message(self) -> data_pb2.InputTransform:
        made = data_pb2.InputTransform(
            input=self.input, scale=_numbers("scale", self.scale),
            offset=_numbers("offset", self.offset))
        if self.order:
            made.order = choice("order", self.order, _ORDERS)
        if self.layout:
            made.layout = choice("layout", self.layout, _LAYOUTS)
        return made


@dataclass(frozen=True)
class Bindings:
    """Values for what an ONNX model leaves open."""

    dimensions: Mapping[str, int] = field(default_factory=dict)  # Symbol: extent.
    inputs: Mapping[str, Path] = field(default_factory=dict)  # Become constants.
    external_data: Mapping[str, Path] = field(default_factory=dict)  # By location.


@dataclass(frozen=True)
class Options:
    """Rarely needed options. The command line has the same under the same names."""

    compiler: str = ""  # "gcc", "clang" or "none", for targets that run C.
    quantization: Path | None = None  # A QuantizationConfig in text form.
    accuracy_budget: float | None = None  # Points of 100.
    job_class: str = ""  # "interactive", "ci" or "batch".
    supersede: str = ""  # Cancels the caller's unfinished jobs of the same key.
    queue_timeout: float | None = None  # Seconds of waiting for a worker.
    run_timeout: float | None = None  # Seconds after a worker began.
    bindings: Bindings = Bindings()


def choice(argument: str, value: str, known: Mapping[str, ChosenT]) -> ChosenT:
    if value not in known:
        raise usage(f"'{value}' is not known", argument,
                    "one of: " + ", ".join(known), "use one of these")
    return known[value]


def offload_of(value: str) -> data_pb2.Offload:
    return choice("offload", value, _OFFLOADS)


def io_of(value: str) -> data_pb2.IoForm:
    return choice("io", value, _IO_FORMS)


def metric_of(value: str) -> data_pb2.Metric:
    return choice("metric", value, _METRICS)


def calibration_method(value: str) -> data_pb2.CalibrateOptions:
    """minmax, percentile, percentile:P, moving-average, mse, kl or output-mse."""
    if value in _METHODS:
        return data_pb2.CalibrateOptions(method=_METHODS[value])
    name, colon, text = value.partition(":")
    try:
        percent = float(text) if colon else 99.99
    except ValueError:
        percent = math.nan
    if name != "percentile" or not 50 < percent <= 100:
        raise usage(f"'{value}' is not a calibration method", "calibration_method",
                    "percentile, percentile:P with P above 50 and at most 100, "
                    + ", ".join(_METHODS), "write for example percentile:99.9")
    return data_pb2.CalibrateOptions(method=data_pb2.CalibrateOptions.PERCENTILE,
                                     percentile_ppm=round(percent * 1e4))


def set_options(options: Options, out: jobs_pb2.JobOptions) -> None:
    """Sets all but supersede and bindings, which are fields of the request."""
    usual = "interactive" if options.supersede else "ci"
    out.job_class = choice("job_class", options.job_class or usual, _CLASSES)
    if options.compiler:
        out.compiler = choice("compiler", options.compiler, _COMPILERS)
    if options.quantization is not None:
        out.quantization.CopyFrom(read_quantization(options.quantization))
    if options.accuracy_budget is not None:
        out.quantization.accuracy_budget_ppm = _budget_ppm(options.accuracy_budget)
    for seconds, deadline, name in (
            (options.queue_timeout, out.queue_deadline, "queue_timeout"),
            (options.run_timeout, out.run_deadline, "run_timeout")):
        if seconds is not None:
            if not 0 < seconds <= 30 * 24 * 3600:
                raise usage(f"{seconds} is not a time span", name,
                            "more than 0 and at most 30 days, in seconds")
            deadline.FromMicroseconds(round(seconds * 1e6))


def read_quantization(path: Path) -> quantization_pb2.QuantizationConfig:
    from google.protobuf import text_format

    shown = os.fspath(path)
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_QUANTIZATION_BYTES + 1)
    except OSError as error:
        raise usage("the file cannot be read", f"quantization {shown}",
                    error.strerror or "", "check the path") from None
    if len(data) > _MAX_QUANTIZATION_BYTES:
        raise usage("the file is too large", f"quantization {shown}", "256 KiB at most")
    config = quantization_pb2.QuantizationConfig()
    try:
        text_format.Parse(data.decode(), config)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise usage(f"the file is not a quantization config: {error}", shown,
                    "edgekiln.v1.QuantizationConfig in text form",
                    "see docs/quantization.md") from None
    return config


def _budget_ppm(points: float) -> int:
    if not 0.0001 <= points <= 100:
        raise usage(f"{points} is not a budget of accuracy", "accuracy_budget",
                    "points of 100, from 0.0001 on", "write for example 0.5")
    return round(points * 1e4)


def _numbers(name: str, value: float | Sequence[float]) -> list[float]:
    numbers = [float(value)] if isinstance(value, (int, float)) else [
        float(one) for one in value]
    if any(not math.isfinite(one) or (name == "scale" and one == 0)
           for one in numbers):
        raise _bad_number(name)
    return numbers


def _bad_number(name: str) -> EdgekilnError:
    need = "finite numbers, none of them 0" if name == "scale" else "finite numbers"
    return usage(f"a {name} cannot be used", f"transforms: {name}", need)
