#!/usr/bin/env python3
"""Traces of `edgekiln report export --format perfetto`, read without our own
messages: the wire format of protobuf, and the field numbers of Perfetto's
published trace_packet.proto, track_event.proto and track_descriptor.proto.

usage: perfetto_test.py SOURCE_FOLDER BIN_FOLDER
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE, BIN = map(pathlib.Path, sys.argv[1:3])
# Two kinds of engines, and one with a host that launches.
TARGETS = ("dla-64-o-512k", "dla-128-i-1m", "diana-digital")
SLICE_BEGIN, SLICE_END, COUNTER = 1, 2, 4


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """{number: [values]}: integers, or the bytes of what has a length."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif kind == 2:
            size, at = varint(data, at)
            if at + size > len(data):
                raise ValueError("a field ends behind its message")
            value, at = data[at:at + size], at + size
        else:
            raise ValueError("wire type %d" % kind)
        found.setdefault(number, []).append(value)
    return found


class Trace:
    def __init__(self, data):
        self.tracks = {}    # uuid -> (name, parent uuid, is a counter)
        self.slices = {}    # uuid -> [(begin, end, name, flows, ended flows)]
        self.counters = {}  # uuid -> [(time, value)]
        self.order = []     # Timestamps as they come.
        opened = {}
        for packet in map(fields, fields(data)[1]):
            if 60 in packet:
                track = fields(packet[60][0])
                uuid = track[1][0]
                if uuid in self.tracks:
                    raise ValueError("a track comes twice")
                self.tracks[uuid] = (track[2][0].decode(),
                                     track.get(5, [0])[0], 8 in track)
            if 11 not in packet:
                continue
            event = fields(packet[11][0])
            uuid, kind, time = event[11][0], event[9][0], packet[8][0]
            if uuid not in self.tracks:
                raise ValueError("an event has no track")
            if kind == SLICE_BEGIN:
                if uuid in opened:
                    raise ValueError("slices of a track overlap")
                opened[uuid] = (time, event[23][0].decode(),
                                event.get(47, []), event.get(48, []))
            elif kind == SLICE_END:
                begin, name, starts, ends = opened.pop(uuid)
                self.slices.setdefault(uuid, []).append(
                    (begin, time, name, starts, ends))
            elif kind == COUNTER:
                self.counters.setdefault(uuid, []).append((time, event[30][0]))
        if opened:
            raise ValueError("a slice has no end")


class PerfettoTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="ek-")
        run = os.path.join(cls.folder.name, "run")
        os.mkdir(run, 0o700)
        cls.environment = {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": run,
                           "HOME": cls.folder.name, "NO_COLOR": "1"}
        cls.of = {}
        for target in TARGETS:
            path = os.path.join(cls.folder.name, target + ".json")
            with open(path, "wb") as file:
                file.write(cls.edgekiln(
                    "profile", str(SOURCE / "docs/example/digits.onnx"),
                    "--target", target, "--json", "--quiet"))
            with open(path, "rb") as file:
                report = json.load(file)
            cls.of[target] = report, Trace(cls.edgekiln(
                "report", "export", path, "--format", "perfetto"))

    @classmethod
    def tearDownClass(cls):
        subprocess.run(["pkill", "-f", "--", cls.folder.name], check=False)
        cls.folder.cleanup()

    @classmethod
    def edgekiln(cls, *arguments):
        return subprocess.run([str(BIN / "edgekiln"), *arguments],
                              env=cls.environment, check=True,
                              stdout=subprocess.PIPE, timeout=120).stdout

    def tracks_of(self, trace, engine):
        """Slices of the engine's units, in the units' order."""
        start = ("host " if engine["host"] else "engine ") + engine["name"] + ","
        groups = [uuid for uuid, (name, _, _) in trace.tracks.items()
                  if name.startswith(start)]
        names = {name: trace.slices.get(uuid, [])
                 for uuid, (name, parent, counter) in trace.tracks.items()
                 if parent in groups and not counter}
        return [names.get(unit, []) for unit in engine["units"]]

    def test_slices_are_the_segments_of_the_report(self):
        for report, trace in self.of.values():
            ns = 1e6 * report["totals"]["latency_ms"] / report["totals"]["cycles"]
            compared = 0
            for engine in report["engines"]:
                units = self.tracks_of(trace, engine)
                for unit, slices in enumerate(units):
                    wanted = sorted(
                        (s["begin"], s["end"], report["layers"][s["layer"]]["id"])
                        for s in engine["segments"] if s["unit"] == unit)
                    got = [(begin, end, name) for begin, end, name, _, _ in slices]
                    self.assertEqual(got, [(round(b * ns), round(e * ns), name)
                                           for b, e, name in wanted])
                    compared += len(got)
            self.assertGreater(compared, 10)

    def test_slices_of_a_track_do_not_overlap_and_fill_the_inference(self):
        for report, trace in self.of.values():
            whole = round(1e6 * report["totals"]["latency_ms"])
            last = 0
            for slices in trace.slices.values():
                for (_, end, *_), (begin, *_) in zip(slices, slices[1:]):
                    self.assertLessEqual(end, begin)
                for begin, end, *_ in slices:
                    self.assertLess(begin, end)
                last = max(last, slices[-1][1])
            self.assertLessEqual(last, whole)
            # Somebody works in every cycle of the report.
            covered, at = 0, 0
            for begin, end, *_ in sorted(
                    s for slices in trace.slices.values() for s in slices):
                covered += max(0, end - max(begin, at))
                at = max(at, end)
            self.assertGreater(covered, 0.99 * whole)

    def test_flows_join_a_launch_with_what_it_launched(self):
        joined = {}
        for report, trace in self.of.values():
            starts, ends = {}, {}
            for slices in trace.slices.values():
                for begin, end, _, started, terminated in slices:
                    for flow in started:
                        self.assertNotIn(flow, starts)
                        starts[flow] = end
                    for flow in terminated:
                        ends.setdefault(flow, begin)
            self.assertEqual(set(starts), set(ends))
            for flow, launched in starts.items():
                self.assertLessEqual(launched, ends[flow])
            joined[report["target_name"]] = len(starts)
        self.assertGreater(joined["diana-digital"], 5, joined)

    def test_counters_end_at_zero_and_stay_below_the_memory(self):
        for report, trace in self.of.values():
            sizes = {memory["name"]: memory["used_bytes"]
                     for memory in report["memory"]["memories"]}
            seen = 0
            for uuid, values in trace.counters.items():
                name, _, counter = trace.tracks[uuid]
                self.assertTrue(counter)
                self.assertEqual(values[-1][1], 0)
                times = [time for time, _ in values]
                self.assertEqual(times, sorted(times))
                if name in sizes:
                    seen += 1
                    self.assertLessEqual(max(value for _, value in values),
                                         sizes[name])
            self.assertGreater(seen, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
