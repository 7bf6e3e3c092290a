"""The user's own daemon: found if it runs, started if it does not.

Works like client/local_daemon.h, so Python and the command line share one daemon.
`edgekilnd --local` listens on edgekilnd.sock in the user's runtime folder and
holds a lock: if several are started at once, one survives. A daemon whose program
file was replaced or whose cache folder was deleted gets SIGTERM and is replaced.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import socket
import stat
import struct
import subprocess
import time

from . import errors
from .errors import EdgekilnError, ErrorDetail, error_of

_POLL = 0.01
_SPAWN_PAUSE = 0.1  # Between attempts, while another daemon ends or comes up.
_MAX_FAILURES = 3   # Failed starts in a row before giving up.
_MAX_LOG_BYTES = 1 << 20
_PATIENCE = 10.0    # Until the socket accepts connections.
_PATH_BYTES = 107   # sizeof(sockaddr_un.sun_path) - 1.

# Kept because Python warns when a running Popen is garbage-collected.
_STARTED: list[subprocess.Popen[bytes]] = []


class LocalDaemon:
    """`program` is the path of edgekilnd. Default: the one beside the `edgekiln`
    in PATH, else the one in PATH."""

    def __init__(self, program: str | None = None) -> None:
        runtime = os.environ.get("XDG_RUNTIME_DIR", "")
        self.folder = (f"{runtime}/edgekiln" if runtime.startswith("/")
                       else f"/tmp/edgekiln-{os.geteuid()}")
        self.program = program or _find_program()
        self.socket = f"{self.folder}/edgekilnd.sock"
        self.log = f"{self.folder}/edgekilnd.log"

    def service_socket(self) -> str | None:
        """The socket of an `edgekilnd` that the user runs without --listen."""
        path = f"{self.folder}/service.sock"
        try:
            return path if _peer_of(path) is not None else None
        except EdgekilnError:
            return None

    def ensure(self) -> None:
        """Returns once a daemon of the user's own accepts connections."""
        _make_private(self.folder)
        give_up = time.monotonic() + _PATIENCE
        starter = _Starter(self)
        while True:
            peer = _peer_of(self.socket)
            if peer is None:
                starter.poll()
            elif not self._must_leave(peer):
                return
            else:
                self._retire(peer)
            if time.monotonic() >= give_up:
                raise starter.verdict()
            time.sleep(_POLL)

    def _must_leave(self, pid: int) -> bool:
        return _is_outdated(pid, self.program) or _has_lost_its_folder(pid)

    def _retire(self, pid: int) -> None:
        give_up = time.monotonic() + _PATIENCE
        _kill(pid)
        while self._must_leave(pid):
            if time.monotonic() >= give_up:
                raise _unreachable("an outdated edgekilnd does not leave",
                                   f"process {pid} on {self.socket}",
                                   f"end it: kill -9 {pid}")
            time.sleep(_POLL)


class _Starter:
    """Runs one start attempt at a time. A daemon that finds the lock taken exits
    with code 0; the lock's holder is then starting or shutting down."""

    def __init__(self, daemon: LocalDaemon) -> None:
        self._daemon = daemon
        self._process: subprocess.Popen[bytes] | None = None
        self._next = 0.0
        self._failures = 0
        self._locked = False

    def poll(self) -> None:
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                return
            self._process = None
            self._next = time.monotonic() + _SPAWN_PAUSE
            self._locked = code == 0
            self._failures = 0 if self._locked else self._failures + 1
            if self._failures >= _MAX_FAILURES:
                raise self._did_not_start("edgekilnd --local ended at once")
        if time.monotonic() >= self._next:
            self._process = self._spawn()
            _STARTED[:] = [one for one in _STARTED if one.poll() is None]
            _STARTED.append(self._process)

    def _spawn(self) -> subprocess.Popen[bytes]:
        program, log = self._daemon.program, self._daemon.log
        if not os.access(program, os.X_OK):
            raise _unreachable(
                "edgekilnd is missing", program,
                "put edgekilnd and edgekiln-worker into PATH, or give the address "
                "of a daemon: edgekiln.connect('HOST:PORT')")
        # Keeps the log from growing without limit.
        if os.path.exists(log) and os.path.getsize(log) > _MAX_LOG_BYTES // 2:
            os.unlink(log)
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            # In a new session, so that Ctrl-C does not reach it.
            return subprocess.Popen(
                [program, "--local"], stdin=subprocess.DEVNULL, stdout=handle,
                stderr=handle, cwd="/", start_new_session=True)
        except OSError as error:
            raise _unreachable("edgekilnd could not be started",
                               f"{program}: {error.strerror}",
                               "install edgekilnd again") from None
        finally:
            os.close(handle)

    def verdict(self) -> EdgekilnError:
        if self._locked:
            lock = f"{self._daemon.folder}/edgekilnd.lock"
            return _unreachable(
                "another edgekilnd --local holds the lock and did not listen within "
                f"{_PATIENCE:.0f}s", lock,
                f"wait until it has ended, or end it: fuser -k {lock}")
        return self._did_not_start(f"edgekilnd --local did not listen on "
                                   f"{self._daemon.socket} within {_PATIENCE:.0f}s")

    def _did_not_start(self, what: str) -> EdgekilnError:
        log = self._daemon.log
        return _unreachable(what, _last_words(log) or f"its log {log} is empty",
                            f"read {log}, or run edgekilnd --local in a terminal to "
                            "see why")


