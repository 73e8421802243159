"""The path an agent took: its calls in order, its input and output, and the messages and spans kept for display."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby, pairwise, repeat
from operator import attrgetter
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import force_setattr

from rightcall.errors import InputError, kind_of, nearest, shown
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values.decoding import admit, decode_json, dump_json, load_json

_NOTHING: frozenset[str] = frozenset()
_ABSENT = {
    (True, True): frozenset({"args", "output"}),
    (True, False): frozenset({"args"}),
    (False, True): frozenset({"output"}),
}
"""Names of the fields that were not given, by whether each was missing. All calls share these sets."""
MessageWriter: TypeAlias = Literal["user", "model", "system"]
"""Who wrote a message; `system` for instructions."""
SpanKind: TypeAlias = Literal["internal", "server", "client", "producer", "consumer"]
SpanStatus: TypeAlias = Literal["unset", "ok", "error"]

_LONGEST_NAME = DEFAULT_LIMITS.name_length
_name_of = attrgetter("name")
_EFFORT = 2
"""How much to encode before giving up on finding spans that still fit, in multiples of the space for spans."""
# Bound at import: an agent in this process may later replace the attributes of `msgspec.json`.
_parts_of = msgspec.json.Decoder(list[msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode


class ToolCall(msgspec.Struct, frozen=True):
    """One call of one tool by an agent.

    `args` and `output` that are not given were not recorded: they become `None`, and their names are added to
    `unrecorded`. A `None` that is given means JSON null. A call that raised has `error` set, and still counts as a
    call.
    """

    name: str
    args: Mapping[str, Any] | None = UNSET  # type: ignore[assignment]
    output: Any = UNSET
    error: str | None = None
    """The exception or error that the tool reported."""
    turn: int | None = None
    """The index of the turn that the call belongs to."""
    group: str | None = None
    """The same for all calls that a model requested in one message."""
    tool_id: str | None = None
    call_id: str | None = None
    span_id: str | None = None
    parent_id: str | None = None
    """The `span_id` of the calling tool, if a tool called this one."""
    agent: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    source: Literal["span", "message"] | None = None
    suspected_error: bool = False
    """Whether the call is recorded as a success, but its output reads like a framework's error message."""
    internal: bool | None = False
    """Whether the framework made the call, such as a hand-off or the final answer; `None` if not known."""
    unrecorded: frozenset[str] = _NOTHING
    """Names of the fields that the trace did not record."""

    def __post_init__(self) -> None:
        name: object = self.name
        args: object = self.args
        if not isinstance(name, str) or not name or len(name) > _LONGEST_NAME:
            raise InputError(_bad_name(name))
        unrecorded = self.unrecorded
        if unrecorded is not _NOTHING and (unrecorded.__class__ is not frozenset or unrecorded):
            self._check_unrecorded()
        if args is UNSET or self.output is UNSET:
            self._mark_unrecorded(args is UNSET, self.output is UNSET)
        # The class first: nearly all arguments are plain dicts, and `isinstance` with an ABC takes ten times as long.
        if args.__class__ is not dict and not isinstance(args, (UnsetType, NoneType)):
            if not isinstance(args, Mapping):
                raise InputError(f"the arguments of {name[:80]!r} are {shown(args)}; they should be an object")
            force_setattr(self, "args", dict(args))

    def _mark_unrecorded(self, args: bool, output: bool) -> None:
        if args:
            force_setattr(self, "args", None)
        if output:
            force_setattr(self, "output", None)
        absent = _ABSENT[args, output]
        force_setattr(self, "unrecorded", self.unrecorded | absent if self.unrecorded else absent)

    def _check_unrecorded(self) -> None:
        given: object = self.unrecorded
        if not isinstance(given, (frozenset, set, list, tuple)) or not all(isinstance(field, str) for field in given):
            raise InputError(f"the unrecorded fields of {self.name[:80]!r} are {shown(given)}, not names")
        for field in given:
            value = getattr(self, field, ...)
            if value is not None and value is not UNSET:
                raise InputError(
                    f"the call of {self.name[:80]!r} cannot have {field[:40]!r} among its unrecorded fields"
                )
        force_setattr(self, "unrecorded", frozenset(given))


