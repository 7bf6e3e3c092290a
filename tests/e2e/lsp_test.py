#!/usr/bin/env python3
"""`edgekiln lsp` as an editor has it: the real server, with a local daemon.

usage: lsp_test.py SOURCE BIN [--full]
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lsp_client import Client, Ended, Place  # noqa: E402

SOURCE = pathlib.Path(sys.argv[1]).resolve()
BIN = pathlib.Path(sys.argv[2]).resolve()
FULL = "--full" in sys.argv[3:]
EDGEKILN = str(BIN / "edgekiln")
MODEL = SOURCE / "docs/example/digits.onnx"
URI = "file:///home/ann/chip.txtpb"
EDITS = 5000 if FULL else 300
MOST_GROWTH_KIB = 8 * 1024


def in_range(text, span):
    """The part of the text; ASCII only."""
    lines = text.split("\n")
    assert span["start"]["line"] == span["end"]["line"], span
    return lines[span["start"]["line"]][span["start"]["character"]:
                                        span["end"]["character"]]


class LspTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place()
        cls.addClassCleanup(cls.place.stop)
        cls.dla = cls.cli("targets", "show", "dla").stdout

    @classmethod
    def cli(cls, *arguments):
        return subprocess.run([EDGEKILN, *arguments], capture_output=True,
                              text=True, env=cls.place.environment, timeout=60)

    def client(self, *arguments, **options):
        client = Client(EDGEKILN, self.place.environment, *arguments)
        self.addCleanup(client.kill)
        client.initialize("/work", **options)
        return client

    def problems(self, client, version, uri=URI):
        return client.diagnostics(uri, version)["params"]["diagnostics"]

    # Each breaks the descriptor of "dla" in one place, which the daemon finds.
    BROKEN = [
        ("default_value: 64\n", "default_value: 4000\n", '"pes"',
         "default_value 4000 is out of range"),
        ('capacity_bytes_expr: "sram_bytes"', 'capacity_bytes_expr: "sram_byte"',
         "sram_byte", "sram_byte"),
        ('reached_by: "host"', 'reached_by: "hots"', "hots", "hots"),
        ("schema_version: 1", "schema_version: 2", "2", "schema version"),
    ]

    def test_diagnostics_have_the_place(self):
        client = self.client()
        client.open(URI, self.dla)
        self.assertEqual(self.problems(client, 1), [])
        version = 1
        for old, new, place, message in self.BROKEN:
            self.assertIn(old, self.dla)
            version += 1
            text = self.dla.replace(old, new, 1)
            client.change(URI, version, text)
            found = self.problems(client, version)
            self.assertEqual(len(found), 1, (new, found))
            self.assertIn(message, found[0]["message"])
            shown = in_range(text, found[0]["range"])
            self.assertEqual(shown.strip('"'), place.strip('"'), (new, found))
            # It is the place that was broken.
            line = text.split("\n")[found[0]["range"]["start"]["line"]]
            near = text[:text.index(new)].count("\n")
            self.assertLessEqual(
                abs(near - found[0]["range"]["start"]["line"]), 5, (new, line))
        # Several errors of the schema at once, without the daemon.
        client.change(URI, version + 1, "extnds: \"dla\"\nset { vlue: 1 }\n")
        found = self.problems(client, version + 1)
        self.assertEqual([one["code"] for one in found], ["UNKNOWN_KEY"] * 2)
        self.assertEqual(client.stop(), 0)

    def test_quick_fixes_lead_to_a_valid_file(self):
        client = self.client(encodings=["utf-8", "utf-16"])
        lines = ["# \u00e9\U0001F600", "extnds: \"dla\"",
                 "set { name: \"pse\" value: 2000 }"]
        client.open(URI, "\n".join(lines))
        version = 1
        for _ in range(4):
            found = self.problems(client, version)
            if not found:
                break
            actions = client.request(
                "textDocument/codeAction", textDocument={"uri": URI},
                range=found[0]["range"], context={"diagnostics": found})
            self.assertTrue(actions, found)
            edit = actions[0]["edit"]["changes"][URI][0]
            version += 1
            row = edit["range"]["start"]["line"]
            line = lines[row].encode()  # Characters are bytes here.
            lines[row] = (line[:edit["range"]["start"]["character"]]
                          + edit["newText"].encode()
                          + line[edit["range"]["end"]["character"]:]).decode()
            client.notify("textDocument/didChange",
                          textDocument={"uri": URI, "version": version},
                          contentChanges=[{"range": edit["range"],
                                           "text": edit["newText"]}])
        self.assertEqual(self.problems(client, version), [])
        self.assertEqual(lines[1:], ["extends: \"dla\"",
                                     "set { name: \"pes\" value: 1024 }"])
        self.assertEqual(client.stop(), 0)

    def test_completion_and_hover(self):
        client = self.client()
        text = "extends: \"dla\"\nset { name: \"\" value: 96 }\n"
        client.open(URI, text)
        self.problems(client, 1)

        def ask(line, character, text=None):
            answer = client.request(
                "textDocument/completion", textDocument={"uri": URI},
                position={"line": line, "character": character})
            return {item["label"]: item for item in answer["items"]}

        def parameters():
            found = ask(1, 13)
            return found if "pes" in found else None

        end = time.monotonic() + 20
        while not parameters() and time.monotonic() < end:
            time.sleep(0.02)
        pes = parameters()["pes"]
        self.assertIn("1 to 1024 elements, default 64", pes["detail"])
        self.assertIn("Processing elements", pes["documentation"]["value"])
        self.assertIn("dla-64-o-512k", ask(0, 10))
        self.assertIn("recipes", ask(2, 0))
        self.assertEqual(sorted(ask(1, 6)), ["name"])
        hover = client.request("textDocument/hover", textDocument={"uri": URI},
                               position={"line": 0, "character": 2})
        self.assertIn("Start from a built-in descriptor",
                      hover["contents"]["value"])
        symbols = client.request("textDocument/documentSymbol",
                                 textDocument={"uri": URI})
        self.assertEqual([one["name"] for one in symbols], ["set"])
        # A project file, by its name.
        project = "file:///home/ann/edgekiln.txtpb"
        client.open(project, "groups { mdels { } }")
        self.assertIn("models",
                      self.problems(client, 1, project)[0]["message"])
        self.assertEqual(client.stop(), 0)

    def lens(self, client):
        found = client.request("textDocument/codeLens",
                               textDocument={"uri": URI})
        return found[0]["command"]["title"] if found else ""

    def cycles_of(self, pes):
        file = self.place.folder / ("pes%d.txtpb" % pes)
        file.write_text("extends: \"dla\"\nset { name: \"pes\" value: %d }\n"
                        % pes)
        done = self.cli("profile", str(MODEL), "--target", str(file),
                        "--timing-only", "--json")
        return int(json.loads(done.stdout)["totals"]["cycles"])

    def test_profiles_as_one_types(self):
        client = self.client(options={"model": str(MODEL)})
        text = "extends: \"dla\"\nset { name: \"pes\" value: %d }\n"
        client.open(URI, text % 16)
        figures = client.figures(URI, 1)["params"]["figures"]
        self.assertEqual(figures["cycles"], self.cycles_of(16))
        self.assertIn(" cycles \u00b7 ", self.lens(client))
        self.assertIn("SRAM", self.lens(client))
        # Each edit supersedes the run before; the last one counts.
        version = 1
        for pes in list(range(17, 60)) + [64]:
            version += 1
            client.change(URI, version, text % pes)
        figures = client.figures(URI, version)["params"]["figures"]
        self.assertEqual(figures["version"], version)
        self.assertEqual(figures["cycles"], self.cycles_of(64))
        self.assertIn("%", self.lens(client))
        runs = sum(message["method"] == "edgekiln/figures"
                   and message["params"]["state"] == "done"
                   for message in client.received)
        self.assertLess(runs, version, "no run was superseded")
        # What does not fit is told, too.
        client.change(URI, version + 1, text % 64 +
                      "set { name: \"sram_bytes\" value: 64 }\n")
        failed = client.figures(URI, version + 1)["params"]
        self.assertEqual(failed["state"], "failed", failed)
        warning = client.wait(
            lambda: [one for message in client.received
                     if message["method"] == "textDocument/publishDiagnostics"
                     for one in message["params"]["diagnostics"]
                     if one["message"].startswith("profiling: ")], "a warning")
        self.assertEqual(warning[0]["severity"], 2)
        client.notify("workspace/didChangeConfiguration",
                      settings={"edgekiln": {"model": ""}})
        self.assertEqual(self.lens(client), "")
        self.assertEqual(client.stop(), 0)

    def test_many_edits_need_no_memory(self):
        client = self.client(options={"model": str(MODEL)})
        client.open(URI, self.dla)
        client.figures(URI, 1)
        rng = random.Random(5)
        lines = self.dla.split("\n")
        before = 0
        for version in range(2, EDITS + 2):
            if version == max(EDITS // 5, 100):
                self.problems(client, version - 1)
                before = client.resident_kib()
            row = rng.randrange(len(lines))
            at = rng.randrange(len(lines[row]) + 1)
            # Typed, then taken back: most texts are valid again.
            if version % 2 == 0:
                client.change(URI, version, "x", row, at, at)
                typed = (row, at)
            else:
                row, at = typed
                client.change(URI, version, "", row, at, at + 1)
            if version % 10 == 0:
                client.start_request(
                    "textDocument/completion", textDocument={"uri": URI},
                    position={"line": row, "character": at})
            if version % 25 == 0:
                self.problems(client, version)
                client.forget()
        if EDITS % 2:
            self.fail("an even number of edits ends with the first text")
        self.assertEqual(self.problems(client, EDITS + 1), [])
        grown = client.resident_kib() - before
        print("\n%d edits: %d KiB, grown by %d KiB" % (
            EDITS, client.resident_kib(), grown), flush=True)
        self.assertLess(grown, MOST_GROWTH_KIB)
        self.assertEqual(client.stop(), 0)

    def test_hostile_streams(self):
        """No crash: an exit code of its own, and words on what was wrong."""
        deep = b"[" * 100000
        for data, lives in [
                (b"Content-Length: -1\r\n\r\n", False),
                (b"Content-Length: 999999999999999999999\r\n\r\n", False),
                (b"\x00\xff\xfe" * 5000, False),
                (b"GET / HTTP/1.1\r\n\r\n", False),
                (b"Content-Length: 100000\r\n\r\n" + deep, True),
                (b"Content-Length: 3\r\n\r\n\xff\xfe\xfd", True),
                (b"Content-Length: 20000000\r\n\r\n" + b"y" * 20000000, True),
        ]:
            client = self.client()
            try:
                client.send_bytes(data)
            except BrokenPipeError:
                pass
            if lives:
                client.open(URI, "extnds: 1")
                self.assertEqual(len(self.problems(client, 1)), 1)
                self.assertEqual(client.stop(), 0)
                continue
            self.assertIn(client.process.wait(timeout=30), (1, 2), data[:40])
            self.assertIn("error", client.errors.get(timeout=5))
        # The input ends without a word.
        client = self.client()
        client.process.stdin.close()
        self.assertEqual(client.process.wait(timeout=30), 1)

    def test_hostile_texts(self):
        client = self.client()
        version = 0
        client.open(URI, "")
        for text in ["\ufeffextends: \"dla\"", "extends: \"dla\"\r\n",
                     "extends: \"dla\"\r# \x00\u2028", "name: \"\ufffd\"",
                     "a" * 300000, "{" * 50000, "\"" * 50000, "[" * 50000,
                     "set { name: " * 9000, "x" * (2 << 20), self.dla * 3,
                     "\n" * 500000, "aaaa: 1\n" * 120000,
                     "set { }\n" * 120000 + "}",
                     "parameters { name: \"a\" }\n" * 20000
                     + "set { name: \"a\" }\n" * 20000]:
            version += 1
            client.change(URI, version, text)
            self.problems(client, version)
            client.request("textDocument/completion", textDocument={"uri": URI},
                           position={"line": 20005, "character": 13})
            client.request("textDocument/hover", textDocument={"uri": URI},
                           position={"line": 0, "character": 3})
            client.request("textDocument/documentSymbol",
                           textDocument={"uri": URI})
        client.change(URI, version + 1, "extends: \"dla\"")
        self.assertEqual(self.problems(client, version + 1), [])
        self.assertEqual(client.stop(), 0)

    def test_files_of_a_project(self):
        folder = self.place.folder / "project"
        folder.mkdir()
        (folder / "digits.onnx").write_bytes(b"x")
        uri = f"file://{folder}/edgekiln.txtpb"
        text = ('groups {\n  models { file: "digit.onnx" }\n  models { file: "later.onnx" }\n'
                '  targets { name: "dla-64-o-512k" }\n}\n')
        client = self.client()

        def wait_for(*messages):
            def newest():
                shown = [message["params"]["diagnostics"] for message in list(client.received)
                         if message["method"] == "textDocument/publishDiagnostics"]
                found = [problem["message"] for problem in shown[-1]] if shown else None
                return found == list(messages)
            client.wait(newest, messages)

        client.open(uri, text)
        digit = 'there is no file "digit.onnx"; did you mean "digits.onnx"?'
        wait_for(digit, 'there is no file "later.onnx"')
        (folder / "later.onnx").write_bytes(b"x")
        client.notify("workspace/didChangeWatchedFiles", changes=[])
        wait_for(digit)
        client.change(uri, 2, text.replace("digit.", "digits."))
        wait_for()
        self.assertEqual(client.stop(), 0)

    def test_a_daemon_that_is_away(self):
        socket = "unix:" + str(self.place.folder / "nobody")
        client = self.client("--server", socket)
        client.open(URI, "extends: \"dla\"")
        found = self.problems(client, 1)
        if not found:  # The answer of the first connection is on its way.
            found = client.wait(
                lambda: client.received[-1].get("params", {}).get("diagnostics"),
                "the daemon is away")
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0]["severity"], 3)
        self.assertIn("no daemon answers", found[0]["message"])
        # It comes.
        daemon = subprocess.Popen(
            [str(BIN / "edgekilnd"), "--listen", socket, "--workers-listen",
             socket + "-workers", "--state", str(self.place.folder / "state")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=self.place.environment)
        try:
            client.wait(lambda: any(
                "answers again" in message.get("params", {}).get("message", "")
                for message in client.received), "the daemon answers again")
            # Of the time before: without the daemon it is told again.
            logged = [message for message in list(client.received)
                      if message["method"] == "window/logMessage"
                      and "no daemon answers" in message["params"]["message"]]
        finally:
            daemon.terminate()
            try:
                daemon.wait(timeout=30)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.assertEqual(len(logged), 1)
        self.assertEqual(client.stop(), 0)

    def test_a_local_daemon_that_was_killed(self):
        client = self.client()
        client.open(URI, "extends: \"dla\"")
        self.assertEqual(self.problems(client, 1), [])
        for process in self.place.daemons():
            os.kill(process, 9)
        client.change(URI, 2, "extends: \"dla\"\nset { name: \"pse\" }")
        # Until it has started again, diagnostics may say that it is away.
        client.wait(
            lambda: any("pes" in problem["message"]
                        for message in client.received
                        if message["method"] == "textDocument/publishDiagnostics"
                        and message["params"].get("version") == 2
                        for problem in message["params"]["diagnostics"]),
            "the daemon's word on version 2")
        self.assertEqual(client.stop(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
