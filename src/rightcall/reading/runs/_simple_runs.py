"""Runs that are read straight from a line of OTLP, by what was learnt about the shapes of their spans.

Building a run from spans asks many questions: which calls are inside which, which are records of one call, what models
asked for, which turn is which. A line on which none of them arises needs no answers. It is read here, in one pass and
with the same functions for values, if all of this holds:

- The line is one trace, and every span has an id of its own and both times.
- One span has no parent; the parents of all others are on the line, and none of them is a call. Or all spans are calls
  without a parent, one after the other.
- No span has events, messages, a conversation or a session, or cannot be read.
- Every call follows a convention by attributes whose names and deciding values were seen before; all are of one
  instrumentation, none is MCP's, and at most one turn is recorded.
- Every call has the name of a tool that is not the framework's own, an object as arguments, and an output or a failure
  that does not ask a person; no two start together or share an id, and no agent or model began while one was running.

Everything else is built by `RunBuilder`, which says what is right: `tests/reading/test_simple_runs.py` compares them. A
simple run that turns out not to be alone (another line has spans of the same trace, or another run ran inside one of
its calls) is read again from its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from rightcall.limits import Limits
from rightcall.reading.conventions import (
    KIND_KEYS,
    MARKS_OF_ANY_VALUE,
    MERGED,
    CallShape,
    Role,
    Shape,
    is_clean,
    kind_of,
    may_tell_kind,
    name_for_models,
    reads_like_error,
    shape_of,
)
from rightcall.reading.formats import NO_EVENTS, OtlpRequest, OtlpSpan, decode_request, finished
from rightcall.reading.messages import Conversation, Log, message_attributes, told_by_task
from rightcall.reading.spans import NOTHING, PLACEHOLDERS, UNREADABLE, CallRecord, RawAttributes, Span
from rightcall.values.trajectory import ToolCall, Trajectory

from ._calls import group_by_time
from ._input_output import KEYS, Kept, asked_and_answered, metadata_keys, run_metadata
from ._own_calls import is_named_like_own, may_ask
from ._span_calls import DEFERRAL, NO_MESSAGE, PARAMETERS, first_text, read_error, read_span, take_args, take_output
from ._span_tree import ReadSpan, Tree
from ._tokens import COUNTS, usage_beside
from ._turns import Turns, turns_in

_MOST_SHAPES = 1024  # the caches are cleared when they are full: hostile traces may have any number of shapes
_MOST_VALUES = 1024
_MCP = "mcp"
_HANDED = "handoff to "
_FAILED = 2  # STATUS_CODE_ERROR of opentelemetry/proto/trace/v1/trace.proto
_NO_LOG = Log()
_NO_SPAN = Span("")
_SILENT = Conversation()


class CallPlan(msgspec.Struct, gc=False):
    """How to read a call from spans with the same attribute names and deciding values."""

    shape: CallShape
    is_told: bool
    """Whether an attribute says that the span is a call; otherwise its name might say that it is something else."""
    filled: tuple[str, ...]
    """Attributes that must not be empty, or the span is something else."""


class ShapePlans(msgspec.Struct, gc=False):
    """What is known about spans with the same attribute names."""

    hinders: bool
    """Whether a run with such a span is not simple."""
    has_messages: bool
    """Whether a run with such a span is not simple, unless the span is a call."""
    may_be_calls: bool
    """Whether such a span can be a call of a simple run."""
    tells: bool
    """Whether it may say more of the run than its place: its case, its question or answer, its tokens."""
    by_values: dict[tuple[Any, ...], CallPlan | None]
    """The plan for a call by the values that decide its kind; None for another span."""


class CallPlans:
    """The plans for the spans of a source."""

    def __init__(self, limits: Limits, kept: Kept) -> None:
        self._limits = limits
        self._told = metadata_keys(kept.attributes)
        self._by_shape: dict[Shape, ShapePlans] = {}
        self._decoded: dict[Shape, ShapePlans] = {}
        """The same for spans whose attributes are decoded: their deciding values are not bytes."""
        self._names: set[str] = set()
        """Names of tools that are not a framework's own."""

    def of_shape(self, shape: Shape, decoded: bool = False) -> ShapePlans:
        """Return what is known about spans with these attribute names, whose values are decoded or not."""
        plans = self._decoded if decoded else self._by_shape
        known = plans.get(shape)
        if known is not None:
            return known
        if len(plans) >= _MOST_SHAPES:
            plans.clear()
        keys = shape.places.keys()
        hinders = bool(shape.groups) or UNREADABLE in keys
        has_messages = bool(message_attributes(RawAttributes(shape, shape.places, ())))
        may_be_calls = DEFERRAL not in keys and self._told.isdisjoint(keys) and COUNTS.isdisjoint(keys)
        tells = not may_be_calls or not KEYS.isdisjoint(keys)
        made = plans[shape] = ShapePlans(hinders, has_messages, may_be_calls, tells, {})
        return made

    def of_span(self, span: OtlpSpan, scope: str, shape: Shape, plans: ShapePlans) -> CallPlan | None:
        """Return the plan for a span of OTLP; None if it is not a call, or not one of a simple run."""
        held = span.attributes
        values = tuple([bytes(held[place].value) for place in shape.deciding_places])
        try:
            return plans.by_values[values]
        except KeyError:
            pass
        attributes: Any = RawAttributes(shape, shape.places, held)
        return self._learn_values(values, finished(span, scope, attributes), shape, plans)

    def of_decoded(self, span: Span) -> CallPlan | None:
        """Return the plan for a span with decoded attributes; None as above."""
        attributes = span.attributes
        shape = shape_of(tuple(attributes))
        plans = self.of_shape(shape, decoded=True)
        if plans.hinders or not plans.may_be_calls:
            return None
        values: tuple[Any, ...] = ()
        if shape.deciding:
            values = tuple([attributes[key] for key in shape.deciding])
            if any([value.__class__ is not str for value in values]):
                return None  # True and 1 are equal, and say different things
        try:
            return plans.by_values[values]
        except KeyError:
            return self._learn_values(values, span, shape, plans)

    def record(self, span: Span, plan: CallPlan) -> CallRecord | None:
        """Read a call by its plan; None if more has to be asked about it."""
        known, attributes = plan.shape, span.attributes
        name = attributes.get(known.tool[0])
        if name.__class__ is not str or not (name in self._names or self._is_plain(name, attributes)):
            return None
        if span.name.startswith(_HANDED) or not (plan.is_told or not may_tell_kind(span.name)):
            return None
        if plan.filled and any([attributes.get(key) in (None, "") for key in plan.filled]):
            return None
        convention = known.convention
        record = CallRecord(name, span, convention.name)
        if known.call_id:
            record.call_id = first_text(attributes, known.call_id)
        if known.tool_id:
            record.tool_id = first_text(attributes, known.tool_id)
        if known.agent:
            record.agent = first_text(attributes, known.agent)
        key = known.args[0]
        take_args(record, convention, attributes, key, attributes.get(key), self._limits)
        if record.args.__class__ is not dict:
            return None
        if known.output:
            take_output(record, convention, attributes, attributes.get(known.output[0]), self._limits)
        if span.failed or record.failed or known.may_fail:
            read_error(record, convention, span, ())
        is_whole = record.output is not NOTHING or (record.failed and len(known.output) < 2)
        return record if is_whole and not may_ask(record) else None

    def _learn_values(self, values: tuple[Any, ...], span: Span, shape: Shape, plans: ShapePlans) -> CallPlan | None:
        if len(plans.by_values) >= _MOST_VALUES:
            plans.by_values.clear()
        plan = plans.by_values[values] = _planned(span, shape)
        return plan

    def _is_plain(self, name: str, attributes: Mapping[str, Any]) -> bool:
        """Whether a name is that of a tool, as it is: not empty, not made up, and not that of a framework's own."""
        is_odd = not name or name in PLACEHOLDERS or name[0] == '"' or name == MERGED
        if is_odd or len(name) > self._limits.name_length or is_named_like_own(name):
            return False
        if not is_clean(name):
            return name_for_models(name, attributes) == name  # another span may tell another
        if len(self._names) >= _MOST_VALUES:
            self._names.clear()
        self._names.add(name)
        return True


