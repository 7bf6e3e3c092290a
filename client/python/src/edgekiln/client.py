"""connect() and Client: the calls of the package."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _arrays, _jobs, _rpc
from ._address import VARIABLE, grpc_target
from ._blobs import Digest, Source, file_name, open_blob
from ._connection import Connection, Patience
from ._data_sets import Data
from ._download import check_size, digest_of, download_to, whole
from ._jobs import Deadline, OnEvent
from ._local_daemon import LocalDaemon
from ._output import check_output, write_files
from ._proto.edgekiln.v1 import jobs_pb2, report_pb2
from ._request import Request, Settings, too_old
from ._sweep_request import Axes, Several, Value, sweep_request
from ._upload import Progress, upload
from .bundle import Bundle
from .errors import INTERNAL, ErrorDetail, GateError, error_of, usage
from .model import ModelDescription
from .options import Bindings, Options, Transform, set_options
from .report import Report
from .sweep import SweepResult

if TYPE_CHECKING:
    from ._arrays import Array


def connect(address: str | None = None, *, timeout: float | None = None,
            program: str | None = None) -> Client:
    """A client of the daemon at HOST:PORT, unix:/PATH or /PATH. Without an address
    it is that of EDGEKILN_SERVER; without that, the daemon that the user runs, or
    one that is started as `edgekiln` starts it.

    `timeout` is in seconds, of each call that is given no other. `program` is the
    path of edgekilnd; without it, it is looked for beside the `edgekiln` of PATH.
    """
    source = "address "
    if address is None:
        address, source = os.environ.get(VARIABLE) or None, f"{VARIABLE}="
    if address is not None:
        connection = Connection(
            grpc_target(address, source), address,
            "check that edgekilnd runs there and listens on that address")
        return Client(connection, timeout)
    local = LocalDaemon(program)
    service = local.service_socket()
    if service is not None:
        return Client(Connection(f"unix:{service}", service, "start edgekilnd again"),
                      timeout)
    local.ensure()
    return Client(Connection(f"unix:{local.socket}", local.socket,
                             "read edgekilnd.log beside the socket", local.ensure),
                  timeout)


class Client:
    """Calls wait for their results. Ctrl-C and timeouts cancel what they started.
    Not to be used by several threads at once.

    Models are paths, or the bytes of a file. Targets are names of chips, paths of
    descriptors, or the bytes of one. Data are paths, arrays, or dicts of arrays;
    see docs/python.md. `timeout` is in seconds.
    """

    def __init__(self, connection: Connection, timeout: float | None = None) -> None:
        self._connection = connection
        self._timeout = timeout

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def __repr__(self) -> str:
        return f"<Client of {self._connection.shown}>"

    def profile(self, model: Source, target: Source, *, data: Data | None = None,
                limit: int | None = None, timing_only: bool = False,
                hot_spots: bool = False, recipe: str = "", offload: str = "",
                io: str = "", calibration: Data | None = None,
                calibration_method: str = "", seed: int | None = None,
                transforms: Sequence[Transform] = (), options: Options = Options(),
                timeout: float | None = None,
                on_event: OnEvent | None = None) -> Report:
        """Cycles per layer on the simulated chip, compared with the reference on a
        few inputs, those of `data` or random ones."""
        return self._report(jobs_pb2.PROFILE, model, target, Settings(
            data=data, limit=limit, timing_only=timing_only, hot_spots=hot_spots,
            recipe=recipe, offload=offload, io=io, calibration=calibration,
            calibration_method=calibration_method, seed=seed, transforms=transforms,
            options=options), timeout, on_event)

    def validate(self, model: Source, target: Source, data: Data | None = None, *,
                 metric: str = "", confusion: bool = False, label_offset: int = 0,
                 limit: int | None = None, recipe: str = "", offload: str = "",
                 io: str = "", calibration: Data | None = None,
                 calibration_method: str = "", seed: int | None = None,
                 transforms: Sequence[Transform] = (), options: Options = Options(),
                 timeout: float | None = None,
                 on_event: OnEvent | None = None) -> Report:
        """Accuracy on the simulated chip, over a data set with labels or against
        the reference. Data may be left out for a model without inputs."""
        return self._report(jobs_pb2.VALIDATE, model, target, Settings(
            data=data, metric=metric, confusion=confusion, label_offset=label_offset,
            limit=limit, recipe=recipe, offload=offload, io=io, calibration=calibration,
            calibration_method=calibration_method, seed=seed, transforms=transforms,
            options=options), timeout, on_event)

    def run(self, model: Source, inputs: Data | None = None,
            target: Source | None = None, *, limit: int | None = None,
            recipe: str = "", offload: str = "", io: str = "",
            calibration: Data | None = None, calibration_method: str = "",
            seed: int | None = None, transforms: Sequence[Transform] = (),
            options: Options = Options(), timeout: float | None = None,
            on_event: OnEvent | None = None) -> dict[str, Array]:
        """The outputs by name, samples along the first axis: of the simulated chip,
        or of the reference without a target. Inputs have the model's own types."""
        settings = Settings(
            data=inputs, limit=limit, recipe=recipe, offload=offload, io=io,
            calibration=calibration, calibration_method=calibration_method, seed=seed,
            transforms=transforms, options=options)
        deadline = self._deadline(timeout)
        job = self._job(jobs_pb2.RUN, model, target, settings, deadline, on_event)
        if target is not None:
            self._check(self._fetch_report(job.id, 0, deadline), settings)
        return self._arrays(_artifact(job, ".npz", "NO_OUTPUTS", "outputs"), deadline)

    def compile(self, model: Source, target: Source, *, recipe: str = "",
                offload: str = "", io: str = "", calibration: Data | None = None,
                calibration_method: str = "", seed: int | None = None,
                name: str = "",
                transforms: Sequence[Transform] = (), options: Options = Options(),
                timeout: float | None = None,
                on_event: OnEvent | None = None) -> Bundle:
        """The code for a chip, with its report: predicted cycles, no simulation. Files
        and identifiers of its C code begin with `name`, or the model's own name."""
        settings = Settings(
            name=name, recipe=recipe, offload=offload, io=io, calibration=calibration,
            calibration_method=calibration_method, seed=seed, transforms=transforms,
            options=options)
        deadline = self._deadline(timeout)
        job = self._job(jobs_pb2.COMPILE, model, target, settings, deadline, on_event)
        report = self._check(self._fetch_report(job.id, 0, deadline), settings)
        return Bundle(self._connection, job, report, deadline.timeout)

    def quantize(self, model: Source, target: Source | None = None,
                 data: Data | None = None, *,
                 output: str | os.PathLike[str] | None = None,
                 calibration: Data | None = None, calibration_method: str = "",
                 limit: int | None = None, label_offset: int = 0,
                 seed: int | None = None, transforms: Sequence[Transform] = (),
                 options: Options = Options(), timeout: float | None = None,
                 on_event: OnEvent | None = None) -> Report:
        """What integers cost each layer of a float model: `quantized` of the report,
        for a chip or for none in particular. With labelled `data` also the accuracy
        of both networks; `output` is the path for a QDQ ONNX model."""
        if data is None and (limit is not None or label_offset):
            raise usage("limit and label_offset need data", "quantize",
                        "the labelled samples that they are about")
        if output is not None:
            check_output(output, {"model": model, "data": data,
                                  "calibration": calibration})
        settings = Settings(
            data=data, calibration=calibration, calibration_method=calibration_method,
            limit=limit, label_offset=label_offset, labelled=True, seed=seed,
            transforms=transforms, options=options, export_onnx=output is not None)
        deadline = self._deadline(timeout)
        job = self._job(jobs_pb2.QUANTIZE, model, target, settings, deadline, on_event)
        if output is not None:
            digest = _artifact(job, ".onnx", "NO_MODEL", "model")
            write_files(self._connection, {pathlib.Path(output): digest}, deadline.at)
        return Report(self._fetch_report(job.id, 0, deadline))

    def inspect(self, model: Source, target: Source | None = None, *, recipe: str = "",
                bindings: Bindings = Bindings(),
                timeout: float | None = None) -> ModelDescription:
        """Describes a model; with a target also which engine would run each layer."""
        deadline = self._deadline(timeout)
        with Request(self._connection, deadline) as building:
            request = jobs_pb2.InspectModelRequest(
                model=building.add(model, "model"), model_name=file_name(model),
                bindings=building.bindings(bindings))
            if target is not None:
                request.recipe = recipe
                request.target.CopyFrom(building.target(target, recipe))
            building.upload()
            answer = self._connection.when_told(
                lambda: self._connection.call(
                    _rpc.INSPECT_MODEL, request, patience=Patience.WORKER,
                    deadline=deadline.at), deadline.at)
        return ModelDescription(whole(self._connection, answer, deadline.at))

    def sweep(self, models: Several, targets: Several, *,
              vary: Mapping[str, Sequence[Value]] | None = None,
              recipes: Sequence[str] = (), exclude: Sequence[Mapping[str, str]] = (),
              goal: str = "profile", data: Data | None = None,
              calibration: Data | None = None, calibration_method: str = "",
              metric: str = "", label_offset: int = 0, offload: str = "", io: str = "",
              seed: int | None = None, limit: int | None = None,
              transforms: Sequence[Transform] = (), options: Options = Options(),
              timeout: float | None = None,
              on_event: OnEvent | None = None) -> SweepResult:
        """Every model on every target with every recipe and combination of varied
        values (docs/sweeps.md). `goal` is "profile", "timing" or "validate"; targets
        may hold `*`. Returns once the sweep is started."""
        settings = Settings(
            data=data, calibration=calibration, calibration_method=calibration_method,
            metric=metric, label_offset=label_offset, offload=offload, io=io,
            seed=seed, limit=limit, transforms=transforms, options=options)
        deadline = self._deadline(timeout)
        request = jobs_pb2.CreateJobRequest(request_id=_jobs.new_request_id(),
                                            goals=[jobs_pb2.SWEEP])
        with Request(self._connection, deadline) as building:
            request.sweep.CopyFrom(sweep_request(building, Axes(
                models, targets, recipes, vary or {}, exclude, goal), settings))
            count = len(request.sweep.groups[0].models)
            request.model_name = f"{count} model{'s' if count != 1 else ''}"
            _set_deadlines(options, request.options)
            building.upload()
            job = _jobs.create(self._connection, request, deadline)
        return SweepResult(self._connection, job.id, deadline, on_event)

    def report(self, job_id: str, target: int = 0) -> Report:
        """The report of a finished job, for example of a sweep's row."""
        return Report(self._fetch_report(job_id, target, self._deadline(None)))

    def targets(self) -> dict[str, str]:
        """The chips known by name, with a line about each."""
        answer = self._connection.call(_rpc.LIST_TARGETS, jobs_pb2.ListTargetsRequest(),
                                       deadline=self._deadline(None).at)
        return {target.name: target.doc for target in answer.targets}

    def upload(self, source: Source, *, timeout: float | None = None,
               progress: Progress | None = None) -> Digest:
        """Uploads a file; jobs upload their files themselves. `progress` is called with
        the bytes sent and the bytes to send, in another thread."""
        blob = open_blob(source, "source")
        upload(self._connection, [blob], self._deadline(timeout).at, progress)
        return blob.digest

    def _deadline(self, timeout: float | None) -> Deadline:
        timeout = self._timeout if timeout is None else timeout
        if timeout is not None and not 0 < timeout <= 30 * 24 * 3600:
            raise usage(f"{timeout} is not a time span", "timeout",
                        "more than 0 and at most 30 days, in seconds")
        return Deadline(timeout)

    def _job(self, goal: jobs_pb2.JobGoal, model: Source, target: Source | None,
             settings: Settings, deadline: Deadline,
             on_event: OnEvent | None) -> jobs_pb2.Job:
        with Request(self._connection, deadline) as building:
            request = building.job(goal, model, target, settings)
            building.upload()
            return _jobs.run(self._connection, request, deadline, on_event)

    def _report(self, goal: jobs_pb2.JobGoal, model: Source, target: Source,
                settings: Settings, timeout: float | None,
                on_event: OnEvent | None) -> Report:
        deadline = self._deadline(timeout)
        job = self._job(goal, model, target, settings, deadline, on_event)
        return self._check(self._fetch_report(job.id, 0, deadline), settings)

    def _fetch_report(self, job_id: str, target: int,
                      deadline: Deadline) -> report_pb2.Report:
        report = self._connection.call(
            _rpc.GET_REPORT, jobs_pb2.GetReportRequest(job_id=job_id, target=target),
            deadline=deadline.at)
        return whole(self._connection, report, deadline.at)

    def _check(self, message: report_pb2.Report, settings: Settings) -> Report:
        """Raises GateError if values differ from the reference."""
        if settings.offload not in ("", "all") and not message.offload:
            raise too_old(f"offload {settings.offload}")
        report = Report(message)
        exact = report.bit_exact
        if exact is not None and exact.mismatches:
            error = GateError(ErrorDetail(
                what=f"the simulated chip differs from the reference in "
                     f"{exact.mismatches} of {exact.outputs_compared} values",
                where=f"{report.target_name}: {exact.first_mismatch}",
                limit="0 mismatches", reason="GATE_FAILED", fault="INFRA",
                fix="this is a bug of edgekiln, unless the target brings kernels "
                    "of its own: report it with the model and job "
                    f"{report.job_id}"))
            error.report = report
            raise error
        return report

    def _arrays(self, digest: Digest, deadline: Deadline) -> dict[str, Array]:
        check_size(digest, _arrays.MAX_UNPACKED_BYTES, "the file of outputs")
        with _arrays.temporary_file() as file:
            download_to(self._connection, digest, file, deadline.at)
            return _arrays.read_npz(file)


def _artifact(job: jobs_pb2.Job, suffix: str, reason: str, what: str) -> Digest:
    """The job's file of that kind."""
    for artifact in job.artifacts:
        if artifact.path.endswith(suffix):
            return digest_of(artifact.digest)
    raise error_of(ErrorDetail(
        what=f"the job succeeded and left no {what}", where=f"job {job.id}",
        reason=reason, fault="INFRA", code=INTERNAL,
        fix="this is a bug of edgekiln: report it with the model"))


def _set_deadlines(options: Options, out: Any) -> None:
    """The only job options that a sweep takes."""
    made = jobs_pb2.JobOptions()
    set_options(options, made)
    for name in ("queue_deadline", "run_deadline"):
        if made.HasField(name):
            getattr(out, name).CopyFrom(getattr(made, name))
