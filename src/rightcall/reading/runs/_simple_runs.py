"""Runs that are read without a builder, by plans: simple lines of OTLP, and spans of the SDK that are all calls.

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

Spans of the SDK are read here if they are as a line that is nothing but calls. Most of their values are JSON texts,
whose content goes to a `ToolCall` as it is decoded.

Everything else is built by `RunBuilder`, which is the reference: `tests/reading/test_simple_runs.py` and
`test_live_runs.py` compare them. A simple run that turns out not to be alone (another line has spans of the same trace,
or another run ran inside one of its calls) is read again from its line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec

from rightcall.limits import Limits
from rightcall.reading.conventions import CallShape, Role, Shape, reads_like_error
from rightcall.reading.formats import OtlpRequest, decode_request
from rightcall.reading.messages import Conversation, Log, told_by_task
from rightcall.reading.spans import (
    NOTHING,
    CallRecord,
    Span,
    cut_lengths,
)
from rightcall.values.trajectory import ToolCall, Trajectory

from ._call_plans import MOST_VALUES, CallPlan, CallPlans, ShapePlans, learn_plan, repeat_ids, tool_call
from ._calls import group_by_time
from ._input_output import KEYS, Kept, asked_and_answered, run_metadata
from ._span_calls import read_span, take_ids
from ._span_tree import ReadSpan, Tree
from ._tokens import usage_beside
from ._turns import Turns, turns_in

_FAILED = 2  # STATUS_CODE_ERROR of opentelemetry/proto/trace/v1/trace.proto
_NO_LOG = Log()
_SILENT = Conversation()
_PLAIN = frozenset({str, int, float, bool})
_own_id, _output_of = attrgetter("span_id"), attrgetter("output")


class SimpleRun(msgspec.Struct, eq=False):
    """A run with its trajectory, and what tells it from other runs."""

    trajectory: Trajectory
    trace_id: str
    roots: set[tuple[str, str]]
    """The names and scopes of the topmost spans."""
    line: bytes
    count: int
    """The number of its spans."""
    is_at_work: bool
    """Whether its calls are below a span that is an agent's, or not a call."""
    begin: int
    end: int
    conventions: dict[str, None]
    """The conventions by which its calls were read."""
    limits: Limits
    kept: Kept

    def spans(self) -> list[ReadSpan]:
        """Read the spans of the line one by one, as those of any run."""
        spans = request.spans if (request := decode_request(self.line)) else ()
        return [read_span(span, self.limits, self.kept.attributes) for span in spans]


