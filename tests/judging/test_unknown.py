"""What a trace does not record about its calls: the verdict is that of every way to fill it in, or there is none."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace
from tests.builders import judge
from tests.sampling import examples
from tests.walls import for_each

from rightcall import NotMeasuredError, ToolCall, Trajectory, check
from rightcall.judging import EVALUATORS

NAMES = "abc"
RULES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("forbidden-tools", {"never": ["a"]}, {}),
    ("tool-call-count", {"tool_calls_count": {"a": ["=", 1], "b": ["<=", 1]}}, {}),
    ("tool-call-count", {"tool_calls_count": {"a": ["!=", 1], "c": [">", 0]}}, {"threshold": 0.5}),
    ("tool-call-count", {"tool_calls_count": {"a": ["=", 1], "b": [">=", 1]}}, {"strict": True}),
    ("tool-call-order", {"tool_calls_order": ["a", "b"]}, {}),
    ("tool-call-order", {"tool_calls_order": ["a", "b", "a"]}, {"threshold": 0.6}),
    ("tool-call-order", {"tool_calls_order": ["a", "b"]}, {"strict": True}),
    ("execution-order", {"expected_output": ["a", "b"]}, {}),
    ("execution-order", {"expected_output": ["b", "a", "c"]}, {"should_consider_ordering": True, "threshold": 0.6}),
    ("execution-order", {"expected_output": ["a", "b"]}, {"should_exact_match": True}),
    ("tool-call-args", {"tool_calls": [{"name": "a", "args": {"x": 1}}, {"name": "a"}]}, {"threshold": 0.5}),
    ("tool-precision", {"expected": ["a", "a", "b"]}, {"threshold": 0.6}),
    ("tool-precision", {"expected": ["a", "b"]}, {}),
    ("tool-recall", {"expected": ["a", "b"]}, {}),
    ("tool-f1", {"expected": ["a", "b", "c"]}, {"threshold": 0.7}),
    ("single-tool-use", {"expected": "b"}, {}),
    ("step-count", {"at_most": 2}, {}),
    ("tool-error-rate", {"at_most": 0.4}, {}),
    ("call-latency", {"at_most": 2.0}, {}),
    ("retries", {"at_most": 1}, {}),
    ("redundant-calls", {"at_most": 0}, {}),
    ("loops", {"at_most": 1}, {}),
    *[
        ("tool-trajectory", {"expected": ["a", {"name": "b", "args": {"x": 1}}]}, {"match_type": kind, **graded})
        for kind in ("EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET")
        for graded in ({}, {"partial_credit": True, "threshold": 0.6})
    ],
]
CONVERSATIONS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("tool-trajectory", {"expected_turns": expected}, {"match_type": kind, **graded})
    for expected in ([["a"], ["b"]], [["a", "b"]], [["a"], []])
    for kind in ("EXACT", "IN_ORDER", "ANY_ORDER", "SUBSET")
    for graded in ({}, {"partial_credit": True, "threshold": 0.6})
]


def some_calls(most: int, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[ToolCall]]:
    """A few calls, which are often alike; the fields are those of which something may be unknown."""
    made = st.builds(
        ToolCall,
        name=st.sampled_from(NAMES),
        args=st.sampled_from([{"x": 1}, {"x": 2}]),
        output=st.just(1),
        error=st.sampled_from([None, None, "broken"]),
        start_ns=st.just(0),
        end_ns=st.sampled_from([10**9, 3 * 10**9]),
        **fields,
    )
    return st.lists(made, max_size=most)


def filled(calls: list[ToolCall], field: str, values: list[Any]) -> Iterator[list[ToolCall]]:
    """The calls with every choice of values for a field where it is `None`."""
    for chosen in itertools.product(values, repeat=sum(getattr(call, field) is None for call in calls)):
        left = iter(chosen)
        yield [call if getattr(call, field) is not None else replace(call, **{field: next(left)}) for call in calls]


def unanimous(worlds: Iterator[Trajectory], rule: tuple[str, Any, Any], **narrowing: Any) -> str:
    """The verdict that all trajectories get, or none."""
    kind, criteria, config = rule
    evaluator = EVALUATORS[kind](config=config)
    compiled = evaluator.criteria(criteria | narrowing)
    verdicts = {evaluator.evaluate(world, compiled).verdict for world in worlds}
    return verdicts.pop() if len(verdicts) == 1 else "not_measured"


NUMBERED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("tool-recall", {"expected": [{"name": "a", "nth": -1, "status": "ok"}]}, {}),
    ("tool-call-args", {"tool_calls": [{"name": "a", "args": {"x": 1}, "nth": 1}, "b"]}, {"threshold": 0.5}),
    ("tool-call-output", {"tool_outputs": [{"name": "a", "output": 1, "nth": 2}]}, {}),
    ("tool-call-output", {"tool_outputs": [{"name": "a", "output": 1}, {"name": "b", "output": {"$any": True}}]}, {}),
    ("forbidden-tools", {"never": [{"name": "b", "nth": 1, "args": {"x": 2}}]}, {}),
    ("tool-trajectory", {"expected": ["*", {"name": "a", "status": "ok"}], "wildcards": True}, {}),
    ("tool-trajectory", {"expected": [["a", "b"]]}, {"match_type": "ANY_ORDER"}),
    ("tool-call-count", {"tool_calls_count": {"*": 1}, "wildcards": True}, {}),
]
PARTS: dict[str, list[Any]] = {
    "args": [{"x": 1}, {"x": 2}, {}],
    "output": [1, 2],
    "error": [None, "broken"],
    "internal": [True, False],
}


def hidden(call: ToolCall, parts: set[str]) -> ToolCall:
    """The call without these parts. What a call returned that raised is not a question."""
    lost = frozenset(parts - ({"output"} if call.error is not None or "error" in parts else set()))
    return replace(call, **dict.fromkeys(lost), unrecorded=lost)


def every_filling(calls: list[ToolCall], order_known: int) -> Iterator[Trajectory]:
    """All runs that the calls may be of; the order of those from `order_known` on is not known."""
    parts = [sorted(call.unrecorded) for call in calls]
    for values in itertools.product(*[itertools.product(*[PARTS[part] for part in each]) for each in parts]):
        pairs = zip(calls, parts, values, strict=True)
        known = [
            replace(call, **dict(zip(each, chosen, strict=True)), unrecorded=frozenset())
            for call, each, chosen in pairs
        ]
        for tail in itertools.permutations(known[order_known:]):
            yield Trajectory(calls=(*known[:order_known], *tail))


@examples(60)
@given(
    calls=some_calls(3, group=st.sampled_from(["g", "h"])),
    parts=st.lists(st.sets(st.sampled_from(sorted(PARTS)), max_size=2), min_size=3, max_size=3),
    order_known=st.integers(0, 3),
    parallel=st.sampled_from(["in_order", "recorded"]),
    rule=st.sampled_from([*RULES, *NUMBERED]),
)
def test_whatever_is_unknown_at_once_a_verdict_is_that_of_every_filling(
    calls: list[ToolCall], parts: list[set[str]], order_known: int, parallel: str, rule: tuple[str, Any, Any]
) -> None:
    calls = [replace(call, start_ns=None, end_ns=None) for call in calls]
    partly = [hidden(call, each) for call, each in zip(calls, parts, strict=False)]
    unordered = ((order_known, len(calls)),) if order_known < len(calls) - 1 else ()
    narrowing = {} if rule[0] in ("call-latency",) else {"parallel": parallel}
    truth = unanimous(every_filling(partly, order_known if unordered else len(calls)), rule, **narrowing)

    kind, criteria, config = rule
    assert judge(
        kind, Trajectory(calls=tuple(partly), unordered=unordered), criteria | narrowing, **config
    ).verdict in (
        truth,
        "not_measured",
    )


@examples(30)
@given(calls=some_calls(5, agent=st.sampled_from([None, "billing", "sales"])))
@for_each("rule", RULES)
def test_an_unknown_agent_may_be_any_agent(rule: tuple[str, Any, Any], calls: list[ToolCall]) -> None:
    kind, criteria, config = rule
    worlds = (Trajectory(calls=tuple(each)) for each in filled(calls, "agent", ["billing", "someone"]))

    found = judge(kind, Trajectory(calls=tuple(calls)), criteria | {"agent": "billing"}, **config)

    assert found.verdict == unanimous(worlds, rule, agent="billing")


@examples(30)
@given(calls=some_calls(4), tied=st.tuples(st.integers(0, 3), st.integers(0, 4)))
@for_each("rule", RULES)
def test_an_unknown_order_may_be_any_order(
    rule: tuple[str, Any, Any], calls: list[ToolCall], tied: tuple[int, int]
) -> None:
    kind, criteria, config = rule
    first, end = sorted([min(tied[0], len(calls)), min(tied[1], len(calls))])
    orders = itertools.permutations(calls[first:end])
    worlds = (Trajectory(calls=(*calls[:first], *order, *calls[end:])) for order in orders)
    ranges = ((first, end),) if end - first > 1 else ()

    found = judge(kind, Trajectory(calls=tuple(calls), unordered=ranges), criteria, **config)

    assert found.verdict == unanimous(worlds, rule)


@examples(30)
@given(calls=some_calls(3, group=st.sampled_from([None, "g", "h"])))
@for_each("rule", RULES)
def test_calls_without_a_group_may_be_of_any_group(rule: tuple[str, Any, Any], calls: list[ToolCall]) -> None:
    kind, criteria, config = rule
    worlds = (Trajectory(calls=tuple(each)) for each in filled(calls, "group", ["g", "h", "new", "other"]))

    found = judge(kind, Trajectory(calls=tuple(calls)), criteria | {"parallel": "any_order"}, **config)

    # The widest groups are taken for one where two would do: then there is no verdict though all would agree.
    assert found.verdict in (unanimous(worlds, rule, parallel="any_order"), "not_measured")


@examples(30)
@given(calls=some_calls(4, parent_id=st.sampled_from([None, "above"])), unknown=st.sets(st.integers(0, 3)))
@for_each("rule", RULES)
def test_a_call_whose_parent_is_not_known_may_be_on_the_top_level(
    rule: tuple[str, Any, Any], calls: list[ToolCall], unknown: set[int]
) -> None:
    kind, criteria, config = rule
    blind = [
        replace(call, parent_id=None, unrecorded=call.unrecorded | {"parent_id"}) if place in unknown else call
        for place, call in enumerate(calls)
    ]
    choices = [
        [replace(call, unrecorded=frozenset(), parent_id=each) for each in (None, "above")]
        if call.unrecorded
        else [call]
        for call in blind
    ]
    worlds = (Trajectory(calls=tuple(each)) for each in itertools.product(*choices))

    found = judge(kind, Trajectory(calls=tuple(blind)), criteria | {"top_level": True}, **config)

    assert found.verdict == unanimous(worlds, rule, top_level=True)


@examples(30)
@given(calls=some_calls(3, turn=st.sampled_from([None, 0, 1])))
@for_each("rule", CONVERSATIONS)
def test_a_call_without_a_turn_may_be_of_any_turn(rule: tuple[str, Any, Any], calls: list[ToolCall]) -> None:
    kind, criteria, config = rule
    if len(criteria["expected_turns"]) == 1 and all(call.turn is None for call in calls):
        return  # one turn is expected, and none is recorded: the whole run is that turn
    worlds = (Trajectory(calls=tuple(each)) for each in filled(calls, "turn", [0, 1, 2, 3, 4]))

    found = judge(kind, Trajectory(calls=tuple(calls)), criteria, **config)

    assert found.verdict == unanimous(worlds, rule)


@examples(30)
@given(calls=some_calls(3), lost=some_calls(3), places=st.lists(st.integers(0, 3), min_size=3, max_size=3))
@for_each("rule", RULES)
def test_calls_that_may_be_missing_never_make_a_verdict_that_they_could_change(
    rule: tuple[str, Any, Any], calls: list[ToolCall], lost: list[ToolCall], places: list[int]
) -> None:
    kind, criteria, config = rule
    whole = list(calls)
    for call, place in zip(lost, places, strict=False):
        whole.insert(min(place, len(whole)), call)

    found = judge(kind, Trajectory(calls=tuple(calls), calls_recorded=False), criteria, **config)

    assert found.verdict in (judge(kind, Trajectory(calls=tuple(whole)), criteria, **config).verdict, "not_measured")


@examples(30)
@given(
    calls=some_calls(9, agent=st.sampled_from([None, None, None, "billing"])),
    chosen=st.lists(st.booleans(), min_size=9, max_size=9),
    seed=st.randoms(use_true_random=False),
)
@for_each("rule", RULES)
def test_bounds_hold_where_there_are_too_many_ways_to_try_them_all(
    rule: tuple[str, Any, Any], calls: list[ToolCall], chosen: list[bool], seed: Any
) -> None:
    kind, criteria, config = rule
    tied, first = (0, len(calls)) if len(calls) > 1 else (0, 0), list(calls)
    seed.shuffle(first)
    world = [
        call if call.agent else replace(call, agent="billing" if mine else "someone")
        for call, mine in zip(first, chosen, strict=False)
    ]
    blind = Trajectory(calls=tuple(calls), unordered=(tied,) if tied[1] else ())

    found = judge(kind, blind, criteria | {"agent": "billing"}, **config)

    whole = judge(kind, Trajectory(calls=tuple(world)), criteria | {"agent": "billing"}, **config)
    assert found.verdict in (whole.verdict, "not_measured")


@examples(150)
@given(
    calls=some_calls(5, agent=st.sampled_from(["billing", "sales"]), turn=st.sampled_from([0, 1])),
    unknown=st.sets(st.integers(0, 4), min_size=1),
    field=st.sampled_from(["agent", "turn"]),
)
@for_each("kind", ["retries", "redundant-calls", "loops"])
def test_a_call_of_an_unknown_agent_or_turn_may_repeat_any_other(
    kind: str, calls: list[ToolCall], unknown: set[int], field: str
) -> None:
    blind = [
        replace(call, **{field: None, "unrecorded": call.unrecorded | {field}}) if place in unknown else call
        for place, call in enumerate(calls)
    ]
    for limit in range(3):
        whole = judge(kind, Trajectory(calls=tuple(calls)), {"at_most": limit}).verdict
        assert judge(kind, Trajectory(calls=tuple(blind)), {"at_most": limit}).verdict in (whole, "not_measured")


def test_a_rule_about_an_agent_is_not_measured_where_no_agent_is_recorded() -> None:
    with pytest.raises(NotMeasuredError) as raised:
        check([{"name": "a"}], {"never": {"never": ["a"], "agent": "billing"}})

    assert "which agent made `a` was not recorded" in str(raised.value)
    rule = {"never": ["a"], "agent": "billing"}
    assert judge("forbidden-tools", ["a"], rule).verdict == "not_measured"


def test_a_rule_about_an_agent_holds_where_no_call_at_all_could_break_it() -> None:
    assert judge("forbidden-tools", ["a"], {"never": ["b"], "agent": "billing"}).verdict == "passed"
    assert judge("tool-recall", ["a"], {"expected": ["b"], "agent": "billing"}).verdict == "failed"


def test_a_forbidden_call_is_one_though_the_trace_may_lack_others() -> None:
    partial = Trajectory(calls=(ToolCall("delete"),), calls_recorded=False)

    assert judge("forbidden-tools", partial, {"never": ["delete"]}).verdict == "failed"
    assert judge("forbidden-tools", partial, {"never": ["pay"]}).verdict == "not_measured"
    assert judge("tool-recall", partial, {"expected": ["delete"]}).verdict == "passed"
    assert judge("step-count", partial, {"at_most": 0}).verdict == "failed"
    assert judge("step-count", partial, {"at_most": 9}).verdict == "not_measured"
