"""Expectations made from a trajectory, some of which hold and some of which do not, and information taken out of it."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import permutations
from typing import Any

from msgspec.structs import replace

from rightcall import InputError, ToolCall, Trajectory, read
from rightcall.judging import EVALUATORS

Rule = tuple[str, str, str]
"""The type id of an evaluator, its criteria and its configuration, as JSON."""

MATCH_TYPES = ("EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET")


def rules_for(made: Trajectory) -> list[Rule]:
    """Expectations of every kind that are about a trajectory: as it is, and a little different."""
    plain = [
        *_by_name(made),
        *_by_rule(made),
        *_by_call(made),
        *_by_figures(made),
        *_of_the_answer(made),
        *_of_turns(made),
    ]
    found = [(kind, criteria | more, config) for kind, criteria, config in plain for more in _narrowings(kind, made)]
    return list(dict.fromkeys([(kind, _text(criteria), _text(config)) for kind, criteria, config in found]))


def verdicts_of(made: Trajectory, rules: list[Rule]) -> list[str]:
    """What each rule says of a trajectory."""
    return [_verdict(made, *rule) for rule in rules]


def _verdict(made: Trajectory, kind: str, criteria: str, config: str) -> str:
    evaluator, expected = compiled(kind, criteria, config)
    return str(evaluator.evaluate(made, expected).verdict)


@cache
def compiled(kind: str, criteria: str, config: str) -> tuple[Any, Any]:
    """The evaluator of a rule, and its compiled criteria."""
    evaluator = EVALUATORS[kind](config=json.loads(config))
    return evaluator, evaluator.criteria(json.loads(criteria))


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _narrowings(kind: str, made: Trajectory) -> Iterator[dict[str, Any]]:
    yield {}
    if EVALUATORS[kind].reads_calls:
        agents = sorted({call.agent for call in made.calls if call.agent is not None})
        yield from ({"agent": agent} for agent in [*agents[:2], "nobody"])
        yield {"top_level": True}
        yield {"parallel": "any_order"}


def _by_name(made: Trajectory) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    names = list(made.names)
    for name in sorted({*names[:3], "never_called"}):
        yield "forbidden-tools", {"never": [name]}, {}
        for operator, shift in (("=", 0), ("=", 1), ("<=", 0), (">", 0), ("!=", 1)):
            yield "tool-call-count", {"tool_calls_count": {name: [operator, names.count(name) + shift]}}, {}
    for order in _variations(names):
        yield "tool-call-order", {"tool_calls_order": order}, {}
        yield "tool-call-order", {"tool_calls_order": order}, {"threshold": 0.6}
        yield "tool-call-order", {"tool_calls_order": order}, {"strict": True}
        yield "execution-order", {"expected_output": order}, {"should_exact_match": True}
        yield "execution-order", {"expected_output": order}, {"should_consider_ordering": True}
        yield "execution-order", {"expected_output": order}, {}


def _by_rule(made: Trajectory) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    names = [*dict.fromkeys(made.names)][:3]
    keys = sorted({key for call in made.calls for key in call.args or {}})[:1]
    for one, other in [*permutations(names, 2), *[(name, "never_called") for name in names], ("never_called", "*")]:
        for relation in ("only_after", "never_after", "followed_by", "only_with", "never_with"):
            yield "call-rules", {"rules": [{"call": one, relation: other}]}, {}
            yield from (("call-rules", {"rules": [{"call": one, relation: other, "same": key}]}, {}) for key in keys)
        yield "call-rules", {"rules": [{"call": "*", "only_after": one, "since": other}]}, {}
        yield "call-rules", {"rules": [{"call": one, "followed_by": "*", "before": other}]}, {}
        yield "call-rules", {"rules": [{"call": one, "followed_by": other, "directly": True}]}, {}
        yield "call-rules", {"rules": [{"call": one, "at_most": 0, "after": other}]}, {}
        yield "call-rules", {"rules": [{"call": one, "at_most": 1, "before": other}]}, {}
        yield "call-rules", {"rules": [{"call": one, "at_most": 1, "per": "turn"}, {"first": one}]}, {}
        yield "call-rules", {"rules": [{"last": other}], "failed": "ignore"}, {}


def _by_call(made: Trajectory) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    calls = [{"name": call.name, "args": {"$literal": dict(call.args or {})}} for call in made.calls]
    wrong = [{"name": call.name, "args": {"not_an_argument": 1}} for call in made.calls[:1]]
    absent = [{"name": call.name, "args": {"not_an_argument": {"$absent": True}}} for call in made.calls[:1]]
    for expected in [*_variations(calls), wrong, absent]:
        if expected:
            yield "forbidden-tools", {"never": expected[:1]}, {}
            yield "tool-call-args", {"tool_calls": expected}, {}
            yield "tool-recall", {"expected": expected}, {}
            yield "single-tool-use", {"expected": expected[:1]}, {}
        for kind in MATCH_TYPES:
            yield "tool-trajectory", {"expected": expected}, {"match_type": kind, "args_match": "exact"}
            yield (
                "tool-trajectory",
                {"expected": expected},
                {"match_type": kind, "partial_credit": True, "threshold": 0.6},
            )
        yield "tool-precision", {"expected": expected}, {"threshold": 0.8}
        yield "tool-f1", {"expected": expected}, {}
    for call in made.calls[:3]:
        for output in ({"$literal": call.output}, "never given back", {"$not": {"$literal": call.output}}):
            yield "tool-call-output", {"tool_outputs": [{"name": call.name, "output": output}]}, {}


def _by_figures(made: Trajectory) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    size = len(made.calls)
    for kind, limits in (
        ("step-count", (size, size - 1)),
        ("redundant-calls", (0, 1)),
        ("loops", (1, 2)),
        ("retries", (0, 1)),
    ):
        yield from ((kind, {"at_most": limit}, {}) for limit in limits if limit >= 0)
    yield from (("tool-error-rate", {"at_most": limit}, {}) for limit in (0.0, 0.2, 0.5))
    yield from (
        (kind, {"at_most": seconds}, {}) for kind in ("call-latency", "latency") for seconds in (0.0, 0.001, 60.0)
    )
    used = made.usage.total_tokens if made.usage else None
    yield from (("token-usage", {"total_tokens": limit}, {}) for limit in (0, (used or 7) - 1, used or 7, 10**9))


def _of_the_answer(made: Trajectory) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for output in ({"$literal": made.output}, "never given back", {"$not": "never given back"}):
        yield "final-output", {"output": output}, {}


def _of_turns(made: Trajectory) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    if not made.calls or any(call.turn is None for call in made.calls):
        return
    turns: list[list[str]] = [[] for _ in range(1 + max(call.turn or 0 for call in made.calls))]
    for call in made.calls:
        turns[call.turn or 0].append(call.name)
    for expected in (turns, turns[::-1], [[], *turns], turns[:1]):
        for kind in MATCH_TYPES:
            yield "tool-trajectory", {"expected_turns": expected}, {"match_type": kind}


def _variations(items: list[Any]) -> list[list[Any]]:
    """A list as it is, turned round, with two neighbours exchanged, without its last, its first, or with one twice."""
    swapped = [*items[:1], *items[2:3], *items[1:2], *items[3:]]
    found = [items, items[::-1], swapped, items[:-1], items[1:], [*items, *items[:1]]]
    return [each for number, each in enumerate(found) if each and each not in found[:number]]


FIELDS: dict[str, tuple[str, ...]] = {
    "arguments": ("args",),
    "outputs": ("output",),
    "agents": ("agent",),
    "times": ("start_ns", "end_ns"),
    "ids": ("span_id", "call_id", "tool_id"),
    "parents": ("parent_id",),
    "groups": ("group",),
    "turns": ("turn",),
}
"""What can be taken out of calls, and the fields that hold it."""

_MARKED = {"args", "output", "parent_id", "group"}
"""Fields whose absence says something unless it is noted that they were not recorded.

