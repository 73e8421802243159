"""Messages that spans carry, read as exchanges: each message once, however often prompts repeat it."""

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
    """What the messages of one run say.

    A prompt holds the whole conversation so far, so a run of n turns carries its first message n times. To know a
    message by its bytes costs a fraction of reading it.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, Exchange] = {}

    def in_text(self, text: str) -> list[Exchange]:
        """The exchanges of messages given as JSON text; none where it is no JSON."""
        pieces = _messages_in(text)
        if pieces is not None:
            return [self._of_piece(piece) for piece in pieces if piece.startswith(b"{")]
        try:
            return self.of(decode_json(text))
        except InputError:
            return []

    def of(self, document: Any) -> list[Exchange]:
        """The exchanges of messages already decoded; none where they are neither a list nor an object."""
        if not isinstance(document, (list, dict)):
            return []
        found = [_read(message) for message in messages_of(document) if isinstance(message, dict)]
        return found if len(found) > 1 else unless_others(found)

    def of_leaves(self, names: tuple[str, ...], raw: tuple[bytes, ...], values: Iterable[Any]) -> Exchange:
        """The exchange of a message given leaf by leaf: their names inside the message, their bytes, their values."""
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
    """What messages say; of objects that are not messages, only what is called like a call or is one.

    Attributes of models hold other things than messages, too, and those are in no format.
    """
    if has_messages([exchange.message for exchange in said]):
        return said
    return [_as_object(exchange) if exchange.unread else exchange for exchange in said]


def _as_object(exchange: Exchange) -> Exchange:
    found = copy(exchange)
    found.unread = sign_of(exchange.message)
    return found


def _messages_in(text: str) -> list[bytes] | None:
    """The messages in a JSON text, each undecoded; none where they have to be looked for in what is decoded."""
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
