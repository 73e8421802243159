"""The trace servers that are known, and what is done with them: pull traces into a file, push verdicts."""

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
"""Servers that are searched from some time on, and not asked for everything they have."""


class TraceServer(Protocol):
    """A place where traces are kept."""

    def trace_ids(self, query: Query) -> list[str]:
        """Return the ids of the traces that are wanted, the oldest first."""

    def documents(self, trace_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield each trace, whole and on one line, with its id. A trace that is gone by now is left out.

        So is one of which the server does not give all; then `warn` is called.
        """

    def push(self, marks: Sequence[Mark]) -> None:
        """Write verdicts, in the place of those with the same ids."""


@contextmanager
def opened_server(address: Address, warn: Callable[[str], None] | None = None) -> Iterator[TraceServer]:
    """Return the server at an address, until the block ends.

    Args:
        address: The server, and a place on it.
        warn: Called for traces that are left out because the server does not give all of them; otherwise the first of
            them is an error.

    Raises:
        InputError: a key is named that no environment variable has.
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
            # A message may quote what a server said, in a name or anywhere else, and that may be our key.
            problem.args = tuple([without(str(part), secrets) for part in problem.args])
            raise


def pull(
    address: Address,
    target: IO[bytes],
    seen: Callable[[int, int], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> int:
    """Write the traces at an address to a file, one a line, and return how many there are.

    Args:
        address: Where they are, and which of them are wanted.
        target: The file.
        seen: Called with the number of traces so far and in total.
        warn: Called for traces that are left out, as in `opened_server`.

    Raises:
        InputError: the address asks for what its server does not have.
        TraceServerError: the server cannot be asked.
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
    """Return the headers with the key, what must not be said, and what to say where the key is refused or missing."""
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