class SimpleRuns(msgspec.Struct, eq=False):
    """Reads the simple runs of a source."""

    plans: CallPlans

    def run_of(self, request: OtlpRequest) -> SimpleRun | None:
        """Return the run of a line; None if it is not simple."""
        calls: list[_Call] = []
        others: list[_Other] = []
        scopes: set[str] = set()
        known, spans = self.plans, request.spans
        for span in spans:
            attributes: Any = span.attributes
            shape: Shape = attributes.shape
            plans = known.by_shape.get(shape) or known.learn_shape(shape)
            if plans.hinders or span.events:
                return None
            plan = None
            if plans.may_be_calls:
                by_values, held = plans.by_values, attributes.held
                values = tuple([bytes(held[place].value) for place in shape.deciding_places])
                plan = by_values[values] if values in by_values else learn_plan(values, span, shape, plans)
            if plan is None:
                if plans.has_messages:
                    return None
                others.append((span, plans))
            else:
                calls.append((span, plan))
                scopes.add(span.scope)
        if not calls or len(scopes) > 1:
            return None
        begin, end = min([span.start_ns or 0 for span in spans]), max([span.end_ns or 0 for span in spans])
        made = self._of_tree(calls, others, end - begin) if others else self._of_calls(calls)
        if made is None:
            return None
        conventions = dict.fromkeys([plan.shape.convention.name for _, plan in calls])
        count, is_at_work = len(spans), bool(others)
        return SimpleRun(*made, request.line, count, is_at_work, begin, end, conventions, known.limits, known.kept)

    def _of_calls(self, calls: list[_Call]) -> _Made | None:
        """Read a line that is nothing but calls; None if it is not simple."""
        spans = [span for span, _ in calls]
        if len({span.trace_id for span in spans}) > 1 or any([not span.span_id for span in spans]):
            return None
        trajectory = self._one_after_another(spans, [plan for _, plan in calls])
        if trajectory is None:
            return None
        return trajectory, spans[0].trace_id, {(span.name, span.scope) for span in spans}

    def _one_after_another(self, spans: Sequence[Span], plans: Sequence[CallPlan]) -> Trajectory | None:
        """Return the trajectory of calls that neither failed nor overlap; None if there are others."""
        records: list[CallRecord] = []
        layers: set[str] = set()
        latest = -1
        for span, plan in zip(spans, plans, strict=True):
            if span.parent_id is not None or span.failed or span.events:
                return None
            start, end = span.start_ns, span.end_ns
            if start is None or end is None or start < latest:
                return None
            record = self.plans.record(span, plan)
            if record is None or record.failed:
                return None
            layers.add(span.scope or plan.shape.dialect)
            records.append(record)
            latest = end if end > start else start + 1
        ids = {span.span_id for span in spans}
        if len(layers) != 1 or (len(ids) < len(records) and ids != {None}) or repeat_ids(records):
            return None
        if cut_lengths([record.output for record in records], [span.attributes for span in spans]):
            return None
        trace_id = next((span.trace_id for span in spans if span.trace_id), None)
        metadata = {"tool_data": "spans", "instrumentation": [*layers]}
        return Trajectory(calls=tuple(map(tool_call, records)), trace_id=trace_id, metadata=metadata)

    def _of_tree(self, calls: list[_Call], others: list[_Other], duration: int) -> _Made | None:
        """Read a line with calls below other spans; None if it is not simple."""
        layers = {span.scope or plan.shape.dialect for span, plan in calls}
        if not {span.name for span, _ in calls}.isdisjoint([span.name for span, _ in others]):
            return None  # a span that is named like a call may be one
        spans = self._read_others(others) if len(layers) == 1 and _is_one_tree(calls, others) else None
        if spans is None:
            return None
        kept = self.plans.kept
        roles: dict[int, Role] = {id(span): kind for span in spans if (kind := span.kind) in ("agent", "model")}
        tree = Tree(spans, roles)
        begun = max([span.start_ns or 0 for span in spans if id(span) in roles], default=0)
        turns = turns_in(spans, roles, tree, lambda span: _SILENT) if len(roles) > 1 else Turns()
        records = self._records(calls, tree, begun) if turns.count == 1 and turns.is_known else None
        if records is None:
            return None
        has_metadata = any([plans.has_metadata for _, plans in others])
        metadata = run_metadata(_NO_LOG, spans, kept.attributes) if has_metadata else {}
        metadata["tool_data"] = "spans"
        metadata["instrumentation"] = [*layers]
        tells = any([plans.tells for _, plans in others])
        speaks = kept.about_runs and (tells or "model" in roles.values())
        asked, answered = asked_and_answered(spans, roles, tree) if speaks else (None, None)
        texts = [held for held in (answered, *[record.output for record in records]) if held.__class__ is str]
        if texts and cut_lengths(texts, [span.attributes for span in (*spans, *[span for span, _ in calls])]):
            return None
        made = [tool_call(record) for record in records]
        trajectory = Trajectory(
            calls=tuple(made),
            input=asked,
            output=answered,
            trace_id=spans[0].trace_id,
            metadata=metadata,
            usage=usage_beside(spans, roles, made, duration) if kept.about_runs else None,
        )
        root = next(span for span in spans if span.parent_id is None)
        return trajectory, root.trace_id, {(root.name, root.scope)}

    def _read_others(self, others: list[_Other]) -> list[ReadSpan] | None:
        """Read the spans that are not calls; None if one of them asks for more than a simple run has."""
        found = []
        for span, _ in others:
            read = read_span(span, self.plans.limits, self.plans.kept.attributes)
            says_more = read.kind == "model" and not KEYS.isdisjoint(span.attributes.keys())
            says_more = says_more or told_by_task(span.attributes, read.kind) is not None
            if read.call is not None or isinstance(read.kind, CallShape) or says_more:
                return None
            found.append(read)
        return found

    def _records(self, calls: list[_Call], tree: Tree, begun: int) -> list[CallRecord] | None:
        """Return the calls in order; None if one is not simple, or it has to be found out what ran inside another.

        `begun` is when the last of the agents and models started.
        """
        records: list[CallRecord] = []
        before, latest, overlap = -1, -1, False
        calls = sorted(calls, key=lambda call: call[0].start_ns or 0)
        for span, plan in calls:
            start, end = span.start_ns or 0, span.end_ns or 0
            record = self.plans.record(span, plan) if start > before else None
            if record is None:
                return None
            records.append(record)
            overlap, before, latest = overlap or start < latest, start, max(latest, end)
        if (calls[0][0].start_ns or 0) < begun and tree.is_at_work_inside(records):
            return None
        # Outputs may have ids, too, which envelopes take out of them: so the records are asked, and not the plans.
        if any([record.call_id for record in records]) and repeat_ids(records):
            return None
        tree.settle(records)
        if overlap:
            group_by_time(records)
        return records


_Call = tuple[Span, CallPlan]
"""A span of a call, and its plan."""
_Other = tuple[Span, ShapePlans]
"""A span that is not a call, and what is known about those with the same attribute names."""
_Made = tuple[Trajectory, str, set[tuple[str, str]]]
"""A trajectory, the id of its trace, and the names and scopes of the topmost spans."""


def _is_one_tree(calls: list[_Call], others: list[_Other]) -> bool:
    """Whether the spans of a line are one tree of one trace with calls as its leaves, all with ids and times."""
    inner = {span.span_id: span.parent_id for span, _ in others}
    if len(inner) < len(others) or None in inner or [*inner.values()].count(None) != 1:
        return False
    # Parents before children: what is not reached in as many steps as there are spans is a ring, or below a call.
    placed: set[str | None] = {None}
    for _ in inner:
        placed.update([own for own, parent in inner.items() if parent in placed])
    if len(placed) <= len(inner):
        return False
    held = [span for span, _ in (*others, *calls)]
    if len({span.trace_id for span in held}) > 1:
        return False
    if any([span.start_ns is None or span.end_ns is None for span in held]):
        return False
    leaves = {span.span_id for span, _ in calls}
    if len(leaves) < len(calls) or None in leaves or not leaves.isdisjoint(inner):
        return False
    return {span.parent_id for span, _ in calls}.issubset(inner)


