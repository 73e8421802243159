"""Compute the duration of a run, and the tokens of all calls of its models, each counted once.

A sum that leaves out a call would pass a budget that the run exceeded. So the sum is unknown if a call may be missing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from rightcall.reading.conventions import CallShape, Role
from rightcall.values.trajectory import ToolCall, Usage

from ._input_output import KEYS
from ._span_tree import ReadSpan

# `prompt_tokens` became `input_tokens` in OpenTelemetry semantic conventions 1.27; OpenInference and Vercel differ.
_INPUT = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
)
_OUTPUT = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
)
_KINDS = (
    "gen_ai.operation.name",
    "openinference.span.kind",
    "mlflow.spanType",
    "langfuse.observation.type",
    "langsmith.span.kind",
)
_ASIDE = frozenset({"embeddings", "embedding", "reranker"})
"""Kinds of spans whose tokens are not counted, because no model answers in them."""
COUNTS = frozenset({*_INPUT, *_OUTPUT})
"""Attributes with counts of tokens."""
_NOT_KNOWN = "not known: "
_NO_COUNTS: Mapping[str, Any] = {}
_RESPONSE_IDS = ("gen_ai.response.id", "ai.response.id", "response_id")
_MOST_DIGITS = 15
_MOST_TOKENS = 10**_MOST_DIGITS
"""A larger count is an error in the trace, and ignored."""
_MOST_COMPARISONS = 100_000
"""The most comparisons of spans that overlap in time. A real run needs a few for each call of a model."""

_Figures = tuple[int | None, int | None]
"""Input and output tokens that a span states."""
_MCP = "mcp"


def counts_in(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the attributes of a span that are needed to count tokens; none if it has no counts."""
    if COUNTS.isdisjoint(attributes.keys()):
        return _NO_COUNTS
    found = COUNTS.intersection(attributes)
    return {key: attributes.get(key) for key in (*found, *_KINDS) if key in attributes}


def tokens_of(spans: Sequence[ReadSpan], roles: Mapping[int, Role]) -> _Figures:
    """Return the input and the output tokens of all calls of models; None for a sum that is not known.

    Agents repeat the sum of their models, and several instrumentations may record one call of a model, in nested spans
    or side by side. The tokens of an agent inside a tool call may or may not be in the counts around that call.
    """
    stated = {id(span): figures for span in spans if (figures := stated_tokens(span)) != (None, None)}
    if not stated:
        return None, None
    forest = _forest(spans)
    return (None, None) if forest is None else (_sum(forest, roles, stated, 0), _sum(forest, roles, stated, 1))


def stated_tokens(span: ReadSpan) -> _Figures:
    """Return the input and the output tokens that a span states; None for what it does not."""
    attributes = span.attributes
    # Nearly all spans have no counts: the names of their attributes show it without decoding values.
    if COUNTS.isdisjoint(attributes.keys()):
        return None, None
    found = _first(attributes, _INPUT), _first(attributes, _OUTPUT)
    names = attributes.keys()
    kinds = [str(attributes.get(key, "")).strip('"').lower() for key in _KINDS if key in names]
    return (None, None) if found != (None, None) and not _ASIDE.isdisjoint(kinds) else found


