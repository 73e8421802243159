"""Rules about calls, as people write them, on the runs they are about."""

from typing import Any

import pytest
from tests.builders import judge
from tests.walls import for_each

from rightcall import ToolCall, Trajectory
from rightcall.judging import EVALUATORS
from rightcall.limits import Limits
from rightcall.values.results import EvaluationResult, RulesJustification


def ruled(rule: dict[str, Any] | list[dict[str, Any]], made: Any, **criteria: Any) -> EvaluationResult:
    return judge("call-rules", made, {"rules": rule if isinstance(rule, list) else [rule], **criteria})


def statuses(result: EvaluationResult) -> list[str]:
    assert isinstance(result.details, RulesJustification)
    return [check.status for check in result.details.rules]


def breakers(result: EvaluationResult) -> list[int]:
    """The calls that findings name as breaking a rule, from 1."""
    return [finding.actual.position + 1 for finding in result.findings if finding.actual and finding.code == "RC116"]


def made(name: str, *, start: int | None = None, end: int | None = None, **more: Any) -> ToolCall:
    return ToolCall(name=name, **{"args": {}, "output": None, **more}, start_ns=start, end_ns=end)


READS = {"call": "read_*", "only_after": "auth"}
REFUND = {"call": "refund", "never_after": "cancel"}
OPEN = {"call": "open", "followed_by": "close", "same": "path"}
SEARCHES = {"call": "search", "at_most": 2, "before": "book"}
ALWAYS = {"call": "delete", "always": {"id": {"$in": ["a", "b"]}}}

EXAMPLES: list[tuple[str, dict[str, Any], list[Any], str, list[int]]] = [
    ("a call after the one it needs", READS, ["auth", "read_a", "read_b"], "holds", []),
    ("a call before the one it needs", READS, ["read_a", "auth", "read_b"], "broken", [1]),
    ("a call after one that failed", READS, [made("auth", error="no"), made("read_a")], "broken", [2]),
    (
        "a call while the one it needs is running",
        READS,
        [made("auth", start=0, end=10), made("read_a", start=5, end=8)],
        "broken",
        [2],
    ),
    ("a call after one that rules it out", REFUND, ["cancel", "lookup", "refund"], "broken", [3]),
    ("nothing that rules it out", REFUND, ["refund", "lookup"], "never_applied", []),
    ("only what rules it out", REFUND, ["cancel", "lookup"], "holds", []),
    (
        "a partner with another argument",
        OPEN,
        [made("open", args={"path": "a"}), made("open", args={"path": "b"}), made("close", args={"path": "a"})],
        "broken",
        [2],
    ),
    (
        "a partner that comes too late",
        {"call": "edit", "followed_by": "test", "before": "edit"},
        ["edit", "test", "edit", "edit", "test"],
        "broken",
        [3],
    ),
    ("too many before a call", SEARCHES, ["search", "search", "search", "book", "search"], "broken", [3]),
    ("as many as may be", SEARCHES, ["search", "search", "book", "search", "search", "search"], "holds", []),
    (
        "a partner that was undone since",
        {"call": "read", "only_after": "login", "since": "logout"},
        ["login", "read", "logout", "read"],
        "broken",
        [4],
    ),
    (
        "calls that are apart by an argument",
        {"call": "return", "never_with": "exchange", "same": "order_id"},
        [made("return", args={"order_id": 1}), made("exchange", args={"order_id": 2})],
        "holds",
        [],
    ),
    (
        "a call that is not as all must be",
        ALWAYS,
        [made("list"), made("delete", args={"id": "a"}), made("delete", args={"id": "z"})],
        "broken",
        [3],
    ),
    ("another first call", {"first": "login"}, ["search", "login"], "broken", [1]),
    ("another last call", {"last": "logout"}, ["logout", "search"], "broken", [2]),
    (
        "arguments that were not recorded",
        {"call": {"name": "pay", "args": {"amount": {"$gt": 100}}}, "only_after": "approve"},
        ["pay"],
        "open",
        [],
    ),
]


