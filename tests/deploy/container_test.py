"""Builds the image of deploy/container from the package, on a Debian that
debootstrap made, and runs it as its own metadata say: as its user, with its
command line and health check.

usage: container_test.py SOURCE BASE_ARCHIVE PACKAGE_FOLDER
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from support import TARGET_CYCLES, check, find_package, is_root, need, run, skip

SOURCE, BASE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
if not BASE.exists():
    skip(f"{BASE}: the test that makes it was skipped")
PACKAGE = find_package(sys.argv[3])
need("buildah")
if not is_root():
    skip("not root")
MODEL = "/usr/share/doc/edgekiln/example/digits.onnx"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Builder:
    """Buildah with images in a folder of its own."""

    def __init__(self, folder):
        self.command = ["buildah", "--storage-driver", "vfs", "--root",
                        str(folder / "images"), "--runroot", str(folder / "run")]

    def __call__(self, *words):
        return run(*self.command, *words)

    def start(self, container, *words, **options):
        return subprocess.Popen(
            [*self.command, "run", "--isolation", "chroot", container, "--", *words],
            text=True, **options)

    def run(self, container, *words):
        return self("run", "--isolation", "chroot", container, "--", *words)


def main():
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="ek_container_"))
    buildah = Builder(scratch)
    try:
        container = buildah("from", "scratch").strip()
        buildah("add", "-q", container, BASE, "/")
        buildah("commit", "-q", container, "localhost/debian-12")
        buildah("rm", container)
        context = scratch / "context"
        context.mkdir()
        shutil.copy(PACKAGE, context)
        buildah("bud", "--isolation", "chroot", "--format", "docker", "--layers=false",
                "--build-arg", "BASE=localhost/debian-12", "-t", "edgekiln", "-f",
                SOURCE / "deploy/container/Containerfile", context)
        serve(buildah)
    finally:
        run("rm", "-rf", "--one-file-system", scratch)


def serve(buildah):
    container = buildah("from", "localhost/edgekiln").strip()
    image = json.loads(buildah("inspect", container))["Docker"]["config"]
    check(image["User"] == "edgekiln:edgekiln", image)
    check("/var/lib/edgekiln" in image["Volumes"], image)
    check(image["Healthcheck"]["Test"][0] == "CMD", image)
    # The network is this machine's, where the ports may be taken.
    ports = {"7433": str(free_port()), "7480": str(free_port())}

    def moved(words):
        for port, instead in ports.items():
            words = [word.replace(f":{port}", f":{instead}") for word in words]
        return words

    daemon = buildah.start(container, *image["Entrypoint"], *moved(image["Cmd"]),
                           stderr=subprocess.PIPE, start_new_session=True)
    try:
        healthy = moved(image["Healthcheck"]["Test"][1:])
        until = time.monotonic() + 60
        while subprocess.run(
                [*buildah.command, "run", "--isolation", "chroot", container, "--",
                 *healthy], stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL).returncode != 0:
            check(time.monotonic() < until and daemon.poll() is None,
                  "the health check does not pass")
            time.sleep(0.5)
        check(buildah.run(container, "id", "-un").strip() == "edgekiln", "the user")
        text = buildah.run(container, "edgekiln", "profile", MODEL, "--target",
                           TARGET_CYCLES[0], "--json", "--quiet", "--server",
                           f"127.0.0.1:{ports['7433']}")
        report = json.loads(text[text.index("{"):])
        check(int(report["totals"]["cycles"]) == TARGET_CYCLES[1], report["totals"])
    finally:
        # Chroot isolation hands no signal on.
        end(daemon)
    check(subprocess.run(
        [*buildah.command, "run", "--isolation", "chroot", container, "--", *healthy],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0,
        "the health check passes without a daemon")


def end(daemon):
    """The daemon itself, which is below buildah's own processes."""
    def below(pid):
        """Each thread has children of its own, and buildah has many threads."""
        children = []
        for tasks in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                children += tasks.read_text().split()
            except OSError:
                pass
        return [*children, *(each for child in children for each in below(child))]
    for pid in below(daemon.pid):
        try:
            name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            continue
        if name == "edgekilnd":
            os.kill(int(pid), signal.SIGTERM)
    daemon.wait(60)


main()
