"""The calls of the API, with the types of their messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ._proto.build.bazel.remote.execution.v2 import remote_execution_pb2 as reapi
from ._proto.edgekiln.v1 import jobs_pb2, model_pb2, report_pb2, sweep_row_pb2
from ._proto.google.bytestream import bytestream_pb2


class Message(Protocol):
    """The methods used here; protobuf has no type hints in Debian 12."""

    def SerializeToString(self) -> bytes: ...
    def HasField(self, field_name: str) -> bool: ...
    @classmethod
    def FromString(cls, data: bytes) -> Any: ...


RequestT = TypeVar("RequestT", bound=Message)
ResponseT = TypeVar("ResponseT", bound=Message)


@dataclass(frozen=True)
class Method(Generic[RequestT, ResponseT]):
    name: str  # "package.Service/Method".
    response: type[ResponseT]


_JOBS = "edgekiln.v1.Jobs"
CREATE_JOB: Method[jobs_pb2.CreateJobRequest, jobs_pb2.Job] = Method(
    f"{_JOBS}/CreateJob", jobs_pb2.Job)
GET_JOB: Method[jobs_pb2.GetJobRequest, jobs_pb2.Job] = Method(
    f"{_JOBS}/GetJob", jobs_pb2.Job)
CANCEL_JOB: Method[jobs_pb2.CancelJobRequest, jobs_pb2.Job] = Method(
    f"{_JOBS}/CancelJob", jobs_pb2.Job)
WATCH_JOB: Method[jobs_pb2.WatchJobRequest, jobs_pb2.JobEvent] = Method(
    f"{_JOBS}/WatchJob", jobs_pb2.JobEvent)
PLAN_SWEEP: Method[jobs_pb2.PlanSweepRequest, sweep_row_pb2.SweepPlanned] = Method(
    f"{_JOBS}/PlanSweep", sweep_row_pb2.SweepPlanned)
GET_REPORT: Method[jobs_pb2.GetReportRequest, report_pb2.Report] = Method(
    "edgekiln.v1.Reports/GetReport", report_pb2.Report)
INSPECT_MODEL: Method[jobs_pb2.InspectModelRequest, model_pb2.ModelDescription] = (
    Method("edgekiln.v1.Models/InspectModel", model_pb2.ModelDescription))

_TARGETS = "edgekiln.v1.Targets"
LIST_TARGETS: Method[jobs_pb2.ListTargetsRequest, jobs_pb2.ListTargetsResponse] = (
    Method(f"{_TARGETS}/ListTargets", jobs_pb2.ListTargetsResponse))
GET_TARGET: Method[jobs_pb2.GetTargetRequest, jobs_pb2.TargetInfo] = Method(
    f"{_TARGETS}/GetTarget", jobs_pb2.TargetInfo)

_REAPI = "build.bazel.remote.execution.v2"
GET_CAPABILITIES: Method[reapi.GetCapabilitiesRequest, reapi.ServerCapabilities] = (
    Method(f"{_REAPI}.Capabilities/GetCapabilities", reapi.ServerCapabilities))
FIND_MISSING: Method[reapi.FindMissingBlobsRequest, reapi.FindMissingBlobsResponse] = (
    Method(f"{_REAPI}.ContentAddressableStorage/FindMissingBlobs",
           reapi.FindMissingBlobsResponse))
BATCH_UPDATE: Method[reapi.BatchUpdateBlobsRequest, reapi.BatchUpdateBlobsResponse] = (
    Method(f"{_REAPI}.ContentAddressableStorage/BatchUpdateBlobs",
           reapi.BatchUpdateBlobsResponse))

_STREAM = "google.bytestream.ByteStream"
READ: Method[bytestream_pb2.ReadRequest, bytestream_pb2.ReadResponse] = Method(
    f"{_STREAM}/Read", bytestream_pb2.ReadResponse)
WRITE: Method[bytestream_pb2.WriteRequest, bytestream_pb2.WriteResponse] = Method(
    f"{_STREAM}/Write", bytestream_pb2.WriteResponse)
QUERY_WRITE: Method[bytestream_pb2.QueryWriteStatusRequest,
                    bytestream_pb2.QueryWriteStatusResponse] = Method(
    f"{_STREAM}/QueryWriteStatus", bytestream_pb2.QueryWriteStatusResponse)