def _planned(span: Span, shape: Shape) -> CallPlan | None:
    """Return the plan for calls like this span; None if it is not a call, or more has to be asked about it."""
    places = shape.places
    kind = kind_of(span)
    is_told = not KIND_KEYS.isdisjoint(places)
    if not isinstance(kind, CallShape) or not (is_told or not may_tell_kind(span.name)):
        return None
    if not (kind.tool and kind.args) or kind.args[0] == PARAMETERS:
        return None
    if kind.convention.name == _MCP or kind.convention.decision:
        return None
    # Values that decide are part of what the plan is found by, and a tool's name is looked at in any case.
    known = {kind.tool[0], *shape.deciding}
    return CallPlan(kind, is_told, tuple([key for key in places if key in MARKS_OF_ANY_VALUE and key not in known]))


class SimpleRun:
    """A run with its trajectory, and what tells it from other runs."""

    __slots__ = (
        "_kept",
        "_limits",
        "begin",
        "conventions",
        "count",
        "end",
        "is_at_work",
        "line",
        "roots",
        "trace_id",
        "trajectory",
    )

    def __init__(
        self,
        request: OtlpRequest,
        limits: Limits,
        kept: Kept,
        roots: Sequence[Span],
        trajectory: Trajectory,
        times: tuple[int, int],
        conventions: Iterable[str],
    ) -> None:
        self.line, self._limits, self._kept, self.trajectory = request.line, limits, kept, trajectory
        self.trace_id = roots[0].trace_id
        self.roots = {(root.name, root.scope) for root in roots}
        """The names and scopes of the topmost spans."""
        self.is_at_work = len(roots) < len(request.held)
        """Whether its calls are below a span that is an agent's, or not a call."""
        self.begin, self.end = times
        self.count = len(request.held)
        self.conventions = dict.fromkeys(conventions)
        """The conventions by which its calls were read."""

    def spans(self) -> list[ReadSpan]:
        """Read the spans of the line one by one, as those of any run."""
        spans = request.spans() if (request := decode_request(self.line)) else ()
        return [read_span(span, self._limits, self._kept.attributes) for span in spans]


