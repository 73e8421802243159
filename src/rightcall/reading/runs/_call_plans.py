"""Plans for reading calls: what was learnt about spans with the same attribute names and deciding values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any

import msgspec

from rightcall.limits import Limits
from rightcall.reading import formats
from rightcall.reading.conventions import (
    ANSWERS,
    CLEAN_NAME,
    HANDOFFS,
    MARKS_OF_ANY_VALUE,
    MERGED,
    CallShape,
    Shape,
    kind_of,
    may_tell_kind,
    name_for_models,
    reads_like_error,
    shape_of,
)
from rightcall.reading.messages import UNCONFIRMED, message_attributes
from rightcall.reading.spans import (
    DROPPED,
    INVALID,
    NOTHING,
    PLACEHOLDERS,
    SCRUBBED,
    UNREADABLE,
    CallRecord,
    RawAttributes,
    Span,
    UnparsableError,
    arguments,
    may_be_cut,
    outcome,
)
from rightcall.values.trajectory import ToolCall

from ._input_output import KEYS, METADATA_KEYS, WITHIN, Kept
from ._span_calls import (
    DEFERRAL,
    NO_MESSAGE,
    PARAMETERS,
    is_worthless,
    read_error,
    take_args,
    take_ids,
    take_output,
    usable_text,
)
from ._tokens import COUNTS

_MOST_SHAPES = 1024  # the caches are cleared when they are full: hostile traces may have any number of shapes
MOST_VALUES = 1024
"""How many values are remembered of a kind."""
_MCP = "mcp"
_HANDED = "handoff to "
_NO_SPAN = Span("")
_object = msgspec.json.Decoder(dict[str, Any]).decode
_INCOMPLETE = (UNREADABLE, *DROPPED)
_TEXT = frozenset({str})
_UNCONFIRMED = [{"error": text} for text in UNCONFIRMED]
"""What a call of ADK returns that only asked a person, or that a person rejected."""


class CallPlan(msgspec.Struct, gc=False):
    """How to read a call from spans with the same attribute names and deciding values."""

    shape: CallShape
    is_told: bool
    """Whether an attribute says that the span is a call; otherwise its name might say that it is something else."""
    filled: tuple[str, ...]
    """Attributes that must not be empty, or the span is something else."""
    has_ids: bool
    """Whether there are attributes with an id of the call or its tool, or with its agent."""
    values: Callable[[Mapping[str, Any]], tuple[Any, Any, Any]]
    """What returns the values of the tool's name, the arguments and the output; None of each if that is not all."""
    places: tuple[int, ...] = ()
    """The positions of these three, of the ids and of what must not be empty, in undecoded attributes; none if that is
    not all."""
    ids: tuple[str, ...] = ()
    """The fields of a record that take the ids."""


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
    has_metadata: bool
    """Whether there are attributes that may be in the metadata of the run."""
    deciding: tuple[str, ...]
    """The attributes whose values decide what kind of span it is."""
    by_values: dict[tuple[Any, ...], CallPlan | None]
    """The plan for a call by the values that decide its kind; None for another span."""
    only: CallPlan | None = None
    """The plan for all calls whose values are decoded, if no value decides."""


