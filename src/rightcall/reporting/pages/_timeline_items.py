"""The rows of a timeline: calls, messages, lanes, collapsed rows, and where the values of arguments come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from rightcall.reporting.reports import duration_text
from rightcall.values.results import value_text
from rightcall.values.trajectory import Message, ToolCall

from ._rows import BarView, CallView, ProblemView
from ._templates import Change, ShownText, shown_text

ItemKind: TypeAlias = Literal[
    "turn", "user", "model", "system", "answer", "group", "lane", "fold", "call", "missing", "left_out", "nothing"
]
MESSAGES = ("user", "model", "system")
_FEWEST = 2
_NAMED = 6
_TEXT = 1_000
_MOST_AGREED = 12
_VALUE_WIDTH = 40
"""The most characters of a value in the text of an expected call."""
_SHORTEST = 3
_SMALLEST = 100
"""Shorter strings and smaller numbers are in many outputs by chance: 1, "a" or "ok" do not show their source."""
_MOST_VALUES = 100_000
_MOST_FLOWS = 6
_DEEPEST = 12
_USES = 10


class Agreement(msgspec.Struct, frozen=True):
    """An argument that is as expected, with the expectation in words."""

    name: str
    expected: str
    actual: str


class TimelineItem(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a timeline, or several in a group or a fold."""

    kind: ItemKind
    label: str = ""
    """A short label, for a group, a fold, a missing call or a turn."""
    text: ShownText | None = None
    """The text of a message or an answer."""
    fate: str = ""
    """The kind of its sign; empty if no expectation is about it."""
    call: CallView | None = None
    bar: BarView | None = None
    changes: tuple[Change, ...] = ()
    differs: str = "argument"
    """The heading of the changes: `argument` or `output`."""
    agreed: tuple[Agreement, ...] = ()
    """The arguments that are as expected, if others differ."""
    note: str = ""
    problems: tuple[ProblemView, ...] = ()
    flows: tuple[Flow, ...] = ()
    """The sources of values of its arguments."""
    used_by: tuple[int, ...] = ()
    items: tuple[TimelineItem, ...] = ()
    calls: int = 0
    """The number of calls in a group, a lane or a fold."""
    meta: str = ""
    """Facts about a model call: its model, tokens, cost, and the number of calls it requested.

    For a fold, the number of messages in it.
    """
    depth: int = 0
    """The number of calls that it is nested in."""
    is_problem: bool = False
    anchor: str = ""
    of: str = ""
    """The key of the expectation that its arguments differ from, if any."""


def agreements(args: Mapping[str, Any] | None, changes: Sequence[Change], expected: str) -> tuple[Agreement, ...]:
    """Return the arguments of a call that do not differ, given the expected call as text.

    That text may be shortened, or have matchers: then it is only known that they are as expected.
    """
    differ = {re.split(r"[.\[]", change.path, maxsplit=1)[0] for change in changes}
    is_whole = expected.endswith(")") and "…" not in expected and "args=" not in expected
    found = []
    for name, value in list((args or {}).items())[:_MOST_AGREED]:
        if name in differ:
            continue
        # Compare whole arguments: `id=1` is also in `uid=12`.
        starts, written = (f"({name}=", f", {name}="), value_text(value, _VALUE_WIDTH)
        is_same = any([f"{start}{written}{end}" in expected for start in starts for end in (",", ")")])
        word = "as expected" if not is_whole or any([start in expected for start in starts]) else "any"
        found.append(Agreement(str(name)[:80], written if is_same else word, value_text(value, 80)))
    return tuple(found)


def message_item(message: Message, bar: BarView | None, depth: int, most: int | None = None) -> TimelineItem:
    """Return the row of a message, shortened to `most` characters if given."""
    text = None
    if message.text:
        text = shown_text(message.text, most or _TEXT, whole=most is None)
        if message.left_out:
            text = msgspec.structs.replace(text, tail=f"{text.tail} … {message.left_out:,} characters were not kept")
    return TimelineItem(
        kind=message.writer,
        label=_without_text(message) if text is None else "",
        text=text,
        meta=_meta(message, is_asking=text is not None),
        bar=bar,
        depth=depth,
    )