def _find_program() -> str:
    beside = shutil.which("edgekiln")
    if beside is not None:
        program = pathlib.Path(beside).resolve().parent / "edgekilnd"
        if program.exists():
            return str(program)
    return shutil.which("edgekilnd") or "edgekilnd"


def _peer_of(path: str) -> int | None:
    """The process that listens on a socket; None if nothing does."""
    if len(os.fsencode(path)) > _PATH_BYTES:
        raise _unreachable("the socket's path is too long", path,
                           "set XDG_RUNTIME_DIR to a shorter path; at most "
                           f"{_PATH_BYTES} bytes fit")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError:
            return None
        credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid, uid, _ = struct.unpack("3i", credentials)
    if uid != os.geteuid():
        raise _unsafe("the daemon on the socket is not yours", path,
                      "a daemon of your own")
    return int(pid)


def _is_outdated(pid: int, program: str) -> bool:
    """Whether the process runs a file that has since been replaced."""
    try:
        target = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return False
    # Installers rename the old file, so only the folder is compared.
    return (target.endswith(" (deleted)")
            and os.path.dirname(target) == os.path.dirname(program))


def _has_lost_its_folder(pid: int) -> bool:
    """Whether the process holds the lock of a cache folder that was removed."""
    try:
        for entry in os.scandir(f"/proc/{pid}/fd"):
            try:
                if os.readlink(entry.path).endswith("/edgekiln/lock (deleted)"):
                    return True
            except OSError:
                continue
    except OSError:
        pass
    return False


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass


def _make_private(folder: str) -> None:
    """Creates the folder, and refuses one that others own or can open."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise error_of(ErrorDetail(
            what="the runtime folder cannot be created",
            where=f"{folder}: {error.strerror}", reason="RUNTIME_FOLDER_UNUSABLE",
            fix="set XDG_RUNTIME_DIR to a folder of your own", fault="INFRA",
            code=errors.UNAVAILABLE)) from None
    info = os.lstat(folder)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
        raise _unsafe("the runtime folder is not yours", folder,
                      "a folder that belongs to you")
    if info.st_mode & 0o077:
        raise _unsafe("the runtime folder is open to others", folder, "mode 0700")


def _last_words(log: str) -> str:
    """The last non-empty line of the log."""
    try:
        with open(log, "rb") as file:
            file.seek(max(0, os.path.getsize(log) - 4096))
            lines = file.read(4096).decode(errors="replace").split("\n")
    except OSError:
        return ""
    said = [line for line in lines if line.strip()]
    return said[-1] if said else ""


def _unreachable(what: str, where: str, fix: str) -> EdgekilnError:
    return error_of(ErrorDetail(what=what, where=where, fix=fix, fault="INFRA",
                                reason="DAEMON_UNREACHABLE", code=errors.UNAVAILABLE))


def _unsafe(what: str, where: str, need: str) -> EdgekilnError:
    return error_of(ErrorDetail(
        what=what, where=where, need=need, fault="INFRA",
        fix="remove it, or set XDG_RUNTIME_DIR to a folder of your own",
        reason="RUNTIME_FOLDER_UNSAFE", code=errors.PERMISSION_DENIED))
