"""Spans and log records, independent of their container, and the attributes of spans, decoded on demand.

At the end are the names by which sources record the case, the repeat and the score of a run.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from rightcall.errors import InputError
from rightcall.values.decoding import decode_json

UNREADABLE = "rightcall.unreadable"
"""The attribute with a description of what could not be read of a span."""
DROPPED = ("otel.dropped_attributes_count", "otel.dropped_events_count")
"""The attributes that say how many attributes and events of a span its SDK dropped, because there were too many.

OpenTelemetry, "Dropped Attributes Count": exporters to formats without such fields write these names.
"""
MESSAGES = "messages"
"""The name of the one format that is not a container of spans: a log of messages."""


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event of a span, such as an exception or a message."""

    name: str
    attributes: Mapping[str, Any]
    time_ns: int | None = None


class Span(msgspec.Struct, frozen=True, gc=False):
    """One span of a trace.

    `events` are `Event`s, or an iterable that decodes them when they are used.
    """

    name: str
    trace_id: str = ""
    span_id: str | None = None
    parent_id: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    attributes: Mapping[str, Any] = {}
    failed: bool = False
    """Its status is ERROR."""
    description: str = ""
    """The message of its status."""
    scope: str = ""
    """The name of the instrumentation that recorded it; empty if unknown."""
    events: Iterable[Event] = ()


_AnySpan = TypeVar("_AnySpan", bound=Span)


def is_incomplete(attributes: Mapping[str, Any]) -> bool:
    """Whether the SDK dropped attributes or events of a span."""
    if attributes.keys().isdisjoint(DROPPED):
        return False
    return any([attributes.get(key, 0) not in (0, "0", "") for key in DROPPED])


def topmost(spans: Iterable[_AnySpan]) -> list[_AnySpan]:
    """Return the spans whose parent is not among them. Their parent may belong to another service."""
    held = list(spans)
    ids = {span.span_id for span in held}
    return [span for span in held if span.parent_id is None or span.parent_id not in ids]


class LogRecord(msgspec.Struct):
    """One OpenTelemetry log record: an event with a message of the model in it."""

    name: str
    body: Any
    attributes: Mapping[str, Any]
    trace_id: str = ""
    span_id: str | None = None
    time_ns: int | None = None


class OtherDocument(msgspec.Struct, frozen=True):
    """A document that is not a span, such as a message or a list of messages."""

    document: Any


class PackedSpan(msgspec.Struct, gc=False):
    """A span of OTLP that is not decoded yet."""

    trace_id: str
    scope: str
    raw: bytes

    def may_be_grouped(self) -> bool:
        """Whether the span may have the id of a conversation or session: their keys all contain one of these words."""
        return b"conversation" in self.raw or b"session" in self.raw or b"thread_id" in self.raw


Item = Span | PackedSpan | LogRecord | OtherDocument
"""Everything a container can yield."""


class LazyEvents:
    """Events of a span, decoded when they are iterated over: most are never used."""

    __slots__ = ("_decode", "_held")

    def __init__(self, decode: Callable[[Any], Iterable[Event]], value: Any) -> None:
        self._decode, self._held = decode, value

    def __iter__(self) -> Iterator[Event]:
        return iter(self._decode(self._held))


_MAXIMUM_DEPTH = 200  # levels of lists and objects, well below Python's limit of 1,000 frames
_KIND = "openinference.span.kind"
_OPENED = ("tool.parameters", "metadata")
_NULL = msgspec.Raw(b"null")
_UNSET = msgspec.UNSET


class Attribute(msgspec.Struct, gc=False):
    """An attribute as OTLP writes it, its value undecoded."""

    key: str = ""
    value: msgspec.Raw = msgspec.Raw(b"null")