def _without_text(message: Message) -> str:
    if message.left_out:
        return f"{message.left_out:,} characters, which were not kept"
    return _asking(message).capitalize() if message.asks else "What was said was not recorded"


def _asking(message: Message) -> str:
    return "asked for 1 call" if message.asks == 1 else f"asked for {message.asks:,} calls at once"


def _meta(message: Message, *, is_asking: bool) -> str:
    if message.writer != "model":
        return ""
    facts = [
        message.model or "",
        f"{message.input_tokens:,} in" if message.input_tokens is not None else "",
        f"{message.output_tokens:,} out" if message.output_tokens is not None else "",
        money(message.cost) if message.cost is not None else "",
        _asking(message) if message.asks and is_asking else "",
    ]
    return " · ".join([each for each in facts if each])


def money(dollars: float) -> str:
    """Return an amount in dollars, with as many digits as matter."""
    return f"${dollars:,.2f}" if dollars >= 1 or dollars == 0 else f"${dollars:.2g}"


def took(message: Message) -> str:
    """Return how long a model took for a message; empty if unknown."""
    if message.start_ns is None or message.end_ns is None or message.end_ns < message.start_ns:
        return ""
    return duration_text(message.end_ns - message.start_ns)


def with_messages(items: Sequence[TimelineItem], messages: Sequence[tuple[int, TimelineItem]]) -> list[TimelineItem]:
    """Insert messages into rows, each before the call that it precedes.

    A missing call comes after the message, because the model should have made it at that point.
    """
    before: dict[int, list[TimelineItem]] = {}
    lowest = [_lowest(item) for item in items]
    found = list(items)
    for at, message in messages:
        place = max([number for number, low in enumerate(lowest) if low is not None and low < at], default=-1)
        value = found[place] if place >= 0 else None
        if value is not None and value.kind == "group" and any([number >= at for number in _positions(value)]):
            found[place] = msgspec.structs.replace(value, items=tuple(with_messages(value.items, [(at, message)])))
        else:
            before.setdefault(place + 1, []).append(message)
    return [each for number in range(len(found) + 1) for each in (*before.get(number, ()), *found[number : number + 1])]


def _positions(item: TimelineItem) -> Iterator[int]:
    if item.call is not None:
        yield item.call.number - 1
    for each in item.items:
        yield from _positions(each)


def _lowest(item: TimelineItem) -> int | None:
    return min(_positions(item), default=None)


def in_lanes(items: Sequence[TimelineItem], makers: Mapping[int, str]) -> list[TimelineItem]:
    """Put rows that are nested in a call, made or written by another agent, into lanes of their own."""
    found: list[TimelineItem] = []
    inside: list[TimelineItem] = []
    for item in [*items, None]:
        if item is not None and item.depth:
            inside.append(item)
            continue
        if inside:
            calls = sum([each.calls for each in inside])
            problem = any([each.is_problem for each in inside])
            label = next((name for each in inside for at in _positions(each) if (name := makers.get(at))), "")
            found.append(
                TimelineItem(kind="lane", label=label[:200], items=tuple(inside), calls=calls, is_problem=problem)
            )
            inside = []
        found += [item] if item is not None else []
    return found


def folded(items: Sequence[TimelineItem]) -> list[TimelineItem]:
    """Collapse two or more neighbouring calls that are as expected, with the messages among them.

    Messages right before and right after a problem stay visible.
    """
    found: list[TimelineItem] = []
    quiet: list[TimelineItem] = []
    is_after_problem = False
    for item in [*items, None]:
        if item is not None and not item.is_problem and item.kind in _FOLDED:
            quiet.append(item)
            continue
        is_before_problem = item is not None and item.is_problem
        begin = _leading_messages(quiet) if is_after_problem else 0
        end = len(quiet) - (_leading_messages(quiet[begin:][::-1]) if is_before_problem else 0)
        found += [*quiet[:begin], *_fold(quiet[begin:end]), *quiet[end:]]
        quiet, is_after_problem = [], is_before_problem
        found += [item] if item is not None else []
    return found


