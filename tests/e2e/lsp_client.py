"""A client of `edgekiln lsp`, for tests and benches, and a place for it to run:
a folder with a daemon of its own."""

import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time

LIMIT = 60  # Seconds for one answer.


class Place:
    """A folder, and the environment in which a local daemon runs there."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ek-lsp-", dir="/tmp"))
        self.environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8",
                            "HOME": str(self.folder)}
        for name in ("RUNTIME_DIR", "STATE_HOME", "CACHE_HOME"):
            path = self.folder / name
            path.mkdir(mode=0o700)
            self.environment["XDG_" + name] = str(path)

    def daemons(self):
        """Process ids of the daemons that were started here."""
        mark = ("XDG_RUNTIME_DIR=%s" % self.environment["XDG_RUNTIME_DIR"]).encode()
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                name = (entry / "comm").read_text().strip()
                if name == "edgekilnd" and mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def signal_daemons(self, number, seconds):
        """Waits up to that time for their end."""
        for process in self.daemons():
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass  # It has just ended.
        end = time.monotonic() + seconds
        while self.daemons() and time.monotonic() < end:
            time.sleep(0.05)

    def stop(self):
        self.signal_daemons(signal.SIGTERM, 20)
        self.signal_daemons(signal.SIGKILL, 5)
        shutil.rmtree(self.folder, ignore_errors=True)


class Ended(Exception):
    pass


class Client:
    """One server. Messages that it sends are kept in `received`, in order."""

    def __init__(self, edgekiln, environment, *arguments):
        self.process = subprocess.Popen(
            [edgekiln, "lsp", *arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        self.received = []
        self.responses = {}
        self.changed = threading.Condition()
        self.ended = False
        self.errors = queue.Queue()
        self.next_id = 0
        threading.Thread(target=self.read, daemon=True).start()
        threading.Thread(target=self.read_errors, daemon=True).start()

    def read_errors(self):
        for line in self.process.stderr:
            self.errors.put(line.decode())

    def read(self):
        stream = self.process.stdout
        while True:
            length = None
            while True:
                line = stream.readline()
                if line in (b"\r\n", b""):
                    break
                key, value = line.split(b":", 1)
                if key.lower() == b"content-length":
                    length = int(value)
            if length is None:
                break
            message = json.loads(stream.read(length))
            message["at"] = time.monotonic()
            with self.changed:
                if "id" in message and "method" not in message:
                    self.responses[message["id"]] = message
                else:
                    self.received.append(message)
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait(self, condition, what, limit=LIMIT):
        """What `condition` gives once it is true."""
        end = time.monotonic() + limit
        with self.changed:
            while True:
                found = condition()
                if found:
                    return found
                if self.ended:
                    raise Ended("the server ended before: %s" % what)
                left = end - time.monotonic()
                if left <= 0 or not self.changed.wait(left):
                    raise TimeoutError(what)

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def notify(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def start_request(self, method, **params):
        self.next_id += 1
        self.send({"jsonrpc": "2.0", "id": self.next_id, "method": method,
                   "params": params})
        return self.next_id

    def request(self, method, **params):
        number = self.start_request(method, **params)
        answer = self.wait(lambda: self.responses.pop(number, None), method)
        if "error" in answer:
            raise RuntimeError("%s: %s" % (method, answer["error"]))
        return answer["result"]

    def initialize(self, root, options=None, encodings=("utf-16",)):
        result = self.request(
            "initialize", processId=os.getpid(),
            rootUri="file://" + str(root), initializationOptions=options,
            capabilities={
                "general": {"positionEncodings": list(encodings)},
                "workspace": {"codeLens": {"refreshSupport": True}},
                "textDocument": {"completion": {
                    "completionItem": {"snippetSupport": True}}}})
        self.notify("initialized")
        return result

    def open(self, uri, text, version=1):
        self.notify("textDocument/didOpen", textDocument={
            "uri": uri, "languageId": "edgekiln", "version": version,
            "text": text})

    def change(self, uri, version, text, line=None, start=None, end=None):
        """The whole text, or a part of one line."""
        edit = {"text": text}
        if line is not None:
            edit["range"] = {"start": {"line": line, "character": start},
                             "end": {"line": line, "character": end}}
        self.notify("textDocument/didChange",
                    textDocument={"uri": uri, "version": version},
                    contentChanges=[edit])

    def diagnostics(self, uri, version):
        """The message with those of that version, once it has come."""
        def find():
            for message in reversed(self.received):
                params = message.get("params", {})
                if (message["method"] == "textDocument/publishDiagnostics"
                        and params["uri"] == uri
                        and params.get("version", 0) >= version):
                    return message
            return None
        return self.wait(find, "diagnostics of version %d" % version)

    def figures(self, uri, version):
        """The message with those of that version, once it has come."""
        def find():
            for message in reversed(self.received):
                if message["method"] != "edgekiln/figures":
                    continue
                params = message["params"]
                if (params["uri"] == uri and
                        (params.get("figures", {}).get("version", 0) >= version
                         or (params["state"] == "failed"
                             and params["version"] >= version))):
                    return message
            return None
        return self.wait(find, "figures of version %d" % version)

    def forget(self):
        with self.changed:
            del self.received[:]

    def resident_kib(self):
        with open("/proc/%d/status" % self.process.pid) as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        return 0

    def stop(self):
        """The exit code of an orderly end."""
        self.request("shutdown")
        self.notify("exit")
        return self.process.wait(timeout=LIMIT)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
