"""The page of a case: which call or argument was wrong, and everything the agent did."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.reporting.pages.reading import Seen
from tests.reporting.reports.reporting import HOSTILE, harmful, hostile_report, result
from tests.walls import for_each

from rightcall import CaseResult, LlmJudgeTrajectory, ToolCall, Trajectory, judge, load_eval_set
from rightcall.reporting.pages import (
    CALLS_A_PAGE,
    CasePage,
    HistoryEntry,
    Links,
    Neighbours,
    Sibling,
    TimelineItem,
    brief_case_page,
    case_html,
    case_page,
    moment,
)
from rightcall.values.results import Outcome
from rightcall.values.trajectory import Message, WithheldCall

SHOP = """
cases:
  - id: laptop_search
    input: {query: Find me a laptop}
    expect:
      calls:
        - search_products: {query: laptop}
        - get_product_details: {product_id: P001}
        - check_inventory: {product_id: P001}
        - reserve_item: {product_id: P001}
      counts: {search_products: "<= 2", reserve_item: 1}
      never: [add_to_cart]
      output: a phone
"""


def made(name: str, begin: int, end: int, **known: Any) -> ToolCall:
    return ToolCall(name, **{"output": None, **known}, start_ns=begin * 1_000_000, end_ns=end * 1_000_000)


CALLS = (
    made("search_products", 0, 600, args={"query": "laptop"}, span_id="a"),
    made("check_inventory", 640, 1500, args={"product_id": "P001"}, group="g"),
    made("get_product_details", 650, 1300, args={"product_id": "P010"}, group="g", span_id="c"),
    made("fetch_reviews", 700, 900, parent_id="c", error="TimeoutError"),
    made("add_to_cart", 1600, 2180, args={"product_id": "P010"}),
    ToolCall("log_event"),
)


@pytest.fixture
def laptop(tmp_path: Path) -> CaseResult:
    (tmp_path / "shop.yaml").write_text(SHOP, encoding="utf-8")
    [case] = load_eval_set(str(tmp_path / "shop.yaml")).cases
    return judge(case, Trajectory(calls=CALLS, input="Find me a laptop", output="a laptop"))


def page_of(result: CaseResult, **known: Any) -> str:
    return case_html(case_page(result, "8f2c", Links(), **known), Links())


def test_it_begins_with_the_sentence_that_says_why_and_its_place(laptop: CaseResult) -> None:
    page = case_page(laptop, "8f2c", Links())

    assert str(page.sentence) == '`add_to_cart(product_id="P010")` was called, and must never be'
    assert [problem.code for problem in page.problems[:3]] == ["RC107", "RC101", "RC104"]
    assert page.problems[1].place.endswith("shop.yaml:10:11")
    text = Seen(case_html(page, Links())).text
    assert text.index("was called, and must never be") < text.index("Evaluators in detail")


def test_expected_and_actual_calls_stand_side_by_side_with_their_signs(laptop: CaseResult) -> None:
    [calls] = [one for one in case_page(laptop, "8f2c", Links()).evaluations if one.evaluator == "calls"]

    seen = [(step.kind, step.expected, step.number) for step in calls.tables[0].steps]
    assert seen == [
        ("match", "search_products: {query: laptop}", 1),
        ("mismatch", "get_product_details: {product_id: P001}", 3),
        ("moved", "check_inventory: {product_id: P001}", 2),
        ("missing", "reserve_item: {product_id: P001}", 0),
        ("extra", "", 4),
        ("extra", "", 5),
        ("extra", "", 6),
    ]
    assert calls.tables[0].steps[2].note == "before get_product_details"


def test_of_several_calls_of_a_tool_it_is_said_which_one_a_call_came_before(tmp_path: Path) -> None:
    evalset = "cases: [{id: a, expect: {calls: [search, weather, weather, book]}}]"
    (tmp_path / "trip.yaml").write_text(evalset, encoding="utf-8")
    [case] = load_eval_set(str(tmp_path / "trip.yaml")).cases

    page = case_page(judge(case, Trajectory.of(["search", "weather", "book", "weather"])), "8f2c", Links())

    [moved] = [step for step in page.evaluations[0].tables[0].steps if step.kind == "moved"]
    assert (moved.actual, moved.note) == ("book", "before the 2nd weather")
    assert str(page.sentence) == "`book` was called before the 2nd `weather`, expected after it"


def test_a_call_leads_to_those_it_was_asked_for_with_and_no_name_of_a_group_is_shown() -> None:
    trajectory = Trajectory(calls=(*CALLS, made("rate", 2200, 2300, args={}, group="alone")))
    page = case_page(result("a", trajectory=trajectory), "8f2c", Links())

    seen = Seen(case_html(page, Links()))

    assert [call.together for call in page.calls] == [(), (3,), (2,), (), (), (), ()]
    assert "together withcall 3" in seen.text
    assert not any("overlap" in value or "alone" in value for call in page.calls for _, value in call.facts)


def test_of_a_large_group_a_call_names_the_first_and_how_many_more_there_are() -> None:
    calls = tuple([made("fetch", at, at + 50, args={}, group="g") for at in range(30)])

    first, *_, last = case_page(result("a", trajectory=Trajectory(calls=calls)), "8f2c", Links()).calls

    assert (first.together, first.more_together) == (tuple(range(2, 12)), 19)
    assert (last.together, last.more_together) == (tuple(range(1, 11)), 19)


@pytest.mark.parametrize(
    ("expected", "given", "pieces"),
    [
        ("59.9", 5990, [("5990", "given"), (", expected ", ""), ("59.9", "wanted")]),
        ("Ann", "Bob", [('"', "mono"), ("Bob", "given"), ('"', "mono"), (", expected ", ""), ('"', "mono")]),
        ("{$gt: 9}", 7, [("7", "given"), (", expected ", "")]),
    ],
    ids=["numbers as a whole", "letters of a text", "a matcher"],
)
def test_the_values_in_the_headline_are_marked(
    tmp_path: Path, expected: str, given: object, pieces: list[tuple[str, str]]
) -> None:
    path = tmp_path / "pay.yaml"
    text = f"cases: [{{id: a, input: b, expect: {{calls: [{{pay: {{amount: {expected}, to: 1}}}}]}}}}]"
    path.write_text(text, encoding="utf-8")
    [case] = load_eval_set(str(path)).cases

    headline = case_page(
        judge(case, Trajectory(calls=(ToolCall("pay", {"amount": given, "to": 1}),))), "r", Links()
    ).headline

    assert headline[:2] == (("pay", "code"), (" was called with amount ", ""))
    assert list(headline[2 : 2 + len(pieces)]) == pieces


def test_what_differs_inside_a_value_is_marked(laptop: CaseResult) -> None:
    page = page_of(laptop)

    assert '&#34;P0<mark class="wanted">01</mark>&#34;' in page
    assert '&#34;P0<mark class="given">10</mark>&#34;' in page


def test_counts_forbidden_calls_and_answers_are_told_as_what_they_are(laptop: CaseResult) -> None:
    views = {one.evaluator: one for one in case_page(laptop, "8f2c", Links()).evaluations}

    assert [(check.tool, check.expected, check.actual) for check in views["counts"].checks] == [
        ("reserve_item", "= 1", 0),
        ("search_products", "<= 2", 1),
    ]
    assert views["never"].made == ('add_to_cart(product_id="P010")',)
    [answer] = views["output"].answers
    assert (answer.expected.marked, answer.actual.marked) == ("phone", "laptop")


def test_limits_of_a_run_are_a_table_of_figures(tmp_path: Path) -> None:
    limits = "cases: [{id: a, expect: {steps: 1, tokens: 5000, call_seconds: 0.5}}]"
    (tmp_path / "limits.yaml").write_text(limits, encoding="utf-8")
    [case] = load_eval_set(str(tmp_path / "limits.yaml")).cases
    calls = (made("search", 0, 100, args={}), made("book", 100, 1500, args={}))

    page = case_page(judge(case, Trajectory(calls=calls)), "8f2c", Links())

    figures = [(one.what, one.limit, one.actual, one.kind) for view in page.evaluations for one in view.budgets]
    assert figures == [
        ("calls", "1", "2", "mismatch"),
        ("total tokens", "5,000", "not recorded", "not_measured"),
        ("seconds", "0.5", "1.4", "mismatch"),
    ]
    html = case_html(page, Links())
    assert '<th scope="row">total tokens</th><td>5,000</td><td>not recorded</td>' in html


def test_what_passed_is_folded_and_what_did_not_is_open(laptop: CaseResult) -> None:
    seen = Seen(page_of(laptop))

    opened = [
        "open" in attrs for tag, attrs in seen.elements if attrs.get("class") == "evaluation" and tag == "details"
    ]
    # The timeline has the calls: their tables are folded, and what else did not pass is open.
    assert opened == [False, True, True, True]


def test_rows_that_matched_can_be_hidden_without_a_script(laptop: CaseResult) -> None:
    seen = Seen(page_of(laptop))

    assert ("input", {"type": "checkbox", "id": "only-differences", "data-key": "d"}) in seen.elements
    assert "as-expected" in seen.classes("tr")


def rows_of(items: Iterable[TimelineItem]) -> Iterator[TimelineItem]:
    """The rows of a timeline, those in groups, lanes and folds, too."""
    for item in items:
        if item.kind in ("group", "lane", "fold"):
            yield from rows_of(item.items)
        else:
            yield item


def test_the_timeline_has_times_nesting_errors_and_what_ran_at_once(laptop: CaseResult) -> None:
    bars = [item.bar for item in rows_of(case_page(laptop, "8f2c", Links()).timeline) if item.bar is not None]

    assert sorted([(bar.number, bar.name, bar.depth, bar.together, bar.is_error) for bar in bars]) == [
        (1, "search_products", 0, "", False),
        (2, "check_inventory", 0, "at the same time", False),
        (3, "get_product_details", 0, "at the same time", False),
        (4, "fetch_reviews", 1, "", True),
        (5, "add_to_cart", 0, "", False),
        (6, "log_event", 0, "", False),
    ]
    widths = {bar.number: bar.width for bar in bars}
    assert [widths[number] > 0 for number in range(1, 7)] == [True] * 5 + [False]
    [last] = [bar for bar in bars if bar.number == 5]
    assert last.begin + last.width == pytest.approx(1000, abs=0.2)


def test_the_timeline_follows_what_was_expected_and_has_missing_calls_in_their_place(laptop: CaseResult) -> None:
    rows = list(rows_of(case_page(laptop, "8f2c", Links()).timeline))

    assert [(row.kind, row.label, row.fate) for row in rows] == [
        ("user", "", ""),
        ("call", "search_products", "match"),
        ("call", "get_product_details", "mismatch"),
        ("call", "check_inventory", "moved"),
        ("missing", "reserve_item", "missing"),
        ("call", "fetch_reviews", "extra"),
        ("call", "add_to_cart", "extra"),
        ("call", "log_event", "extra"),
        ("answer", "", ""),
    ]


def test_a_call_that_may_have_been_made_is_not_said_to_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "trip.yaml"
    path.write_text("cases:\n  - {id: trip, expect: {calls: [search, book], output: x}}\n")
    case = load_eval_set(path).cases[0]

    unknown = case_page(judge(case, Trajectory(output="y", calls_recorded=False)), "8f2c", Links())
    known = case_page(judge(case, Trajectory(output="y")), "8f2c", Links())

    assert [row.fate for row in rows_of(unknown.timeline) if row.kind == "missing"] == ["not_measured"] * 2
    assert [row.fate for row in rows_of(known.timeline) if row.kind == "missing"] == ["missing"] * 2
    assert "never called" not in case_html(unknown, Links())
    assert "Whether it was called was not recorded." in case_html(unknown, Links())
    steps = [step for view in unknown.evaluations for table in view.tables for step in table.steps]
    assert {(step.kind, step.note) for step in steps} == {("not_measured", "not recorded")}


def test_a_value_is_linked_to_the_call_it_came_from() -> None:
    found = ToolCall("search", {}, {"hits": [{"id": "TP204"}]})
    calls = (found, ToolCall("book", {"id": "TP204"}, "ok"), ToolCall("book", {"id": "TP999"}, "ok"))

    page = case_page(msgspec.structs.replace(result("x"), trajectory=Trajectory(calls=calls)), "8f2c", Links())

    rows = {row.anchor: row for row in rows_of(page.timeline)}
    assert [(flow.argument, flow.source) for flow in rows["call-2"].flows] == [("id", 1)]
    assert rows["call-1"].used_by == (2,)
    assert rows["call-3"].flows == ()
    assert 'is from <a href="#call-1">call 1</a>' in case_html(page, Links())


def test_calls_as_expected_are_folded_and_the_page_with_the_first_problem_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "loop.yaml"
    path.write_text("cases:\n  - {id: loop, expect: {calls: [{repeat: [edit, test]}, commit]}}\n")
    made_calls = [ToolCall(name, {}, None) for _ in range(300) for name in ("edit", "test")]

    judged = judge(load_eval_set(path).cases[0], Trajectory(calls=tuple(made_calls)))
    page = case_page(judged, "8f2c", Links())

    assert (page.calls_page, page.calls_pages) == (6, 6)
    assert [(item.kind, item.label) for item in page.timeline] == [("fold", "100 as expected"), ("missing", "commit")]


def test_turns_are_headings_with_what_was_asked_and_answered() -> None:
    calls = (ToolCall("search", {}, 1, turn=0), ToolCall("book", {}, 1, turn=1))
    run = Trajectory(calls=calls, turn_inputs=("find", "book", "bye"), turn_outputs=("found", "booked", "bye"))

    page = case_page(msgspec.structs.replace(result("x"), trajectory=run), "8f2c", Links())

    assert [(item.kind, item.label or str(item.text)) for item in page.timeline] == [
        ("turn", "Turn 1 of 3"),
        ("user", "find"),
        ("call", "search"),
        ("answer", "found"),
        ("turn", "Turn 2 of 3"),
        ("user", "book"),
        ("call", "book"),
        ("answer", "booked"),
        ("turn", "Turn 3 of 3"),
        ("user", "bye"),
        ("nothing", "no calls"),
        ("answer", "bye"),
    ]


def test_a_path_of_all_turns_is_shown_turn_by_turn_with_what_is_missing_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "trip.yaml"
    path.write_text("cases:\n  - {id: trip, expect: {calls: [search, compare, book]}}\n")
    calls = (ToolCall("search", {}, 1, turn=0), ToolCall("book", {}, 1, turn=1))
    run = Trajectory(calls=calls, turn_inputs=("find", "book"), turn_outputs=("found", "booked"))

    page = case_page(judge(load_eval_set(path).cases[0], run), "8f2c", Links())

    told = [(item.kind, item.label or str(item.text), item.fate) for item in page.timeline]
    assert told == [
        ("turn", "Turn 1 of 2", "failed"),
        ("user", "find", ""),
        ("call", "search", "match"),
        ("missing", "compare", "missing"),
        ("answer", "found", ""),
        ("turn", "Turn 2 of 2", ""),
        ("user", "book", ""),
        ("call", "book", "match"),
        ("answer", "booked", ""),
    ]


@pytest.mark.parametrize("times", [(0, 2**64 - 1), (2**63, 0), (-5, -9), (7, 7), (None, 3)], ids=str)
def test_a_broken_clock_does_no_harm(times: tuple[Any, Any]) -> None:
    calls = (ToolCall("a", {}, 1, start_ns=times[0], end_ns=times[1]), made("b", 1, 2))

    page = case_page(msgspec.structs.replace(result("x"), trajectory=Trajectory(calls=calls)), "8f2c", Links())

    for bar in [row.bar for row in rows_of(page.timeline) if row.bar is not None]:
        assert 0 <= bar.begin <= 1000
        assert bar.begin + bar.width <= 1000
    assert '<rect class="bar"' in case_html(page, Links())


def test_every_call_has_an_anchor_and_what_was_not_recorded_is_said(laptop: CaseResult) -> None:
    seen = Seen(page_of(laptop, spans={"a": {"name": "execute_tool"}}))

    anchors = [name for name in seen.ids() if name[5:].isdigit() and name.startswith("call-")]
    assert sorted(anchors) == [f"call-{number}" for number in range(1, 7)]
    assert "not recorded" in seen.text
    assert '"name": "execute_tool"' in seen.text
    assert len(seen.ids()) == len(set(seen.ids()))


def test_very_many_calls_are_paged_and_links_lead_to_the_right_page() -> None:
    calls = tuple([made(f"tool_{place}", place, place + 1, args={}) for place in range(10_000)])
    many = msgspec.structs.replace(result("many"), trajectory=Trajectory(calls=calls))

    page = case_page(many, "8f2c", Links(), calls_page=2)

    assert [page.calls[0].number, page.calls[-1].number] == [CALLS_A_PAGE + 1, 2 * CALLS_A_PAGE]
    assert page.call_href(CALLS_A_PAGE + 1, Links()) == f"#call-{CALLS_A_PAGE + 1}"
    assert page.call_href(1, Links()).endswith("?calls=1#call-1")
    assert len(case_html(page, Links())) < 300_000
    assert case_page(many, "8f2c", Links(), calls_page=999).calls_page == 100


def test_a_page_of_very_many_calls_stays_small_whatever_they_and_the_model_say() -> None:
    calls = [
        made(f"tool_{place}", place, place + 1, args={"note": "x" * 5_000}, output={"text": "y" * 5_000})
        for place in range(1_000)
    ]
    messages = [said("model", "I go on. " * 500, place, start_ns=place, end_ns=place + 1) for place in range(1_000)]
    trajectory = Trajectory(calls=tuple(calls), messages=tuple(messages))

    page = case_html(case_page(result("a", trajectory=trajectory), "8f2c", Links()), Links())

    assert len(page.encode()) < 300_000


def test_an_agent_that_broke_has_its_error_traceback_and_what_it_printed() -> None:
    outcome = Outcome(seconds=1.0, cause="raised", error="KeyError: 'x'", traceback="Traceback\n  line", stdout="hello")

    text = Seen(page_of(result("x", "error", "the agent raised", outcome=outcome, trajectory=None))).text

    for said in ("KeyError: 'x'", "Traceback\n  line", "hello"):
        assert said in text


def test_neighbours_repeats_and_history_are_links(laptop: CaseResult) -> None:
    entry = HistoryEntry(
        run="aaaa", href="/old", when=moment("2026-11-16T00:00:00+00:00"), verdict="passed", began=True
    )

    page = page_of(
        laptop,
        neighbours=Neighbours("/k", "/j", "/p", "/n"),
        siblings=[Sibling(0, 1, "failed", "/0"), Sibling(1, 2, "passed", "/1")],
        history=[entry],
    )

    assert {"/k", "/j", "/p", "/n", "/1", "/old"} <= set(Seen(page).addresses())
    assert "stopped passing here" in page


def test_codes_are_explained_where_their_links_lead(laptop: CaseResult) -> None:
    seen = Seen(page_of(laptop))

    assert {f"code-{code}" for code in ("RC101", "RC104", "RC107")} <= set(seen.ids())
    assert "#code-RC104" in seen.addresses()


def first_page(text: str) -> Seen:
    return Seen(page_of(next(iter(hostile_report(text).results()))))


tame_page = cache(partial(first_page, "tame"))


@for_each("text", HOSTILE)
def test_nothing_that_strangers_wrote_becomes_more_than_text(text: str) -> None:
    seen, plain = first_page(text), tame_page()

    folded = ("code", "details", "summary", "pre", "span")  # long and quoted texts have these
    more = Counter([tag for tag, _ in seen.elements]) - Counter([tag for tag, _ in plain.elements])
    assert not [tag for tag in more if tag not in folded]
    assert not any(attribute.startswith("on") for _, attrs in seen.elements for attribute in attrs)
    assert all(address.startswith(("/", "#")) for address in seen.addresses())
    assert not harmful(seen.text)
    assert len(seen.text) < 150_000


def test_a_brief_case_is_small_and_its_anchors_are_its_own(laptop: CaseResult) -> None:
    page = brief_case_page(laptop)

    assert page.call_href(2, Links(is_one_file=True)) == f"#{page.key}-call-2"
    assert page.calls[0].record is None


def test_what_a_judge_says_is_shown_with_its_rubrics_and_what_it_took() -> None:
    hostile = "<script>alert(1)</script>\u202e"

    def strict(question: Any) -> dict[str, Any]:
        said = [{"id": one.id, "reason": hostile, "met": one.id == "1"} for one in question.rubrics]
        return {"reason": f"too hasty {hostile}", "call": 1, "rubrics": said}

    evaluator = LlmJudgeTrajectory("quality", {"judge": strict, "samples": 3, "rubrics": ["Is polite.", "Asks first."]})
    judged = evaluator.evaluate(Trajectory(calls=CALLS), {})
    case = msgspec.structs.replace(result("x", "failed"), results=(judged,), trajectory=Trajectory(calls=CALLS))

    html = case_html(case_page(case, "8f2c", Links()), Links())

    text = Seen(html).text
    for told in ("too hasty", "Is polite.", "Asks first.", "3 answers, 100% agree", 'search_products(query="laptop")'):
        assert told in text
    assert "<script>alert" not in html
    assert "\u202e" not in html


def test_a_call_that_was_not_carried_out_is_noted(laptop: CaseResult) -> None:
    assert laptop.trajectory is not None
    withheld = (WithheldCall("refund", {"order": 7}, "refused by the user"),)
    noted = msgspec.structs.replace(laptop, trajectory=msgspec.structs.replace(laptop.trajectory, withheld=withheld))

    page = case_page(noted, "run", Links())

    assert "not made: refund(order=7): refused by the user" in [warning.head for warning in page.warnings]


def test_what_a_problem_says_already_is_not_said_again() -> None:
    outcome = Outcome(seconds=5.0, cause="timed_out", error="the agent took longer than 5 s")

    text = Seen(page_of(result("x", "error", "the agent took longer than 5 s", outcome=outcome, trajectory=None))).text

    assert text.lower().count("the agent took longer than 5 s") == 1


def said(writer: str, text: str, at: int, **more: Any) -> Message:
    return Message(writer=writer, text=text, at=at, **more)  # type: ignore[arg-type]


def test_messages_stand_where_they_were_said_and_the_one_before_a_problem_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "refund.yaml"
    path.write_text("cases: [{id: x, expect: {calls: [a, b, {refund: {amount: 1}}, c, d]}}]", encoding="utf-8")
    [case] = load_eval_set(str(path)).cases
    calls = [ToolCall(name, {"amount": 2}, "ok") for name in ("a", "b", "refund", "c", "d")]
    messages = [
        said("user", "My money back", 0),
        *[said("model", f"now {call.name}", at, input_tokens=7, model="m") for at, call in enumerate(calls)],
        said("model", "Done.", 5),
    ]
    run = Trajectory(calls=tuple(calls), input="My money back", output="Done.", messages=tuple(messages))

    rows = case_page(judge(case, run), "8f2c", Links()).timeline

    assert [(row.kind, row.label or str(row.text)) for row in rows] == [
        ("user", "My money back"),
        ("fold", "2 as expected"),
        ("model", "now refund"),
        ("call", "refund"),
        ("model", "now c"),
        ("fold", "2 as expected"),
        ("answer", "Done."),
    ]
    assert rows[2].meta == "m · 7 in"


def test_a_case_without_an_id_is_named_by_the_first_message_of_the_user() -> None:
    run = Trajectory(trace_id="0af7", messages=(said("user", "Where is my order?", 0),))

    page = case_page(msgspec.structs.replace(result("0af7"), trajectory=run), "8f2c", Links())

    assert page.title == "Where is my order?"
    assert "0af7" in case_html(page, Links())


def test_an_input_that_was_not_recorded_is_said_and_is_not_null() -> None:
    page = case_page(msgspec.structs.replace(result("x"), trajectory=Trajectory(), outcome=None), "8f2c", Links())

    assert [row.label for row in page.timeline] == ["The input was not recorded"]
    assert ">null<" not in case_html(page, Links())


TRIP = """
cases:
  - id: trip
    expect:
      calls:
        - plan: {city: Oslo}
        - any_order:
            - search_flights: {to: OSL}
            - search_hotels: {near: opera, limit: {$gte: 1}}
        - {name: book, args: {hotel: H-77}, status: ok}