_FOLDED = ("call", "group", "lane", "left_out", "model", "system")


def _leading_messages(items: Sequence[TimelineItem]) -> int:
    """Return how many messages the rows begin with."""
    return next((number for number, item in enumerate(items) if item.kind not in MESSAGES), len(items))


def _fold(items: Sequence[TimelineItem]) -> list[TimelineItem]:
    """Collapse these rows, unless they have too few calls."""
    count = sum([each.calls for each in items])
    if count < _FEWEST:
        return list(items)
    messages = sum([each.kind in MESSAGES for each in _all(items)])
    names = list(dict.fromkeys([each.label for each in _all(items) if each.kind == "call"]))
    meta = f"{messages} message{'' if messages == 1 else 's'}" if messages else ""
    text = ", ".join([*names[:_NAMED], *(["…"] if len(names) > _NAMED else [])])
    return [
        TimelineItem(
            kind="fold",
            label=f"{count:,} as expected",
            text=shown_text(text, 200),
            meta=meta,
            items=tuple(items),
            calls=count,
        )
    ]


def _all(items: Sequence[TimelineItem]) -> Iterator[TimelineItem]:
    for item in items:
        yield item
        yield from _all(item.items)


class Flow(msgspec.Struct, frozen=True):
    """An argument whose value an earlier call returned."""

    argument: str
    value: str
    source: int
    """The number of the earlier call."""


def flows_of(
    calls: Sequence[ToolCall], numbers: range
) -> tuple[dict[int, tuple[Flow, ...]], dict[int, tuple[int, ...]]]:
    """Return the flows into the calls with these numbers, and for each source the calls that use its values.

    The source is the last earlier call that returned the value and, as far as times are known, had ended.
    """
    holders: dict[Any, list[int]] = {}
    left = _MOST_VALUES
    flows: dict[int, tuple[Flow, ...]] = {}
    uses: dict[int, list[int]] = {}
    for number, call in enumerate(calls[: max(0, numbers.stop - 1)], 1):
        if number in numbers:
            found = tuple(_into(call, number, calls, holders))[:_MOST_FLOWS]
            if found:
                flows[number] = found
            for flow in found:
                known = uses.setdefault(flow.source, [])
                if number not in known:
                    known.append(number)
        for value in _leaves(call.output):
            if left <= 0:
                break
            left -= 1
            if _tells(value):
                holders.setdefault((value.__class__, value), []).append(number)
    return flows, {source: tuple(numbers[:_USES]) for source, numbers in uses.items()}


def _into(call: ToolCall, number: int, calls: Sequence[ToolCall], holders: dict[Any, list[int]]) -> Iterator[Flow]:
    for name, value in (call.args or {}).items():
        for leaf in _leaves(value):
            if not _tells(leaf):
                continue
            earlier = [
                each for each in holders.get((leaf.__class__, leaf), ())[-20:] if _had_ended(calls[each - 1], call)
            ]
            if earlier:
                yield Flow(str(name)[:80], value_text(leaf, 60), earlier[-1])
                break


def _had_ended(source: ToolCall, call: ToolCall) -> bool:
    if source.group is not None and source.group == call.group:
        return False  # requested in one message: neither can use the result of the other
    return source.end_ns is None or call.start_ns is None or source.end_ns <= call.start_ns


def _tells(value: Any) -> bool:
    if isinstance(value, str):
        return _SHORTEST <= len(value) <= 1_000
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) >= _SMALLEST


def _leaves(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield the leaf values inside a value."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item, depth + 1)
    else:
        yield value
