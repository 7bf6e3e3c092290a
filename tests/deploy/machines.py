"""A Debian in a folder with the package in it: as a chroot, and as a container with
systemd as its first process. Both have the same methods for what an operator does.
"""
import contextlib
import json
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import time

from support import check, run, say, unit_values, wait_for

MODEL = "/usr/share/doc/edgekiln/example/digits.onnx"
CONFIG = "/etc/edgekiln/edgekilnd.txtpb"
STATE = "/var/lib/edgekiln"
UNIT = "/lib/systemd/system/edgekilnd.service"
DAEMON = "edgekilnd.service"
WORKER = "edgekiln-worker@127.0.0.1:17402.service"
# Other daemons of this machine may have the ports of the package's config.
ADDRESS, WORKERS_ADDRESS = "127.0.0.1:17401", "127.0.0.1:17402"
HTTP, METRICS = "127.0.0.1:17403", "127.0.0.1:17404"
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
               "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
# What systemd means by these in a unit of the system.
SPECIFIERS = {"%S": "/var/lib", "%C": "/var/cache", "%t": "/run"}


class Machine:
    """A Debian in a folder, without an init."""

    def __init__(self, root):
        self.root = root
        self.daemon = None

    def command(self, *words, user=None):
        as_user = ["runuser", "-u", user, "--"] if user else []
        home = {"HOME": "/tmp"} if user else {}
        variables = [f"{k}={v}" for k, v in {**ENVIRONMENT, **home}.items()]
        return [*self.enter(), "env", "-i", *variables, *as_user,
                *[str(word) for word in words]]

    def enter(self):
        return ["chroot", str(self.root)]

    def run(self, *words, user=None, **options):
        return run(*self.command(*words, user=user), **options)

    def fails(self, *words):
        return subprocess.run(self.command(*words), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode != 0

    def path(self, path):
        return self.root / path.lstrip("/")

    def apt(self, *words):
        return self.run("apt-get", "-y", "-q", "--no-install-recommends",
                        "-o", "Dpkg::Options::=--force-confdef", *words)

    def install(self, package):
        shutil.copy(package, self.path("/tmp/edgekiln.deb"))
        text = self.apt("install", "/tmp/edgekiln.deb")
        self.path("/tmp/edgekiln.deb").unlink()
        return text

    def set_config(self, **values):
        """As an operator edits the file."""
        text = self.path(CONFIG).read_text()
        for name, value in values.items():
            text, count = re.subn(rf"^(?:# )?{name}:.*$", f"{name}: {value}", text,
                                  flags=re.M)
            check(count == 1, f"{name} in {CONFIG}")
        self.path(CONFIG).write_text(text)

    def client(self, *words):
        """A command of a user who is not the daemon's."""
        return self.command("edgekiln", *words, "--server", ADDRESS, user="nobody")

    def profile(self, target):
        return json.loads(run(*self.client("profile", MODEL, "--target", target,
                                           "--json", "--quiet")))

    def jobs(self):
        listed = json.loads(run(*self.client("jobs", "list", "--json")))
        return {job["id"]: job["state"] for job in listed["jobs"]}

    def http_get(self, address, path):
        """A minimal Debian has neither curl nor Python."""
        host, port = address.split(":")
        return self.run("bash", "-c", f"exec 3<>/dev/tcp/{host}/{port}; printf "
                        f"'GET {path} HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3")

    def traces(self):
        """Files that have the name, but for caches and logs of apt."""
        found = self.run("find", "/", "-xdev", "-name", "*edgekiln*", "-not", "-path",
                         "/var/cache/apt/*", "-not", "-path", "/var/log/*").split()
        passwd = self.path("/etc/passwd").read_text() + self.path(
            "/etc/group").read_text()
        return found + re.findall("^edgekiln.*", passwd, re.M)

    # The daemon, by the command line of its unit.

    def start(self):
        values = unit_values(self.path(UNIT).read_text())
        user, [start] = values["User"][0], values["ExecStart"]
        variables = shlex.split(" ".join(values["Environment"]))
        for name, folder in (("State", "/var/lib"), ("Cache", "/var/cache"),
                             ("Runtime", "/run")):
            self.run("install", "-d", "-o", user, "-g", values["Group"][0], "-m",
                     values[f"{name}DirectoryMode"][0],
                     f"{folder}/{values[f'{name}Directory'][0]}")
        for short, folder in SPECIFIERS.items():
            variables = [variable.replace(short, folder) for variable in variables]
            start = start.replace(short, folder)
        self.log = self.path("/tmp/daemon.log").open("a")
        self.daemon = subprocess.Popen(
            [*self.enter(), "env", "-i", f"PATH={ENVIRONMENT['PATH']}", *variables,
             "setpriv", "--reuid", user, "--regid", user, "--clear-groups",
             *shlex.split(start)], stderr=self.log)
        wait_for("the daemon", self.path("/run/edgekiln/ready").exists)

    def stop(self):
        self.daemon.send_signal(signal.SIGTERM)
        check(self.daemon.wait(40) == 0, self.path("/tmp/daemon.log").read_text())
        shutil.rmtree(self.path("/run/edgekiln"))  # As systemd does.

    def restart(self):
        self.stop()
        self.start()

    def upgrade(self, package):
        """Without systemd it is for the operator to stop and start it."""
        self.stop()
        self.install(package)
        self.start()

    def remove(self):
        self.stop()
        self.apt("remove", "edgekiln")

    def check_installed(self):
        """Nothing is started where no systemd runs."""
        check(not self.path(f"{STATE}/jobs.db").exists(), "the daemon was started")

    def check_units(self, package):
        """That takes systemd."""

    def daemon_log(self):
        return self.path("/tmp/daemon.log").read_text()


class Booted(Machine):
    """The same with systemd as its first process."""

    def __init__(self, root, leader):
        super().__init__(root)
        self.leader = leader

    def enter(self):
        return ["nsenter", "-t", str(self.leader), "-m", "-u", "-i", "-n", "-p", "-r",
                "-w"]

    def path(self, path):
        return pathlib.Path(f"/proc/{self.leader}/root") / path.lstrip("/")

    def start(self):
        self.restart()

    def stop(self):
        self.run("systemctl", "stop", DAEMON)

    def restart(self):
        self.run("systemctl", "restart", DAEMON)

    def check_installed(self):
        self.run("systemctl", "is-active", DAEMON)
        self.run("systemctl", "is-enabled", DAEMON)

    def main_process(self, unit):
        return self.run("systemctl", "show", "-P", "MainPID", unit).strip()

    def upgrade(self, package):
        before = self.main_process(DAEMON)
        self.install(package)
        check(self.main_process(DAEMON) not in (before, "0"), "not restarted")

    def remove(self):
        self.apt("remove", "edgekiln")
        running = self.run("systemctl", "list-units", "--plain", "--no-legend",
                           "--state=active", "edgekiln*").strip()
        check(running == "", running)

    def check_units(self, package):
        self.check_bad_config()
        self.check_worker_unit(package)

    def check_bad_config(self):
        """It is told at once, and not tried again."""
        good = self.path(CONFIG).read_text()
        self.path(CONFIG).write_text(good + "no_such_field: 1\n")
        check(self.fails("systemctl", "restart", DAEMON), "a bad config is taken")
        time.sleep(6)  # RestartSec
        state = self.run("systemctl", "show", "-p", "ActiveState", "-p",
                         "ExecMainStatus", "-p", "NRestarts", DAEMON).split()
        check(set(state) == {"ActiveState=failed", "ExecMainStatus=2", "NRestarts=0"},
              state)
        check("no_such_field" in self.daemon_log(), self.daemon_log())
        self.path(CONFIG).write_text(good)
        self.restart()

    def check_worker_unit(self, package):
        """A worker by its own unit, which an upgrade restarts with the daemon."""
        self.set_config(local_workers=0, workers_listen=f'"{WORKERS_ADDRESS}"')
        self.restart()
        check(self.fails("systemctl", "start", WORKER), "a worker without the secret")
        self.run("install", "-o", "edgekiln", "-g", "edgekiln", "-m", "600",
                 f"{STATE}/worker_secret", "/etc/edgekiln/worker_secret")
        self.run("systemctl", "enable", "--now", WORKER)
        self.profile("toy-array")
        log = self.run("journalctl", "-q", "-o", "cat", "-u", WORKER)
        check("missing: none" in log, log)
        before = self.main_process(WORKER)
        shutil.copy(package, self.path("/tmp/newer.deb"))
        self.run("dpkg", "-i", "/tmp/newer.deb")
        self.path("/tmp/newer.deb").unlink()
        check(self.main_process(WORKER) not in (before, "0"), "it is not restarted")
        self.profile("toy-shift")
        say("a worker by its unit")

    def daemon_log(self):
        return self.run("journalctl", "-q", "-o", "cat", "-u", DAEMON)


@contextlib.contextmanager
def booted(root):
    """None where systemd does not start in a container of this machine."""
    log = (root.parent / "boot.log").open("w")
    container = subprocess.Popen(
        ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit",
         "--private-network", "--machine=edgekiln-test", "-D", str(root), "--boot"],
        stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield boot_of(root, container)
    finally:
        # It passes this on to systemd as an order to power off.
        container.terminate()
        try:
            container.wait(60)
        except subprocess.TimeoutExpired:
            container.kill()
            container.wait()


def boot_of(root, container):
    until = time.monotonic() + 90
    while time.monotonic() < until and container.poll() is None:
        time.sleep(0.5)
        children = pathlib.Path(
            f"/proc/{container.pid}/task/{container.pid}/children").read_text().split()
        for child in children:
            machine = Booted(root, int(child))
            done = subprocess.run(
                machine.command("systemctl", "is-system-running"), text=True,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if done.stdout.strip() in ("running", "degraded"):
                return machine
    return None