class RawAttributes(msgspec.Struct, gc=False, eq=False):
    """A mapping of attributes whose values stay undecoded JSON until they are used.

    Spans of models repeat whole conversations; not decoding those is most of the speed of reading a file. The position
    of a key comes from the span's shape, which many spans share.
    """

    shape: Any
    places: dict[str, int]
    held: tuple[Attribute, ...]

    def get(self, key: str, default: Any = None) -> Any:
        """Return the decoded value of an attribute; the default if it is absent, None if it cannot be decoded."""
        place = self.places.get(key)
        if place is None:
            return default
        # Most values are strings or counts. This decoder reads only those, and leaves others to the tolerant one.
        raw = self.held[place].value
        try:
            held = _decode_plain(raw)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return _decoded_tolerantly(bytes(raw))
        text = held.stringValue
        if text is not _UNSET:
            return text
        if held.intValue is not _UNSET and bytes(raw).startswith(_INTEGER):
            return _integer(held.intValue, 0)
        return _decoded_tolerantly(bytes(raw))

    def texts(self, places: tuple[int, ...]) -> list[str] | None:
        """Return the texts at these positions, which is faster than getting each; None if one is not a text."""
        held = self.held
        try:
            found = _decode_texts(b"[%b]" % b",".join([held[place].value for place in places]))
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return None
        return [each.stringValue for each in found]

    def raw(self, keys: tuple[str, ...]) -> tuple[bytes, ...]:
        """Return the undecoded values of these attributes."""
        held, places = self.held, self.places
        return tuple([bytes(held[places[key]].value) for key in keys])

    def keys(self) -> KeysView[str]:
        """Return the names of the attributes."""
        return self.places.keys()

    def __getitem__(self, key: str) -> Any:
        return self.get(key)

    def __contains__(self, key: str) -> bool:
        return key in self.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def undecoded(text: str) -> tuple[Attribute, ...] | None:
    """Return the attributes of a JSON object with plain values in OTLP's form; None if it is not an object.

    Every value is wrapped as a string value without being decoded. Decoding it later gives its real type.
    """
    try:
        held = _decode_object(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return tuple(
        [Attribute(key, msgspec.Raw(b'{"stringValue":%b}' % raw)) for key, raw in held.items() if raw != _NULL]
    )


def plain_value(value: Any, depth: int = 0) -> Any:
    """Return the plain value of an OTLP `AnyValue`, in camelCase or snake_case, with or without explicit nulls."""
    if not isinstance(value, Mapping) or depth > _MAXIMUM_DEPTH:
        return None
    for key, held in value.items():
        convert = _KINDS.get(key)
        if convert is not None and held is not None:
            return convert(held, depth + 1)
    return None


def restored(attributes: dict[str, Any]) -> dict[str, Any]:
    """Undo the changes that Phoenix makes to attributes when it stores them.

    It flattens the JSON in some of them to dotted keys, and sets the kind of spans without one to UNKNOWN.
    """
    if attributes.get(_KIND) == "UNKNOWN":
        del attributes[_KIND]
    for name in _OPENED:
        parts = [key for key in attributes if key.startswith(f"{name}.")]
        if parts and name not in attributes:
            start = len(name) + 1
            attributes[name] = unnested([(key[start:], attributes.pop(key)) for key in parts])
    return attributes


def plain_attributes(attributes: Any) -> dict[str, Any]:
    """Return attributes given as an object, or as a list of `{"key": …, "value": …}`."""
    if isinstance(attributes, Mapping):
        return dict(attributes)
    return _pairs(attributes, 0)


def _pairs(values: Any, depth: int) -> dict[str, Any]:
    if not isinstance(values, list):
        return {}
    return {
        pair["key"]: plain_value(pair.get("value"), depth)
        for pair in values
        if isinstance(pair, Mapping) and isinstance(pair.get("key"), str)
    }


def _list(value: Any, depth: int) -> list[Any]:
    values = value.get("values") if isinstance(value, Mapping) else value
    return [plain_value(item, depth) for item in values] if isinstance(values, list) else []


def _object(value: Any, depth: int) -> dict[str, Any]:
    return _pairs(value.get("values") if isinstance(value, Mapping) else value, depth)


def _integer(value: Any, depth: int) -> Any:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _number(value: Any, depth: int) -> Any:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _bytes(value: Any, depth: int) -> Any:
    # No convention has attributes of type bytes. They are decoded to text, which reports can show.
    try:
        return base64.b64decode(value).decode()
    except (binascii.Error, ValueError, TypeError):
        return value if isinstance(value, str) else None


def _same(value: Any, depth: int) -> Any:
    return value


_KINDS = {
    # opentelemetry/proto/common/v1/common.proto, `AnyValue`, in camelCase (JSON) and snake_case (Python).
    "stringValue": _same,
    "string_value": _same,
    "boolValue": _same,
    "bool_value": _same,
    "intValue": _integer,
    "int_value": _integer,
    "doubleValue": _number,
    "double_value": _number,
    "arrayValue": _list,
    "array_value": _list,
    "kvlistValue": _object,
    "kvlist_value": _object,
    "bytesValue": _bytes,
    "bytes_value": _bytes,
}


class _Plain(msgspec.Struct, gc=False):
    stringValue: str | msgspec.UnsetType = msgspec.UNSET  # noqa: N815
    intValue: Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)] | str | msgspec.UnsetType = msgspec.UNSET  # noqa: N815


class _Text(msgspec.Struct, gc=False):
    stringValue: str  # noqa: N815


_INTEGER = b'{"intValue"'
_decode_plain = msgspec.json.Decoder(_Plain).decode
_decode_texts = msgspec.json.Decoder(list[_Text]).decode
_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def _decoded_tolerantly(raw: bytes) -> Any:
    try:
        return plain_value(decode_json(raw))
    except InputError:
        return None


def unnested(entries: Iterable[tuple[str, Any]]) -> Any:
    """Build the object or list that dotted keys describe: `0.message.role` is in `message` of the first item."""
    root: dict[str, Any] = {}
    for key, value in entries:
        # At most 64 steps: a key with a million dots must not become a million nested objects.
        steps = key.split(".", 64)
        place = root
        for step in steps[:-1]:
            inner = place.get(step)
            if not isinstance(inner, dict):
                inner = place[step] = {}
            place = inner
        place.setdefault(steps[-1], value)
    return _listed(root)


def by_number(digits: str) -> tuple[int, str]:
    """Return a sort key for decimal numbers of any length. int() is not used: it refuses more than 4,300 digits."""
    plain = digits.lstrip("0")
    return len(plain), plain


def _listed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [_listed(value[key]) for key in sorted(value, key=by_number)]
    return {key: _listed(item) for key, item in value.items()}


CASE = "rightcall.case.id"
"""The attribute, and the key of the metadata, with the id of a case."""
REPEAT = "rightcall.repeat"
"""The attribute with the number of a repeat."""
CASES = ("case_id", "task_id", "eval_id", "instance_id")
"""Other names for the id of a case."""
REPEATS = ("repeat", "trial", "epoch")
"""Other names for the number of a repeat, which is `repeat` in the metadata."""
SCORES = ("reward", "score", "scores", "success")
"""Names of a source's own verdict. Each is kept in the metadata under its name."""
TOLD = (CASE, *CASES, REPEAT, *REPEATS, *SCORES)
"""All names for the case, the repeat and the score of a run."""
