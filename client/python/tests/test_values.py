"""Pure functions: addresses, errors, HTML, diffs, JSON."""

from __future__ import annotations

import json
import math
import pathlib
import re

import pytest
from reports import report, validated

from edgekiln import (AccessError, CancelledError, DeadlineError, EdgekilnError,
                      ErrorDetail, GateError, ModelDescription, ModelError, Report,
                      ServiceError, UsageError, _address, _html, _json, diff, errors,
                      sweep)
from edgekiln._proto.edgekiln.v1 import model_pb2, sweep_row_pb2


@pytest.mark.parametrize(("address", "target"), [
    ("host:7433", "dns:///host:7433"), ("[::1]:80", "dns:///[::1]:80"),
    ("unix:/run/x.sock", "unix:/run/x.sock"), ("/run/x.sock", "unix:/run/x.sock"),
])
def test_addresses(address: str, target: str) -> None:
    assert _address.grpc_target(address, "address ") == target


@pytest.mark.parametrize(("address", "what"), [
    ("http://host:1", "got a URL"), ("host", "no port"), ("host:x", "no port"),
    ("host:0", "not in 1..65535"), (":80", "the host is missing"),
    ("::1:80", "ambiguous"), ("a b:80", "a space"), ("unix:x", "no port"),
    ("host:\u0661", "no port"),
])
def test_bad_addresses(address: str, what: str) -> None:
    with pytest.raises(UsageError, match=what) as caught:
        _address.grpc_target(address, "EDGEKILN_SERVER=")
    assert f"EDGEKILN_SERVER={address}" in str(caught.value)


@pytest.mark.parametrize(("detail", "kind", "exit_code"), [
    (ErrorDetail(reason="USAGE", fault="USER", code=3), UsageError, 2),
    (ErrorDetail(reason="OP_UNSUPPORTED", fault="USER", code=3), ModelError, 1),
    (ErrorDetail(reason="GATE_FAILED", fault="USER", code=9), GateError, 3),
    (ErrorDetail(reason="NO_WORKER", fault="INFRA", code=4), ServiceError, 4),
    (ErrorDetail(reason="QUEUE_DEADLINE", fault="USER", code=4), ServiceError, 4),
    (ErrorDetail(reason="QUEUE_FULL", fault="QUOTA", code=8), ServiceError, 4),
    (ErrorDetail(reason="TIMEOUT", fault="USER", code=4), DeadlineError, 5),
    (ErrorDetail(code=7), AccessError, 6), (ErrorDetail(code=16), AccessError, 6),
    (ErrorDetail(reason="CANCELLED", fault="USER", code=1), CancelledError, 130),
    (ErrorDetail(code=5), ModelError, 1), (ErrorDetail(code=2), ServiceError, 4),
])
def test_classes_of_errors(detail: ErrorDetail, kind: type[EdgekilnError],
                           exit_code: int) -> None:
    error = errors.error_of(detail)
    assert type(error) is kind and error.exit_code == exit_code


def test_errors_are_builtin_ones_too() -> None:
    assert issubclass(DeadlineError, TimeoutError)
    assert issubclass(UsageError, ValueError)
    assert issubclass(AccessError, PermissionError)


def test_text_of_an_error() -> None:
    error = errors.error_of(ErrorDetail(
        what="op is not supported", where="layer \x1b[31mx", limit="4", need="3",
        fix="use another", reason="OP_UNSUPPORTED", fault="USER", code=3,
        message="job 7: pass tile: op is not supported; where: layer x"))
    assert str(error) == (
        "op is not supported\n  where: layer ?[31mx\n  limit: 4\n  need:  3\n"
        "  fix:   use another\n  while: job 7: pass tile\n"
        "  (reason OP_UNSUPPORTED, fault USER)")


HOSTILE = '<script>alert("1")</script>&\'\x1b[2J<img src=x onerror=alert(1)>'


def test_html_escapes_every_string() -> None:
    made = report({HOSTILE: 300}, model=HOSTILE, target=HOSTILE)
    layer = made.message.layers[0]
    layer.op = layer.engine = layer.name = layer.reason = HOSTILE
    made.message.warnings.append(HOSTILE)
    made.message.memory.memories[0].name = HOSTILE
    made.message.accuracy.metric = HOSTILE
    text = Report(made.message)._repr_html_()
    tags = {tag.lower() for tag in re.findall(r"<\s*/?\s*(\w+)", text)}
    assert tags == {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td", "ul",
                    "li"}
    assert "\x1b" not in text and "onerror" in text and "&lt;script&gt;" in text
    # No attribute holds anything of the report's.
    assert set(re.findall(r"<\w+ ([^>]*)>", text)) == {
        'style="text-align:left"', 'style="text-align:right"'}


