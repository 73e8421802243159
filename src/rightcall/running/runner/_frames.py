"""What a worker and its parent say to each other: frames of JSON, each after its length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rightcall.errors import InputError, RightcallError
from rightcall.limits import DEFAULT_LIMITS
from rightcall.values.decoding import admit, dump_json, load_json

LONGEST = DEFAULT_LIMITS.text_bytes
_HEAD = 4


def plain(message: Any) -> Any:
    """A message as plain data, whatever an agent left in it.

    Values of classes of their own, such as text that is a subclass of `str`, become what they are at bottom; of what
    JSON has nothing for, the class is told.
    """
    return msgspec.to_builtins(message, enc_hook=_plain_value)


def _plain_value(value: Any) -> Any:
    try:
        return admit(value, opened=True)
    except RightcallError:
        return f"<{type(value).__name__}>"


def frame(message: Any) -> bytes:
    """A message as it is sent.

    Raises:
        InputError: it is longer than a message may be.
    """
    body = dump_json(message).encode()
    if len(body) > LONGEST:
        raise InputError(f"{len(body):,} bytes, and the limit is {LONGEST:,}")
    return len(body).to_bytes(_HEAD, "big") + body


class Frames:
    """Messages as they arrive, in pieces of any size."""

    def __init__(self) -> None:
        self._held = bytearray()

    def add(self, data: bytes) -> Iterator[Any]:
        """The messages that are complete with this piece.

        Raises:
            InputError: the bytes are no message.
        """
        self._held += data
        while len(self._held) >= _HEAD:
            length = int.from_bytes(self._held[:_HEAD], "big")
            if length > LONGEST:
                raise InputError(f"a message of {length:,} bytes")
            if len(self._held) < _HEAD + length:
                return
            body = bytes(self._held[_HEAD : _HEAD + length])
            del self._held[: _HEAD + length]
            yield load_json(body)
