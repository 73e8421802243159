"""The servers that are tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from . import mlflow, phoenix
from .recordings import Recording


class Answering(Protocol):
    """A server that answers."""

    def send(self, recording: Recording) -> None:
        """Send a recording, into a place of its own."""

    def exports(self, recordings: Sequence[Recording], folder: Path) -> dict[str, dict[str, bytes]]:
        """What it gives of each recording, by the form it is asked for in; its client writes into the folder."""

    def connected(self, recordings: Sequence[Recording], *, is_kept: bool) -> Iterator[str]:
        """What the command does with the server, in lines; pictures may be kept. Raises `ServerFailedError`."""


class Starting(Protocol):
    """A function that starts a server with an empty database in a folder."""

    def __call__(self, folder: Path) -> AbstractContextManager[Answering]:
        """The server, until the block ends."""


@dataclass(frozen=True)
class Server:
    """A server as it is installed."""

    name: str
    version: str
    start: Starting
    precision_ns: int
    """By how much times may differ: Phoenix keeps whole microseconds."""


SERVERS = {
    "phoenix": Server("Phoenix", phoenix.VERSION, phoenix.started_in, precision_ns=1000),
    "mlflow": Server("MLflow", mlflow.VERSION, mlflow.started_in, precision_ns=0),
}
