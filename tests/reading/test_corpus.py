"""Every recorded run is read as it happened, from each of its files and however its spans arrive."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.reading import corpus

from rightcall.reading import read
from rightcall.values.trajectory import ToolCall, Trajectory

Change = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]

WITHOUT_TOOL_DATA = "crewai-openllmetry/trip"
WITHOUT_AGENT = "autogen-dup-native+oi/trip"
"""The agent around its calls was still at work when its spans were exported: it lies in another file."""


def calls_of(trajectories: list[Trajectory]) -> list[ToolCall]:
    return [call for trajectory in trajectories for call in trajectory.calls]


@pytest.mark.parametrize("run", corpus.names())
def test_a_run_is_read_as_it_happened_from_each_of_its_files(run: str) -> None:
    for name, data in corpus.inputs(run).items():
        calls = calls_of(list(read(data)))
        wanted = corpus.expected(run, name, calls)

        if any("calls, expected" in text for text in corpus.limits(run, name).get("differs", ())):
            continue
        assert corpus.same_sequence(wanted, calls), (name, [call.name for call in calls])
        assert not corpus.faults(wanted, calls), name


@pytest.mark.parametrize("run", corpus.names())
def test_nothing_is_missing_that_a_file_holds(run: str) -> None:
    for name, data in corpus.inputs(run).items():
        limits = corpus.limits(run, name)
        if "differs" in limits or run.endswith("-events"):
            continue
        calls = calls_of(list(read(data)))
        wanted = corpus.expected(run, name, calls)
        missing = Counter(
            field
            for want, call in zip(wanted, calls, strict=True)
            for field in call.unrecorded
            if (want["error"] is None or field != "output") and (field != "parent_id" or run != WITHOUT_AGENT)
        )
        failed = sum(call.error is not None for call in calls)
        unseen = limits.get("absent", {})

        assert all(count <= unseen.get(field, 0) for field, count in missing.items()), (name, missing)
        assert failed >= sum(want["error"] is not None for want in wanted) - unseen.get("error_soft", 0), name


@pytest.mark.parametrize("run", [name for name in corpus.names() if "otlp.json" in corpus.inputs(name)])
@pytest.mark.parametrize("change", ["shuffled", "reversed", "without scopes", "in milliseconds"])
def test_how_spans_arrive_changes_nothing(run: str, change: str) -> None:
    document = json.loads(corpus.inputs(run)["otlp.json"])
    _change(document, change)
    calls = calls_of(list(read(document)))
    wanted = corpus.expected(run, "otlp.json", calls)

    if run != WITHOUT_TOOL_DATA:
        assert corpus.same_sequence(wanted, calls), [call.name for call in calls]
        assert not corpus.faults(wanted, calls)


def test_runs_whose_root_spans_are_missing_are_read_all_the_same() -> None:
    exact = total = 0
    for run in corpus.names():
        if "otlp.json" not in corpus.inputs(run):
            continue
        document = json.loads(corpus.inputs(run)["otlp.json"])
        _change(document, "without roots")
        spans = sum(len(scoped["spans"]) for _, scoped in _scoped(document))
        calls = calls_of(list(read(document))) if spans else []
        wanted = corpus.expected(run, "otlp.json", calls)
        total += 1
        if corpus.same_sequence(wanted, calls):
            exact += 1
            assert not corpus.faults(wanted, calls), run

    assert exact / total >= 0.97


@pytest.mark.parametrize("run", [name for name in corpus.names() if "otlp_logs.json" in corpus.recordings()[name]])
def test_log_records_beside_the_spans_complete_them(run: str) -> None:
    files = corpus.recordings()[run]
    spans, logs = json.loads(files["otlp.json"]), json.loads(files["otlp_logs.json"])
    calls = calls_of(list(read({**spans, **logs})))
    wanted = corpus.expected(run, "otlp.json", calls)

    assert corpus.same_sequence(wanted, calls)
    assert not corpus.faults(wanted, calls)
    assert all("args" not in call.unrecorded for call in calls)


def test_a_trace_without_tool_data_is_told_from_one_without_calls() -> None:
    [trajectory] = read(corpus.inputs(WITHOUT_TOOL_DATA)["otlp.json"])

    assert trajectory.calls == ()
    assert trajectory.metadata["tool_data"] == "none"
    assert "no tool data" in trajectory.warnings[0]


@pytest.mark.parametrize(
    "run",
    [name for name in corpus.names() if "/nested" in name and "otlp.json" in corpus.inputs(name)],
)
def test_calls_of_sub_agents_hang_under_the_call_that_started_them(run: str) -> None:
    calls = calls_of(list(read(corpus.inputs(run)["otlp.json"])))
    wanted = corpus.expected(run, "otlp.json", calls)

    for want, call in zip(wanted, calls, strict=True):
        parent = None if want["parent"] is None else calls[want["parent"]].span_id
        assert call.parent_id == parent, call.name


def _scoped(document: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(resource, scoped) for resource in document["resourceSpans"] for scoped in resource["scopeSpans"]]


def _change(document: dict[str, Any], change: str) -> None:
    chance = random.Random(7)
    for resource, scoped in _scoped(document):
        spans = scoped["spans"]
        if change == "shuffled":
            chance.shuffle(resource["scopeSpans"])
            chance.shuffle(spans)
        elif change == "reversed":
            spans.reverse()
        elif change == "without scopes":
            scoped.pop("scope", None)
        elif change == "without roots":
            scoped["spans"] = [span for span in spans if span.get("parentSpanId")]
        elif change == "in milliseconds":
            for span in spans:
                for key in ("startTimeUnixNano", "endTimeUnixNano"):
                    span[key] = str(int(span[key]) // 1_000_000 * 1_000_000)