@for_each(("end", "verdict"), [(1, "not_measured"), (2, "not_measured"), (3, "failed")])
def test_of_calls_that_began_together_one_may_have_ended_first_if_it_took_no_time(end: int, verdict: str) -> None:
    made = [ToolCall(name, {}, None, start_ns=1, end_ns=end) for name in ("pay", "confirm")]
    run = Trajectory(calls=tuple(made), unordered=((0, 2),))

    assert judge("call-rules", run, {"rules": [{"call": "pay", "only_after": "confirm"}]}).verdict == verdict


@pytest.mark.parametrize(("rule", "calls", "status", "broken"), [pytest.param(*row[1:], id=row[0]) for row in EXAMPLES])
def test_a_rule_is_kept_or_broken(rule: dict[str, Any], calls: list[Any], status: str, broken: list[int]) -> None:
    # Names alone leave out whether a call failed; a call that is given whole did not.
    whole = [made(call) if isinstance(call, str) and status != "open" else call for call in calls]
    result = ruled(rule, whole)

    assert (statuses(result), breakers(result)) == ([status], broken)


def test_with_the_order_of_starts_a_running_call_is_before() -> None:
    calls = [made("auth", start=0, end=10), made("read_a", start=5, end=8)]

    assert statuses(ruled(READS, calls, order="started")) == ["holds"]


def test_a_call_that_made_another_is_before_it() -> None:
    calls = [
        made("auth", start=0, end=10, span_id="a"),
        made("step", start=1, end=9, span_id="b", parent_id="a"),
        made("read_a", start=2, end=3, span_id="c", parent_id="b"),
    ]

    assert statuses(ruled(READS, calls, ignore_tools=["step"])) == ["holds"]


def test_a_partner_that_made_what_must_not_come_between_leaves_another_to_be_the_partner() -> None:
    run = [
        made("confirm", start=0, end=10, span_id="a"),
        made("confirm", start=0, end=9, span_id="b"),
        made("quote", start=1, end=12, span_id="c", parent_id="a"),
        made("pay", start=12, end=13, span_id="d"),
    ]
    rule = {"call": "pay", "only_after": "confirm", "since": "quote"}

    assert statuses(ruled(rule, run)) == ["holds"]
    assert statuses(ruled(rule, [run[0], *run[2:]])) == ["broken"]


def test_calls_that_are_nested_too_deeply_are_an_error_with_their_number() -> None:
    run = [made("ask", span_id=str(number), parent_id=str(number - 1)) for number in range(1, 21)]
    evaluator = EVALUATORS["call-rules"](limits=Limits(comparisons=1_000))

    result = evaluator.evaluate(run, {"rules": [{"call": "ask", "only_after": "login"}]})

    assert result.verdict == "error"
    assert "calls are nested too deeply: they have 190 calls above them, the limit is 100" in str(result.error)


def test_the_score_is_the_share_of_rules_that_hold() -> None:
    result = ruled([REFUND, READS, SEARCHES], [made("cancel"), made("refund"), made("search")])

    assert (result.score, result.verdict, statuses(result)) == (2 / 3, "failed", ["broken", "never_applied", "holds"])
    assert isinstance(result.details, RulesJustification)
    assert result.details.vacuous == 1


def test_a_rule_that_must_apply_and_never_does_is_broken() -> None:
    result = ruled({**READS, "must_apply": True}, [made("auth")])

    assert [(finding.code, finding.message) for finding in result.findings] == [
        ("RC118", "the rule must apply, and never did: `read_*` only after `auth`; no `read_*` was called")
    ]
    assert result.verdict == "failed"


def test_rules_about_the_first_and_last_call_are_broken_where_nothing_was_called() -> None:
    result = ruled([{"first": "login"}, {"last": "logout"}, READS], [])

    assert statuses(result) == ["broken", "broken", "never_applied"]


def test_a_rule_in_each_turn_is_judged_apart() -> None:
    rule = {"call": "search", "at_most": 1, "per": "turn"}
    twice = [made("search", turn=0), made("search", turn=1)]

    assert statuses(ruled(rule, twice)) == ["holds"]
    assert breakers(ruled(rule, [*twice, made("search", turn=1)])) == [3]
    assert statuses(ruled(rule, [made("search", turn=0), made("search")])) == ["open"]


