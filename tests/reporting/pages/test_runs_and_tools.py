"""Pictures and figures of runs, comparisons and tools."""

from functools import cache
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace
from tests.reporting.pages.reading import Seen
from tests.reporting.reports.reporting import HOSTILE, harmful
from tests.walls import for_each

from rightcall import ToolCall
from rightcall.reporting.changes import compare, sides_of
from rightcall.reporting.pages import (
    ChangeLine,
    Column,
    ComparedCase,
    ComparePage,
    Crumb,
    Links,
    RunLine,
    RunsPage,
    ToolPage,
    VerdictsPage,
    aligned,
    call_line,
    changes_of,
    compare_html,
    groups_of,
    histogram,
    moment,
    other_answers,
    picture,
    pictures,
    quantile,
    runs_html,
    sentence_of_change,
    sorted_table,
    tool_html,
    verdict_rows,
    verdicts_html,
)
from rightcall.values.results import Totals

TIMES = st.lists(st.integers(0, 10**13), min_size=1, max_size=60).map(sorted)


def line(text: str = "x", passed: int = 1, failed: int = 0) -> RunLine:
    return RunLine(
        name=text,
        short_id=text,
        started=moment("2026-01-02T03:04:05+00:00"),
        branch=text,
        commit=text,
        agent=text,
        evalset=text,
        totals=Totals(passed, failed),
        share=Totals(passed, failed).rate,
        took="1s",
    )


def test_the_picture_has_a_dot_a_finished_run_the_oldest_first() -> None:
    dots = picture([line("new", 1, 1), line("none", 0, 0), line("old", 2, 0)])

    assert [(dot.name, dot.x, dot.y, dot.is_whole) for dot in dots] == [("old", 2, 8, True), ("new", 98, 32, False)]
    assert (dots[0].before, dots[1].before) == (None, (2, 8))
    assert dots[1].says == "run new, 2026-01-02 03:04:05 UTC: 50 % passed (1 passed, 1 failed)"


def test_one_run_is_no_picture() -> None:
    assert picture([line()]) == ()
    assert pictures([line()]) == ()


def test_each_eval_set_has_a_picture_of_its_own_by_time() -> None:
    times = [f"2026-01-0{day}T00:00:00+00:00" for day in (9, 2, 1)]  # the newest first
    shop = [replace(line("a"), started=moment(time), evalset="shop.yaml") for time in times]
    trip = [replace(line("b"), started=moment(time), evalset="trip.yaml") for time in times[:2]]

    first, second = pictures([*shop, *trip])

    assert (first.evalset, first.first, first.last) == ("shop.yaml", "2026-01-01", "2026-01-09")
    assert [dot.x for dot in first.dots] == [2, 14, 98]
    assert (second.evalset, len(second.dots)) == ("trip.yaml", 2)


@given(TIMES)
def test_every_call_is_in_one_bar_and_the_highest_bar_is_full(times: list[int]) -> None:
    bars = histogram(times)

    assert sum(bar.count for bar in bars) == len(times)
    assert max(bar.height for bar in bars) == 100
    assert len(bars) <= 20


def test_bars_are_a_quarter_of_a_power_of_ten_wide() -> None:
    bars = histogram([1_000_000, 1_500_000, 9_000_000])

    assert [(bar.begin, bar.end, bar.count) for bar in bars] == [
        ("1.00ms", "1.78ms", 2),
        ("1.78ms", "3.16ms", 0),
        ("3.16ms", "5.62ms", 0),
        ("5.62ms", "9.00ms", 1),
    ]


@given(TIMES)
def test_a_share_of_the_calls_took_no_longer_than_is_said(times: list[int]) -> None:
    assert histogram([]) == ()
    assert quantile([], 0.5) == ""
    for share in (0.0, 0.5, 0.95, 1.0):
        assert quantile(times, share) in {quantile([time], 0) for time in times}


