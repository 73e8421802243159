"""Decode values as producers record them: arguments, outputs, ids, times; and the record of a call made from them."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values.decoding import decode_json, decode_text

from ._span import RawAttributes, Span

NOTHING: Any = msgspec.UNSET
"""The value of a field that was not recorded."""

REPLACED = frozenset(
    {
        # OpenInference, `OPENINFERENCE_HIDE_OUTPUTS` and its like
        "__REDACTED__",
        # ADK, `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=false`, in the content of events
        "<elided>",
        # Langfuse's and Datadog's SDKs, for values that are too large to be sent
        "<truncated due to size exceeding limit>",
        "[This value has been dropped because this span's size exceeds the 1MB size limit.]",
        "[This value has been dropped because this span's size exceeds the 5MB size limit.]",
    }
)
"""Strings that tracers write in place of any value, also of one inside a message."""
PLACEHOLDERS = REPLACED | {"<not specified>", "<not serializable>", "N/A"}
"""Strings in place of the value of an attribute; the last three are Google ADK's."""
_LONGEST_PLACEHOLDER = max(map(len, PLACEHOLDERS))

_DEEPEST = 32
_LAYERS = 3  # JSON text inside JSON text: with several instrumentations, arguments may be encoded twice
SCRUBBED = "[Scrubbed due to "
"""The beginning of the text with which Logfire replaces values that may be secrets."""

_MODEST = 1_000_000
_decode = msgspec.json.Decoder().decode


INVALID = "INVALID_JSON"
"""The only key of the object that Pydantic AI records instead of arguments that it could not parse."""


RAW = "_raw"
"""The only key of the object that OpenLLMetry records instead of arguments of OpenAI Agents that it could not parse."""


class UnparsableError(ValueError):
    """Recorded arguments are a string that is neither JSON nor a Python literal."""


def arguments(value: Any, limits: Limits = DEFAULT_LIMITS) -> Any:
    """Decode recorded arguments, usually to an object.

    Raises:
        UnparsableError: the text is neither JSON nor a Python literal, or Pydantic AI has marked it so.
    """
    layer = 0
    while value.__class__ is str and layer < _LAYERS:
        layer += 1
        try:
            small = len(value) <= 2 * limits.depth or _is_modest(value, limits)
            value = _decode(value) if small else decode_text(value, limits)
        except (msgspec.DecodeError, UnicodeError, InputError):
            value = _decoded_slowly(value, limits)
    if value.__class__ is dict and len(value) == 1 and (INVALID in value or _is_raw(value.get(RAW))):
        raise UnparsableError("a string, which is not JSON, in place of the arguments")
    return value


def _is_raw(text: Any) -> bool:
    if text.__class__ is not str:
        return False
    try:
        _decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return True
    return False


def outcome(value: Any, limits: Limits = DEFAULT_LIMITS, encoded: bool = False, keeps_quotes: bool = False) -> Any:
    """Decode a recorded output.

    A string is decoded only if it is an object or a list; a quoted string loses its quotes, unless it `keeps_quotes`.
    With `encoded`, the producer writes every value as JSON, so numbers and null are decoded as well.
    """
    layer = 0
    while value.__class__ is str and layer < _LAYERS:
        layer += 1
        first = value[:1]
        if first.isspace():
            first = value.lstrip()[:1]
        if first == "{" or first == "[":
            try:
                small = len(value) <= 2 * limits.depth or _is_modest(value, limits)
                return _decode(value) if small else _slow_value_or_text(value, limits)
            except (msgspec.DecodeError, UnicodeError):
                return _slow_value_or_text(value, limits)
        # `21.5` may be a string that the tool returned; it is a number only if the producer encodes every value.
        if keeps_quotes or (first != '"' and not encoded):
            return value
        inner = _json_or_text(value, limits)
        if inner is value:
            return value
        value, encoded = inner, False
    return value


