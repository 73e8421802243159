"""Servers on loopback that end with the block that started them, with all that they started."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

from benchmarks.environments import quiet_environment
from tests.targets import end_marked, fresh_mark

CLIENTS = Path(__file__).parent / "clients"
_SECONDS_TO_START = 300
_SECONDS_TO_ANSWER = 120
_SECONDS_FOR_CLIENT = 900


class ServerFailedError(Exception):
    """A server did not start, or did not take or give what it was asked for."""


class NotFoundError(ServerFailedError):
    """A server does not know what it was asked for."""


def free_port() -> int:
    """A port of loopback on which nothing listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


@contextmanager
def started(command: Sequence[str], variables: Mapping[str, str], health: str, log: Path) -> Iterator[None]:
    """A server from when it answers at its address until the block ends.

    Raises:
        ServerFailedError: it did not answer in time, or ended.
    """
    mark = fresh_mark()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env={**os.environ, **variables, **mark},
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            cwd=log.parent,
        )
    try:
        _wait(process, health, log)
        yield
    finally:
        _end(process, mark)


def asked(address: str, body: bytes | None = None, **headers: str) -> bytes:
    """What a server answers to a GET, or to a POST of the body.

    Raises:
        NotFoundError: it does not know this.
        ServerFailedError: it did not answer with success.
    """
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(address, data=body, headers=named)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_SECONDS_TO_ANSWER) as response:
            return bytes(response.read())
    except urllib.error.HTTPError as problem:
        kind = NotFoundError if problem.code == HTTPStatus.NOT_FOUND else ServerFailedError
        raise kind(f"{address}: {problem}: {problem.read()[:500]!r}") from None
    except OSError as problem:
        raise ServerFailedError(f"{address}: {problem}") from None


def run_client(python: Path, script: Path, *arguments: str) -> None:
    """Run a script with the official client of a server, in the environment of that server.

    Raises:
        ServerFailedError: it did not end with success in time.
    """
    command = [str(python), str(script), *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS_FOR_CLIENT, check=False, env=quiet_environment()
        )
    except subprocess.TimeoutExpired:
        raise ServerFailedError(f"{script.name} took longer than {_SECONDS_FOR_CLIENT} s") from None
    if done.returncode:
        raise ServerFailedError(f"{script.name} ended with {done.returncode}:\n{done.stderr[-2000:]}")


def _wait(process: subprocess.Popen[bytes], health: str, log: Path) -> None:
    end = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < end:
        if process.poll() is not None:
            raise ServerFailedError(f"the server ended with {process.returncode}:\n{log.read_text('utf-8')[-2000:]}")
        try:
            asked(health)
        except ServerFailedError:
            time.sleep(0.5)
        else:
            return
    raise ServerFailedError(f"the server did not answer within {_SECONDS_TO_START} s")


def _end(process: subprocess.Popen[bytes], mark: Mapping[str, str]) -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    end_marked(mark)
