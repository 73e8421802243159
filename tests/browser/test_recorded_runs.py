"""Runs that were recorded: a trace with its messages, a path of 200 calls, and eval sets over time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, expect
from tests.browser.runs import made_once
from tests.hostile.results import write_run
from tests.processes import rightcall
from tests.reading.traces import request, span

from rightcall import ToolCall, Trajectory, judge, load_eval_set
from rightcall.reporting.pages import case_key
from rightcall.reporting.store import list_runs

_LONG = 200
_WRONG = 121
_ASKED = [{"role": "user", "parts": [{"type": "text", "content": "Refund my order 7, please"}]}]
_SAID = [{"role": "assistant", "parts": [{"type": "text", "content": "I will look it up first."}]}]
_CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-4.1-mini",
    "gen_ai.usage.input_tokens": 31,
    "gen_ai.usage.output_tokens": 7,
    "gen_ai.input.messages": json.dumps(_ASKED),
    "gen_ai.output.messages": json.dumps(_SAID),
}
_TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "get_order",
    "gen_ai.tool.call.arguments": '{"id": 7}',
    "gen_ai.tool.call.result": '{"status": "sent"}',
}


def _write(folder: Path) -> None:
    """A recorded trace, then two runs of each of two eval sets: one has a long path with one wrong argument."""
    (folder / "trace.json").write_text(json.dumps(request(span(1, _CHAT), span(2, _TOOL))), encoding="utf-8")
    expected = "calls: [get_order, refund]"
    done = rightcall("score", "trace.json", "--expect", expected, "--keep", "--runs=runs", cwd=folder)
    assert done.returncode == 1, done.stderr
    steps = "".join([f"        - step: {{number: {number}}}\n" for number in range(_LONG)])
    (folder / "long.yaml").write_text(f"cases:\n  - id: long\n    expect:\n      calls:\n{steps}", encoding="utf-8")
    [case] = load_eval_set(folder / "long.yaml").cases
    calls = [ToolCall("step", {"number": -1 if number == _WRONG else number}, None) for number in range(_LONG)]
    result = judge(case, Trajectory(calls=tuple(calls)))
    for evalset in ("long.yaml", "long.yaml", "short.yaml", "short.yaml"):
        write_run(folder / "runs", [replace(result, case_id="long")], evalset)


@pytest.fixture
def runs(shared: Path) -> Path:
    return made_once(shared / "recorded", _write) / "runs"


@pytest.fixture
def url(runs: Path, serve: Callable[[Path], str]) -> str:
    return serve(runs)


def test_a_recorded_trace_has_its_question_for_a_title_with_messages_model_and_tokens(
    page: Page, url: str, runs: Path
) -> None:
    page.goto(f"{url}/runs/{list_runs(runs)[0].name}")

    expect(page.locator("#case .case-top")).to_contain_text("Refund my order 7, please")
    said = page.locator("#case .tl-said.model")
    expect(said).to_contain_text("I will look it up first.")
    expect(said).to_contain_text("gpt-4.1-mini · 31 in · 7 out")
    assert "null" not in page.locator("#case .timeline").inner_text()


def test_of_200_calls_those_as_expected_are_folded_and_the_wrong_one_is_in_view(
    page: Page, url: str, runs: Path
) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{url}/runs/{list_runs(runs)[1].name}/cases/{case_key('long')}")

    expect(page.locator(f"#call-{_WRONG + 1}")).to_be_in_viewport(ratio=1)
    folds = page.locator(".tl-fold > summary")
    expect(folds).to_have_count(2)
    expect(folds.first).to_contain_text(re.compile(r"\d\d as expected"))
    assert page.evaluate("document.documentElement.scrollHeight") < 3 * 900


def test_each_eval_set_has_a_chart_of_its_runs_by_time(page: Page, url: str) -> None:
    page.goto(url)

    captions = page.locator("figure.rates figcaption")
    expect(captions).to_have_count(2)
    assert sorted(captions.locator("code").all_inner_texts()) == ["long.yaml", "short.yaml"]
    for chart in page.locator("figure.rates").all():
        shown = chart.bounding_box()
        assert shown is not None
        assert shown["width"] < 400
        first, last = [dot.get_attribute("cx") for dot in chart.locator("circle.dot").all()]
        assert (first, last) == ("2.0%", "98.0%")