"""


def trip(tmp_path: Path, *calls: ToolCall) -> CasePage:
    (tmp_path / "trip.yaml").write_text(TRIP, encoding="utf-8")
    [case] = load_eval_set(str(tmp_path / "trip.yaml")).cases
    return case_page(judge(case, Trajectory(calls=calls)), "8f2c", Links())


PLAN = made("plan", 0, 900, args={"city": "Oslo"}, span_id="p")
FLIGHTS = made("search_flights", 100, 200, args={"to": "OSL"}, parent_id="p", agent="planner")
ASKED = {"near": "castle", "limit": 3, "page": 1, "it": 3}
HOTELS = made("search_hotels", 100, 300, args=ASKED, parent_id="p", agent="planner")


def test_arguments_that_agree_stand_beside_those_that_differ(tmp_path: Path) -> None:
    page = trip(tmp_path, PLAN, FLIGHTS, HOTELS, made("book", 900, 950, args={"hotel": "H-77"}))

    [wrong] = [item for item in rows_of(page.timeline) if item.changes]
    assert [change.path for change in wrong.changes] == ["near"]
    assert [(each.name, each.expected, each.actual) for each in wrong.agreed] == [
        ("limit", "as expected", "3"),
        ("page", "any", "1"),
        ("it", "any", "3"),  # not the end of `limit`
    ]
    text = Seen(case_html(page, Links())).text
    assert "(near=" not in text[text.index("argumentexpectedactual") :].partition("details")[0]


def test_calls_of_a_sub_agent_are_a_lane_also_where_they_are_a_group(tmp_path: Path) -> None:
    page = trip(tmp_path, PLAN, FLIGHTS, HOTELS)

    [lane] = [item for item in page.timeline if item.kind == "lane"]
    assert lane.label == "planner"
    assert [item.label for item in rows_of(lane.items) if item.call] == ["search_flights", "search_hotels"]


def test_an_error_is_told_by_its_type_and_is_no_argument_that_differs(tmp_path: Path) -> None:
    right = msgspec.structs.replace(HOTELS, args={"near": "opera", "limit": 3})
    failed = made("book", 900, 950, args={"hotel": "H-77"}, error="TimeoutError: no answer after 30 s")

    page = trip(tmp_path, PLAN, FLIGHTS, right, failed)

    assert str(page.sentence) == "`book` raised TimeoutError (no answer after 30 s), expected to succeed"
    [wrong] = [item for item in rows_of(page.timeline) if item.is_problem and item.call]
    assert not wrong.changes


def test_the_first_problem_is_not_named_again_in_the_list_of_problems(laptop: CaseResult) -> None:
    page = case_page(laptop, "8f2c", Links())

    text = Seen(case_html(page, Links())).text
    assert f"{len(page.problems) - 1} more problems" in text
    told = text[text.index("more problems") : text.index("Evaluators")]
    assert "must never be" not in told