def has_failed(call: ToolCall) -> bool | None:
    """Return whether a call failed; `None` if that is not known, or if only its output reads like an error."""
    if call.error is not None:
        return True
    if call.suspected_error or "error" in call.unrecorded:
        return None
    # Frameworks return errors to the model as text, so a trace without the output may hide an error.
    return None if call.source is not None and "output" in call.unrecorded else False


def is_suspected(call: ToolCall) -> bool:
    """Return whether a call has no recorded error, but its output reads like one or its error was not recorded."""
    return call.error is None and (call.suspected_error or "error" in call.unrecorded)


class WithheldCall(msgspec.Struct, frozen=True):
    """A call that was requested and not executed: deferred, or denied by a person."""

    name: str
    args: Mapping[str, Any] | None = None
    """Its arguments; `None` if they were not recorded."""
    reason: str = ""
    """Why it was not executed."""

    def __post_init__(self) -> None:
        name, args, reason = [getattr(self, field) for field in self.__struct_fields__]
        if not isinstance(name, str) or not 0 < len(name) <= DEFAULT_LIMITS.name_length:
            raise InputError(f"a withheld call named {shown(name)}; a tool's name is text and not empty")
        if args is not None and not isinstance(args, Mapping):
            raise InputError(f"the arguments of {name[:80]!r} are {shown(args)}; they should be an object")
        if not isinstance(reason, str):
            raise InputError(f"the reason why {name[:80]!r} was withheld is {shown(reason)}, not a string")


def in_order(calls: Sequence[ToolCall]) -> list[int]:
    """Return the positions of `calls` in the order in which they happened.

    Calls are sorted by start time; calls that start together, parent before child, else as given. Calls without a start
    time come last. End times are not used: they would reverse parallel calls.
    """
    if all([call.start_ns is None for call in calls]):
        return list(range(len(calls)))
    starts = [call.start_ns for call in calls]
    # The sort is stable, so calls that start together stay in the given order.
    order = sorted(range(len(calls)), key=lambda position: (starts[position] is None, starts[position] or 0))
    if not any([call.parent_id for call in calls]):
        return order
    together = groupby(order, key=starts.__getitem__)
    return [position for _, positions in together for position in _parents_first(list(positions), calls)]


def _bad_name(name: object) -> str:
    if not isinstance(name, str) or not name:
        return f"a call named {shown(name)}; a tool's name is text and not empty"
    return (
        f"a tool's name of {len(name):,} characters ({name[:40]!r}…) exceeds the limit of "
        f"{DEFAULT_LIMITS.name_length:,}"
    )


def _parents_first(positions: list[int], calls: Sequence[ToolCall]) -> list[int]:
    """Sort calls that start together, each after its parent, otherwise as given."""
    if len(positions) < 2:
        return positions
    by_span = {calls[position].span_id: position for position in positions if calls[position].span_id}
    placed: dict[int, None] = {}
    for position in positions:
        chain: list[int] = []
        above: int | None = position
        while above is not None and above not in placed and above not in chain[-1:]:
            chain.append(above)
            above = by_span.get(calls[above].parent_id)
            if above == position:
                break
        placed.update(dict.fromkeys(reversed(chain)))
    return list(placed)


NOT_UNDERSTOOD = "not_understood"
"""The metadata key under which readers record the first item that they did not understand."""

NOT_UNDERSTOOD_NOTE = "calls that were not understood: "
"""The beginning of the warning about it."""

_FIELDS = ToolCall.__struct_fields__


