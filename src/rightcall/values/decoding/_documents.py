"""Files that people write: YAML or JSON."""

from __future__ import annotations

from rightcall.errors import DocumentError
from rightcall.limits import DEFAULT_LIMITS, Limits

from ._located import Document
from ._located_json import decode_located_json
from ._located_yaml import decode_located_yaml


def decode_document(data: str | bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """The document that a text in YAML or JSON stands for, with the line and column of everything in it.

    Raises:
        DocumentError: the text is neither, names a key twice, or exceeds the limits.
    """
    if len(data) > limits.text_bytes:
        raise DocumentError(f"a text of {len(data):,} bytes exceeds the limit of {limits.text_bytes:,}", 1, 1)
    text = _text(data).removeprefix("\ufeff")
    if not text.lstrip().startswith(("{", "[")):
        return decode_located_yaml(text, limits)
    try:
        return decode_located_json(text, limits)
    except DocumentError as problem:
        return _flow_yaml(text, limits, problem)


def _text(data: str | bytes) -> str:
    if isinstance(data, str):
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise DocumentError("the text is not UTF-8", line, 1) from None


def _flow_yaml(text: str, limits: Limits, problem: DocumentError) -> Document:
    """What begins like JSON may be YAML all the same; if it is neither, it is JSON gone wrong."""
    try:
        return decode_located_yaml(text, limits)
    except DocumentError:
        raise problem from None