def test_calls_whose_turn_does_not_matter_may_lack_it() -> None:
    rule = {"call": "search", "at_most": 1, "per": "turn"}

    assert statuses(ruled(rule, [made("search", turn=0), made("log")])) == ["holds"]


def test_same_takes_a_list_and_names_that_differ() -> None:
    rule = {"call": "pay", "only_after": "quote", "same": {"amount": "price", "currency": "currency"}}
    quote = made("quote", args={"price": 10, "currency": "EUR"})

    assert statuses(ruled(rule, [quote, made("pay", args={"amount": 10.0, "currency": "EUR"})])) == ["holds"]
    assert statuses(ruled(rule, [quote, made("pay", args={"amount": True, "currency": "EUR"})])) == ["broken"]
    listed = {"call": "pay", "only_after": "quote", "same": ["price", "currency"]}
    assert statuses(ruled(listed, [quote, made("pay", args={"price": 10, "currency": "USD"})])) == ["broken"]


def test_an_argument_that_is_not_there_agrees_with_nothing() -> None:
    rule = {"call": "pay", "only_after": "quote", "same": "order"}

    assert statuses(ruled(rule, [made("quote"), made("pay")])) == ["broken"]


def test_nth_means_one_call_of_a_tool() -> None:
    first = {"call": {"name": "search", "nth": 1}, "always": {"q": "a"}}
    last = {"call": {"name": "search", "nth": -1}, "always": {"q": "a"}}
    calls = [made("search", args={"q": "a"}), made("search", args={"q": "b"})]

    assert statuses(ruled([first, last], calls)) == ["holds", "broken"]


@pytest.mark.parametrize("nth", [1, -1])
def test_which_call_is_the_nth_is_open_where_their_order_is(nth: int) -> None:
    rule = {"call": {"name": "search", "nth": nth}, "always": {"q": "a"}}
    calls = (made("search", args={"q": "a"}), made("search", args={"q": "b"}))

    assert statuses(ruled(rule, Trajectory(calls=calls, unordered=((0, 2),)))) == ["open"]
    assert statuses(ruled(rule, Trajectory(calls=(calls[0],) * 2, unordered=((0, 2),)))) == ["holds"]


def test_any_of_a_list_of_calls_is_meant() -> None:
    rule = {"call": ["pay", "refund"], "only_after": ["confirm", {"name": "approve", "args": {"by": "boss"}}]}

    assert breakers(ruled(rule, [made("pay"), made("approve", args={"by": "boss"}), made("refund")])) == [1]


def test_what_fulfils_a_rule_is_not_asked_to_come_after_itself() -> None:
    rule = {"call": "mcp__*", "only_after": "mcp__login"}

    assert statuses(ruled(rule, [made("mcp__login"), made("mcp__read")])) == ["holds"]
    assert breakers(ruled(rule, [made("mcp__login", error="no"), made("mcp__read")])) == [2]


def test_a_failed_call_fulfils_a_rule_that_asks_for_one() -> None:
    rule = {"call": "retry", "only_after": {"name": "fetch", "status": "error"}}

    assert statuses(ruled(rule, [made("fetch", error="timeout"), made("retry")])) == ["holds"]
    assert statuses(ruled(rule, [made("fetch"), made("retry")])) == ["broken"]


def test_attempts_end_the_time_in_which_a_call_has_to_follow() -> None:
    rule = {"call": "edit", "followed_by": "test", "before": "commit"}

    assert breakers(ruled(rule, [made("edit"), made("commit", error="refused"), made("test")])) == [1]


def test_always_takes_arguments_or_the_parts_of_a_call() -> None:
    call = made("write", args={"path": "/tmp/a"}, error="disk full")

    assert statuses(ruled({"call": "write", "always": {"path": {"$startsWith": "/tmp/"}}}, [call])) == ["holds"]
    assert statuses(ruled({"call": "write", "always": {"status": "ok"}}, [call])) == ["broken"]
    assert statuses(ruled({"call": "write", "always": {"output": "done"}}, [made("write", output="done")])) == ["holds"]


