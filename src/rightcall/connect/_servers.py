"""The supported trace servers: connect to one, pull its traces into a file, and send it verdicts as marks."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import PurePath
from typing import IO, Any, Protocol

import msgspec

from rightcall.errors import InputError, RightcallError
from rightcall.values.results import SIGNS, CaseResult, PlacedFinding

from ._address import Address, Query
from ._web import Web, without

_SERVERS = {
    "phoenix": ("_phoenix_server", "Phoenix"),
    "mlflow": ("_mlflow_server", "MLflow"),
    "langfuse": ("_langfuse_server", "Langfuse"),
    "langsmith": ("_langsmith_server", "LangSmith"),
    "tempo": ("_otlp_servers", "Tempo"),
    "jaeger": ("_otlp_servers", "Jaeger"),
    "otlp": ("_otlp_servers", "OtlpLogs"),
}
"""The module and the class of each scheme. A module is imported when an address names its server."""
SEARCHED = ("tempo", "jaeger")
"""Servers that search a time window, by default a recent one, and cannot list all of their traces."""
_NAMESPACE = uuid.UUID("6f0f4a0e-3f5a-5d0e-9a58-4b0f6a5c7d21")
"""A namespace of our own, so that the same verdict has the same id on every machine (RFC 9562, section 5.5)."""
_MOST_TEXT = 2000
"""The maximum number of characters in an explanation. Servers truncate or refuse longer ones."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict on a trace, or on a span of it."""

    id: str
    """Depends on trace, span, eval set, case and expectation only, so that sending a verdict again replaces it."""
    trace_id: str
    span_id: str | None = None
    name: str
    label: str
    """`passed`, `failed`, `not measured` or `error`."""
    score: float | None = None
    """None if there is no score: what was not measured is not zero."""
    explanation: str
    metadata: dict[str, Any]
    time_ns: int | None = None
    """When the last call ended, so that it is the same each time the verdict is sent."""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """What the verdicts of a command have in common."""

    evalset: str
    """The file of the eval set, or a name for the expectation."""
    run_id: str = ""
    link: str = ""
    """A URL for people, in which `{run}` and `{case}` are replaced."""

    @property
    def name(self) -> str:
        """The name of the verdicts on the server, such as `rightcall:shop`."""
        return f"rightcall:{PurePath(self.evalset).stem or 'expectation'}"


