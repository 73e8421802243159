"""The side of the tests of `forkserver.py`: start it, ask it for a process, hear how that ended."""

from __future__ import annotations

import atexit
import json
import math
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from threading import Lock

from tests.forkserver import READ_AT_START, ROOM

READ_BY_CHILDREN = {"PYTHONBREAKPOINT", "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUNBUFFERED"}
"""What a forked child reads from its own environment. Ray sets the first one in the process of the tests."""
_SCRIPT = Path(__file__).with_name("forkserver.py")
_BLOCK = 1 << 16
_ROOM = 1 << 16
_OURS = dict(os.environ)
"""The environment of this process before any test changed it."""
_servers: dict[tuple[object, ...], ForkServer] = {}
_lock = Lock()


@dataclass(frozen=True)
class Command:
    """`python -m MODULE ARGUMENTS…`, in a folder; `path` stands before everything else that modules are found in."""

    module: str
    arguments: tuple[str, ...]
    cwd: str
    environment: dict[str, str]
    path: tuple[str, ...] = ()
    options: tuple[str, ...] = ("-m",)
    forked: str = ""
    """A program that the command starts, with two descriptors for arguments. It is forked, too."""


def fork_server(loaded: tuple[str, ...]) -> ForkServer:
    """The server of this process that has imported these modules; it is started when it is first asked for."""
    key = (os.getpid(), *loaded)  # a fork of this process may stand on other code, so it has servers of its own
    with _lock:
        if key not in _servers:
            _servers[key] = ForkServer(loaded)
        return _servers[key]


def starts_alike(environment: Mapping[str, str], *, but: frozenset[str] = frozenset()) -> bool:
    """Whether a fresh interpreter with this environment would start as a fork server of this process does."""
    ours, theirs = ({key: each[key] for key in each if _is_read_at_start(key, but)} for each in (_OURS, environment))
    return hasattr(os, "pidfd_open") and ours == theirs


class ForkServer:
    """A process that forks itself for each command. It ends with this process."""

    def __init__(self, loaded: tuple[str, ...]) -> None:
        self._control, theirs = socket.socketpair()
        started_with = {key: value for key, value in _OURS.items() if key not in READ_BY_CHILDREN}
        started_with[ROOM] = "." * _ROOM
        with theirs:
            command = [sys.executable, str(_SCRIPT), str(theirs.fileno()), *loaded]
            self._process = subprocess.Popen(
                command, env=started_with, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
            )
        atexit.register(self._close, os.getpid())

    def run(self, command: Command, stdin: bytes | None, timeout: float) -> subprocess.CompletedProcess[bytes]:
        """What `subprocess.run` returns, or raises, for this command."""
        until = time.monotonic() + timeout
        with ExitStack() as stack:
            from_input, to_input, output, to_output, error, to_error = map(stack.enter_context, _pipes(3))
            told, pid = self._begin(command, (from_input if stdin is not None else 0, to_output, to_error), stack)
            for each in (from_input, to_output, to_error):
                each.close()
            try:
                said = _exchange(to_input, stdin or b"", (output, error), until)
                code = told(until)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                told(math.inf)
                raise subprocess.TimeoutExpired(command.arguments, timeout) from None
        return subprocess.CompletedProcess(list(command.arguments), code, *said)

    def _begin(
        self, command: Command, streams: tuple[FileIO | int, ...], stack: ExitStack
    ) -> tuple[Callable[[float], int], int]:
        """Start the command: a function that waits for its exit code, and its process id."""
        channel, theirs = map(stack.enter_context, socket.socketpair())
        numbers = [each if isinstance(each, int) else each.fileno() for each in streams]
        socket.send_fds(self._control, [b"."], [*numbers, theirs.fileno()])
        theirs.close()
        channel.sendall(json.dumps(asdict(command)).encode())
        channel.shutdown(socket.SHUT_WR)
        lines = stack.enter_context(channel.makefile("r"))
        pid = int(lines.readline())

        def code(until: float) -> int:
            channel.settimeout(None if until == math.inf else max(0.01, until - time.monotonic()))
            return int(lines.readline())

        return code, pid

    def _close(self, owner: int) -> None:
        if os.getpid() == owner:
            self._control.close()
            self._process.wait()


def _pipes(number: int) -> list[FileIO]:
    """The ends of pipes, each one's to read from before that to write to."""
    ends = [each for _ in range(number) for each in os.pipe()]
    return [FileIO(each, "w" if place % 2 else "r") for place, each in enumerate(ends)]


def _exchange(to_input: FileIO, text: bytes, outputs: tuple[FileIO, FileIO], until: float) -> list[bytes]:
    """Everything that is written to the outputs until both are closed, while the text is read from the input."""
    said: dict[FileIO, bytearray] = {each: bytearray() for each in outputs}
    with selectors.DefaultSelector() as selector:
        for each in (to_input, *outputs):
            os.set_blocking(each.fileno(), False)
            selector.register(each, selectors.EVENT_WRITE if each is to_input else selectors.EVENT_READ)
        while selector.get_map():
            ready = [key.fileobj for key, _ in selector.select(max(0, until - time.monotonic()))]
            if not ready:
                raise TimeoutError
            for each in outputs:
                if each in ready and not (read := each.read(_BLOCK)):
                    selector.unregister(each)
                elif each in ready:
                    said[each] += read
            if to_input in ready and not (text := _rest(to_input, text)):
                selector.unregister(to_input)
                to_input.close()
    return [bytes(each) for each in said.values()]


def _rest(to_input: FileIO, text: bytes) -> bytes:
    """What is left of a text after some of it was written; nothing where nobody reads it any more."""
    try:
        return text[to_input.write(text) or 0 :]
    except BrokenPipeError:
        return b""


def _is_read_at_start(variable: str, but: frozenset[str]) -> bool:
    return variable.startswith(READ_AT_START) and variable not in READ_BY_CHILDREN | but
