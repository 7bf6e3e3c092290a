#!/usr/bin/env python3
"""Figures of `edgekiln sweep`, and sweeps under kill -9.

  tests/bench/sweep.py build/release/bin ../shared
  tests/bench/sweep.py build/ci/bin ../shared --kills 50 --seed 7

CPU is that of daemon and workers with all their children, by their clocks, from
when workers are connected: they look for compilers first. Nothing is asserted
about time; rows that differ, are lost or told twice end the
program with exit code 1.
"""

import argparse
import glob
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TINY = ["resnet8_int8", "dscnn_int8", "ad_int8", "person_detect_int8"]
PRESETS = ["dla-64-*k", "dla-64-*m", "dla-128-*k", "dla-128-*m", "toy-array",
           "toy-two-array"]
TICK = os.sysconf("SC_CLK_TCK")


class Farm:
    """A daemon and its workers, in a folder of their own."""

    def __init__(self, bin_folder, workers=2):
        self.bin = bin_folder
        self.workers = workers
        self.folder = tempfile.mkdtemp(prefix="edgekiln-sweep-")
        self.address = "unix:" + self.folder + "/clients"
        self.workers_address = "unix:" + self.folder + "/workers"
        self.daemon = None
        self.worker_processes = []
        self.spent = 0.0  # CPU of those that were killed.
        self.start_daemon()
        for _ in range(workers):
            self.start_worker()
        self.await_workers()

    def run(self, name, *arguments):
        log = open(os.path.join(self.folder, "log"), "ab")
        return subprocess.Popen([os.path.join(self.bin, name), *arguments],
                                stdout=log, stderr=log)

    def start_daemon(self):
        ready = os.path.join(self.folder, "ready")
        if os.path.exists(ready):
            os.remove(ready)
        for name in ("clients", "workers"):
            path = os.path.join(self.folder, name)
            if os.path.exists(path):
                os.remove(path)
        self.daemon = self.run("edgekilnd", "--listen", self.address,
                               "--workers-listen", self.workers_address,
                               "--state", self.folder + "/state",
                               "--ready-file", ready)
        for _ in range(1000):
            if os.path.exists(ready):
                return
            time.sleep(0.01)
        sys.exit("the daemon did not start; see " + self.folder + "/log")

    def start_worker(self):
        self.worker_processes.append(
            self.run("edgekiln-worker", "--connect", self.workers_address,
                     "--secret-file", self.folder + "/state/worker_secret"))

    def await_workers(self):
        for _ in range(600):
            status = json.loads(self.cli("top", "--once", "--json"))
            if len(status["workers"]) == self.workers:
                return
            time.sleep(0.05)
        sys.exit("the workers did not connect; see " + self.folder + "/log")

    def arguments(self, *arguments):
        return [os.path.join(self.bin, "edgekiln"), *arguments, "--quiet",
                "--server", self.address]

    def cli(self, *arguments):
        done = subprocess.run(self.arguments(*arguments), capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{arguments}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def cpu(self):
        """CPU seconds of everything, with the children that were waited for.

        Of what lives, by its clock: ticks of all processes, rounded down, miss
        a third of what a small job costs."""
        total = 0.0
        for process in [self.daemon, *self.worker_processes]:
            for pid in [process.pid, *children(process.pid)]:
                try:
                    # As clock_getcpuclockid(): all threads, also those gone.
                    total += time.clock_gettime((~pid << 3) | 2)
                    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                        fields = file.read().rsplit(")", 1)[1].split()
                    total += sum(int(value) for value in fields[13:15]) / TICK
                except OSError:
                    pass
        return total

    def memory(self):
        """Of the daemon, in bytes: what it keeps, not what is mapped."""
        with open(f"/proc/{self.daemon.pid}/smaps_rollup",
                  encoding="ascii") as file:
            for line in file:
                if line.startswith("Anonymous:"):
                    return int(line.split()[1]) * 1024
        return 0

    def stop(self):
        for process in [*self.worker_processes, self.daemon]:
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def children(pid):
    """All below it: each thread has children of its own."""
    direct = []
    for tasks in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(tasks, encoding="ascii") as file:
                direct += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return direct + [below for child in direct for below in children(child)]


def tiny(shared):
    models = [os.path.join(shared, "models", name + ".tflite") for name in TINY]
    targets = [word for name in PRESETS for word in ("--target", name)]
    return ["sweep", *models, *targets, "--json"]


def table(out):
    """Rows by cell, without what differs from run to run; and the summary."""
    rows, summary = {}, None
    for line in out.splitlines():
        value = json.loads(line)
        if "summary" in value:
            summary = value["summary"]
            continue
        if value["cell"] in rows:
            sys.exit(f"cell {value['cell']} is told twice")
        for key in ("job", "stages_executed", "stages_hit"):
            del value[key]
        if value["report"]:
            del value["report"]["job_id"]
        rows[value["cell"]] = value
    return rows, summary


def spent(farm, *arguments):
    before, start = farm.cpu(), time.monotonic()
    out = farm.cli(*arguments)
    wall = time.monotonic() - start
    time.sleep(0.3)  # Children that end are counted once they are waited for.
    return out, farm.cpu() - before, wall


def cold_and_warm(bin_folder, shared):
    farm = Farm(bin_folder)
    out, cpu, wall = spent(farm, *tiny(shared))
    rows, summary = table(out)
    stored = sum(len(files) for _, _, files in
                 os.walk(farm.folder + "/state/results"))
    print(f"4 Tiny nets x 12 presets x 2 toys: {len(rows)} cells, "
          f"{summary['stages_executed']} stages executed, {stored - 1} stored "
          "besides the plan")
    print(f"  cold: {cpu:.2f} s of CPU, {cpu / summary['cpu_seconds']:.2f}x of "
          f"the stages' {summary['cpu_seconds']:.2f} s; {wall:.2f} s")
    out, cpu, wall = spent(farm, *tiny(shared))
    again, summary = table(out)
    print(f"  warm: {summary['stages_executed']} stages executed, "
          f"{cpu:.2f} s of CPU, {wall:.2f} s")
    farm.stop()
    if rows != again:
        sys.exit("the warm rows differ")


def points(bin_folder, shared):
    model = os.path.join(shared, "models", "resnet8_int8.tflite")
    common = ["sweep", model, "--target", "dla-64-o-512k", "--timing-only",
              "--json"]
    firsts, further, ratios = [], [], []
    for _ in range(5):
        farm = Farm(bin_folder)
        _, first, _ = spent(farm, *common, "--vary", "pes=8",
                            "--vary", "sram_bytes=64KiB")
        farm.stop()
        farm = Farm(bin_folder)
        _, all_of_them, _ = spent(
            farm, *common, "--vary", "pes=8,16,32,64,128,256,512",
            "--vary", "sram_bytes=64KiB,128KiB,256KiB,512KiB")
        farm.stop()
        firsts.append(first)
        further.append((all_of_them - first) / 27)
        ratios.append(all_of_them / first)
    print(f"28 points of resnet8, cycles alone: {statistics.median(ratios):.2f}x"
          f" the CPU of the first (of 5: {min(ratios):.2f} to "
          f"{max(ratios):.2f}); {statistics.median(firsts) * 1e3:.0f} ms, and "
          f"{statistics.median(further) * 1e3:.1f} ms for each further one")


def growth(bin_folder, shared):
    """Sweeps of both sizes take turns: what else runs on the machine changes
    what a cell costs by more than half."""
    model = os.path.join(shared, "models", "ad_int8.tflite")
    common = ["sweep", model, "--target", "dla-64-o-512k", "--timing-only",
              "--json", "--vary"]
    farms, vary = {}, {}
    for cells in (100, 2000):
        vary[cells] = "fill_cycles=" + ",".join(str(n) for n in range(cells))
        farms[cells] = Farm(bin_folder)
        farms[cells].cli(*common, vary[cells])
    rounds = []
    for _ in range(9):
        per_cell = {}
        for cells, farm in farms.items():
            _, cpu, _ = spent(farm, *common, vary[cells])
            per_cell[cells] = cpu / cells
        rounds.append(per_cell)
    for cells, farm in farms.items():
        costs = [one[cells] * 1e3 for one in rounds]
        print(f"  {cells} warm cells: {statistics.median(costs):.2f} ms of CPU "
              f"each (of 9: {min(costs):.2f} to {max(costs):.2f})")
        farm.stop()
    ratios = [one[2000] / one[100] for one in rounds]
    print(f"2000 warm cells against 100: {statistics.median(ratios):.2f}x of "
          f"CPU per cell (of 9: {min(ratios):.2f} to {max(ratios):.2f})")


def dry(bin_folder, shared):
    model = os.path.join(shared, "models", "ad_int8.tflite")
    farm = Farm(bin_folder)
    arguments = ["sweep", model, "--target", "dla-64-o-512k", "--dry-run",
                 "--json", "--vary",
                 "fill_cycles=" + ",".join(str(n) for n in range(100)),
                 "--vary",
                 "decode_cycles=" + ",".join(str(n) for n in range(1, 201))]
    out, cpu, wall = spent(farm, *arguments)
    rows, _ = table(out)
    print(f"{len(rows)} cells dry: {wall:.2f} s, {cpu:.2f} s of CPU")
    farm.stop()
    # What half of the keys mean depends on how the model came.
    farm = Farm(bin_folder)
    asking = [word.replace(",".join(str(n) for n in range(1, 201)),
                           ",".join(str(n) for n in range(1, 101)))
              for word in arguments]
    out, cpu, wall = spent(farm, *asking, "--offload", "none", "--vary",
                           "calibration-method=minmax,mse")
    rows, summary = table(out)
    print(f"{len(rows)} cells dry, {summary['merged']} of them merged by what "
          f"the model is: {wall:.2f} s, {cpu:.2f} s of CPU")
    farm.stop()
    # Waiting cells: none runs, as there is no worker after the plan.
    farm = Farm(bin_folder, workers=1)
    detached = [word for word in arguments if word != "--dry-run"]
    farm.cli(*arguments)  # The plan is stored.
    time.sleep(1)
    for process in farm.worker_processes:
        process.kill()
        process.wait()
    farm.worker_processes = []
    before = farm.memory()
    farm.cli(*detached, "--detach")
    time.sleep(3)
    print(f"  memory of the daemon: {(farm.memory() - before) / 20000 / 1024:.2f}"
          " KiB for each of 20000 waiting cells")
    farm.stop()


def interactive(bin_folder, shared):
    farm = Farm(bin_folder)
    model = os.path.join(shared, "models", "dscnn_int8.tflite")

    def profile(seed):
        start = time.monotonic()
        farm.cli("profile", model, "--target", "dla-64-o-512k", "--seed",
                 str(seed), "--class", "interactive")
        return time.monotonic() - start

    alone = [profile(seed) for seed in range(1, 12)]
    sweep = subprocess.Popen(
        farm.arguments("sweep", os.path.join(shared, "models",
                                             "resnet8_int8.tflite"),
                       "--target", "dla-*", "--vary",
                       "seed=" + ",".join(str(n) for n in range(1, 200)),
                       "--json"),
        stdout=subprocess.DEVNULL)
    time.sleep(1)
    beside = [profile(seed) for seed in range(100, 120)]
    running = sweep.poll() is None
    sweep.send_signal(signal.SIGINT)
    sweep.wait()
    print(f"interactive profile: p50 {statistics.median(alone) * 1e3:.0f} ms "
          f"alone, {statistics.median(beside) * 1e3:.0f} ms beside a sweep "
          f"({statistics.median(beside) / statistics.median(alone):.2f}x; "
          f"{'it ran on' if running else 'the sweep had ended'})")
    farm.stop()


def kills(bin_folder, shared, count, seed):
    rng = random.Random(seed)
    print(f"seed {seed}")
    farm = Farm(bin_folder)
    want, _ = table(farm.cli(*tiny(shared)))
    farm.stop()
    executed_twice = 0
    killed = {"daemon": 0, "worker": 0, "client": 0}
    done = 0
    while done < count:
        farm = Farm(bin_folder)
        start = subprocess.run(
            farm.arguments(*tiny(shared), "--detach"), capture_output=True,
            text=True, check=True)
        sweep = json.loads(start.stdout)["sweep"]
        watch = None
        for _ in range(min(5, count - done)):
            if watch is None or watch.poll() is not None:
                watch = subprocess.Popen(
                    farm.arguments("sweep", "watch", sweep, "--json"),
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                    text=True)
            time.sleep(rng.uniform(0.02, 1.0))
            victim = rng.choice(sorted(killed))
            killed[victim] += 1
            done += 1
            if victim == "client":
                watch.kill()
                watch.wait()
            elif victim == "worker":
                at = rng.randrange(len(farm.worker_processes))
                farm.worker_processes[at].kill()
                farm.worker_processes[at].wait()
                del farm.worker_processes[at]
                farm.start_worker()
            else:
                farm.daemon.kill()
                farm.daemon.wait()
                farm.start_daemon()
        if watch.poll() is None:
            # It has lived through what came after it.
            out, _ = watch.communicate(timeout=300)
            followed, _ = table(out)
            if followed != want:
                sys.exit(f"the rows of the watcher differ (seed {seed})")
        rows, _ = table(farm.cli("sweep", "watch", sweep, "--json"))
        if rows != want:
            sys.exit(f"rows differ after {killed} (seed {seed}); "
                     f"see {farm.folder}")
        rows, summary = table(farm.cli(*tiny(shared)))
        executed_twice += summary["stages_executed"]
        farm.stop()
    print(f"{done} kill -9 ({killed}): {len(want)} rows each time as "
          f"undisturbed; {executed_twice} stages of finished sweeps had to be "
          "run again")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin")
    parser.add_argument("shared")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int,
                        default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    if arguments.kills:
        kills(arguments.bin, arguments.shared, arguments.kills, arguments.seed)
        return
    for figure in (cold_and_warm, points, growth, dry, interactive):
        if arguments.only in ("", figure.__name__):
            figure(arguments.bin, arguments.shared)


if __name__ == "__main__":
    main()
