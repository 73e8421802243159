"""Make expected calls of observed ones: which takes the place of which, and how it is written."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from rightcall.judging import is_word
from rightcall.limits import Budget
from rightcall.matching.alignment import Row, maximum_pairing, related_subsequence
from rightcall.matching.matchers import ArgsPolicy, Expectation, compile_value
from rightcall.values.trajectory import ToolCall


def literal(value: Any) -> Any:
    """Return the expectation of exactly this value. An object that looks like a matcher is marked as `$literal`."""
    if isinstance(value, Mapping):
        if any(key.startswith("$") for key in value):
            return {"$literal": value}
        return {key: literal(item) for key, item in value.items()}
    return [literal(item) for item in value] if isinstance(value, (list, tuple)) else value


def new_call(call: ToolCall, policy: ArgsPolicy, *, spelt_out: bool) -> Any:
    """Return an expected call for an observed one: its name, and its arguments if they were recorded and matter."""
    if not call.args or policy == "ignore":
        return call.name
    if spelt_out or is_word(call.name):
        return {"name": call.name, "args": literal(call.args)}
    return {call.name: literal(call.args)}


def adapted_call(written: Any, call: ToolCall, policy: ArgsPolicy, *, spelt_out: bool) -> Any:
    """Return a written call, with new values for the arguments that the observed call does not satisfy."""
    if isinstance(written, str) or "args" in call.unrecorded:
        return new_call(call, policy, spelt_out=spelt_out) if "args" not in call.unrecorded else written
    if is_spelt_out(written):
        return {**written, "args": adapted_args(written.get("args"), call.args or {}, policy)}
    [(name, args)] = written.items()
    adapted = adapted_args(args, call.args or {}, policy)
    # A matcher below a word such as `name` is one of the word, not of the arguments of a tool that is called so.
    return {"name": name, "args": adapted} if is_word(name) else {name: adapted}


def is_spelt_out(written: Any) -> bool:
    """Whether an expected call is written as an object with `name` and `args`."""
    return written.keys() <= {"name", "args"} and isinstance(written.get("name"), str)


def adapted_args(expected: Any, actual: Mapping[str, Any], policy: ArgsPolicy) -> Any:
    """Return expected arguments that the actual ones satisfy, and keep what still holds of those that were written."""
    if not isinstance(expected, dict) or any(key.startswith("$") for key in expected):
        return literal(actual)
    wanted = {key: compile_value(value) for key, value in expected.items()}
    with Budget():  # patterns of the user run on values of a trace
        kept = {
            key: value if _holds(wanted[key], key, actual) else literal(actual[key])
            for key, value in expected.items()
            if key in actual or policy == "superset" or wanted[key].matches_absence()
        }
    # `subset` names only what matters. Nothing left to name would accept any arguments, so then all are named.
    if policy == "subset" and kept:
        return kept
    others = {key: value for key, value in actual.items() if key not in kept}
    if any(key.startswith("$") for key in others):
        return literal(actual)
    return {**kept, **{key: literal(value) for key, value in others.items()}}


def _holds(expectation: Expectation, key: str, actual: Mapping[str, Any]) -> bool:
    return expectation.matches(actual[key]) if key in actual else True


class Partners(msgspec.Struct, frozen=True):
    """The observed call for each expected one: one that satisfies it or, failing that, one of the same tool."""

    satisfying: dict[int, int]
    of_same_tool: dict[int, int]
    in_sequence: list[tuple[int, int]] = []
    """The satisfying pairs that are in the same order on both sides."""

    def expected_by_actual(self) -> dict[int, int]:
        """Return the expected call for each observed one."""
        return {actual: expected for expected, actual in (self.of_same_tool | self.satisfying).items()}

    @property
    def paired(self) -> dict[int, int]:
        """All pairs: satisfying ones, and those of the same tool."""
        return self.of_same_tool | self.satisfying


def find_partners(rows: Sequence[Row], expected: Sequence[str], actual: Sequence[str], *, ordered: bool) -> Partners:
    """Pair expected calls with observed ones. `rows` has the observed calls that satisfy each expected call.

    If the order matters, as many pairs as possible are in the same order on both sides.
    """
    in_sequence = related_subsequence(rows, len(actual)) if ordered else []
    taken = {position for _, position in in_sequence}
    done = {number for number, _ in in_sequence}
    left = [
        () if number in done else [position for position in row if position not in taken]
        for number, row in enumerate(rows)
    ]
    others = {number: position for number, position in enumerate(maximum_pairing(left)) if position >= 0}
    satisfying = dict(in_sequence) | others
    used, waiting = set(satisfying.values()), defaultdict[str, deque[int]](deque)
    for position, name in enumerate(actual):
        if position not in used:
            waiting[name].append(position)
    of_same_tool = {
        number: waiting[name].popleft()
        for number, name in enumerate(expected)
        if number not in satisfying and waiting[name]
    }
    return Partners(satisfying, of_same_tool, in_sequence)


def wanted_in_order(partners: Partners, expected: int, actual: int) -> list[int]:
    """Return the indices of the observed calls to expect when other calls are allowed in between.

    These are the paired calls and, where an expected call has no partner, the calls that were made in its place.
    """
    wanted = set(partners.paired.values())
    # Between two pairs in sequence, an expected call without a partner stands for all observed calls of that gap.
    fences = [(-1, -1), *partners.in_sequence, (expected, actual)]
    for (before, first), (after, end) in pairwise(fences):
        if any(number not in partners.paired for number in range(before + 1, after)):
            wanted.update(range(first + 1, end))
    return sorted(wanted)
