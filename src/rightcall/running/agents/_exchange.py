"""What is said to agents outside this process, and how their answers are understood: JSON both ways."""

from __future__ import annotations

import json
import secrets
from typing import Any

from rightcall.errors import InputError
from rightcall.limits import Limits
from rightcall.values.decoding import decode_json

from ._agent import Answer, Request

_ENVELOPE = {"output", "messages", "spans"}


def request_json(request: Request) -> bytes:
    """A request as JSON: an object with `input`, `case_id`, `turn`, `run`, `session` and `traceparent`."""
    said = {name: getattr(request, name) for name in ("input", "case_id", "turn", "run", "session", "traceparent")}
    return json.dumps(said, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")


def answer_from(body: bytes, documents: tuple[bytes, ...], max_bytes: int) -> Answer:
    """The answer in what an agent wrote.

    JSON is its value, anything else is text without the white space around it, nothing is `None`. An object that has
    `output`, and besides that only `messages` or `spans`, is an answer with its parts: the output, a log of messages,
    and OTLP as JSON.
    """
    text = body.decode("utf-8", "replace").strip()
    if not text:
        return Answer(documents=documents)
    try:
        value = decode_json(text, Limits(text_bytes=max_bytes))
    except InputError:
        return Answer(output=text, documents=documents)
    if not isinstance(value, dict) or "output" not in value or set(value) - _ENVELOPE:
        return Answer(output=value, documents=documents)
    if value.get("spans") is not None:
        documents = (*documents, _dumped(value["spans"]))
    return Answer(output=value["output"], messages=value.get("messages"), documents=documents)


def traceparent_of(request: Request) -> str:
    """The trace context of a request, or a new one if it has none."""
    return request.traceparent or f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()