def test_neighbours_have_nothing_between_them() -> None:
    rule = {"call": "pay", "only_after": "confirm", "directly": True}

    assert statuses(ruled(rule, [made("confirm"), made("pay")])) == ["holds"]
    assert statuses(ruled(rule, [made("confirm"), made("log"), made("pay")])) == ["broken"]
    assert statuses(ruled(rule, [made("confirm"), made("log"), made("pay")], ignore_tools=["log"])) == ["holds"]


@for_each(
    ("rule", "names", "unordered", "status"),
    [
        ({"call": "pay", "only_after": "confirm"}, ["confirm", "pay", "log", "note"], (2, 4), "holds"),
        ({"call": "confirm", "followed_by": "pay"}, ["confirm", "pay", "log", "note"], (2, 4), "holds"),
        ({"call": "pay", "only_after": "confirm"}, ["log", "note", "confirm", "pay"], (0, 2), "holds"),
        ({"call": "pay", "only_after": "confirm"}, ["log", "confirm", "pay"], (0, 2), "open"),
        ({"call": "pay", "only_after": "confirm"}, ["confirm", "pay"], (0, 2), "open"),
        ({"call": "pay", "only_after": "confirm"}, ["confirm", "confirm", "pay"], (0, 2), "holds"),
        ({"call": "pay", "only_after": "confirm"}, ["log", "note", "pay"], (0, 2), "broken"),
        ({"call": "confirm", "followed_by": "pay"}, ["confirm", "pay", "log"], (1, 3), "open"),
    ],
)
def test_neighbours_are_known_where_the_order_of_others_is_not(
    rule: dict[str, Any], names: list[str], unordered: tuple[int, int], status: str
) -> None:
    run = Trajectory(calls=tuple([made(name) for name in names]), unordered=(unordered,))

    assert statuses(ruled({**rule, "directly": True}, run)) == [status]


def test_calls_after_some_whose_order_is_unknown_come_after_all_of_them() -> None:
    run = Trajectory(calls=tuple([made(name) for name in ("log", "read", "note", "pay")]), unordered=((1, 3),))

    assert statuses(ruled({"call": "read", "never_after": "pay"}, run)) == ["holds"]
    assert statuses(ruled({"call": "pay", "never_after": "read"}, run)) == ["broken"]


def test_a_call_that_an_unknown_one_made_may_be_made_by_each_that_has_no_id() -> None:
    inner = made("read_a", start=5, end=8, span_id="r", parent_id="gone")
    runs = [[made("auth", start=0, end=10, span_id=own), inner] for own in (None, "a")]

    assert [statuses(ruled(READS, calls)) for calls in runs] == [["open"], ["broken"]]


def test_failed_calls_may_be_left_out() -> None:
    rule, calls = (
        {"call": "pay", "only_after": "confirm"},
        [made("pay", error="declined"), made("confirm"), made("pay")],
    )

    assert statuses(ruled(rule, calls)) == ["broken"]
    assert statuses(ruled(rule, calls, failed="ignore")) == ["holds"]


def test_calls_that_only_read_like_errors_are_judged_both_ways() -> None:
    rule, calls = {"call": "pay", "at_most": 0}, [made("pay", output="Error: declined", suspected_error=True)]

    assert statuses(ruled(rule, calls)) == ["broken"]
    assert statuses(ruled(rule, calls, failed="ignore")) == ["open"]
    left_out = ruled(rule, calls, failed="ignore_suspected")
    assert statuses(left_out) == ["holds"]
    assert left_out.warnings == ("1 call was left out that reads like an error, or whose error was not recorded",)


@pytest.mark.parametrize("rule", [{"call": "pay", "at_most": 0}, {"first": "login"}], ids=["limit", "first"])
def test_a_call_that_does_not_show_what_came_of_it_is_not_one_that_reads_like_an_error(rule: dict[str, Any]) -> None:
    calls = [ToolCall("pay", {}, source="span"), ToolCall("login", {}, "ok", source="span")]

    result = ruled(rule, calls, failed="ignore_suspected")

    assert statuses(result) == ["open"]
    assert not any(["left out" in warning for warning in result.warnings])