def test_neighbours_that_are_the_same_in_both_runs_are_one_folded_row() -> None:
    names = "abcde"
    before = [ToolCall(name, {"n": 1}) for name in names]
    after = [ToolCall(name, {"n": 2 if name == "c" else 1}) for name in names]
    lined, _ = aligned(before, after)
    case = ComparedCase(case_id="x", before="passed", after="failed", sentence="", calls=lined)

    assert [[call.kind for call in row] for row in case.rows] == [["same"] * 2, ["changed"], ["same"] * 2]
    assert [call for row in case.rows for call in row] == list(lined)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("It is sent.", "It is lost.", ("It is [sen]t.", "It is [los]t.")),
        (None, {"id": 7}, ("[no answer]", '[{"id": 7}]')),
        ("the same", "the same", None),
    ],
    ids=["text", "none", "same"],
)
def test_answers_that_differ_are_told_with_what_differs_marked(before: Any, after: Any, told: Any) -> None:
    found = other_answers(before, after)

    assert (found and tuple([f"{one.before}[{one.marked}]{one.after}" for one in found])) == told


def pages(text: str) -> list[str]:
    """Every page of runs and tools, with a text wherever somebody else than us may say something."""
    lines, trail, links = (line(text), line(text, 0, 1)), (Crumb(text, "/"), Crumb(text)), Links()
    call = ToolCall(text[:1_000] or "x", {text: text}, [text], error=text)
    sides = sides_of([])
    changes = changes_of(compare(sides, sides), sides, sides)
    changed = ChangeLine(case_id=text, key="key", before="passed", after="failed", scores=(text,), path=(text or "x",))
    drifted = replace(changed, after="passed", arguments=(text,), change=(text or "x",))
    lined, _ = aligned([call], [call, call], ignored=(text,))
    compared = ComparedCase(
        case_id=text,
        before="passed",
        after="failed",
        sentence=sentence_of_change(lined),
        calls=lined,
        scores=(text,),
        answers=other_answers(f"a{text}", f"b{text}"),
        title=text or "x",
    )
    rows = tuple(verdict_rows([{text: "passed"}, {text: "failed"}, {}]))
    columns = {key: Column(key, str) for key in ("case", "error", "took", "0", "1", "2")}
    _, heads = sorted_table(list[str](), text, columns, lambda sort: f"/?sort={sort}")
    return [
        runs_html(
            RunsPage(
                folder=text, lines=(*lines, RunLine(name=text, short_id=text, problem=text)), count=3,
                pictures=pictures(lines), evalsets=(text, "b"),
            ),
            links,
        ),
        compare_html(
            ComparePage(
                before=lines[0], after=lines[1], changes=changes, tabs=(), shown="regressions", title=text, trail=trail,
                groups=groups_of(
                    (changed, drifted), "key", {text: (text, text)}, {"a": "a", "b": "b"}, links,
                    only=text, ignored=(text,),
                ),
                filtered=text, ignored=(text, "b"), gate_reasons=(text,), case=compared,
            ),
            links,
        ),
        verdicts_html(
            VerdictsPage(runs=(*lines, lines[0]), rows=rows, differing=1, same=0, trail=trail, heads=heads), links
        ),
        tool_html(
            ToolPage(
                run=lines[0], tool=text, lines=(call_line(call, 1, text, "key", "failed"),), calls=1, cases=1, errors=1,
                title=text, trail=trail, heads=heads,
            ),
            links,
        ),
    ]  # fmt: skip


TEXTS = [*[text for text in HOSTILE[:-1] if text], "x" * 20_000]


def tags(page: Seen) -> list[str]:
    return [tag for tag, _ in page.elements if tag != "span"]


@cache
def tame_tags() -> list[list[str]]:
    return [tags(Seen(page)) for page in pages("tame")]


@for_each("text", TEXTS)
def test_a_text_is_text_on_every_page(text: str) -> None:
    for tame, page in zip(tame_tags(), pages(text), strict=True):
        seen = Seen(page)

        assert tags(seen) == tame
        assert not harmful(seen.text)
        assert seen.count("h1") == 1


def test_tables_have_headings_with_a_scope() -> None:
    for page in pages("tame"):
        seen = Seen(page)

        assert all(attributes.get("scope") in ("col", "row") for tag, attributes in seen.elements if tag == "th")