class SimpleRuns:
    """Reads the simple runs of a source."""

    def __init__(self, limits: Limits, kept: Kept) -> None:
        self._limits, self._kept = limits, kept
        self._plans = CallPlans(limits, kept)

    def run_of(self, request: OtlpRequest) -> SimpleRun | None:
        """Return the run of a line; None if it is not simple."""
        calls: list[_Call] = []
        others: list[tuple[OtlpSpan, str, Shape]] = []
        scopes: set[str] = set()
        tells = False
        known = self._plans
        for (span, scope), shape in zip(request.held, request.shapes, strict=True):
            plans = known.of_shape(shape)
            if plans.hinders or span.events != NO_EVENTS:
                return None
            plan = known.of_span(span, scope, shape, plans) if plans.may_be_calls else None
            if plan is None:
                if plans.has_messages:
                    return None
                others.append((span, scope, shape))
                tells = tells or plans.tells
            else:
                calls.append((span, shape, plan, span.parent()))
                scopes.add(scope)
        if not calls or len(scopes) > 1:
            return None
        if not others:
            return self._run_of_calls(request, calls, scopes.pop())
        return self._run(request, calls, others, scopes.pop(), tells)

    def trajectory_of(self, spans: Sequence[Span]) -> Trajectory | None:
        """Return the trajectory of spans that are all calls, none inside another; None if it is not as simple as that.

        Decoded attributes have plans of their own.
        """
        plans = [plan for span in spans if (plan := self._plans.of_decoded(span)) is not None]
        return self._one_after_another(spans, plans) if len(plans) == len(spans) else None

    def _run_of_calls(self, request: OtlpRequest, calls: list[_Call], scope: str) -> SimpleRun | None:
        """Return the run of a line that is nothing but calls; None if it is not simple."""
        traced = {span.trace_id for span, _, _, _ in calls}
        if len(traced) > 1 or any([not span.span_id for span, _, _, _ in calls]):
            return None
        spans = [
            finished(span, scope, RawAttributes(shape, shape.places, span.attributes)) for span, shape, _, _ in calls
        ]
        trajectory = self._one_after_another(spans, [plan for _, _, plan, _ in calls])
        if trajectory is None:
            return None
        times = spans[0].start_ns or 0, spans[-1].end_ns or 0
        conventions = [plan.shape.convention.name for _, _, plan, _ in calls]
        return SimpleRun(request, self._limits, self._kept, spans, trajectory, times, conventions)

    def _one_after_another(self, spans: Sequence[Span], plans: Sequence[CallPlan]) -> Trajectory | None:
        """Return the trajectory of calls that neither failed nor overlap; None if there are others."""
        made: list[ToolCall] = []
        layers: set[str] = set()
        latest = -1
        for span, plan in zip(spans, plans, strict=True):
            if span.parent_id is not None or span.failed or span.events:
                return None
            start, end = span.start_ns, span.end_ns
            if start is None or end is None or start < latest:
                return None
            record = self._plans.record(span, plan)
            if record is None or record.failed:
                return None
            layers.add(span.scope or plan.shape.dialect)
            made.append(_tool_call(record))
            latest = end if end > start else start + 1
        ids = {span.span_id for span in spans}
        if len(layers) != 1 or (len(ids) < len(made) and ids != {None}) or _repeat_ids([call.call_id for call in made]):
            return None
        trace_id = next((span.trace_id for span in spans if span.trace_id), None)
        metadata = {"tool_data": "spans", "instrumentation": [*layers]}
        return Trajectory(calls=tuple(made), trace_id=trace_id, metadata=metadata)

    def _run(
        self,
        request: OtlpRequest,
        calls: list[_Call],
        others: list[tuple[OtlpSpan, str, Shape]],
        scope: str,
        tells: bool,
    ) -> SimpleRun | None:
        layers = {scope or plan.shape.dialect for _, _, plan, _ in calls}
        if not {call[0].name for call in calls}.isdisjoint([span.name for span, _, _ in others]):
            return None  # a span that is named like a call may be one
        spans = self._read_others(others) if len(layers) == 1 and _is_one_tree(calls, others) else None
        if spans is None:
            return None
        roles: dict[int, Role] = {id(span): kind for span in spans if (kind := span.kind) in ("agent", "model")}
        tree = Tree(spans, roles)
        turns = turns_in(spans, roles, tree, lambda span: _SILENT) if len(roles) > 1 else Turns()
        made = self._calls(calls, scope, tree) if turns.count == 1 and turns.is_known else None
        if made is None:
            return None
        metadata = run_metadata(_NO_LOG, spans, self._kept.attributes) if tells else {}
        metadata["tool_data"] = "spans"
        metadata["instrumentation"] = [*layers]
        speaks = self._kept.about_runs and (tells or "model" in roles.values())
        asked, answered = asked_and_answered(spans, roles, tree) if speaks else (None, None)
        begin = min([span.start_time_unix_nano or 0 for span, _ in request.held])
        end = max([span.end_time_unix_nano or 0 for span, _ in request.held])
        trajectory = Trajectory(
            calls=tuple(made),
            input=asked,
            output=answered,
            trace_id=spans[0].trace_id,
            metadata=metadata,
            usage=usage_beside(spans, roles, made, end - begin) if self._kept.about_runs else None,
        )
        conventions = [plan.shape.convention.name for _, _, plan, _ in calls]
        root = next(span for span in spans if span.parent_id is None)
        return SimpleRun(request, self._limits, self._kept, [root], trajectory, (begin, end), conventions)

    def _read_others(self, others: list[tuple[OtlpSpan, str, Shape]]) -> list[ReadSpan] | None:
        """Read the spans that are not calls; None if one of them asks for more than a simple run has."""
        found = []
        for span, scope, shape in others:
            attributes: Any = RawAttributes(shape, shape.places, span.attributes)
            read = read_span(finished(span, scope, attributes), self._limits, self._kept.attributes)
            says_more = message_attributes(attributes) or (read.kind == "model" and not KEYS.isdisjoint(shape.places))
            says_more = says_more or told_by_task(attributes, read.kind) is not None
            if read.call is not None or isinstance(read.kind, CallShape) or says_more:
                return None
            found.append(read)
        return found

    def _calls(self, calls: list[_Call], scope: str, tree: Tree) -> list[ToolCall] | None:
        """Return the calls in order; None if one is not simple, or it has to be found out what ran inside another."""
        records: list[CallRecord] = []
        before, latest, overlap = -1, -1, False
        for span, shape, plan, parent in sorted(calls, key=lambda call: call[0].start_time_unix_nano or 0):
            start, end, status = span.start_time_unix_nano or 0, span.end_time_unix_nano or 0, span.status
            attributes: Any = RawAttributes(shape, shape.places, span.attributes)
            own, failed = (span.span_id or "").lower(), status.code == _FAILED
            made = Span(span.name, "", own, parent, start, end, attributes, failed, status.message, scope)
            record = self._plans.record(made, plan) if start > before else None
            if record is None:
                return None
            records.append(record)
            overlap, before, latest = overlap or start < latest, start, max(latest, end)
        if tree.is_at_work_inside(records) or _repeat_ids([record.call_id for record in records]):
            return None
        tree.settle(records)
        if overlap:
            group_by_time(records)
        return [_tool_call(record) for record in records]


