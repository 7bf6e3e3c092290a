"""Runs the example clients against a real daemon, and provokes what docs/api.md
says of cancelling, superseding and errors.

usage: api_examples_test.py SOURCE_DIR DAEMON {python|node}

Exit code 77, which ctest shows as skipped, where a package is absent. With
CI=true that is a failure for Python; Node and its packages, which npm fetches,
are not what tools/install_packages installs.
"""
import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE, DAEMON, CLIENT = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
EXAMPLES = SOURCE / "client/examples"
MODEL = SOURCE / "docs/example/digits.onnx"
TARGET = "dla-64-o-512k"
CYCLES = 178781  # As in README.md.
PYTHON = "/usr/bin/python3"  # Debian's has Debian's python3-grpcio.


def skip(why, fails_in_ci=False):
    print("SKIPPED:", why)
    sys.exit(1 if fails_in_ci and os.environ.get("CI") == "true" else 77)


def check(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")


def run_example(command, address, environment=None):
    for limit, code in ((CYCLES, 0), (CYCLES - 1, 3)):
        done = subprocess.run(
            [*command, address, str(MODEL), TARGET, str(limit)], text=True,
            env={**os.environ, **(environment or {})}, timeout=90,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        check(done.returncode == code, f"limit {limit}: {done}")
        check(f"cycles {CYCLES} " in done.stdout, done.stdout)


def generate(folder):
    folder.mkdir()
    protos = [str(path.relative_to(SOURCE / "proto"))
              for path in sorted((SOURCE / "proto").rglob("*.proto"))]
    subprocess.run(
        ["protoc", f"-I{SOURCE / 'proto'}", f"--python_out={folder}",
         f"--grpc_python_out={folder}", "--plugin=protoc-gen-grpc_python="
         + shutil.which("grpc_python_plugin"), *protos], check=True)
    # Before the package of that name that builds wheels, where it is installed.
    (folder / "build" / "__init__.py").touch()


def test_python(address, scratch):
    generate(scratch / "py")
    run_example([PYTHON, str(EXAMPLES / "api_client.py")], address,
                {"PYTHONPATH": str(scratch / "py")})
    sys.path[:0] = [str(scratch / "py"), str(EXAMPLES)]
    test_errors(address)


def test_errors(address):
    import grpc
    from api_client import upload
    load = importlib.import_module
    jobs, stubs = load("edgekiln.v1.jobs_pb2"), load("edgekiln.v1.jobs_pb2_grpc")
    error = load("edgekiln.v1.error_pb2")
    status = load("google.rpc.status_pb2")
    stream = load("google.bytestream.bytestream_pb2")
    cas = load("build.bazel.remote.execution.v2.remote_execution_pb2")
    channel = grpc.insecure_channel(address)
    service = stubs.JobsStub(channel)
    reports, targets = stubs.ReportsStub(channel), stubs.TargetsStub(channel)
    writer = load("google.bytestream.bytestream_pb2_grpc").ByteStreamStub(channel)
    cache = load("build.bazel.remote.execution.v2.remote_execution_pb2_grpc")

    def fails(reason, code, call, request):
        try:
            call(request)
        except grpc.RpcError as failure:
            details = status.Status.FromString(
                dict(failure.trailing_metadata())["grpc-status-details-bin"])
            found = error.ErrorDetail()
            check(any(any_.Unpack(found) for any_ in details.details), failure)
            check(found.reason == reason and failure.code().name == code,
                  f"want {code} {reason}, got {failure}")
            return
        sys.exit(f"FAILED: no error {reason}")

    model = upload(channel, MODEL.read_bytes())
    chip = {"name": TARGET, "digest": targets.GetTarget(
        jobs.GetTargetRequest(name=TARGET)).digest}
    absent = {"hash": "0" * 64, "size_bytes": 1}

    def request(**changes):
        return jobs.CreateJobRequest(**{
            "model": model, "targets": [chip], "goals": [jobs.PROFILE],
            **changes})

    def end_of(job):
        list(service.WatchJob(jobs.WatchJobRequest(id=job.id)))
        return service.GetJob(jobs.GetJobRequest(id=job.id))

    bad, lost = "INVALID_ARGUMENT", "FAILED_PRECONDITION"
    for reason, code, changes in [
            ("NO_MODEL", bad, {"model": None}),
            ("MODEL_AND_DOCUMENT", bad, {"document": model}),
            ("DOCUMENT_DECIDES", bad, {"model": None, "document": model,
                                       "goals": [jobs.COMPILE],
                                       "options": {"seed": 2}}),
            ("BLOB_MISSING", lost, {"model": absent}),
            ("BLOB_MISSING", lost, {"model": None, "document": absent,
                                    "goals": [jobs.COMPILE]}),
            ("TARGET_BY_NAME", bad, {"targets": [{"name": TARGET}]}),
            ("DIGEST_MALFORMED", bad, {"model": {"hash": "x"}}),
            ("NO_TARGET", bad, {"targets": []}),
            ("NO_GOAL", bad, {"goals": []}),
            ("UNKNOWN_GOAL", bad, {"goals": [99]}),
            ("GOALS_CONFLICT", bad, {"goals": [jobs.PROFILE, jobs.RUN]}),
            ("BAD_DEADLINE", bad, {"options": {"run_deadline": {"seconds": -1}}}),
            ("BAD_LIMIT", bad, {"options": {"limit": -1}}),
            ("BAD_CLASS", bad, {"options": {"job_class": 99}}),
            ("BAD_IO", bad, {"options": {"io": 99}}),
            ("BAD_OFFLOAD", bad, {"options": {"offload": 99}}),
            ("BAD_PERCENTILE", bad, {"options": {"calibrate": {"percentile_ppm": 1}}}),
            ("BAD_SLOT", bad, {"slot": {"client": "me"}}),
            ("REQUEST_TOO_LARGE", bad, {"request_id": "x" * 129})]:
        fails(reason, code, service.CreateJob, request(**changes))
    fails("JOB_UNKNOWN", "NOT_FOUND", service.GetJob, jobs.GetJobRequest(id="j0"))
    fails("TARGET_UNKNOWN", "NOT_FOUND", targets.GetTarget,
          jobs.GetTargetRequest(name="nothing"))
    fails("RESOURCE_NAME", bad, writer.Write,
          iter([stream.WriteRequest(resource_name="x", finish_write=True)]))

    # Twenty thousand samples: seconds, of which the job gets none.
    long_job = {"limit": 20000}
    first = service.CreateJob(request(request_id="a", options=long_job,
                                      slot={"client": "me", "name": "pane"}))
    fails("NO_REPORT", "NOT_FOUND", reports.GetReport,
          jobs.GetReportRequest(job_id=first.id))
    fails("REQUEST_ID_REUSED", bad, service.CreateJob, request(request_id="a"))
    second = service.CreateJob(request(options={**long_job, "seed": 2},
                                       slot={"client": "me", "name": "pane"}))
    first = end_of(first)
    check(first.state == jobs.CANCELLED and first.error.reason == "SUPERSEDED"
          and first.superseded_by == second.id, first)
    service.CancelJob(jobs.CancelJobRequest(id=second.id))
    second = end_of(second)
    check(second.state == jobs.CANCELLED and second.error.reason == "CANCELLED",
          second)
    failed = end_of(service.CreateJob(request(
        model=None, document=model, goals=[jobs.COMPILE])))
    check(failed.state == jobs.FAILED
          and failed.error.reason == "NOT_A_DOCUMENT", failed)
    failed = end_of(service.CreateJob(request(options={"recipe": "nothing"})))
    check(failed.state == jobs.FAILED
          and failed.error.reason == "RECIPE_UNKNOWN", failed)
    limits = cache.CapabilitiesStub(channel).GetCapabilities(
        cas.GetCapabilitiesRequest()).cache_capabilities
    check(limits.max_cas_blob_size_bytes == 2 << 30, limits)
    check(0 < limits.max_batch_total_size_bytes < 4 << 20, limits)


def node_examples(scratch):
    """The folder of the examples with their packages, a copy if need be."""
    if (EXAMPLES / "node_modules/@grpc/grpc-js").is_dir():
        return EXAMPLES
    folder = scratch / "client/examples"
    shutil.copytree(EXAMPLES, folder)
    (scratch / "proto").symlink_to(SOURCE / "proto")
    try:
        done = subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=folder, timeout=100, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except (OSError, subprocess.TimeoutExpired) as failure:
        skip(f"npm ci: {failure}")
    if done.returncode != 0:
        skip(f"npm ci: {done.stdout}")
    return folder


def test_node(address, scratch):
    example = node_examples(scratch) / "api_client.mjs"
    run_example(["node", str(example)], address)


def main():
    if CLIENT == "node":
        if not shutil.which("node"):
            skip("no node")
    else:
        try:
            importlib.import_module("grpc")
        except ImportError:
            skip("no python3-grpcio", fails_in_ci=True)
    with tempfile.TemporaryDirectory(prefix="ek-") as name:
        scratch = pathlib.Path(name)
        with open(scratch / "log", "w", encoding="utf-8") as log:
            daemon = subprocess.Popen(
                [DAEMON, "--listen", "127.0.0.1:0", "--workers-listen",
                 "127.0.0.1:0", "--state", str(scratch / "state"), "--workers",
                 "1", "--ready-file", str(scratch / "ready")], stderr=log)
        try:
            ready, until = scratch / "ready", time.monotonic() + 30
            while not (ready.exists() and ready.read_text().count("\n") >= 2):
                check(daemon.poll() is None and time.monotonic() < until,
                      (scratch / "log").read_text())
                time.sleep(0.05)
            address = ready.read_text().split()[0]
            {"python": test_python, "node": test_node}[CLIENT](address, scratch)
        finally:
            daemon.terminate()
            daemon.wait()


main()
