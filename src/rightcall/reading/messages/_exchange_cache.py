"""Read the messages of spans as exchanges, each message once, however often prompts repeat it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from copy import copy
from typing import Any

import msgspec

from rightcall.errors import InputError
from rightcall.reading.spans import unnested
from rightcall.values.decoding import decode_json

from ._message_exchange import Exchange, exchange_of, has_messages, messages_of, no_message
from ._parts import is_step, part_of
from ._unknown_calls import sign_of

_WRAPPINGS = ("messages", "contents")
_pieces_in = msgspec.json.Decoder(list[msgspec.Raw]).decode
_members_in = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class ExchangeCache:
    """The exchanges of one run, cached by the bytes of their messages.

    A prompt repeats the whole conversation so far, so n model calls hold the first message n times: reading each would
    be quadratic. Splitting a list into undecoded messages and looking them up costs a fraction of decoding them.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, Exchange] = {}

    def in_text(self, text: str) -> list[Exchange]:
        """Return the exchanges of messages in JSON text; none if it is not JSON."""
        pieces = _messages_in(text)
        if pieces is not None:
            return [self._of_piece(piece) for piece in pieces if piece.startswith(b"{")]
        try:
            return self.of(decode_json(text))
        except InputError:
            return []

    def of(self, document: Any) -> list[Exchange]:
        """Return the exchanges of decoded messages; none if they are neither a list nor an object."""
        if not isinstance(document, (list, dict)):
            return []
        found = [_read(message) for message in messages_of(document) if isinstance(message, dict)]
        return found if len(found) > 1 else unless_others(found)

    def of_leaves(self, names: tuple[str, ...], raw: tuple[bytes, ...], values: Iterable[Any]) -> Exchange:
        """Return the exchange of a message given leaf by leaf: paths, undecoded values, decoded values."""
        key = (names, raw)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _read(unnested(zip(names, values, strict=True)))
        return known

    def _of_piece(self, piece: bytes) -> Exchange:
        known = self._known.get(piece)
        if known is None:
            known = self._known[piece] = _read(decode_json(piece))
        return known


def unless_others(said: list[Exchange]) -> list[Exchange]:
    """Return the exchanges; if none is a message, doubts remain only about objects that look like a call.

    Attributes of models hold other things than messages, too, and those have no format.
    """
    if has_messages([exchange.message for exchange in said]):
        return said
    return [_as_object(exchange) if exchange.unread else exchange for exchange in said]


def _as_object(exchange: Exchange) -> Exchange:
    found = copy(exchange)
    found.unread = sign_of(exchange.message)
    return found


def _messages_in(text: str) -> list[bytes] | None:
    """Return the undecoded messages in a JSON text; None if the text has to be decoded to find them."""
    try:
        first = text[:1]
        if first == "{":
            return _wrapped_messages(text)
        pieces = [bytes(piece) for piece in _pieces_in(text)] if first == "[" else None
        if pieces is not None and len(pieces) == 1 and pieces[0].startswith(b"["):
            pieces = [bytes(piece) for piece in _pieces_in(pieces[0])]
            return None if len(pieces) == 1 and pieces[0].startswith(b"[") else pieces
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return pieces


def _wrapped_messages(text: str) -> list[bytes] | None:
    members = _members_in(text)
    key = next((key for key in _WRAPPINGS if key in members), None)
    if key is None:
        return None
    held = members.pop(key)
    wrapper = {name: msgspec.json.decode(member) for name, member in members.items()}
    if part_of({**wrapper, key: []}) is not None or is_step(wrapper):
        return None
    pieces = _messages_in(bytes(held).decode())
    return pieces if pieces and all([piece.startswith((b"{", b"[")) for piece in pieces]) else None


def _read(message: Any) -> Exchange:
    if any([isinstance(key, str) and "." in key for key in message]):
        message = _undotted(message)
    # Keys that look like positions make a list, not a message.
    return exchange_of(message) if isinstance(message, dict) else no_message(message)


def _undotted(value: Any) -> Any:
    # Phoenix's dataframe: [{"message.role": …, "message.tool_calls": [{"tool_call.id": …}]}].
    if isinstance(value, list):
        return [_undotted(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "event.name" in value:
        return value
    return unnested((str(key), _undotted(item)) for key, item in value.items())
