"""Builds a CreateJobRequest and collects the blobs that it refers to."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

from . import _rpc
from ._blobs import Blob, Source, file_name, open_blob
from ._connection import Connection
from ._data_sets import Data, DataSet
from ._jobs import Deadline, new_request_id
from ._proto.edgekiln.v1 import data_pb2, jobs_pb2
from ._upload import Progress, upload
from .errors import EdgekilnError, ErrorDetail, UNIMPLEMENTED, error_of, usage
from .options import (Bindings, Options, Transform, calibration_method, io_of,
                      metric_of, offload_of, set_options)


@dataclass(frozen=True)
class Settings:
    """The arguments of profile, validate, run, compile and quantize."""

    data: Data | None = None
    calibration: Data | None = None
    calibration_method: str = ""
    recipe: str = ""
    offload: str = ""
    io: str = ""
    seed: int | None = None
    limit: int | None = None
    transforms: Sequence[Transform] = ()
    options: Options = field(default_factory=Options)
    # Only compile.
    name: str = ""
    # Only profile.
    timing_only: bool = False
    hot_spots: bool = False
    # Only validate.
    metric: str = ""
    confusion: bool = False
    label_offset: int = 0
    # Only quantize.
    labelled: bool = False
    export_onnx: bool = False

    @property
    def needs_labels(self) -> bool:
        return self.labelled or self.confusion or self.metric in ("top1", "top5", "auc")


class Request:
    """A request and its blobs. A context manager: removes temporary files."""

    def __init__(self, connection: Connection, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline
        self._data_sets: list[DataSet] = []
        self.blobs: list[Blob] = []

    def __enter__(self) -> Request:
        return self

    def __exit__(self, *_: object) -> None:
        for data_set in self._data_sets:
            data_set.close()

    def add(self, source: Source, argument: str) -> data_pb2.Digest:
        blob = open_blob(source, argument)
        self.blobs.append(blob)
        return blob.digest.message()

    def add_data(self, data: Data, argument: str,
                 labels_needed: bool = False) -> list[Blob]:
        data_set = DataSet(data, argument, labels_needed)
        self._data_sets.append(data_set)
        self.blobs += data_set.blobs
        return data_set.blobs

    def upload(self, progress: Progress | None = None) -> None:
        upload(self._connection, self.blobs, self._deadline.at, progress)

    def job(self, goal: jobs_pb2.JobGoal, model: Source, target: Source | None,
            settings: Settings) -> jobs_pb2.CreateJobRequest:
        options = settings.options
        request = jobs_pb2.CreateJobRequest(
            request_id=new_request_id(), model_name=file_name(model), goals=[goal])
        _set_job_options(settings, request.options)
        # Opens all files before the first call to the daemon.
        request.model.CopyFrom(self.add(model, "model"))
        request.bindings.CopyFrom(self.bindings(options.bindings))
        for transform in settings.transforms:
            request.transforms.append(transform.message())
        if settings.calibration is not None:
            for blob in self.add_data(settings.calibration, "calibration"):
                request.calibration.files.append(blob.digest.message())
        if settings.data is not None:
            for blob in self.add_data(settings.data, "data", settings.needs_labels):
                request.data.files.append(blob.digest.message())
        if options.supersede:
            # Keeps the slots of different users apart.
            request.slot.client = f"{os.getuid()}@{socket.gethostname()[:64]}"
            request.slot.name = options.supersede
        if target is not None:
            request.targets.append(self.target(target, settings.recipe))
        return request

    def target(self, target: Source, recipe: str = "") -> jobs_pb2.TargetRef:
        """A chip by name, the path of a descriptor, or its text as bytes."""
        if names_file(target):
            return jobs_pb2.TargetRef(name=target_name(target),
                                      digest=self.add(target, "target"))
        info = self._connection.call(
            _rpc.GET_TARGET, jobs_pb2.GetTargetRequest(name=str(target), recipe=recipe),
            deadline=self._deadline.at)
        if recipe and not info.recipes:
            raise too_old(f"recipe {recipe}")
        return jobs_pb2.TargetRef(name=info.name, digest=info.digest)

    def bindings(self, bindings: Bindings) -> jobs_pb2.ModelBindings:
        made = jobs_pb2.ModelBindings()
        for name, extent in bindings.dimensions.items():
            if extent < 1:
                raise usage(f"'{name}' is bound to {extent}", "bindings: dimensions",
                            "an extent of at least 1")
            made.dimensions.add(name=name, extent=extent)
        for name, path in bindings.inputs.items():
            made.inputs.add(name=name, digest=self.add(path, "bindings: inputs"))
        for name, path in bindings.external_data.items():
            made.external_data.add(name=name,
                                   digest=self.add(path, "bindings: external_data"))
        return made


def names_file(target: Source) -> bool:
    """Same rule as for --target on the command line."""
    if isinstance(target, bytes) or not isinstance(target, str):
        return True
    return ("/" in target or target.endswith((".txtpb", ".textproto"))
            or os.path.exists(target))


def target_name(target: Source) -> str:
    if isinstance(target, bytes):
        return "target"
    return file_name(target).removesuffix(".txtpb").removesuffix(".textproto")


def too_old(what: str) -> EdgekilnError:
    return error_of(ErrorDetail(
        what=f"the daemon does not know: {what}", where=what, fault="INFRA",
        need="a daemon of this package's version", fix="update the daemon",
        reason="DAEMON_TOO_OLD", code=UNIMPLEMENTED))


def _set_job_options(settings: Settings, out: jobs_pb2.JobOptions) -> None:
    set_options(settings.options, out)
    if settings.options.accuracy_budget is not None and settings.calibration is None:
        raise usage("accuracy_budget needs calibration", "options: accuracy_budget",
                    "samples on which the quantized and the float network are compared")
    if settings.calibration_method:
        out.calibrate.CopyFrom(calibration_method(settings.calibration_method))
    if settings.offload:
        out.offload = offload_of(settings.offload)
    if settings.io:
        out.io = io_of(settings.io)
    if settings.metric:
        out.metric = metric_of(settings.metric)
    out.recipe = settings.recipe
    out.name = settings.name
    out.seed = _count("seed", settings.seed)
    out.limit = _count("limit", settings.limit)
    out.label_offset = settings.label_offset
    out.timing_only = settings.timing_only
    out.hot_spots = settings.hot_spots
    out.confusion = settings.confusion
    out.export_onnx = settings.export_onnx


def _count(argument: str, value: int | None) -> int:
    if value is None:
        return 0
    if not 0 < value < 1 << 63:
        raise usage(f"{value} is out of range", argument, "1 or more")
    return value