class TraceServer(Protocol):
    """A server that stores traces."""

    def trace_ids(self, query: Query) -> list[str]:
        """Return the ids of the traces that a query selects, oldest first."""

    def documents(self, trace_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield each whole trace, on one line, with its id. A trace that no longer exists is left out.

        So is one that the server returns only in part; then `warn` is called.
        """

    def push(self, marks: Sequence[Mark]) -> None:
        """Write verdicts, and replace those with the same ids."""


@contextmanager
def opened_server(address: Address, warn: Callable[[str], None] | None = None) -> Iterator[TraceServer]:
    """Connect to the server at an address during the block.

    Args:
        address: The server, and a place on it.
        warn: Called for each trace that is left out because the server returns only part of it; by default the first
            of them is an error.

    Raises:
        InputError: the address names an environment variable for the key that is not set.
        MissingExtraError: httpx is not installed.
    """
    module_name, class_name = _SERVERS[address.scheme]
    module = import_module(f".{module_name}", __package__)
    variables: tuple[str, ...] = getattr(module, "KEY_VARIABLES", (f"{address.scheme.upper()}_TOKEN",))
    headers, secrets, hint = _authentication(address, variables, getattr(module, "headers", _bearer))
    tenant = os.environ.get("TEMPO_TENANT") if address.scheme == "tempo" else None
    if tenant:
        headers["x-scope-orgid"] = tenant
    with Web(address, headers, secrets=secrets, missing_key=hint, warn=warn) as web:
        try:
            yield getattr(module, class_name)(web, address.place)
        except RightcallError as problem:
            # A message may quote the server, which may repeat our key in a name or anywhere else.
            problem.args = tuple([without(str(part), secrets) for part in problem.args])
            raise


def pull(
    address: Address,
    target: IO[bytes],
    seen: Callable[[int, int], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> int:
    """Write the traces at an address to a file, one per line, and return how many there are.

    Args:
        address: The server, and the query for traces.
        target: The file.
        seen: Called with the number of traces so far and in total.
        warn: Called for traces that are left out, as in `opened_server`.

    Raises:
        InputError: the server does not support the query.
        TraceServerError: a request to the server fails.
    """
    count = 0
    with opened_server(address, warn) as server:
        trace_ids = server.trace_ids(address.query)
        written: set[str] = set()
        for trace_id, document in server.documents(trace_ids):
            if trace_id in written:
                continue
            written.add(trace_id)
            target.write(document + b"\n")
            count += 1
            if seen is not None:
                seen(count, len(trace_ids))
    return count


def _authentication(
    address: Address, usual: tuple[str, ...], headers: Any
) -> tuple[dict[str, str], tuple[str, ...], str]:
    """Return the headers with the key, secrets to keep out of messages, and a hint for messages about access."""
    if address.key is not None:
        usual = tuple(address.key.split("+"))
    keys = [os.environ.get(name, "") for name in usual]
    named = " and ".join(usual)
    if not address.takes_keys:
        if address.key is not None:
            raise InputError(f"{address}: a key is not sent over plain http; leave out +http, or key=")
        return {}, (), "; over +http no key is sent"
    if all(keys):
        made = dict(headers(keys))
        return made, (*keys, *[value.rpartition(" ")[2] for value in made.values()]), f"; the key is that of {named}"
    if address.key is not None:
        raise InputError(f"{address}: no environment variable {named} with the key")
    return {}, (), f"; put its key into the environment variable {named}"


def _bearer(keys: Sequence[str]) -> dict[str, str]:
    return {"authorization": f"Bearer {keys[0]}"}


def marks_of(result: CaseResult, origin: Origin) -> list[Mark]:
    """Return the marks of one result; none if its trace has no id."""
    trajectory = result.trajectory
    if trajectory is None or not trajectory.trace_id:
        return []
    ended = max([call.end_ns for call in trajectory.calls if call.end_ns is not None], default=None)
    common: dict[str, Any] = {"trace_id": trajectory.trace_id, "time_ns": ended}
    whole = Mark(
        id=_id(origin, result, "", ""),
        name=origin.name,
        label=SIGNS[result.verdict].word.removeprefix("in "),
        score=result.score if result.verdict in ("passed", "failed") else None,
        explanation=_explained([placed.finding.message for placed in result.findings]) or _verdict_text(result),
        metadata=_metadata(result, origin, result.findings, ""),
        **common,
    )
    return [whole, *_span_marks(result, origin, common)]


def _span_marks(result: CaseResult, origin: Origin, common: dict[str, Any]) -> Iterator[Mark]:
    for (span_id, expectation), placed in _by_span(result).items():
        yield Mark(
            id=_id(origin, result, span_id, expectation),
            span_id=span_id,
            name=f"{origin.name}:{expectation}",
            label=_label(placed),
            explanation=_explained([each.finding.message for each in placed]),
            metadata=_metadata(result, origin, placed, expectation),
            **common,
        )


def _by_span(result: CaseResult) -> dict[tuple[str, str], list[PlacedFinding]]:
    """Return the findings about a call, by the span of the call and the expectation."""
    calls = result.trajectory.calls if result.trajectory is not None else ()
    found: dict[tuple[str, str], list[PlacedFinding]] = {}
    for placed in result.findings:
        actual = placed.finding.actual
        span_id = calls[actual.position].span_id if actual is not None and actual.position < len(calls) else None
        if span_id is not None:
            found.setdefault((span_id, placed.expectation), []).append(placed)
    return found


def _label(placed: list[PlacedFinding]) -> str:
    """Return the most serious verdict of findings: codes below RC300 are failures, below RC400 not measured."""
    codes = [each.finding.code for each in placed]
    if any([code < "RC300" for code in codes]):
        return "failed"
    return "not measured" if any([code < "RC400" for code in codes]) else "error"


def _id(origin: Origin, result: CaseResult, span_id: str, expectation: str) -> str:
    trace_id = result.trajectory.trace_id if result.trajectory is not None else ""
    parts = [trace_id, span_id, PurePath(origin.evalset).name, result.case_id, expectation]
    return str(uuid.uuid5(_NAMESPACE, msgspec.json.encode(parts).decode()))


def _metadata(result: CaseResult, origin: Origin, placed: Any, expectation: str) -> dict[str, Any]:
    values = {
        "case": result.case_id,
        "eval_set": origin.evalset,
        "expectation": expectation,
        "codes": ", ".join(dict.fromkeys([each.finding.code for each in placed])),
        "run": origin.run_id,
        "link": origin.link.replace("{run}", origin.run_id).replace("{case}", result.case_id),
    }
    return {name: value for name, value in values.items() if value}


def _explained(messages: list[str]) -> str:
    text = "\n".join(dict.fromkeys(messages))
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"


def _verdict_text(result: CaseResult) -> str:
    return f"{result.case_id or 'the expectation'}: {SIGNS[result.verdict].word}"
