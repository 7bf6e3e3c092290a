"""Builds a SweepRequest and collects the blobs that it refers to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from ._blobs import Source
from ._proto.edgekiln.v1 import sweep_pb2
from ._request import Request, Settings, names_file, target_name
from .errors import usage
from .options import (calibration_method, choice, io_of, metric_of, offload_of,
                      read_quantization)

Several = Union[Source, Sequence[Source]]
Value = Union[str, int, float]
_GOALS = {"profile": sweep_pb2.SWEEP_PROFILE, "timing": sweep_pb2.SWEEP_TIMING,
          "validate": sweep_pb2.SWEEP_VALIDATE}


@dataclass(frozen=True)
class Axes:
    models: Several
    targets: Several
    recipes: Sequence[str]
    vary: Mapping[str, Sequence[Value]]
    exclude: Sequence[Mapping[str, str]]
    goal: str


def sweep_request(request: Request, axes: Axes,
                  settings: Settings) -> sweep_pb2.SweepRequest:
    made = sweep_pb2.SweepRequest()
    group = made.groups.add(goal=choice("goal", axes.goal, _GOALS),
                            recipes=list(axes.recipes))
    _set_options(settings, group.options)
    common = _common(request, axes, settings)
    models = _several(axes.models)
    for source, name in zip(models, _names(models)):
        model = group.models.add()
        model.CopyFrom(common)
        model.name = name
        model.digest.CopyFrom(request.add(source, "models"))
    for target in _several(axes.targets):
        _add_target(request, target, group.targets.add())
    for key, values in axes.vary.items():
        _add_vary(key, values, group.vary.add())
    for conditions in axes.exclude:
        exclude = group.exclude.add()
        for key, value in conditions.items():
            exclude.when.add(key=key, value=value)
    _set_budget(settings, group)
    return made


def _several(given: Several) -> list[Source]:
    if isinstance(given, (str, bytes, os.PathLike)):
        return [given]
    return list(given)


def _common(request: Request, axes: Axes, settings: Settings) -> sweep_pb2.SweepModel:
    """The fields that all models of the sweep share."""
    common = sweep_pb2.SweepModel(label_offset=settings.label_offset)
    for transform in settings.transforms:
        common.transforms.append(transform.message())
    if settings.calibration is not None:
        for blob in request.add_data(settings.calibration, "calibration"):
            common.calibration.add(file=blob.shown, digest=blob.digest.message())
    if settings.data is not None:
        labels = axes.goal == "validate" and settings.needs_labels
        for blob in request.add_data(settings.data, "data", labels):
            common.data.add(file=blob.shown, digest=blob.digest.message())
    return common


def _names(models: Sequence[Source]) -> list[str]:
    """The stem of the file where it is unique, else the path."""
    names = []
    for i, model in enumerate(models, 1):
        names.append(f"model-{i}" if isinstance(model, bytes) else Path(model).stem)
    return [name if names.count(name) == 1 else str(model)
            for name, model in zip(names, models)]


def _add_target(request: Request, target: Source, out: sweep_pb2.SweepTarget) -> None:
    is_pattern = isinstance(target, str) and "*" in target
    if is_pattern or not names_file(target):
        out.name = str(target)
        return
    out.name = target_name(target)
    out.file = "<bytes>" if isinstance(target, bytes) else os.fspath(target)
    out.digest.CopyFrom(request.add(target, "targets"))


def _add_vary(key: str, values: Sequence[Value], out: sweep_pb2.SweepVary) -> None:
    if isinstance(values, str) or not values:
        raise usage(f"'{key}' has no values to vary", "vary",
                    "a sequence of values", "write for example vary={'pes': [16, 32]}")
    out.key = key
    out.values.extend(str(value) for value in values)
    if key == "quantization":
        for value in values:
            config = out.quantizations.add()
            if value != "default":
                config.CopyFrom(read_quantization(str(value)))


def _set_options(settings: Settings, out: sweep_pb2.SweepOptions) -> None:
    if settings.offload:
        out.offload = offload_of(settings.offload)
    if settings.io:
        out.io = io_of(settings.io)
    if settings.metric:
        out.metric = metric_of(settings.metric)
    if settings.calibration_method:
        out.calibrate.CopyFrom(calibration_method(settings.calibration_method))
    out.seed = settings.seed or 0
    out.limit = settings.limit or 0
    if settings.options.quantization is not None:
        out.quantization.CopyFrom(read_quantization(settings.options.quantization))


def _set_budget(settings: Settings, group: sweep_pb2.SweepGroup) -> None:
    """Sets the budget in every varied quantization, else in the common one."""
    if settings.options.accuracy_budget is None:
        return
    ppm = round(settings.options.accuracy_budget * 1e4)
    varied = [config for vary in group.vary for config in vary.quantizations]
    for config in varied or [group.options.quantization]:
        config.accuracy_budget_ppm = ppm
