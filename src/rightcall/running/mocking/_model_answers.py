"""What models answered: kept with what they were asked, and given again without a network."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import msgspec
from msgspec import UNSET

from rightcall.errors import MockError, shown
from rightcall.running.tracing import propagate, thread_patches
from rightcall.values.decoding import dump_json
from rightcall.values.redaction import redacted_text, redacted_value

from ._model_requests import ModelRequest, difference, likeness

_TRY_AGAIN = (408, 409, 429)
_TRUE, _FALSE, _NAN = object(), object(), object()


class ModelAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The response of a model: its status, and its body as JSON, as text (the events of a stream) or as bytes."""

    status: int = 200
    type: str = "application/json"
    body: Any = UNSET
    text: str | msgspec.UnsetType = UNSET
    data: bytes | msgspec.UnsetType = UNSET
    """What is not text, such as the event streams of Bedrock; base64 in a file."""

    @classmethod
    def of(cls, status: int, kind: str, content: bytes) -> ModelAnswer:
        """Return a response without secrets. Of its headers only the type of the content is kept."""
        kind = kind.partition(";")[0].strip() or "application/json"
        text = content.decode("utf-8", "replace")
        clean = redacted_text(text)
        if "\ufffd" in text and clean == text:
            return cls(status=status, type=kind, data=content)
        if kind.endswith("json"):
            try:
                return cls(status=status, type=kind, body=redacted_value(msgspec.json.decode(content)))
            except (msgspec.DecodeError, UnicodeDecodeError):
                pass  # an error page that calls itself JSON
        return cls(status=status, type=kind, text=clean)

    @property
    def content(self) -> bytes:
        """The body as bytes."""
        if self.data is not UNSET:
            return self.data
        return self.text.encode() if self.text is not UNSET else dump_json(self.body).encode()

    @property
    def headers(self) -> dict[str, str]:
        """The headers to respond with. A client that may try again need not wait: nothing has to recover."""
        headers = {"content-type": self.type}
        if self.status in _TRY_AGAIN or self.status >= 500:
            headers["retry-after-ms"] = "1"
        return headers


class RecordedModelCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One request of one case to a model, with its answer."""

    case: str
    request: ModelRequest
    answer: ModelAnswer

    def line(self, before: RecordedModelCall | None = None) -> str:
        """Return the call as a line of JSON, without what is the same as in the call of the case before it.

        Each request of a conversation repeats all messages so far. Written once, a person can review them.
        """
        written = msgspec.to_builtins(self)
        request = written["request"]
        if before is not None:
            earlier = before.request
            shared = _shared(earlier.messages, self.request.messages)
            if shared:
                request["shared"] = shared
                request["messages"] = self.request.messages[shared:]
            if earlier.tools == self.request.tools:
                del request["tools"]
        return dump_json(written) + "\n"


def expanded(written: Any, before: RecordedModelCall | None) -> Any:
    """Return a line of a recording as it was before `line` shortened it."""
    request = written.get("request") if isinstance(written, dict) else None
    if before is None or not isinstance(request, dict):
        return written
    shared = request.pop("shared", 0)
    messages = [*before.request.messages[: shared if isinstance(shared, int) else 0], *request.get("messages", [])]
    return {**written, "request": {"tools": before.request.tools, **request, "messages": messages}}


def _shared(earlier: Sequence[Any], later: Sequence[Any]) -> int:
    count = 0
    while count < min(len(earlier), len(later)) and earlier[count] == later[count]:
        count += 1
    return count


class ModelTap(Protocol):
    """Something that stands between an agent and its model."""

    def answer(self, request: ModelRequest) -> ModelAnswer | None:
        """Return the answer to a request; None to ask the model itself."""

    def keep(self, request: ModelRequest, answer: ModelAnswer) -> None:
        """Take note of what the model itself answered."""

    def see_connection(self, host: str) -> None:
        """Take note that the agent connects to a provider by itself. Raises `MockError` if it must not."""


model_tap: ContextVar[ModelTap | None] = ContextVar("rightcall_model_tap", default=None)
"""What stands between the agent and its model in this context, if anything."""
propagate(model_tap)


@contextmanager
def tapping_models(tap: ModelTap) -> Iterator[None]:
    """Have a tap answer, or note, requests to models, in this context and in the threads and tasks it starts."""
    from ._http_clients import tap_http_clients

    tap_http_clients()
    with thread_patches:
        token = model_tap.set(tap)
        try:
            yield
        finally:
            model_tap.reset(token)


class ModelRecorder:
    """A tap that asks the model itself, and keeps what it answers."""

    def __init__(self, case: str) -> None:
        self._case = case
        self._lock = threading.Lock()
        self._entries: list[RecordedModelCall] = []

    @property
    def entries(self) -> tuple[RecordedModelCall, ...]:
        """The calls so far, in the order in which they ended."""
        with self._lock:
            return tuple(self._entries)

    def answer(self, request: ModelRequest) -> None:
        """Return nothing: the model is asked."""

    def keep(self, request: ModelRequest, answer: ModelAnswer) -> None:
        """Keep an answer, also one that says that the model is busy or broken."""
        if request.is_telemetry:
            return
        with self._lock:
            self._entries.append(RecordedModelCall(case=self._case, request=request, answer=answer))

    def see_connection(self, host: str) -> None:
        """Do nothing: models are asked."""


class ModelReplay:
    """A tap that answers from a recording; each entry answers once, in order among equal requests.

    Where no entry is equal, one that differs only in dates, times, UUIDs and addresses of memory answers.
    """

    def __init__(self, case: str, entries: Iterable[RecordedModelCall]) -> None:
        self._case = case
        self._entries = tuple(entries)
        self._lock = threading.Lock()
        self._used: set[int] = set()
        self._exact: dict[Hashable, deque[int]] = {}
        self._masked: dict[Hashable, deque[int]] = {}
        for place, entry in enumerate(self._entries):
            self._exact.setdefault(_key(entry.request), deque()).append(place)
            self._masked.setdefault(_key(entry.request.masked()), deque()).append(place)
        self._problems: list[MockError] = []

    @property
    def problems(self) -> tuple[MockError, ...]:
        """The requests that could not be answered. Each is an error of the case, even if the agent handled it."""
        with self._lock:
            return tuple(self._problems)

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """Return the recorded answer, or one that says that there is none.

        Its status is 400, so that no client tries again. What asks no model is taken, and goes nowhere.
        """
        if request.is_telemetry:
            return ModelAnswer(body={})
        with self._lock:
            place = self._next(self._exact, request)
            place = self._next(self._masked, request.masked()) if place is None else place
            if place is not None:
                self._used.add(place)
                return self._entries[place].answer
            problem = MockError(self._message(request))
            self._problems.append(problem)
        error = {"message": f"RC508 model-not-recorded: {problem}", "type": "rightcall", "code": 400}
        return ModelAnswer(status=400, body={"type": "error", "error": error})

    def keep(self, request: ModelRequest, answer: ModelAnswer) -> None:
        """Do nothing: no model is asked."""

    def see_connection(self, host: str) -> None:
        """Refuse it: a client that is not tapped would ask the model itself."""
        problem = MockError(
            f"the agent connects to {shown(host)} by a client that is neither recorded nor replayed (known are httpx, "
            "aiohttp, requests, urllib3 and urllib); mock what it does, or ask the real model with --live model"
        )
        with self._lock:
            self._problems.append(problem)
        raise problem

    def _next(self, index: dict[Hashable, deque[int]], request: ModelRequest) -> int | None:
        left = index.get(_key(request), deque())
        while left:
            place = left.popleft()
            if place not in self._used:
                return place
        return None

    def _message(self, request: ModelRequest) -> str:
        asked = f"the request to {shown(request.model or request.api)}"
        remedy = "record the case again with --record, or ask the real one with --live model"
        if not self._entries:
            return f"{asked} is not in the recording of {shown(self._case)}, which has none to a model; {remedy}"
        number, nearest = max(enumerate(self._entries, 1), key=lambda one: likeness(one[1].request, request))
        return (
            f"{asked} is not in the recording of {shown(self._case)}; the nearest, number {number}, differs in "
            f"{difference(nearest.request, request)}; {remedy}"
        )


def _key(request: ModelRequest) -> Hashable:
    return equality_key(msgspec.structs.asdict(request))


def equality_key(value: Any) -> Hashable:
    """Return a hashable key of a JSON value; two keys are equal exactly if evaluators find the values equal."""
    if isinstance(value, dict):
        return frozenset([(key, equality_key(item)) for key, item in value.items()])
    if isinstance(value, list):
        return tuple([equality_key(item) for item in value])
    if isinstance(value, bool):
        # In Python `True == 1`, and both hash alike; in JSON they are two values (RFC 8259, section 3).
        return _TRUE if value else _FALSE
    # NaN differs from itself, so without a key of its own a recorded NaN would never be found.
    return _NAN if value != value else value