class LiveRuns:
    """Reads runs whose spans are all calls."""

    def __init__(self, limits: Limits, kept: Kept) -> None:
        # Not at the top: only spans of the SDK need these, and commands read files.
        from rightcall.reading.formats import live_dropped, live_reader, live_span, live_span_id, live_trace_id

        self._reader_of, self._span = live_reader, live_span
        self._span_id, self._trace_id = live_span_id, live_trace_id
        self._dropped = live_dropped
        self._plans = CallPlans(limits, kept)
        self._named: dict[tuple[str, str, bool], Span] = {}
        """Spans that have a scope and a name alone, by the plain names of `CallPlans`."""

    def trajectory_of(self, spans: Sequence[Any]) -> Trajectory | None:
        """Return the trajectory of spans that are all calls, none inside another; None if it is not so simple."""
        read = self._reader_of(spans)
        if read is None:
            return None
        made: list[ToolCall] = []
        layers: set[str] = set()
        latest, trace_id, good = -1, None, None
        plan_of, decoded = self._plans.of_live, self._plans.decoded
        for span in spans:
            title, start, end, status, parent, context, scope, events, held = read(span)
            if (
                start is None
                or end is None
                or start < latest
                or parent
                or not held
                or events
                or ((held.__class__ is not dict or events.__class__ is not tuple) and any(self._dropped(span)))
                or title.__class__ is not str
                or (status is not good and _has_failed(status))
            ):
                return None
            good = status  # spans of which nothing was said share one
            held = held if held.__class__ is dict else held.copy()  # the SDK's own mapping takes a lock for each value
            known = decoded.get(tuple(held))
            plan = (known and known.only) or plan_of(span, held)
            if plan is None:
                return None
            scope = scope.name if scope else ""
            call = self._quickly(title, plan, held, scope, context, start, end) or self._by_plan(span, plan)
            if call is None:
                return None
            made.append(call)
            layers.add(scope or plan.shape.dialect)
            latest = end if end > start else start + 1
            if context and trace_id is None:
                trace_id = self._trace_id(context)
        ids = set(map(_own_id, made))
        if len(layers) != 1 or (len(ids) < len(made) and ids != {None}) or repeat_ids(made):
            return None
        outputs = list(map(_output_of, made))
        if str in map(type, outputs) and cut_lengths(outputs, [read(span)[-1] for span in spans]):
            return None
        metadata = {"tool_data": "spans", "instrumentation": [*layers]}
        return Trajectory(calls=tuple(made), trace_id=trace_id, metadata=metadata)

    def _quickly(
        self,
        title: str,
        plan: CallPlan,
        value: Mapping[str, Any],
        scope: str,
        context: Any,
        start: int,
        end: int,
    ) -> ToolCall | None:
        """Read a call whose arguments and output are texts, without a `Span`; None if it is not as plain as that."""
        name, given, returned = plan.values(value)
        if not name.__class__ is given.__class__ is returned.__class__ is str:
            return None
        names = name, title, plan.is_told
        bare = self._named.get(names)
        if bare is None or bare.scope != scope:
            bare = self._learn_names(names, scope)
        if bare is None or (len(value) > 3 and not _PLAIN.issuperset(map(type, value.values()))):
            return None
        call = CallRecord(name, bare)
        if plan.has_ids:
            take_ids(call, plan.shape, value)
        output = self._plans.content(call, plan, value, given, returned)
        if output is NOTHING or call.failed:
            return None
        odd = output.__class__ is str and reads_like_error(output)
        args, tool_id, call_id, agent = call.args, call.tool_id, call.call_id, call.agent
        own = self._span_id(context) if context else None
        return ToolCall(
            name, args, output, None, None, None, tool_id, call_id, own, None, agent, start, end, "span", odd
        )

    def _by_plan(self, span: Any, plan: CallPlan) -> ToolCall | None:
        """Read a call by its plan; None if more has to be asked about it."""
        record = self._plans.record(self._span(span), plan)
        return None if record is None or record.failed else tool_call(record)

    def _learn_names(self, names: tuple[str, str, bool], scope: str) -> Span | None:
        if names not in self._plans.names:
            return None
        if len(self._named) >= MOST_VALUES:
            self._named.clear()
        made = self._named[names] = Span(names[1], scope=scope)
        return made


def _has_failed(status: Any) -> bool:
    """Whether a status of the SDK is that of a failure."""
    code = status.status_code
    return bool(getattr(code, "_value_", code) == _FAILED)


live_runs = lru_cache(maxsize=8)(LiveRuns)
"""Returns the reader of live runs that has these limits and keeps this, and remembers what it learnt."""
