"""The duration of a run, and the tokens of its models."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rightcall.reading.conventions import CallShape, Role
from rightcall.values.trajectory import Usage

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
Counts = tuple[int | None, int | None]
"""Input and output tokens of a model."""

_MCP = "mcp"
_MOST_DIGITS = 15
_MOST_TOKENS = 10**_MOST_DIGITS
"""A larger count is a mistake in the trace."""


def usage_of(spans: Sequence[ReadSpan], roles: Mapping[int, Role]) -> Usage | None:
    """Return the usage of a run; None if its spans do not record any.

    Agents repeat the sum of their models, and two instrumentations may record one call of a model, one around the
    other. So a span counts only if no span inside it has a count. Of two such spans by different instrumentations, at
    the same time and with the same counts, one counts.
    """
    counted = {
        id(span): (_first(span.attributes, _INPUT), _first(span.attributes, _OUTPUT))
        for span in spans
        if id(span) in roles
    }
    spent = [span for span in spans if counted.get(id(span), (None, None)) != (None, None)]
    inner = _without_those_around(spent, spans) if len(spent) > 1 else spent
    counts = [counted[id(span)] for span in _once_each(inner, counted)]
    usage = Usage(
        duration_ns=_extent(spans),
        input_tokens=_sum([given for given, _ in counts]),
        output_tokens=_sum([made for _, made in counts]),
    )
    return None if usage == Usage() else usage


def _without_those_around(spent: Sequence[ReadSpan], spans: Sequence[ReadSpan]) -> list[ReadSpan]:
    parents = {span.span_id: span.parent_id for span in spans if span.span_id is not None}
    around: set[str] = set()
    for span in spent:
        above = span.parent_id
        while above is not None and above not in around:
            around.add(above)
            above = parents.get(above)
    return [span for span in spent if span.span_id is None or span.span_id not in around]


def _once_each(spent: Sequence[ReadSpan], counted: Mapping[int, Counts]) -> Sequence[ReadSpan]:
    """Return the spans without duplicates by another instrumentation."""
    scopes = {span.scope for span in spent}
    if len(scopes) < 2:
        return spent
    kept: list[ReadSpan] = []
    waiting: dict[tuple[Counts, str], deque[ReadSpan]] = defaultdict(deque)
    for span in sorted(spent, key=lambda span: span.start_ns or 0):
        counts = counted[id(span)]
        twins = [waiting[counts, scope] for scope in scopes if scope != span.scope]
        if not any([_take_twin(queue, span) for queue in twins]):
            kept.append(span)
            waiting[counts, span.scope].append(span)
    return kept


def _take_twin(queue: deque[ReadSpan], span: ReadSpan) -> bool:
    """Remove a waiting span that was still running when this one began; return whether there was one."""
    # Spans come in order of start, so each is taken from a queue at most once: linear time after the sort.
    while queue and (queue[0].end_ns or 0) <= (span.start_ns or 0):
        queue.popleft()
    return bool(queue) and queue.popleft() is not None


def _first(attributes: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    for key in keys:
        held = attributes.get(key)
        if isinstance(held, str) and held.isdecimal() and len(held) <= _MOST_DIGITS:
            held = int(held)  # some tables keep every value of an attribute as text
        if isinstance(held, (int, float)) and not isinstance(held, bool) and 0 <= held <= _MOST_TOKENS:
            return int(held)
    return None


def _sum(figures: Collection[int | None]) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known and len(known) == len(figures) else None


def _extent(spans: Sequence[ReadSpan]) -> int | None:
    """Return the time from the first start to the last end; None if a span has no times, or they go backwards.

    Tool calls alone do not show how long their agent took, nor do the MCP servers that answer them. Servers and queues
    around the agent take longer than it does, so they count only if no span of an agent, a model or a call is there.
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