class CallPlans(msgspec.Struct, eq=False):
    """The plans for the spans of a source."""

    limits: Limits
    kept: Kept
    by_shape: dict[Shape, ShapePlans] = {}
    """What was learnt about spans with the same attribute names."""
    decoded: dict[tuple[str, ...], ShapePlans] = {}
    """The same for spans whose attributes are decoded: their deciding values are not bytes."""
    names: set[tuple[str, str, bool]] = set()
    """Names of tools that are not a framework's own, each with the name of a span that is surely their call, and
    whether an attribute tells that it is one."""

    def learn_shape(self, shape: Shape) -> ShapePlans:
        """Learn what is implied by the names of attributes."""
        if len(self.by_shape) >= _MOST_SHAPES:
            self.by_shape.clear()
            self.decoded.clear()
        keys = shape.places.keys()
        asked_for = [f"{prefix}{key}" for key in self.kept.attributes for prefix in ("", *WITHIN)]
        has_metadata = not (keys.isdisjoint(METADATA_KEYS) and keys.isdisjoint(asked_for))
        hinders = bool(shape.groups) or not keys.isdisjoint(_INCOMPLETE)
        has_messages = bool(message_attributes(RawAttributes(shape, shape.places, ())))
        may_be_calls = DEFERRAL not in keys and not has_metadata and COUNTS.isdisjoint(keys)
        tells = not may_be_calls or not KEYS.isdisjoint(keys)
        plans = ShapePlans(hinders, has_messages, may_be_calls, tells, has_metadata, shape.deciding, {})
        self.by_shape[shape] = plans
        return plans

    def of_live(self, span: Any, attributes: Mapping[str, Any]) -> CallPlan | None:
        """Return the plan for a span of the SDK with these attributes; None as above."""
        plans = self.decoded.get(tuple(attributes))
        if plans is None:
            return self._learn_live(formats.live_span(span))
        if (only := plans.only) is not None or not plans.may_be_calls:
            return only
        values = tuple([attributes[key] for key in plans.deciding])
        if not _TEXT.issuperset(map(type, values)):
            return None  # True and 1 are equal, and say different things
        try:
            return plans.by_values[values]
        except KeyError:
            return self._learn_live(formats.live_span(span))

    def _learn_live(self, span: Span) -> CallPlan | None:
        """Learn from a span of the SDK, whose attributes are plain now."""
        attributes = span.attributes
        shape = shape_of(names := tuple(attributes))
        plans = self.decoded.get(names)
        if plans is None:
            plans = self.decoded[names] = self.learn_shape(shape)
            plans.may_be_calls = plans.may_be_calls and not plans.hinders
        values = tuple([attributes[key] for key in shape.deciding])
        if not plans.may_be_calls or not _TEXT.issuperset(map(type, values)):
            return None
        plan = learn_plan(values, span, shape, plans)
        plans.only = None if values else plan
        return plan

    def record(self, span: Span, plan: CallPlan) -> CallRecord | None:
        """Read a call by its plan; None if more has to be asked about it."""
        attributes: Any = span.attributes
        texts = attributes.texts(plan.places) if plan.places and not span.failed else None
        if texts and ((texts[0], span.name, plan.is_told) in self.names or self._is_plain(texts[0], span, plan)):
            name, given, returned, *others = texts
            record = CallRecord(name, span, plan.shape.convention.name)
            for field, text in zip(plan.ids, others, strict=False):
                setattr(record, field, usable_text(text))
            is_filled = not plan.filled or "" not in others[len(plan.ids) :]
            output = self.content(record, plan, attributes, given, returned) if is_filled else NOTHING
            if output is not NOTHING and not record.failed:
                return record
        return self._record_of_any(span, plan)

    def content(
        self, record: CallRecord, plan: CallPlan, attributes: Mapping[str, Any], given: str, returned: str
    ) -> Any:
        """Read arguments and an output that are texts into a record, and return the output.

        It is `NOTHING` if one of them is not as plain as most are, or if the output may say that the call failed.
        """
        if SCRUBBED in given or SCRUBBED in returned:
            return NOTHING
        convention, limits, short = plan.shape.convention, self.limits, 2 * self.limits.depth
        try:
            # A text as short as that is not too deep: each level takes two characters.
            args: Any = _object(given) if len(given) <= short else arguments(given, limits)
            args = record.args = convention.unwrap_args(args, record, attributes)
            if returned[:1] == "{" and len(returned) <= short:
                output: Any = _object(returned)
            elif is_worthless(returned):
                return NOTHING
            else:
                output = outcome(returned, limits, convention.encoded, convention.keeps_quotes)
        except (msgspec.DecodeError, UnicodeError, UnparsableError):
            return NOTHING
        output = record.output = convention.unwrap_output(output, record, attributes)
        # An error may be the question whether the call may be made.
        is_open = may_be_cut(output) if output.__class__ is str else output.__class__ is dict and "error" in output
        return NOTHING if is_open or args.__class__ is not dict or INVALID in args else output

    def _record_of_any(self, span: Span, plan: CallPlan) -> CallRecord | None:
        known, attributes = plan.shape, span.attributes
        name = attributes.get(known.tool[0])
        if name.__class__ is not str:
            return None
        if (name, span.name, plan.is_told) not in self.names and not self._is_plain(name, span, plan):
            return None
        if plan.filled and any([attributes.get(key) in (None, "") for key in plan.filled]):
            return None
        convention = known.convention
        record = CallRecord(name, span, convention.name)
        if plan.has_ids:
            take_ids(record, known, attributes)
        key = known.args[0]
        take_args(record, convention, attributes, key, attributes.get(key), self.limits)
        if record.args.__class__ is not dict:
            return None
        if known.output:
            take_output(record, convention, attributes, attributes.get(known.output[0]), self.limits)
        if span.failed or record.failed or known.may_fail:
            read_error(record, convention, span, ())
        output = record.output
        is_whole = output is not NOTHING or (record.failed and len(known.output) < 2)
        may_ask = record.error in UNCONFIRMED or output in _UNCONFIRMED
        is_cut = output.__class__ is str and may_be_cut(output)
        return record if is_whole and not (may_ask or is_cut) else None

    def _is_plain(self, name: str, span: Span, plan: CallPlan) -> bool:
        """Whether a name is that of a tool, as it is: not empty, not made up, and not that of a framework's own.

        The name of the span must not say that it is something else.
        """
        if span.name.startswith(_HANDED) or not (plan.is_told or not may_tell_kind(span.name)):
            return False
        is_odd = not name or name in PLACEHOLDERS or name[0] == '"' or name == MERGED
        is_own = name in ANSWERS or name.startswith(HANDOFFS)
        if is_odd or is_own or len(name) > self.limits.name_length:
            return False
        if not CLEAN_NAME.fullmatch(name):
            return name_for_models(name, span.attributes) == name  # another span may tell another
        if len(self.names) >= MOST_VALUES:
            self.names.clear()
        self.names.add((name, span.name, plan.is_told))
        return True


