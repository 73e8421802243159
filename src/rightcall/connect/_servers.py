"""The supported trace servers, and how to connect to one and pull its traces into a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import IO, Any, Protocol

from rightcall.errors import InputError, RightcallError

from ._address import Address, Query
from ._marks import Mark
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
