"""A life of the package on a clean Debian 12: installed by apt, its daemon answers,
is upgraded with a job in the queue, and is purged without a trace. First in a
chroot, where the unit's command line is run by hand; then under systemd, which
runs the units with all their restrictions.

usage: install_test.py BASE_ARCHIVE PACKAGE_FOLDER
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from machines import (ADDRESS, CONFIG, HTTP, METRICS, MODEL, STATE, Machine,
                      booted)
from support import (TARGET_CYCLES, check, find_package, is_root, need, run, say,
                     skip, wait_for)

BASE = pathlib.Path(sys.argv[1])
if not BASE.exists():
    skip(f"{BASE}: the test that makes it was skipped")
PACKAGE = find_package(sys.argv[2])
need("dpkg-deb", "unshare", "tar")
if not is_root():
    skip("not root")


def newer(package, folder):
    """The same package as a later version."""
    tree = folder / "newer"
    run("dpkg-deb", "-R", package, tree)
    control = tree / "DEBIAN/control"
    text = re.sub(r"^(Version: .*)$", r"\1+1", control.read_text(), flags=re.M)
    control.write_text(text)
    (tree / "usr/share/doc/edgekiln/NEWER").write_text("")
    out = folder / "newer.deb"
    # Of no interest here: how small it is.
    run("dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, out)
    shutil.rmtree(tree)
    return out


def check_profile(machine):
    target, cycles = TARGET_CYCLES
    report = machine.profile(target)
    check(int(report["totals"]["cycles"]) == cycles, report["totals"])


def check_confinement(machine):
    """The unit's restrictions must not cost the children theirs, nor the worker what
    it shares memory out by."""
    lines = re.findall("confinement of stages: (.*)", machine.daemon_log())
    check(lines and all("missing: none" in line for line in lines), lines)
    [total] = re.findall(r"MemTotal: +(\d+)", pathlib.Path("/proc/meminfo").read_text())
    for line in lines:
        [budget] = re.findall(r"(\d+) MiB together", line)
        check(int(budget) < int(total) / 1024, f"{line}; the machine has {total} KiB")


def live(machine, package, newer_package):
    """From the first installation to the purge."""
    try:
        live_through(machine, package, newer_package)
    except SystemExit:
        print(machine.daemon_log()[-4000:])
        raise


def live_through(machine, package, newer_package):
    before = machine.traces()
    check(before == [], before)
    machine.install(package)
    check(machine.path("/etc/systemd/system/multi-user.target.wants/edgekilnd.service")
          .is_symlink(), "the unit is not enabled")
    machine.check_installed()
    machine.set_config(listen=f'"{ADDRESS}"', http=f'"{HTTP}"', metrics=f'"{METRICS}"',
                       local_workers=1)
    machine.start()
    check_profile(machine)
    for address, path in ((HTTP, "/readyz"), (METRICS, "/metrics")):
        answer = machine.http_get(address, path)
        check(" 200 " in answer.split("\n")[0], answer)
    check_confinement(machine)
    say("installed, and profiled")
    check_backup(machine)
    check_upgrade(machine, newer_package)
    machine.check_units(newer_package)

    machine.remove()
    check(machine.path(f"{STATE}/worker_secret").exists(), "removing keeps the state")
    check(machine.path(CONFIG).exists(), "removing keeps the config")
    machine.apt("purge", "edgekiln")
    left = machine.traces()
    check(left == [], f"left behind: {left}")
    say("purged")


def check_backup(machine):
    """As docs/hosting.md says, on a machine whose disk was replaced."""
    known = machine.jobs()
    machine.stop()
    machine.run("tar", "-C", "/var/lib", "-czf", "/tmp/backup.tar.gz",
                "--exclude=edgekiln/results", "--exclude=edgekiln/reserve", "edgekiln")
    machine.run("rm", "-rf", STATE)
    machine.run("tar", "-C", "/var/lib", "-xzf", "/tmp/backup.tar.gz")
    machine.start()
    check(machine.jobs() == known, machine.jobs())
    check_profile(machine)
    say("backed up and restored")


def check_upgrade(machine, newer_package):
    """With a job that waits for a worker, one behind it, and users who look on."""
    machine.set_config(local_workers=0, max_running_jobs=1)
    machine.restart()
    known = machine.jobs()
    clients = []
    for target in ("dla-128-i-1m", "dla-128-o-512k"):
        clients.append(subprocess.Popen(
            machine.client("profile", MODEL, "--target", target, "--json", "--quiet"),
            stdout=subprocess.PIPE, text=True))
        wait_for("the job", lambda: len(machine.jobs()) == len(known) + len(clients))
    waiting = {job: state for job, state in machine.jobs().items() if job not in known}
    check(sorted(waiting.values()) == ["QUEUED", "RUNNING"], waiting)
    edited = machine.path(CONFIG).read_text()
    machine.upgrade(newer_package)
    check(machine.path("/usr/share/doc/edgekiln/NEWER").exists(), "not upgraded")
    check(machine.path(CONFIG).read_text() == edited, "the config is not kept")
    check(machine.jobs() == {**known, **waiting}, machine.jobs())
    check(all(client.poll() is None for client in clients), "a client has given up")
    say(f"upgraded, with {waiting}")
    machine.set_config(local_workers=1)
    machine.restart()
    for client in clients:
        report = json.loads(client.communicate(timeout=120)[0])
        check(client.returncode == 0 and int(report["totals"]["cycles"]) > 0, report)
    check(set(machine.jobs().values()) == {"SUCCEEDED"}, machine.jobs())
    say("both have ended")


def main():
    if "--inside" not in sys.argv:
        # Mounts and processes of ours end with this test, however that ends.
        os.execvp("unshare", ["unshare", "--mount", "--pid", "--fork", "--kill-child",
                              "--mount-proc", sys.executable, "-B", *sys.argv,
                              "--inside"])
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="ek_install_"))
    root = scratch / "root"
    try:
        root.mkdir()
        run("tar", "-C", root, "-xf", BASE)
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        newer_package = newer(PACKAGE, scratch)
        run("mount", "-t", "proc", "proc", root / "proc")
        machine = Machine(root)
        done = subprocess.run(machine.command("apt-get", "update", "-q"), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            skip(f"no mirror:\n{done.stdout}")
        say("without systemd")
        live(machine, PACKAGE, newer_package)
        if shutil.which("systemd-nspawn") is None:
            print("not under systemd: no systemd-nspawn (systemd-container)")
            return
        machine.apt("install", "systemd-sysv", "dbus")
        run("umount", root / "proc")
        with booted(root) as machine:
            if machine is None:
                print("not under systemd: it does not start in a container here\n",
                      (scratch / "boot.log").read_text())
                return
            say("under systemd")
            live(machine, PACKAGE, newer_package)
    finally:
        subprocess.run(["umount", "-q", str(root / "proc")])
        run("rm", "-rf", "--one-file-system", scratch)


main()