def test_html_of_sweeps_and_models_escapes_every_string() -> None:
    model = model_pb2.ModelDescription(name=HOSTILE)
    model.layers.add(id=HOSTILE, op=HOSTILE, engine=HOSTILE)
    row = sweep_row_pb2.SweepRow(model=HOSTILE, target=HOSTILE, recipe=HOSTILE,
                                 state=sweep_row_pb2.SweepRow.FAILED)
    row.values.add(key=HOSTILE, value=HOSTILE)
    row.error.what = HOSTILE
    for text in (ModelDescription(model)._repr_html_(),
                 _html.sweep([sweep.sweep_row(row)])):
        assert "<script" not in text and "<img" not in text and "\x1b" not in text
        assert text.count("&lt;script&gt;") >= 4


def test_html_is_bounded() -> None:
    text = report({f"layer{i}": 1 for i in range(3000)})._repr_html_()
    assert text.count("<tr>") < 1100 and "and 2 000 more rows" in text


def test_diff_matches_layers_of_equal_ids_in_their_order() -> None:
    before, now = report({"a": 100, "b": 200}), report({"a": 100, "b": 500})
    extra = now.message.layers.add()
    extra.CopyFrom(now.message.layers[1])
    changes = diff(before, Report(now.message))
    assert [(one.id, one.change) for one in changes.changed_layers()] == [
        ("b", 500), ("b", 300)]
    assert changes.layers[0].a is None
    assert "unequal" not in str(changes)


def test_diff_names_what_does_not_compare() -> None:
    before, now = report({"a": 1}), report({"a": 1}, target="other")
    now.message.recipe = "serial"
    now.message.version = "9"
    assert diff(before, now).caveats == (
        "unequal targets: chip and other", "unequal recipes: default and serial",
        "unequal versions of edgekiln: none and 9")
    assert diff(validated(0.9), validated(0.9, "auc")).caveats == (
        "unequal metrics: top1 and auc",)


@pytest.mark.parametrize(("value", "text"), [
    (0.0, "0"), (-0.0, "-0"), (1.0, "1"), (0.5, "0.5"), (0.0001, "1e-04"),
    (0.00012, "0.00012"), (123456.75, "123456.75"), (1e15, "1e+15"), (1e300, "1e+300"),
    (100000.0, "100000"), (-2.5e-7, "-2.5e-07"), (math.inf, '"Infinity"'),
    (math.nan, '"NaN"'), (0.35756200000000005, "0.35756200000000005"),
    (1234567890123456789.0, "1234567890123456768"),
])
def test_numbers_as_the_command_line_prints_them(value: float, text: str) -> None:
    made = report({"a": 1})
    made.message.totals.latency_ms = value
    assert f'"latency_ms": {text},' in made.to_json()


@pytest.mark.parametrize("text", [
    "", "null", "[]", "{}", "3", "[[]]", '{"totals": 3}', '{"totals": {"cycles": -1}}',
    '{"totals": {"cycles": 1}, "accuracy": {"value": 7}}', '{"layers": "x"}',
    '{"totals": {"cycles": 1e40}}', "[" * 100_000, '"\\ud800"',
    '{"totals": {}, "accuracy": {"value": "NaN"}}',
])
def test_files_that_hold_no_report(tmp_path: pathlib.Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="holds no report"):
        Report.load(path)


def test_a_report_comes_back_from_its_file(tmp_path: pathlib.Path) -> None:
    made = report({"a\n\t\x01\x7f\"\\": 5})
    made.message.job_id = "j"
    made.save(tmp_path / "x.json", baseline=False)
    assert Report.load(tmp_path / "x.json").message == made.message
    made.save(tmp_path / "x.json")
    assert Report.load(tmp_path / "x.json").job_id == ""
    assert "job_id" not in json.loads((tmp_path / "x.json").read_text())


def test_fields_that_a_newer_edgekiln_adds_are_skipped(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"totals": {"cycles": 7, "new": [1]}, "target_name": "a"},'
                    '{"totals": {"cycles": 8}, "target_name": "b"}]')
    assert Report.load(path, "b").totals.cycles == 8
    with pytest.raises(UsageError, match="2 reports"):
        Report.load(path)
    assert len(_json.read_reports(path)) == 2


def test_rows_and_frames() -> None:
    made = report({"a": 100, "b": 200})
    assert [row["cycles"] for row in made.rows()] == [100, 200]
    assert made.layer("b").cycles == 200
    with pytest.raises(KeyError):
        made.layer("c")
    pandas = pytest.importorskip("pandas")
    frame = made.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.loc["b", "cycles"] == 200 and frame["cycles"].sum() == 300
    assert list(report({}).to_pandas().columns) == list(frame.columns)
