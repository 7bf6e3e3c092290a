"""Profiles a model on a chip: api_client.py ADDRESS MODEL TARGET MAX_CYCLES

Exit code 3 if the network takes more cycles. docs/api.md says how to generate
the modules that this imports.
"""
import hashlib
import sys
import uuid

import grpc
from edgekiln.v1 import jobs_pb2 as jobs, jobs_pb2_grpc
from google.bytestream import bytestream_pb2 as stream, bytestream_pb2_grpc

PIECE = 1 << 20


def upload(channel, data):
    digest = hashlib.sha256(data).hexdigest()
    name = f"uploads/{uuid.uuid4()}/blobs/{digest}/{len(data)}"
    pieces = (stream.WriteRequest(resource_name=name, write_offset=at,
                                  data=data[at:at + PIECE],
                                  finish_write=at + PIECE >= len(data))
              for at in range(0, max(len(data), 1), PIECE))
    bytestream_pb2_grpc.ByteStreamStub(channel).Write(pieces)
    return {"hash": digest, "size_bytes": len(data)}


def main(address, model, target, max_cycles):
    with grpc.insecure_channel(address) as channel, open(model, "rb") as file:
        service = jobs_pb2_grpc.JobsStub(channel)
        chip = jobs_pb2_grpc.TargetsStub(channel).GetTarget(
            jobs.GetTargetRequest(name=target))
        job = service.CreateJob(jobs.CreateJobRequest(
            request_id=str(uuid.uuid4()), model_name=model,
            model=upload(channel, file.read()), goals=[jobs.PROFILE],
            targets=[{"name": target, "digest": chip.digest}]))
        for event in service.WatchJob(jobs.WatchJobRequest(id=job.id)):
            if event.HasField("progress"):
                step = event.progress.progress
                print(event.progress.stage, f"{step.done}/{step.total}", step.unit)
        job = service.GetJob(jobs.GetJobRequest(id=job.id))
        if job.state != jobs.SUCCEEDED:
            sys.exit(f"{job.error.reason}: {job.error.message}")
        totals = jobs_pb2_grpc.ReportsStub(channel).GetReport(
            jobs.GetReportRequest(job_id=job.id)).totals
    print(f"cycles {totals.cycles} latency_ms {totals.latency_ms:.4f}")
    return 3 if totals.cycles > int(max_cycles) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
