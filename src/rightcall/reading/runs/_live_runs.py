"""Runs that are read straight from spans of the OpenTelemetry SDK, by what was learnt about their attributes.

Spans that are all calls of one scope, one after another, need no `Span`, tree or builder. They are read here if each of
them is as `_simple_runs.py` says of a line that is nothing but calls. The values of most calls are texts of JSON, whose
content goes to a `ToolCall` as it is decoded; a call with anything else is read by its plan, as one of OTLP.

Everything else is built by `RunBuilder`, which says what is right: `tests/reading/test_live_runs.py` compares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from rightcall.limits import Limits
from rightcall.reading.conventions import Convention, reads_like_error
from rightcall.reading.formats import live_reader, live_span, live_span_id, live_trace_id
from rightcall.reading.spans import (
    INVALID,
    NOTHING,
    PLACEHOLDERS,
    SCRUBBED,
    CallRecord,
    Span,
    UnparsableError,
    arguments,
    outcome,
)
from rightcall.values.trajectory import ToolCall, Trajectory

from ._call_plans import MOST_VALUES, CallPlan, CallPlans, may_decide, repeat_ids, tool_call
from ._input_output import Kept
from ._span_calls import take_ids

_FAILED = 2  # StatusCode.ERROR
_PLAIN = frozenset({str, int, float, bool})
_object = msgspec.json.Decoder(dict[str, Any]).decode


class LiveRuns:
    """Reads runs whose spans are all calls."""

    def __init__(self, limits: Limits, kept: Kept) -> None:
        self._limits = limits
        self._plans = CallPlans(limits, kept)
        self._short = 2 * limits.depth
        """The length up to which no text of JSON is too deep: each level takes two characters."""
        self._named: tuple[dict[str, Span], dict[str, Span]] = {}, {}
        """Spans that have a scope and a name alone: where no attribute says that they are calls, and where one does."""

    def trajectory_of(self, spans: Sequence[Any]) -> Trajectory | None:
        """Return the trajectory of spans that are all calls, none inside another; None if it is not so simple."""
        read = live_reader(spans)
        if read is None:
            return None
        made: list[ToolCall] = []
        layers: set[str] = set()
        latest, trace_id = -1, None
        for span in spans:
            title, start, end, status, parent, context, scope, held = read(span)
            code = status.status_code
            if (
                start is None
                or end is None
                or start < latest
                or parent
                or not held
                or title.__class__ is not str
                or getattr(code, "_value_", code) == _FAILED
                or (getattr(span, "_events", True) and span.events)
            ):
                return None
            held = held.copy()
            plan = self._plans.of_live(span, held)
            if plan is None:
                return None
            scope = scope.name if scope else ""
            times = start, end
            call = self._quickly(title, plan, held, scope, context, times) or self._by_plan(span, plan)
            if call is None:
                return None
            made.append(call)
            layers.add(scope or plan.shape.dialect)
            latest = end if end > start else start + 1
            if context and trace_id is None:
                trace_id = live_trace_id(context)
        ids = {call.span_id for call in made}
        if len(layers) != 1 or (len(ids) < len(made) and ids != {None}) or repeat_ids(made):
            return None
        metadata = {"tool_data": "spans", "instrumentation": [*layers]}
        return Trajectory(calls=tuple(made), trace_id=trace_id, metadata=metadata)

    def _quickly(
        self,
        title: str,
        plan: CallPlan,
        held: Mapping[str, Any],
        scope: str,
        context: Any,
        times: tuple[int, int],
    ) -> ToolCall | None:
        """Read a call whose arguments and output are texts, without a `Span`; None if it is not as plain as that."""
        bare = self._named[plan.is_told].get(title)
        if bare is None or bare.scope != scope:
            bare = self._learn_name(title, plan.is_told, scope)
        name, given, returned = plan.values(held)
        if (
            not name.__class__ is given.__class__ is returned.__class__ is str
            or bare is None
            or name not in self._plans.names
            or SCRUBBED in given
            or SCRUBBED in returned
            or returned in PLACEHOLDERS
            or (len(held) > 3 and not _PLAIN.issuperset(map(type, held.values())))
        ):
            return None
        call = CallRecord(name, bare)
        if plan.has_ids:
            take_ids(call, plan.shape, held)
        output = self._content(call, plan.shape.convention, held, given, returned)
        if output is NOTHING or call.failed or (output.__class__ is dict and "error" in output):
            return None  # an error may be the question whether the call may be made
        odd = output.__class__ is str and reads_like_error(output)
        args, tool_id, call_id, agent = call.args, call.tool_id, call.call_id, call.agent
        own = live_span_id(context) if context else None
        return ToolCall(name, args, output, None, None, None, tool_id, call_id, own, None, agent, *times, "span", odd)

    def _content(
        self, call: CallRecord, convention: Convention, held: Mapping[str, Any], given: str, returned: str
    ) -> Any:
        """Read arguments into a record, and return the output; nothing if one of them is not as it should be."""
        limits, short = self._limits, self._short
        try:
            args: Any = _object(given) if len(given) <= short else arguments(given, limits)
            for unwrap in convention.unwrap_args:
                args = unwrap(args, call, held)
            call.args = args
            if returned[:1] == "{" and len(returned) <= short:
                output: Any = _object(returned)
            else:
                output = outcome(returned, limits, convention.encoded, convention.keeps_quotes)
            for unwrap in convention.unwrap_output:
                output = unwrap(output, call, held)
        except (msgspec.DecodeError, UnicodeError, UnparsableError):
            return NOTHING
        return output if call.args.__class__ is dict and INVALID not in call.args else NOTHING

    def _by_plan(self, span: Any, plan: CallPlan) -> ToolCall | None:
        """Read a call by its plan; None if more has to be asked about it."""
        record = self._plans.record(live_span(span), plan)
        return None if record is None or record.failed else tool_call(record)

    def _learn_name(self, title: str, is_told: bool, scope: str) -> Span | None:
        if may_decide(title, is_told):
            return None
        named = self._named[is_told]
        if len(named) >= MOST_VALUES:
            named.clear()
        made = named[title] = Span(title, scope=scope)
        return made


@lru_cache(maxsize=8)
def live_runs(limits: Limits, kept: Kept) -> LiveRuns:
    """Return the reader of live runs that has these limits and keeps this, and remembers what it learnt."""
    return LiveRuns(limits, kept)
