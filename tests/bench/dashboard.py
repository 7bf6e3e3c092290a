#!/usr/bin/env python3
"""What open dashboards and scrapes cost the others: look-ups over gRPC while
pages are open beside look-ups without any, in turns, and the daemon's memory.

  tests/bench/dashboard.py build/release/bin . --pages 200 --jobs 2000 --minutes 30

A page does what web/dashboard does: the list of jobs or the daemon's status
every two seconds, /readyz every five, and one stream of a job's events. Nothing
is asserted about time.
"""

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

LOOKUPS_PER_SECOND = 200


def resident_bytes(pid):
    with open("/proc/%d/statm" % pid) as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Daemon:
    def __init__(self, binaries, workers):
        self.folder = tempfile.mkdtemp(prefix="edgekiln-dashboard-")
        ready = os.path.join(self.folder, "ready")
        self.address = "unix:" + os.path.join(self.folder, "clients")
        self.process = subprocess.Popen(
            [os.path.join(binaries, "edgekilnd"), "--listen", self.address,
             "--workers-listen", "unix:" + os.path.join(self.folder, "workers"),
             "--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--state",
             os.path.join(self.folder, "state"), "--workers", str(workers),
             "--ready-file", ready, "--quiet"])
        while not os.path.exists(ready):
            time.sleep(0.01)
        with open(ready) as file:
            lines = file.read().split("\n")
        self.http, self.metrics = lines[2], lines[3]

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)


def make_stubs(source, scratch):
    """The generated Python of proto/, imported."""
    protos = []
    root = os.path.join(source, "proto")
    for folder, _, names in os.walk(root):
        protos += [os.path.relpath(os.path.join(folder, name), root)
                   for name in names if name.endswith(".proto")]
    subprocess.run(
        ["protoc", "-I" + root, "--python_out=" + scratch,
         "--grpc_python_out=" + scratch, "--plugin=protoc-gen-grpc_python=" +
         shutil.which("grpc_python_plugin"), *sorted(protos)], check=True)
    sys.path.insert(0, scratch)


def make_jobs(arguments, daemon):
    """Many jobs of one model; all but the first find everything in the cache."""
    import grpc
    from edgekiln.v1 import jobs_pb2, jobs_pb2_grpc
    edgekiln = os.path.join(arguments.bin, "edgekiln")
    model = os.path.join(arguments.source, "docs/example/digits.onnx")
    subprocess.run([edgekiln, "profile", model, "--target", "dla-64-o-512k",
                    "--timing-only", "--quiet", "--server", daemon.address],
                   check=True, stdout=subprocess.DEVNULL)
    channel = grpc.insecure_channel(daemon.address)
    jobs = jobs_pb2_grpc.JobsStub(channel)
    first = jobs.ListJobs(jobs_pb2.ListJobsRequest()).jobs[0]
    request = jobs.GetJob(jobs_pb2.GetJobRequest(id=first.id)).request
    ids = [first.id]
    while len(ids) < arguments.jobs:
        request.request_id = "bench%d" % len(ids)
        ids.append(jobs.CreateJob(request).id)
    return channel, jobs, ids


async def fetch(reader, writer, path):
    writer.write(("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path).encode())
    await writer.drain()
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.split("content-length:")[1].split("\r\n")[0])
    await reader.readexactly(length)
    return length


async def page(address, number, job, counts):
    """One open page, until it is cancelled."""
    host, port = address.rsplit(":", 1)
    stream_reader, stream = await asyncio.open_connection(host, int(port))
    stream.write(("GET /v1/jobs/%s/events HTTP/1.1\r\nHost: localhost\r\n"
                  "Accept: text/event-stream\r\n\r\n" % job).encode())
    reader, writer = await asyncio.open_connection(host, int(port))
    path = "/v1/jobs?page_size=50" if number % 2 else "/v1/daemon"
    step = 0
    try:
        await asyncio.sleep(2 * (number % 100) / 100)
        while True:
            counts["bytes"] += await fetch(reader, writer, path)
            counts["calls"] += 1
            if step % 2 == 0:
                await fetch(reader, writer, "/readyz")
                counts["calls"] += 1
            step += 1
            await asyncio.sleep(2)
    finally:
        stream.close()
        writer.close()


async def scrapes(address, counts):
    while True:
        host, port = address.rsplit(":", 1)
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
                     b"Connection: close\r\n\r\n")
        counts["bytes"] += len(await reader.read())
        counts["calls"] += 1
        writer.close()
        await asyncio.sleep(1)