def _first(attributes: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    names = attributes.keys()
    for key in keys:
        if key not in names:
            continue
        held = attributes.get(key)
        if isinstance(held, str) and held.isdecimal() and len(held) <= _MOST_DIGITS:
            held = int(held)  # some tables store all values of attributes as text
        if isinstance(held, (int, float)) and not isinstance(held, bool) and 0 <= held <= _MOST_TOKENS:
            return int(held)
    return None


def _sum(forest: _Forest, roles: Mapping[int, Role], stated: Mapping[int, _Figures], which: int) -> int | None:
    counts = {key: count for key, figures in stated.items() if (count := figures[which]) is not None}
    if not counts:
        return None
    parts = _parts(forest, roles, counts)
    if any([part.is_doubtful for part, _ in parts]):
        return None
    counted = [(span, top) for part, top in parts for span in part.counted]
    if _may_repeat(counted, roles, counts):
        return None
    uncounted = [span for part, _ in parts for span in part.uncounted]
    found = _once_each([span for span, _ in counted], uncounted, stated, which)
    # If one span states more than the whole sum, a call was not recorded.
    return None if found is None or found < max(counts.values()) else found


class _Part(msgspec.Struct):
    """The calls of models inside a span that are counted, without those inside its tool calls."""

    counted: list[ReadSpan] = []
    """Spans whose counts are added up."""
    uncounted: list[ReadSpan] = []
    """Calls of models without a count."""
    total: int = 0
    in_tools: int = 0
    """Tokens used inside tool calls."""
    is_doubtful: bool = False


class _Forest(NamedTuple):
    """The trees of a run: for each topmost span, itself and all spans below it, parents first; and children by id."""

    trees: list[list[ReadSpan]]
    children: Mapping[int, list[ReadSpan]]


def _forest(spans: Sequence[ReadSpan]) -> _Forest | None:
    """Return the trees of a run; None if parents form a cycle."""
    # Span ids are unique only within a trace, and a conversation may have several traces.
    ids: dict[tuple[str, str | None], ReadSpan] = {
        (span.trace_id, span.span_id): span for span in spans if span.span_id
    }
    children: dict[int, list[ReadSpan]] = defaultdict(list)
    trees: list[list[ReadSpan]] = []
    for span in spans:
        parent = ids.get((span.trace_id, span.parent_id))
        if parent is None or parent is span:
            trees.append([span])
        else:
            children[id(parent)].append(span)
    for below in trees:
        for span in below:  # the list grows during the loop: parents come before their children
            below += children.get(id(span), ())
    return _Forest(trees, children) if sum(map(len, trees)) == len(spans) else None


def _parts(forest: _Forest, roles: Mapping[int, Role], counts: Mapping[int, int]) -> list[tuple[_Part, ReadSpan]]:
    """Return the parts of a run, one for each topmost span and tool call, each with the root of its tree."""
    parts: list[tuple[_Part, ReadSpan]] = []
    children = forest.children
    for below in forest.trees:
        known: dict[int, _Part] = {}
        for span in reversed(below):
            own = id(span)
            below_it = children.get(own)
            inner = [part for child in below_it if (part := known.pop(id(child), None))] if below_it else []
            role, count = roles.get(own), counts.get(own)
            if count is None and not inner and role != "model":
                continue  # nothing was counted in it, and nothing is missing
            is_leaf = not inner and count is not None
            part = _Part([span], [], count or 0, 0, role is None) if is_leaf else _closed(span, inner, role, count)
            if span.call is not None or isinstance(span.kind, CallShape):  # a span with a `call` may be a tool call
                parts.append((part, below[0]))
                part = _Part([], [], 0, part.total + part.in_tools)
            known[own] = part
        parts += [(part, below[0]) for part in known.values()]
    return parts


def _joined(inner: list[_Part]) -> _Part:
    if len(inner) < 2:
        return inner[0] if inner else _Part([], [])
    # The longest lists are extended by the others, so that a deep trace does not copy them at each level.
    most = max(inner, key=lambda part: len(part.counted) + len(part.uncounted))
    for part in inner:
        if part is not most:
            most.counted += part.counted
            most.uncounted += part.uncounted
            most.total += part.total
            most.in_tools += part.in_tools
            most.is_doubtful |= part.is_doubtful
    return most


def _closed(span: ReadSpan, parts: list[_Part], role: Role | None, count: int | None) -> _Part:
    """Return the part of a span, made from the parts inside it and its own count."""
    inner = _joined(parts)
    if count is None:
        if role == "model" and not inner.counted and not inner.uncounted:
            inner.uncounted.append(span)
        return inner
    if inner.counted and not inner.uncounted:
        # The count of an agent may include that of agents inside its tools. If it is larger still, a call is missing.
        inner.is_doubtful |= count > inner.total + inner.in_tools
        return inner
    if not inner.uncounted:
        # An agent's count may or may not include that of agents inside its tools. A span without a role may be a sum.
        doubt = role is None or (role == "agent" and 0 < inner.in_tools <= count)
        return _Part([span], [], count, inner.in_tools, inner.is_doubtful or doubt)
    is_same_call = role == "model" and len(inner.uncounted) == 1 and not inner.counted
    is_sum = role == "agent" and not inner.in_tools and count >= inner.total
    if is_same_call or is_sum:
        return _Part([span], [], count, inner.in_tools, inner.is_doubtful)
    return inner


def _may_repeat(
    counted: Sequence[tuple[ReadSpan, ReadSpan]], roles: Mapping[int, Role], counts: Mapping[int, int]
) -> bool:
    """Whether a counted span may be inside another one that states a sum: its parent is missing, and the times fit."""
    places: dict[str, list[tuple[ReadSpan, ReadSpan]]] = defaultdict(list)
    for span, top in counted:
        places[top.trace_id].append((span, top))
    several = [group for group in places.values() if len({id(top) for _, top in group}) > 1]
    if sum([len(group) ** 2 for group in several]) > _MOST_COMPARISONS:
        return True
    # Records of one call by several instrumentations are recognised by their counts, in `_merged`.
    return any(
        [
            above is not top
            and (roles.get(id(around)) == "agent" or around.scope == span.scope)
            and counts[id(around)] >= counts[id(span)]
            and _is_within(span, around)
            for group in several
            for around, top in group
            for span, above in group
        ]
    )


def _is_within(span: ReadSpan, around: ReadSpan) -> bool:
    times = (around.start_ns, span.start_ns, span.end_ns, around.end_ns)
    known = [time for time in times if time is not None]
    return len(known) < len(times) or known == sorted(known)


class _Call(msgspec.Struct):
    """One call of a model, and the instrumentations that recorded it."""

    figures: _Figures
    by: set[str]
    start: int | None
    end: int | None
    has_id: bool


def _once_each(
    counted: list[ReadSpan], uncounted: list[ReadSpan], stated: Mapping[int, _Figures], which: int
) -> int | None:
    """Return the sum over calls, each of which several instrumentations may have recorded; None if it is not known."""
    if len({span.scope for span in [*counted, *uncounted]}) == 1 and (counted or uncounted)[0].scope:
        return None if uncounted else sum([stated[id(span)][which] or 0 for span in counted])
    calls = []
    for group, has_id in _by_response([*counted, *uncounted]):
        told = [figures for span in group if (figures := stated.get(id(span))) and figures[which] is not None]
        if len({figures[which] for figures in told}) != 1:
            return None  # no count, or two that differ
        # The call lasted from the first start of its records to the last end.
        start = min([span.start_ns for span in group if span.start_ns is not None], default=None)
        end = max([span.end_ns for span in group if span.end_ns is not None], default=None)
        calls.append(_Call(told[0], {_instrumentation(span) for span in group}, start, end, has_id))
    merged = _merged(calls, which)
    return None if merged is None else sum([call.figures[which] or 0 for call in merged])


def _instrumentation(span: ReadSpan) -> str:
    """Return the instrumentation that recorded a span; without a scope, a name made from the prefix of its counts."""
    family = next((key.partition(".")[0] for key in (*_INPUT, *_OUTPUT) if key in span.attributes), "")
    return span.scope or f"{_NOT_KNOWN}{family}"


def _by_response(spans: list[ReadSpan]) -> Iterator[tuple[list[ReadSpan], bool]]:
    """Yield the spans of each response, and whether its id is known; an id that one instrumentation repeats is not."""
    ids = {id(span): _response_id(span) for span in spans}
    seen = Counter([(_instrumentation(span), ids[id(span)]) for span in spans])
    shared = {held for (_, held), count in seen.items() if count > 1}
    groups: dict[str, list[ReadSpan]] = defaultdict(list)
    for span in spans:
        held = ids[id(span)]
        if held is None or held in shared:
            yield [span], False
        else:
            groups[held].append(span)
    for group in groups.values():
        yield group, True


def _response_id(span: ReadSpan) -> str | None:
    found = [span.attributes.get(key) for key in _RESPONSE_IDS]
    return next((held for held in found if isinstance(held, str) and held.strip('"')), None)


def _merged(calls: list[_Call], which: int) -> list[_Call] | None:
    """Return each call once. Records with equal counts that overlap in time are of one call.

    Return None if this is not certain, because something is missing or there are too many records to compare.
    """
    kept: list[_Call] = []
    running: dict[int | None, list[_Call]] = defaultdict(list)
    budget = _MOST_COMPARISONS
    for call in sorted(calls, key=lambda call: call.start or 0):
        others = [other for other in running[call.figures[which]] if other.end is None or other.end > (call.start or 0)]
        budget -= len(others)
        alike = [other for other in others if _may_be_one(other, call)]
        doubts = [each for each in (*alike, call) if alike and None in (each.start, each.end)]
        if budget < 0 or doubts or any([_is_unsure(other, call) for other in alike]):
            return None
        running[call.figures[which]] = others
        if alike:
            alike[0].by |= call.by
            alike[0].has_id |= call.has_id
        else:
            kept.append(call)
            others.append(call)
    return kept


def _may_be_one(other: _Call, call: _Call) -> bool:
    """Whether two records may be of one call: each instrumentation records a call once, and its response has one id."""
    differ = [a != b for a, b in zip(other.figures, call.figures, strict=True) if None not in (a, b)]
    common = other.by & call.by
    return not any(differ) and all([by.startswith(_NOT_KNOWN) for by in common]) and not (other.has_id and call.has_id)


def _is_unsure(other: _Call, call: _Call) -> bool:
    """Whether two records may or may not be of one call, because an instrumentation or a count is not known."""
    return not other.by.isdisjoint(call.by) or other.figures != call.figures


def usage_of(spans: Sequence[ReadSpan], roles: Mapping[int, Role]) -> Usage | None:
    """Return the usage of a run; None if its spans do not record any."""
    given, made = tokens_of(spans, roles)
    usage = Usage(duration_ns=_extent(spans), input_tokens=given, output_tokens=made)
    return None if usage == Usage() else usage


def usage_beside(
    spans: Sequence[ReadSpan], roles: Mapping[int, Role], calls: Sequence[ToolCall], extent: int
) -> Usage | None:
    """Return the usage of a run, given its spans other than calls; no call has a span inside.

    `extent` is the time from the first start to the last end of all spans, also of those that are not of agents.
    """
    given, made = tokens_of(spans, roles)
    known = [span for span in spans if span.kind or not KEYS.isdisjoint(span.attributes.keys())]
    if known and len(known) < len(spans):
        times = [(span.start_ns, span.end_ns) for span in known] + [(call.start_ns, call.end_ns) for call in calls]
        extent = max([end or 0 for _, end in times]) - min([start or 0 for start, _ in times])
    usage = Usage(duration_ns=extent if extent >= 0 else None, input_tokens=given, output_tokens=made)
    return None if usage == Usage() else usage


def _extent(spans: Sequence[ReadSpan]) -> int | None:
    """Return the time from the first start to the last end; None if a span has no times, or they go backwards.

    Tool calls alone do not show how long their agent took, and neither do the spans of MCP servers. Servers and queues
    around the agent take longer than the agent, so they count only if no agent, model, or other span with an input or
    output was recorded.
    """
    if all([span.kind.__class__ is CallShape for span in spans]):
        return None
    known = [span for span in spans if span.kind or not KEYS.isdisjoint(span.attributes.keys())]
    calls = [span.kind for span in known if isinstance(span.kind, CallShape)]
    if calls and len(calls) == len(known) and all([kind.convention.name == _MCP for kind in calls]):
        return None
    spans = known if len(calls) < len(known) else spans
    starts = [span.start_ns for span in spans if span.start_ns is not None]
    ends = [span.end_ns for span in spans if span.end_ns is not None]
    if len(starts) < len(spans) or len(ends) < len(spans):
        return None
    extent = max(ends) - min(starts)
    return extent if extent >= 0 else None