def test_the_first_call_is_the_first_that_went_well_where_failures_are_left_out() -> None:
    calls = [made("search", error="no"), made("login")]

    assert statuses(ruled({"first": "login"}, calls, failed="ignore")) == ["holds"]


@pytest.mark.parametrize("rule", [{"first": "login"}, {"last": "login"}], ids=["first", "last"])
@pytest.mark.parametrize(("failed", "status"), [("count", "holds"), ("ignore", "open")])
def test_a_call_that_may_have_failed_is_the_first_where_failures_count(
    rule: dict[str, str], failed: str, status: str
) -> None:
    calls = [made("login", output="Error: no", suspected_error=True)]

    assert statuses(ruled(rule, calls, failed=failed)) == [status]


def test_calls_that_a_trace_may_lack_leave_open_what_they_could_mend() -> None:
    calls = (made("cancel"), made("refund"), made("read_a"))
    result = ruled([REFUND, READS], Trajectory(calls=calls, calls_recorded=False))

    assert statuses(result) == ["broken", "open"]


def test_an_order_that_is_not_known_decides_nothing() -> None:
    made_at_once = Trajectory(calls=(made("cancel"), made("refund")), unordered=((0, 2),))

    assert statuses(ruled(REFUND, made_at_once)) == ["open"]
    assert ruled(REFUND, made_at_once).verdict == "not_measured"


@pytest.mark.parametrize(("end", "status"), [(3, "broken"), (9, "holds"), (None, "open")], ids=str)
def test_a_call_whose_end_was_not_recorded_may_have_run_on(end: int | None, status: str) -> None:
    calls = [made("cancel", start=1, end=end), made("refund", start=5, end=6), made("cancel", start=8, end=9)]

    result = judge("call-rules", Trajectory.of(calls), {"rules": [REFUND]})

    assert statuses(result) == [status]


UNKNOWN = {"unrecorded": frozenset({"group"})}


@pytest.mark.parametrize(
    ("calls", "criteria", "status"),
    [
        pytest.param([{"group": "1"}, {"group": "1"}], {}, "open", id="one group"),
        pytest.param([{"group": "1"}, {"group": "2"}], {}, "holds", id="two groups"),
        pytest.param([{"group": "1"}, {}], {}, "open", id="a group that is missing among others"),
        pytest.param([UNKNOWN, UNKNOWN], {}, "open", id="groups that were not recorded"),
        pytest.param([UNKNOWN, UNKNOWN], {"order": "started"}, "holds", id="the order of starts"),
        pytest.param([UNKNOWN | {"turn": 0}, UNKNOWN | {"turn": 1}], {}, "holds", id="two turns"),
        pytest.param([{}, {}], {}, "holds", id="no groups"),
        pytest.param([{}, {}], {"parallel": "any_order"}, "open", id="no groups, where they count"),
    ],
)
@pytest.mark.parametrize("directly", [False, True])
def test_calls_whose_group_is_not_known_may_have_run_at_once(
    calls: list[dict[str, Any]], criteria: dict[str, Any], status: str, directly: bool
) -> None:
    run = [made(name, **more) for name, more in zip(("search", "book"), calls, strict=True)]

    result = ruled({"call": "search", "followed_by": "book", "directly": directly}, run, **criteria)

    assert statuses(result) == [status]


@pytest.mark.parametrize(
    ("names", "maker", "rule"),
    [
        ("search fetch book", "search", {"call": "search", "followed_by": "book"}),
        ("search book fetch", "book", {"call": "search", "followed_by": "fetch"}),
        ("search book fetch", "search", {"call": "book", "followed_by": "fetch"}),
    ],
)
def test_what_calls_at_once_have_made_may_have_run_at_once_too(names: str, maker: str, rule: dict[str, Any]) -> None:
    calls = {
        "search": made("search", span_id="search", group="1"),
        "book": made("book", span_id="book"),
        "fetch": made("fetch", span_id="fetch", parent_id=maker, group="2"),
    }

    assert statuses(ruled(rule, [calls[name] for name in names.split()])) == ["open"]