def look_up(jobs, ids, seconds):
    """Milliseconds of each GetJob, at a steady rate."""
    from edgekiln.v1 import jobs_pb2
    took = []
    begin = time.monotonic()
    for number in range(int(seconds * LOOKUPS_PER_SECOND)):
        wait = begin + number / LOOKUPS_PER_SECOND - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        start = time.perf_counter()
        jobs.GetJob(jobs_pb2.GetJobRequest(id=ids[number % len(ids)]))
        took.append(1e3 * (time.perf_counter() - start))
    return sorted(took)


def run_pages(arguments, daemon, ids):
    """Pages in a process of their own, so that ours only looks up."""
    child = os.fork()
    if child != 0:
        return child
    os.nice(19)  # Browsers run on other machines.
    counts = {"bytes": 0, "calls": 0}

    async def all_pages():
        tasks = [page(daemon.http, number, ids[number % len(ids)], counts)
                 for number in range(arguments.pages)]
        if arguments.scrape:
            tasks.append(scrapes(daemon.metrics, counts))
        await asyncio.gather(*tasks)

    try:
        asyncio.run(all_pages())
    except BaseException as error:  # Whatever ends a page ends the bench.
        print("a page ended:", repr(error), flush=True)
    os._exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin")
    parser.add_argument("source")
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--turn", type=float, default=10, help="seconds")
    parser.add_argument("--scrape", action="store_true",
                        help="scrape /metrics once a second, too")
    arguments = parser.parse_args()
    daemon = Daemon(arguments.bin, workers=1)
    scratch = tempfile.mkdtemp(prefix="edgekiln-stubs-")
    try:
        make_stubs(arguments.source, scratch)
        channel, jobs, ids = make_jobs(arguments, daemon)
        pid = daemon.process.pid
        print("%d jobs, resident %.1f MiB" % (len(ids),
                                              resident_bytes(pid) / 2**20))
        # A fork with a channel in use is what gRPC does not survive.
        channel.close()
        import grpc
        from edgekiln.v1 import jobs_pb2_grpc
        quiet, busy, memory = [], [], []
        end = time.monotonic() + 60 * arguments.minutes
        while time.monotonic() < end:
            for with_pages in (False, True):
                child = run_pages(arguments, daemon, ids) if with_pages else 0
                channel = grpc.insecure_channel(daemon.address)
                stub = jobs_pb2_grpc.JobsStub(channel)
                look_up(stub, ids, 3)  # Until all pages are open.
                cpu = cpu_seconds(pid)
                took = look_up(stub, ids, arguments.turn)
                cpu = (cpu_seconds(pid) - cpu) / arguments.turn
                channel.close()
                if child:
                    if os.waitpid(child, os.WNOHANG) != (0, 0):
                        sys.exit("the pages ended")
                    os.kill(child, 9)
                    os.waitpid(child, 0)
                    memory.append(resident_bytes(pid))
                    busy.append(took)
                else:
                    quiet.append(took)
                print("%-6s p50 %.3f ms  p99 %.3f ms  daemon %.0f %% CPU  "
                      "%.1f MiB" % ("pages" if with_pages else "none",
                                    took[len(took) // 2],
                                    took[int(len(took) * 0.99)], 100 * cpu,
                                    resident_bytes(pid) / 2**20), flush=True)
        for name, part in (("p50", 0.5), ("p99", 0.99)):
            of = lambda turns: statistics.median(
                took[int(len(took) * part)] for took in turns)
            print("%s with %d pages / without: %.2f" %
                  (name, arguments.pages, of(busy) / of(quiet)))
        print("resident: first %.1f MiB, last %.1f MiB" %
              (memory[0] / 2**20, memory[-1] / 2**20))
    finally:
        daemon.stop()
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
