"""How to read calls from spans, learnt once for spans that have the same attribute names and deciding values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.limits import Limits
from rightcall.reading.conventions import (
    KIND_KEYS,
    MARKS_OF_ANY_VALUE,
    MERGED,
    CallShape,
    Shape,
    is_clean,
    kind_of,
    may_tell_kind,
    name_for_models,
    shape_of,
)
from rightcall.reading.formats import OtlpSpan, finished
from rightcall.reading.messages import message_attributes
from rightcall.reading.spans import NOTHING, PLACEHOLDERS, UNREADABLE, CallRecord, RawAttributes, Span

from ._input_output import KEYS
from ._own_calls import is_named_like_own
from ._questions import may_ask
from ._run_metadata import Kept, metadata_keys
from ._span_calls import DEFERRAL, PARAMETERS, first_text, read_error, take_args, take_output
from ._tokens import COUNTS

_MOST_SHAPES = 1024  # the caches are cleared when they are full: hostile traces may have any number of shapes
_MOST_VALUES = 1024
_MCP = "mcp"
_HANDED = "handoff to "


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