def is_scrubbed(value: Any) -> bool:
    """Whether Logfire replaced something inside a recorded value before it was exported."""
    if value.__class__ is str:
        return SCRUBBED in value
    return value.__class__ in (dict, list) and SCRUBBED in str(value)


def is_placeholder(text: str) -> bool:
    """Whether a tracer or a framework wrote a string in place of the value of an attribute."""
    # The length first: values may be megabytes, and looking one up would hash it.
    return len(text) <= _LONGEST_PLACEHOLDER and text in PLACEHOLDERS


def is_replaced(value: Any) -> bool:
    """Whether a tracer wrote a string in place of a value."""
    return value.__class__ is str and len(value) <= _LONGEST_PLACEHOLDER and value in REPLACED


def is_cut(value: Any) -> bool:
    """Whether a recorded value is a string that ends inside an object or list, of JSON or as Python shows it.

    SDKs cut off attributes that are too long (OpenTelemetry, "Attribute Limits") and leave no mark. Of a plain string
    this cannot be seen, only that it ends where others were cut off.
    """
    if value.__class__ is not str or len(value) < _SHORTEST:
        return False
    opened = value[:1] in _OPENED_BY and _BEGINS.match(value)
    if not opened:
        return False
    try:
        _decode(value.rstrip(_ELLIPSIS))
    except msgspec.DecodeError as problem:
        return str(problem) == _TRUNCATED or (value[0] != '"' and _never_closes(value, opened.end() - 1))
    except (UnicodeError, RecursionError):
        return False
    return False


_SHORTEST = 32
"""The length from which a string may have been cut off. No limit is shorter, and strings such as `[` are whole."""
USUAL_LIMITS = frozenset({1024, 2048, 4095, 4096, 8192, 32_768, 65_535, 65_536})
"""Lengths at which servers cut off strings of spans: Elastic 1024, Tempo 2048, New Relic 4095, Application Insights
8192, and others at a power of two. One such string does not prove it, but nothing else would show it."""


def may_be_cut(value: Any) -> bool:
    """Whether a recorded value is a string that was cut off, or has a length at which strings often are."""
    return value.__class__ is str and (len(value) in USUAL_LIMITS or is_cut(value))


def _never_closes(text: str, start: int) -> bool:
    """Whether a bracket is not closed, neither if single quotes are quotes nor if they are apostrophes."""
    return all([_is_open_at_end(pieces.finditer(text, start)) for pieces in (_PIECES, _PIECES_OF_PYTHON)])


def _is_open_at_end(pieces: Iterable[re.Match[str]]) -> bool:
    depth = 0
    for piece in pieces:
        found = piece[0]
        depth += (found in _OPENING) - (found in _CLOSING)
        if depth == 0:
            return False
    return True


_OPENING, _CLOSING = frozenset("[{("), frozenset("]})")
_OPENED_BY = frozenset('"{[_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz')
_BEGINS = lazy_pattern(r'["{\[]|[A-Za-z_][\w.]{0,99}\((?=[A-Za-z_]\w*=)')
"""What JSON begins with, and an object that Python shows: `Room(price=10, …`."""
_PIECES = lazy_pattern(r'[\[\]{}()]|"(?:[^"\\]|\\.)*(?:"|$)', re.S)
_PIECES_OF_PYTHON = lazy_pattern(r"""[\[\]{}()]|"(?:[^"\\]|\\.)*(?:"|$)|'(?:[^'\\]|\\.)*(?:'|$)""", re.S)
_ELLIPSIS = " .\u2026"
_TRUNCATED = "Input data was truncated"
"""What msgspec says of a string that is the beginning of JSON."""


def _decoded_slowly(text: str, limits: Limits) -> Any:
    try:
        return decode_text(text, limits)
    except InputError:
        raise UnparsableError from None


def _is_modest(text: str, limits: Limits) -> bool:
    """Whether a string is certainly within the limits, so that msgspec can decode it without further checks."""
    # Each level takes an opening and a closing character, so callers skip this for strings of up to twice the depth.
    return len(text) <= _MODEST and text.count("{") + text.count("[") <= limits.depth