A call without a group was asked for alone: a run without any groups and times is a list of calls in their order.
"""


def without(made: Trajectory, kind: str, chosen: Callable[[int], bool] = lambda place: True) -> Trajectory:
    """The trajectory without one kind of information in the calls that are chosen by their place."""
    calls = [_call_without(call, FIELDS[kind]) if chosen(place) else call for place, call in enumerate(made.calls)]
    # A run's own times are told by its spans, not by its calls.
    return replace(made, calls=tuple(calls), usage=None if kind == "times" else made.usage)


def _call_without(call: ToolCall, fields: tuple[str, ...]) -> ToolCall:
    if "output" in fields and call.error is not None:
        return call  # an error stays known, and with it that nothing else was given back
    unrecorded = call.unrecorded | _MARKED.intersection(fields)
    return replace(call, **dict.fromkeys(fields), unrecorded=unrecorded)


def read_document(document: Any) -> list[Trajectory] | None:
    """The trajectories of a document; none where it cannot be read."""
    try:
        return list(read(document))
    except InputError:
        return None


def spans_of(document: Any) -> list[dict[str, Any]]:
    """The spans of an OTLP document, to be changed in place."""
    return [
        span
        for resource in document["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope.get("spans", ())
    ]


def attribute_keys(document: Any) -> list[str]:
    """The keys of all attributes of spans."""
    keys = [attribute["key"] for span in spans_of(document) for attribute in span.get("attributes", ())]
    return list(dict.fromkeys(keys))


def without_attributes(document: Any, is_dropped: Callable[[str], object]) -> Any:
    """The document without the attributes of spans, and of their events, whose keys are to be dropped."""
    changed = copy.deepcopy(document)
    for span in spans_of(changed):
        for holder in (span, *span.get("events", ())):
            holder["attributes"] = [each for each in holder.get("attributes", ()) if not is_dropped(each["key"])]
    return changed


def without_fields(document: Any, *fields: str) -> Any:
    """The document without some fields of all spans."""
    changed = copy.deepcopy(document)
    for span in spans_of(changed):
        for field in fields:
            span.pop(field, None)
    return changed


ATTRIBUTES: dict[str, str] = {
    "arguments": r"arguments|input\.value|tool\.parameters|entity\.input|spanInputs|toolCall\.args|gen_ai\.input",
    "outputs": r"output\.value|entity\.output|spanOutputs|call\.result|toolCall\.result|tool_response|gen_ai\.output",
    "agents": r"agent",
    "ids of calls": r"call[._]id|toolCall\.id|tool_calls?\.\d+\.id",
    "ids of conversations": r"session|conversation|thread",
    "counts of tokens": r"usage|token_count",
    "kinds": r"span\.?kind|spanType|operation\.name|operation\.type|observation\.type",
}
"""Kinds of information in attributes, each as a pattern of keys."""
SPAN_FIELDS: dict[str, tuple[str, ...]] = {
    "times": ("startTimeUnixNano", "endTimeUnixNano"),
    "start times": ("startTimeUnixNano",),
    "end times": ("endTimeUnixNano",),
    "parents": ("parentSpanId",),
    "ids of spans": ("spanId",),
    "ids of traces": ("traceId",),
    "links": ("links",),
    "kinds of spans": ("kind",),
}
"""Kinds of information in fields of spans."""


def changed_documents(document: Any) -> Iterator[tuple[str, Any]]:
    """The document without each kind of information, and without each attribute, by what is missing."""
    for kind, pattern in ATTRIBUTES.items():
        yield kind, without_attributes(document, re.compile(pattern).search)
    for kind, fields in SPAN_FIELDS.items():
        yield kind, without_fields(document, *fields)
    for key in attribute_keys(document):
        yield f"attribute {key}", without_attributes(document, key.__eq__)