class Trajectory(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The calls of one run of an agent, in order, with the input and output of the run.

    `unordered` has ranges of calls (first, one past the last) whose order the trace does not determine, such as
    parallel calls on a coarse clock: a verdict that depends on their order is not measured.
    """

    calls: tuple[ToolCall, ...] = ()
    input: Any = None
    output: Any = None
    trace_id: str | None = None
    metadata: Mapping[str, Any] = msgspec.field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    unordered: tuple[tuple[int, int], ...] = ()
    turn_inputs: tuple[Any, ...] = ()
    """The input of each turn of a conversation, in order; empty if there was one turn or turns are not known."""
    turn_outputs: tuple[Any, ...] = ()
    """The output of each turn of a conversation, in order; empty if only the last answer is known."""
    calls_recorded: bool = True
    """Whether all calls are known to be here. False for a trace without tool data, or with calls not understood."""
    usage: Usage | None = None
    """The duration and the tokens of the run, if they were recorded."""
    withheld: tuple[WithheldCall, ...] = ()
    """Calls that were requested and not executed: deferred, or denied by a person."""
    messages: tuple[Message, ...] = ()
    """The messages of users and models, if they were requested: saved runs have them for display."""

    @classmethod
    def of(
        cls,
        calls: Iterable[str | Mapping[str, Any] | ToolCall],
        *,
        input: Any = None,
        output: Any = None,
        trace_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        turn_inputs: Iterable[Any] = (),
        turn_outputs: Iterable[Any] = (),
        usage: Usage | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> Trajectory:
        """Make a trajectory of names, `{"name": …, "args": …, "output": …}` objects and `ToolCall`s, mixed.

        The calls keep their order, unless they have start times: then those decide. If only some have one, or
        `start_ns` is in the `unrecorded` of a call, the order of all is unknown. Arguments and outputs that are not
        given count as not recorded.

        Raises:
            InputError: something in `calls` is none of these, has an unknown key, or is not a JSON value.
        """
        if isinstance(calls, (str, bytes, Mapping)) or not isinstance(calls, Iterable):
            raise InputError(f"a trajectory is a list of calls, not {kind_of(calls)}")
        made = [_call(item, position, limits) for position, item in enumerate(calls)]
        # A call without a start time may have been made at any point, so any order would be invented. If no call has
        # one, the given order counts, unless a call says that its start time was not recorded.
        untimed = sum(call.start_ns is None for call in made)
        is_mixed = untimed > 0 and (untimed < len(made) or any(["start_ns" in call.unrecorded for call in made]))
        return cls(
            calls=tuple(made[position] for position in in_order(made)),
            input=admit(input, limits),
            output=admit(output, limits),
            trace_id=trace_id,
            metadata=admit(metadata or {}, limits),
            turn_inputs=tuple([admit(each, limits) for each in turn_inputs]),
            turn_outputs=tuple([admit(each, limits) for each in turn_outputs]),
            usage=usage,
            warnings=(f"{untimed} calls have no start time; they are put last",) if is_mixed else (),
            unordered=((0, len(made)),) if is_mixed else (),
        )

    def __post_init__(self) -> None:
        calls: Any = self.calls
        if calls.__class__ is not tuple:
            force_setattr(self, "calls", tuple(calls) if isinstance(calls, Iterable) else (calls,))
        if not all(map(isinstance, self.calls, repeat(ToolCall))):
            raise InputError("the calls of a trajectory are ToolCalls; Trajectory.of takes names and objects, too")
        # Every evaluator reads these, so compute them once.
        self.__dict__["names"] = tuple(map(_name_of, self.calls))
        self.__dict__["has_internal_calls"] = any([call.internal is not False for call in self.calls])

    def __copy__(self) -> Trajectory:
        return self

    if TYPE_CHECKING:  # `__post_init__` sets them, and msgspec would take them for fields

        @property
        def names(self) -> tuple[str, ...]:
            """The names of the tools called, in order."""

        @property
        def has_internal_calls(self) -> bool:
            """Whether any call is, or may be, made by the framework."""

    def has_turns_after(self, turn: int) -> bool:
        """Return whether the run had turns after this one, as far as recorded."""
        return len(self.turn_inputs) > turn + 1 or any([(call.turn or 0) > turn for call in self.calls])

    @cached_property
    def has_groups(self) -> bool:
        """Whether neighbouring calls were requested in one message, as far as recorded."""
        groups = [call.group for call in self.calls]
        return any([one is not None and one == other for one, other in pairwise(groups)])

    @property
    def not_understood(self) -> str:
        """The first item of the trace that may be a call but was not understood; empty if there is none."""
        value = self.metadata.get(NOT_UNDERSTOOD)
        return value if isinstance(value, str) and not self.calls_recorded else ""

    def concurrent(self, first: ToolCall, second: ToolCall) -> bool:
        """Return whether two calls overlapped in time and neither is an ancestor of the other."""
        if first.start_ns is None or first.end_ns is None or second.start_ns is None or second.end_ns is None:
            return False
        # A call lasts at least a nanosecond: JavaScript SDKs start and end quick calls within one millisecond.
        first_end, second_end = max(first.end_ns, first.start_ns + 1), max(second.end_ns, second.start_ns + 1)
        if not (first.start_ns < second_end and second.start_ns < first_end):
            return False
        return not (self._made_by(first, second) or self._made_by(second, first))

    def _made_by(self, call: ToolCall, maker: ToolCall) -> bool:
        # In a damaged trace, parents can form a cycle.
        above, seen = call.parent_id, set()
        while above is not None and above not in seen:
            if above == maker.span_id:
                return True
            seen.add(above)
            above = self._parents.get(above)
        return False

    @cached_property
    def _parents(self) -> dict[str, str | None]:
        return {call.span_id: call.parent_id for call in self.calls if call.span_id is not None}


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The duration and tokens of a run; `None` means not recorded, not zero."""

    duration_ns: int | None = None
    """From the start of its first span to the end of its last."""
    input_tokens: int | None = None
    """Input tokens of all model calls."""
    output_tokens: int | None = None
    """Output tokens of all model calls."""

    @property
    def total_tokens(self) -> int | None:
        """Input and output tokens; `None` unless both are known."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


def summed_usage(parts: Iterable[Usage | None]) -> Usage | None:
    """Add up the usage of several parts of a run. A figure that is missing in one part is missing in the sum."""
    # A missing figure is not zero: the sum would be too low, and a budget could pass because of it.
    known = [part or Usage() for part in parts]
    summed = Usage(
        duration_ns=_sum([part.duration_ns for part in known]),
        input_tokens=_sum([part.input_tokens for part in known]),
        output_tokens=_sum([part.output_tokens for part in known]),
    )
    return None if summed == Usage() else summed


def is_trajectory(line: bytes) -> bool:
    """Return whether a line is a trajectory: an object with a list of calls, each a name or an object with a name."""
    if not line.lstrip().startswith(b"{") or b'"calls"' not in line:
        return False
    try:
        document = decode_json(line)
    except InputError:
        return False
    calls = document.get("calls") if isinstance(document, dict) else None
    if not isinstance(calls, list):
        return False
    return all([isinstance(call, str) or (isinstance(call, dict) and "name" in call) for call in calls])


def _call(item: Any, position: int, limits: Limits) -> ToolCall:
    if isinstance(item, ToolCall):
        return _call_from_object({**msgspec.structs.asdict(item), "unrecorded": [*item.unrecorded]}, position, limits)
    if isinstance(item, str):
        return ToolCall(name=str.__str__(item))
    if isinstance(item, Mapping):
        return _call_from_object(item, position, limits)
    raise InputError(f"calls[{position}] is {kind_of(item)}; a call is a name, an object or a ToolCall")


def _call_from_object(item: Mapping[Any, Any], position: int, limits: Limits) -> ToolCall:
    where = f"calls[{position}]"
    for key in item:
        if key not in _FIELDS:
            raise InputError(f"{where} has the unknown key {shown(key)}; {nearest(str(key), _FIELDS)}")
    fields = {key: admit(value, limits, where=f"{where}.{key}") for key, value in item.items()}
    try:
        return msgspec.convert(fields, ToolCall, strict=True)
    except msgspec.ValidationError as problem:
        raise InputError(f"{where}: {problem}") from None


def _sum(figures: list[int | None]) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known and len(known) == len(figures) else None


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message, and what was recorded about the model call that returned it. `None` means not recorded."""

    writer: MessageWriter
    text: str = ""
    """The text, possibly cut; empty if the model only requested calls, or if the text was not recorded."""
    left_out: int = 0
    """The number of characters that were cut off."""
    at: int = 0
    """The number of tool calls before this message."""
    asks: int = 0
    """The number of tool calls that the model requests in this message."""
    turn: int | None = None
    agent: str | None = None
    parent_id: str | None = None
    """The span id of the tool call during which an agent wrote it."""
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    """The cost of the model call in dollars, as recorded. It is never computed from prices."""
    start_ns: int | None = None
    end_ns: int | None = None


class RawEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event that a span recorded."""

    name: str
    time_ns: int | None = None
    attributes: Mapping[str, Any] = {}


class RawSpan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A span with all of its fields, whatever container it came in. Empty fields were not recorded."""

    name: str
    span_id: str
    trace_id: str = ""
    parent_id: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    kind: SpanKind | None = None
    status: SpanStatus = "unset"
    message: str = ""
    """The status message."""
    scope: str = ""
    """The name of the instrumentation scope."""
    service: str = ""
    """The `service.name` of its resource."""
    attributes: Mapping[str, Any] = {}
    events: tuple[RawEvent, ...] = ()


class KeptSpans(msgspec.Struct, frozen=True):
    """The saved spans of one run of a case, as many as fit: a JSON list on one line."""

    text: str = "[]"
    left_out: int = 0
    """The number of spans that were left out."""

    @classmethod
    def of(
        cls, spans: Collection[RawSpan], first: Collection[str | None] = (), limits: Limits = DEFAULT_LIMITS
    ) -> KeptSpans:
        """Keep these spans, in their order. If they do not all fit, those with an id in `first` are preferred.

        Strings longer than `kept_text` are cut, with a note. Spans that cannot be written as JSON are left out.
        """
        # `first` has the spans of calls, which the page of a case links to.
        ordered = sorted(spans, key=lambda span: span.span_id not in first) if first else spans
        texts = _as_far_as_they_fit(ordered, limits)
        kept = [texts[span.span_id] for span in spans if span.span_id in texts]
        return cls(f"[{b', '.join(kept).decode()}]", len(spans) - len(kept))

    def without_spans(self) -> KeptSpans:
        """Return a copy that counts all spans as left out."""
        return KeptSpans(left_out=self.left_out + _count(self.text))

    def check(self, limits: Limits = DEFAULT_LIMITS) -> None:
        """Check that the text can be embedded in a line of JSON.

        Raises:
            InputError: it is not a list, is larger than `of` makes it, or not on one line.
        """
        try:
            size = len(self.text.encode())
        except UnicodeEncodeError as problem:
            raise InputError(f"the spans are not text: {problem}") from None
        _count(self.text)
        if size > limits.kept_bytes + 2 or "\n" in self.text or self.left_out < 0:
            raise InputError(f"spans of {size:,} bytes, and the limit is {limits.kept_bytes:,}, on one line")

    def by_id(self) -> dict[str, RawSpan]:
        """Return the spans by id. Raises `InputError` if the text is not JSON."""
        return spans_by_id(load_json(self.text))[0]


def spans_by_id(items: Iterable[Any]) -> tuple[dict[str, RawSpan], int]:
    """Convert plain data to spans by id, and count the items that are not spans."""
    found, others = {}, 0
    for item in items:
        try:
            span = msgspec.convert(item, RawSpan)
        except (msgspec.ValidationError, UnicodeEncodeError):  # the latter for an item that is a lone surrogate
            others += 1
        else:
            found[span.span_id] = span
    return found, others


def _count(text: str) -> int:
    """Return the number of items of a JSON list. Raises `InputError` if it is not a list."""
    try:
        return len(_parts_of(text))
    except msgspec.MsgspecError:
        value = decode_json(text)  # also accepts escaped lone surrogates
    if not isinstance(value, list):
        raise InputError("the spans are not a list")
    return len(value)


def _as_far_as_they_fit(spans: Iterable[RawSpan], limits: Limits) -> dict[str, bytes]:
    texts: dict[str, bytes] = {}
    room, effort = limits.kept_bytes, _EFFORT * limits.kept_bytes
    for span in spans:
        if effort <= 0:
            break
        text = span_text(span, limits)
        size = len(text) + 2
        effort -= size
        if text and size <= room:
            room -= size
            texts[span.span_id] = text
    return texts


def span_text(span: RawSpan, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """Return a span as JSON on one line, with long strings cut; empty if it cannot be written."""
    most = limits.kept_text
    try:
        text = _quickly_written(span)
        if text and len(text) <= most:  # then no string in it is too long
            return text
        plain = msgspec.to_builtins(span)
        _cut_texts(plain.get("attributes", {}), most)
        for event in plain.get("events", ()):
            _cut_texts(event.get("attributes", {}), most)
        return dump_json(plain).encode()
    except (TypeError, ValueError, RecursionError):
        return b""


def _quickly_written(span: RawSpan) -> bytes:
    """Encode a span as JSON, ten times as fast as `dump_json`; empty if the fast encoder may lose something."""
    try:
        text = _encode(span)
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate, a large integer
        return b""
    # msgspec writes null for NaN and infinities, and does not escape values that look like our marks for them.
    return b"" if b"null" in text or b'"$float"' in text or b'"$literal"' in text else text


def _cut_texts(attributes: dict[str, Any], most: int) -> None:
    for key, value in attributes.items():
        if value.__class__ is str and len(value) > most:
            attributes[key] = f"{value[:most]}… [{len(value) - most:,} more characters]"
