#!/usr/bin/env python3
"""Figures of `edgekiln lsp`: from a keystroke to diagnostics, and to the cycles
of a network on the chip that is edited; beside them, what the bare calls of the
daemon take for the same in the same run.

  /usr/bin/python3 tests/bench/lsp.py build/release/bin ../shared
  /usr/bin/python3 tests/bench/lsp.py build/release/bin ../shared --edits 500

Goals (docs/editors.md): diagnostics p50 <= 30 ms, cycles of ResNet-8 <= 60 ms.
Nothing is asserted about time.
"""

import argparse
import hashlib
import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from lsp_client import Client, Place  # noqa: E402

URI = "file:///home/ann/chip.txtpb"
BROKEN = "extends: \"dla\"\nset { name: \"pse\" value: %d }\n"
VALID = "extends: \"dla\"\nset { name: \"pes\" value: 64 }\n" \
        "set { name: \"fill_cycles\" value: %d }\n"


def percentile(values, share):
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def show(name, values):
    print("%-44s p50 %7.1f ms   p95 %7.1f ms   n %d" % (
        name, 1000 * statistics.median(values),
        1000 * percentile(values, 0.95), len(values)), flush=True)
    return statistics.median(values)


class Bare:
    """The daemon's own calls, without anything around them."""

    def __init__(self, socket, folder):
        import grpc
        proto = ROOT / "proto"
        files = [str(path) for path in proto.rglob("*.proto")
                 if "perfetto" not in path.parts]
        subprocess.run(["protoc", "-I%s" % proto, "--python_out=%s" % folder,
                        *files], check=True, stderr=subprocess.DEVNULL)
        # Before Debian's package "build".
        for parent, _, _ in os.walk(os.path.join(folder, "build")):
            pathlib.Path(parent, "__init__.py").touch()
        sys.path.insert(0, folder)
        import google.protobuf
        google.__path__.append(os.path.join(folder, "google"))
        from edgekiln.v1 import data_pb2, jobs_pb2, report_pb2
        from build.bazel.remote.execution.v2 import remote_execution_pb2
        self.jobs, self.data = jobs_pb2, data_pb2
        self.report, self.reapi = report_pb2, remote_execution_pb2
        self.channel = grpc.insecure_channel(
            socket, options=[("grpc.default_authority", "localhost")])
        self.number = 0

    def call(self, method, request, response):
        return self.channel.unary_unary(
            method, request_serializer=type(request).SerializeToString,
            response_deserializer=response.FromString)(request)

    def upload(self, data):
        digest = self.reapi.Digest(hash=hashlib.sha256(data).hexdigest(),
                                   size_bytes=len(data))
        request = self.reapi.BatchUpdateBlobsRequest()
        request.requests.add(digest=digest, data=data)
        self.call("/build.bazel.remote.execution.v2.ContentAddressableStorage/"
                  "BatchUpdateBlobs", request,
                  self.reapi.BatchUpdateBlobsResponse)
        return self.data.Digest(hash=digest.hash, size_bytes=digest.size_bytes)

    def validate(self, text):
        request = self.jobs.ValidateTargetRequest(target=self.upload(text))
        return self.call("/edgekiln.v1.Targets/ValidateTarget", request,
                         self.jobs.ValidateTargetResponse)

    def cycles(self, text, model):
        self.number += 1
        request = self.jobs.CreateJobRequest(
            request_id="bench/%d/%d" % (os.getpid(), self.number), model=model)
        request.targets.add(name="chip", digest=self.upload(text))
        request.goals.append(self.jobs.PROFILE)
        request.options.timing_only = True
        request.options.job_class = self.jobs.INTERACTIVE
        job = self.call("/edgekiln.v1.Jobs/CreateJob", request, self.jobs.Job)
        watch = self.channel.unary_stream(
            "/edgekiln.v1.Jobs/WatchJob",
            request_serializer=self.jobs.WatchJobRequest.SerializeToString,
            response_deserializer=self.jobs.JobEvent.FromString)
        for _ in watch(self.jobs.WatchJobRequest(id=job.id)):
            pass
        report = self.call("/edgekiln.v1.Reports/GetReport",
                           self.jobs.GetReportRequest(job_id=job.id),
                           self.report.Report)
        assert report.totals.cycles > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("bin")
    parser.add_argument("shared")
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--model", default="models/resnet8_int8.tflite")
    arguments = parser.parse_args()
    edgekiln = os.path.join(arguments.bin, "edgekiln")
    model = os.path.join(os.path.abspath(arguments.shared), arguments.model)
    place = Place()
    try:
        measure(edgekiln, model, place, arguments.edits)
    finally:
        place.stop()


def measure(edgekiln, model, place, edits):
    client = Client(edgekiln, place.environment)
    client.initialize("/work", options={"model": model})
    client.open(URI, VALID % 1)
    client.figures(URI, 1)
    warm = 10
    version = 1
    values = iter(range(2, 1 << 30))

    schema, checked = [], []
    for _ in range(edits + warm):
        version += 1
        start = time.monotonic()
        client.change(URI, version, "extnds: %d" % next(values))
        schema.append(client.diagnostics(URI, version)["at"] - start)
        version += 1
        start = time.monotonic()
        client.change(URI, version, BROKEN % next(values))
        checked.append(client.diagnostics(URI, version)["at"] - start)
        client.forget()
    show("keystroke to diagnostics, by the schema", schema[warm:])
    by_daemon = show("keystroke to diagnostics, by the daemon", checked[warm:])

    figures = []
    for _ in range(edits + warm):
        version += 1
        start = time.monotonic()
        client.change(URI, version, VALID % next(values))
        figures.append(client.figures(URI, version)["at"] - start)
        client.forget()
    name = os.path.basename(model)
    cycles = show("keystroke to cycles of %s" % name, figures[warm:])
    print("memory of the server: %.1f MiB" % (client.resident_kib() / 1024))
    client.stop()

    if importlib.util.find_spec("grpc") is None:
        print("no grpc for Python: the bare calls are left out")
        return
    protos = str(place.folder / "protos")
    os.mkdir(protos)
    bare = Bare("unix:" + place.environment["XDG_RUNTIME_DIR"]
                + "/edgekiln/edgekilnd.sock", protos)
    with open(model, "rb") as file:
        digest = bare.upload(file.read())
    validates, runs = [], []
    for _ in range(edits + warm):
        start = time.monotonic()
        bare.validate((BROKEN % next(values)).encode())
        validates.append(time.monotonic() - start)
    for _ in range(edits + warm):
        start = time.monotonic()
        bare.cycles((VALID % next(values)).encode(), digest)
        runs.append(time.monotonic() - start)
    bare_check = show("bare upload, ValidateTarget", validates[warm:])
    bare_run = show("bare upload, CreateJob, WatchJob, GetReport", runs[warm:])
    print("language server / bare: diagnostics %.2f, cycles %.2f" % (
        by_daemon / bare_check, cycles / bare_run))


if __name__ == "__main__":
    main()