def _slow_value_or_text(text: str, limits: Limits) -> Any:
    try:
        value = decode_text(text, limits)
    except InputError:
        return text
    return value if value.__class__ in (dict, list) else text


def _json_or_text(text: str, limits: Limits) -> Any:
    try:
        return decode_json(text, limits)
    except InputError:
        return text


def same_but_nulls(first: Any, second: Any) -> bool:
    """Whether two values are equal, ignoring members that are null, which Phoenix drops."""
    return bool(first == second) or bool(_without_nulls(first, 0) == _without_nulls(second, 0))


def _without_nulls(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        return value
    if value.__class__ is dict:
        return {key: _without_nulls(held, depth + 1) for key, held in value.items() if held is not None}
    return [_without_nulls(held, depth + 1) for held in value] if value.__class__ is list else value


_HEX = lazy_pattern(r"[0-9a-fA-F]+\Z")
_ISO = lazy_pattern(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?\s*(Z|UTC|[+-]\d\d:?\d\d)?\Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Ids have 8 and 16 bytes (W3C Trace Context, sections 3.2.2.3 and 3.2.2.4); all zeros mean that there is none.
_HEX_LENGTHS = (16, 32)
_BASE64_LENGTHS = (12, 24)


def span_id(value: Any) -> str | None:
    """Return an id as lower-case hexadecimal digits, or unchanged if it is not hexadecimal; None if absent or all zero.

    OTLP/JSON has hexadecimal digits (OTLP specification, "JSON Protobuf Encoding"), plain protobuf JSON has base64,
    SDKs write `0x` and digits, and some exports have ids of another kind (`span_…`).
    """
    if value.__class__ is str and len(value) in _HEX_LENGTHS and value.isalnum():
        return value.lower() if value.strip("0") else None
    if not value:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:016x}" if value else None
    if isinstance(value, bytes):
        return value.hex() if any(value) else None
    if not isinstance(value, str) or not value:
        return None
    # The base64 of 8 or 16 bytes is padded, and may begin with any two characters, even `0x`.
    if len(value) in _BASE64_LENGTHS and value.endswith("="):
        text = _from_base64(value)
    else:
        text = value[2:] if value.startswith("0x") else value
    if not text.strip("0"):
        return None
    return text.lower() if _HEX.match(text) else text


def nanoseconds(value: Any, unit: int = 1) -> int | None:
    """Return a time in nanoseconds since 1970, from a number (or digits) of `unit` nanoseconds, or an ISO 8601 text.

    None if there is no time, or one of an unknown format.
    """
    # 40 digits: int() takes quadratic time in their number, and 20 are more than any clock needs.
    if value.__class__ is str and value.isdecimal() and len(value) <= 40:
        return int(value) * unit
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value * unit
    if isinstance(value, float):
        return int(value * unit) if -1e300 < value < 1e300 else None
    if isinstance(value, datetime):
        return _from_datetime(value)
    if not isinstance(value, str):
        return None
    if value[:1] == "-" and value[1:].isdecimal() and len(value) <= 40:
        return int(value) * unit
    return _from_iso(value)


def _from_base64(text: str) -> str:
    import base64  # most exporters write hexadecimal digits

    try:
        return base64.b64decode(text, validate=True).hex()
    except (binascii.Error, ValueError):
        return text


def _from_datetime(value: datetime) -> int:
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    since = aware - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000


def _from_iso(text: str) -> int | None:
    found = _ISO.match(text.strip())
    if not found:
        return None
    day, clock, fraction, zone = found.groups()
    zone = "+00:00" if zone in (None, "Z", "UTC") else zone
    try:
        whole = datetime.fromisoformat(f"{day}T{clock}{zone}")
    except ValueError:
        return None
    return _from_datetime(whole) + int((fraction or "0").ljust(9, "0"))


_PLACE = lazy_pattern(r"[_.:-]?[0-9]+")
ITEM = "fc_"
"""Prefix of ids of items in OpenAI's Responses API. OpenLLMetry records them instead of ids of calls (`call_…`), since
0.62 only in prompts."""


class CallRecord(msgspec.Struct, eq=False):
    """What is known about one call so far. Fields that were not recorded hold `NOTHING` or None."""

    name: str
    span: Span | None = None
    convention: str = ""
    layers: tuple[str, ...] = ()
    """The instrumentations that recorded the call."""
    args: Any = NOTHING
    bare: Any = NOTHING
    """The value of an argument whose name was not recorded."""
    unparsable: bool = False
    cut_at: int = 0
    """The length of its arguments or its output, if these are a string that was cut off."""
    output: Any = NOTHING
    has_lost: bool = False
    """Whether its output was cut off or dropped: a call that failed may have one, too."""
    error: str | None = None
    failed: bool = False
    call_id: str | None = None
    tool_id: str | None = None
    agent: str | None = None
    parent: CallRecord | None = None
    under: str | None = None
    """The id of the nearest span of a call, an agent or a model around this one."""
    within: str | None = None
    """The same; if there is none, the id of the outermost span around it, which may be missing from the file."""
    is_parent_known: bool = True
    """Whether it is known which call made this one, or that none did."""
    is_begun: bool = True
    """Whether it is known when the call started. It is not if a span around its own may be a call, too."""
    is_placed: bool = True
    """Whether it is known which span is inside which in the trace of the call."""
    group: str | None = None
    turn: int | None = None
    order: int = -1
    """Its position among the requests of the model; -1 if unknown."""
    asked_ns: int | None = None
    """When the model was asked for the message with the call. It orders calls that are only in messages."""
    answered_ns: int | None = None
    """When the model returned that message."""
    is_told_later: bool = False
    """Whether a later prompt is the first to have the request, not the answer that made it."""
    joined: bool = False
    """Whether a span was found for the request."""
    unread: str = ""
    """A description of the span or message, if it may be a call but was not understood; otherwise empty."""
    is_doubtful: bool = False
    """Whether another span may be the same call or a second one, and what would decide it was not recorded."""
    withheld: str = ""
    """Why the call was requested but not made; empty if it was made."""
    is_asked: bool = False
    """Whether a person was, or may have been, asked about the call, and answered."""
    of_user: bool = False
    """Whether a simulated user made the call, not the agent."""
    format: str = ""
    """The format of the message that asks for the call."""
    step: int | None = 0
    """The step of the message that asks for the call; calls of one step were requested at once. None if unknown."""
    caller: str | None = None
    """The id of the call whose code made this one."""

    @property
    def is_open(self) -> bool:
        """Whether the call has neither an output, nor an error, nor a reason why it was not made."""
        return self.output is NOTHING and not self.failed and not self.withheld

    def fill(self, other: CallRecord) -> None:
        """Fill the gaps from another record of the same call."""
        if self.args is NOTHING:
            self.args = other.args
        if self.bare is NOTHING:
            self.bare = other.bare
        self.cut_at = self.cut_at or other.cut_at
        if self.output is NOTHING:
            self.output = other.output
        self.call_id = self.call_id or other.call_id
        self.tool_id = self.tool_id or other.tool_id
        self.agent = self.agent or other.agent
        self.error = self.error or other.error
        self.failed = self.failed or other.failed
        self.group = self.group or other.group
        self.turn = other.turn if self.turn is None else self.turn
        # The layers of both are kept, so that a further span of one of them counts as another call.
        self.layers = (*self.layers, *other.layers)
        self.is_doubtful = self.is_doubtful or other.is_doubtful


def have_different_ids(first: CallRecord, second: CallRecord) -> bool:
    """Whether the ids of two records with one name show that they are two calls.

    If a model gives no ids, instrumentations make them up from the tool's name and a number, such as `search_0`. Such
    an id, and that of an item (`ITEM`), cannot be compared with one of another kind.
    """
    if not first.call_id or not second.call_id or first.call_id == second.call_id:
        return False
    # One call may have an id of the model and another made up; but two different ids of one kind are two calls.
    is_of_item = first.call_id.startswith(ITEM)
    return is_of_item == second.call_id.startswith(ITEM) and has_made_up_id(first) == has_made_up_id(second)


def has_made_up_id(record: CallRecord) -> bool:
    """Whether the id of a call is made up: the tool's name and a number."""
    call_id, name = record.call_id or "", record.name
    return bool(name) and call_id.startswith(name) and _PLACE.fullmatch(call_id, len(name)) is not None


def object_in(value: Any) -> Mapping[str, Any]:
    """Return an object, decoded if it is JSON text as in exports of trace servers; empty if it is not an object."""
    if isinstance(value, str) and value[:1] == "{":
        try:
            value = decode_json(value)
        except InputError:
            return {}
    return value if isinstance(value, Mapping) else {}


_OF_MESSAGES = frozenset({"message", "role", "content", "parts", "tool_calls", "tool_call_id"})
"""Keys of messages; every message has at least one of them."""
_CHOICE = "gen_ai.choice"


def event_body(name: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of an event; if an attribute has it, or the message in it, as JSON text, it is decoded."""
    found = dict(body)
    # Attributes of span events are flat. Azure's SDKs write the whole body into one of them.
    for key in ("gen_ai.event.content", "message"):
        value = found.get(key)
        inner = _json_or_text(value, DEFAULT_LIMITS) if isinstance(value, str) and value[:2] == '{"' else None
        if isinstance(inner, dict) and not _OF_MESSAGES.isdisjoint(inner):
            found = {**found, key: inner} if key == "message" else inner
    message = found.get("message")
    if name == _CHOICE and isinstance(message, dict):
        # OpenTelemetry GenAI, "Event: gen_ai.choice": the role is left out if it is `assistant`.
        found["message"] = {"role": "assistant", **message}
    return found


_AROUND = '{"stringValue":""}'
"""What OTLP writes around a string."""


def cut_lengths(
    texts: Sequence[Any],
    recorded: Iterable[Mapping[str, Any]],
    cut_at: Sequence[int] = (),
    usual: frozenset[int] = USUAL_LIMITS,
) -> frozenset[int]:
    """Return the lengths at which strings of a run were cut off; empty if nothing shows that one was.

    A limit has the same length for all strings. JSON that ends inside of an object shows it; a plain string of that
    length was cut off as well, or just fits. A length that is a `usual` limit shows it if no string is longer.

    Args:
        texts: The outputs and answers of the run; those that are not strings do not count.
        recorded: The attributes of all its spans.
        cut_at: The lengths of arguments that are known to have been cut off.
        usual: The usual limits.
    """
    shown = [*cut_at, *[len(text) for text in texts if is_cut(text)]]
    if shown:
        return frozenset([length for length in shown if length >= _SHORTEST])
    longest = max([len(text) for text in texts if text.__class__ is str], default=0)
    is_limit = longest >= _SHORTEST and _is_limit(longest, recorded, longest in usual)
    return frozenset([longest]) if is_limit else frozenset()


def _is_limit(length: int, recorded: Iterable[Mapping[str, Any]], shows: bool) -> bool:
    """Whether a string of this length ends inside of JSON, unless that is known; and no string is longer."""
    for attributes in recorded:
        for held in _texts_of(attributes, length):
            if len(held) > length:
                return False
            shows = shows or (len(held) == length and is_cut(held))
    return shows


def _texts_of(attributes: Any, least: int) -> Iterator[str]:
    """Yield the strings in the attributes of a span, but not all that are shorter than `least`."""
    if attributes.__class__ is RawAttributes:
        least += len(_AROUND)
        long = [key for key, place in attributes.places.items() if len(attributes.held[place].value) >= least]
        values: Iterable[Any] = map(attributes.get, long)
    else:
        values = attributes.values()
    yield from (held for held in values if held.__class__ is str)
