"""The process of a command that is asked one question, and the watchdog that lets none outlive its purpose."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

_ERRORS_KEPT = 64 * 1024
_GRACE = 1.0
_OUTPUT, _ERRORS = 1, 2


class CommandProtocol(asyncio.SubprocessProtocol):
    """What is written to a process and what it writes; `finished` is done when there is no more to come.

    That is when it has ended and closed its outputs. If a program that it started keeps them open, one more second is
    waited.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.written, self.errors = bytearray(), bytearray()
        self.too_much = False
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.exited = asyncio.Event()
        self._open = {_OUTPUT, _ERRORS, None}
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note that the process has been started."""
        assert isinstance(transport, asyncio.SubprocessTransport)  # noqa: S101 - what asyncio promises
        self._transport = transport

    def write(self, text: bytes) -> None:
        """Write to the process, and close its input. It need not read it."""
        pipe = self._transport.get_pipe_transport(0) if self._transport else None
        if isinstance(pipe, asyncio.WriteTransport):
            pipe.write(text)
            pipe.write_eof()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what the process writes: all of its output up to the limit, the last part of its errors."""
        if fd == _ERRORS:
            self.errors += data
            del self.errors[:-_ERRORS_KEPT]
            return
        self.written += data
        if len(self.written) > self.max_bytes:
            self.too_much = True
            self._finish()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note that the process has closed one of its outputs."""
        self._close_one(fd)

    def process_exited(self) -> None:
        """Note that the process has ended."""
        self.exited.set()
        asyncio.get_running_loop().call_later(_GRACE, self._finish)
        self._close_one(None)

    async def end(self, group: int) -> None:
        """Kill the process's group, and wait for the process to end."""
        kill_group(group)
        with suppress(TimeoutError):
            await asyncio.wait_for(self.exited.wait(), _GRACE)
        if self._transport is not None:
            self._transport.close()

    def _close_one(self, what: int | None) -> None:
        self._open.discard(what)
        if not self._open:
            self._finish()

    def _finish(self) -> None:
        if not self.finished.done():
            self.finished.set_result(None)


class Watchdog:
    """A small process that kills the groups it watches if this process dies without doing so."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the watchdog, unless it runs."""
        if self._process is None:
            program = str(Path(__file__).with_name("_watchdog.py"))
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-I", "-S", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                bufsize=0,
            )

    def watch(self, group: int) -> None:
        """From now on, kill this group if this process dies."""
        self.start()
        self._send(f"+{group}\n")

    def forget(self, group: int) -> None:
        """Forget a group that has ended."""
        self._send(f"-{group}\n")

    def close(self) -> None:
        """Kill the groups that are still watched."""
        if self._process is None:
            return
        self._process.communicate()
        self._process = None

    def _send(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):  # the watchdog itself was killed
                self._process.stdin.write(line.encode())


def kill_group(group: int) -> None:
    """Kill a process and everything in its group, if anything is left."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(group, signal.SIGKILL)
        else:
            os.kill(group, signal.SIGTERM)