call_plans = lru_cache(maxsize=8)(CallPlans)
"""Returns the plans for spans that are read within these limits and to keep this, with what was learnt before."""


def learn_plan(values: tuple[Any, ...], span: Span, shape: Shape, plans: ShapePlans) -> CallPlan | None:
    """Learn the plan for calls like this span; None if it is not a call, or more has to be asked about it."""
    if len(plans.by_values) >= MOST_VALUES:
        plans.by_values.clear()
    plans.by_values[values] = None
    kind = kind_of(span)
    if not isinstance(kind, CallShape) or not (shape.is_told or not may_tell_kind(span.name)):
        return None
    if not (kind.tool and kind.args) or kind.args[0] == PARAMETERS:
        return None
    if kind.convention.name == _MCP or kind.convention.decision:
        return None
    # Values that decide are part of what the plan is found by, and a tool's name is looked at in any case.
    known = {kind.tool[0], *shape.deciding}
    filled = tuple([key for key in shape.places if key in MARKS_OF_ANY_VALUE and key not in known])
    has_ids = bool(kind.call_id or kind.tool_id or kind.agent)
    keys = (kind.tool[0], kind.args[0], kind.output[0]) if kind.output and not kind.may_fail else ()
    ids = {field: found for field in ("call_id", "tool_id", "agent") if (found := getattr(kind, field))}
    is_direct = keys and isinstance(span.attributes, RawAttributes) and all([len(each) == 1 for each in ids.values()])
    places = tuple([shape.places[key] for key in (*keys, *chain(*ids.values()), *filled)]) if is_direct else ()
    read_values = itemgetter(*keys) if keys and not filled else _no_values
    plan = CallPlan(kind, shape.is_told, filled, has_ids, read_values, places, tuple(ids))
    plans.by_values[values] = plan
    return plan


def _no_values(attributes: Mapping[str, Any]) -> tuple[None, None, None]:
    return None, None, None


def tool_call(record: CallRecord) -> ToolCall:
    """Return the call of a record that has a span."""
    output, error, span = record.output, None, record.span or _NO_SPAN
    if record.failed:
        output, error = None if output is NOTHING else output, record.error or NO_MESSAGE
    odd = error is None and output.__class__ is str and reads_like_error(output)
    name, args, group, agent = record.name, record.args, record.group, record.agent
    tool_id, call_id, own, start, end = record.tool_id, record.call_id, span.span_id, span.start_ns, span.end_ns
    return ToolCall(name, args, output, error, None, group, tool_id, call_id, own, None, agent, start, end, "span", odd)


def repeat_ids(calls: Iterable[CallRecord | ToolCall]) -> bool:
    """Whether two spans have the id of one call: then one of them may only have asked a person about it."""
    known = [call.call_id for call in calls if call.call_id]
    return len(set(known)) < len(known)