@lru_cache(maxsize=8)
def simple_runs(limits: Limits, kept: Kept) -> SimpleRuns:
    """Return the reader of simple runs that has these limits and keeps this, and remembers what it learnt."""
    return SimpleRuns(limits, kept)


_Call = tuple[OtlpSpan, Shape, CallPlan, str | None]
"""A span of a call, its shape, its plan and its parent."""


def _repeat_ids(ids: Iterable[str | None]) -> bool:
    """Whether two spans have the id of one call: then one of them may only have asked a person about it."""
    known = [each for each in ids if each]
    return len(set(known)) < len(known)


def _tool_call(record: CallRecord) -> ToolCall:
    output, error, span = record.output, None, record.span or _NO_SPAN
    if record.failed:
        output, error = None if output is NOTHING else output, record.error or NO_MESSAGE
    odd = error is None and output.__class__ is str and reads_like_error(output)
    name, args, group, agent = record.name, record.args, record.group, record.agent
    tool_id, call_id, own, start, end = record.tool_id, record.call_id, span.span_id, span.start_ns, span.end_ns
    return ToolCall(name, args, output, error, None, group, tool_id, call_id, own, None, agent, start, end, "span", odd)


def _is_one_tree(calls: list[_Call], others: list[tuple[OtlpSpan, str, Shape]]) -> bool:
    """Whether the spans of a line are one tree of one trace with calls as its leaves, all with ids and times."""
    held = [span for span, _, _ in others]
    inner = {(span.span_id or "").lower(): span.parent() for span in held}
    if len(inner) < len(held) or "" in inner or [*inner.values()].count(None) != 1:
        return False
    # Parents before children: what is not reached in as many steps as there are spans is a ring, or below a call.
    placed: set[str | None] = {None}
    for _ in inner:
        placed.update([own for own, parent in inner.items() if parent in placed])
    if len(placed) <= len(inner):
        return False
    held += [call[0] for call in calls]
    if len({span.trace_id for span in held}) > 1:
        return False
    if any([span.start_time_unix_nano is None or span.end_time_unix_nano is None for span in held]):
        return False
    leaves = {(call[0].span_id or "").lower() for call in calls}
    if len(leaves) < len(calls) or "" in leaves or not leaves.isdisjoint(inner):
        return False
    return {call[3] for call in calls}.issubset(inner)
