"""A process that is talked to, and what makes sure that none outlives its purpose."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

_COMPLAINTS_KEPT = 64 * 1024
_GRACE = 1.0
_OUTPUT, _COMPLAINTS = 1, 2


class Conversation(asyncio.SubprocessProtocol):
    """What a process is told and what it writes; `finished` is done when there is no more to come.

    That is when it has ended and closed its outputs. If something it started keeps them open, that is not waited for
    longer than a moment.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.written, self.complaints = bytearray(), bytearray()
        self.too_much = False
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.exited = asyncio.Event()
        self._waiting_for = {_OUTPUT, _COMPLAINTS, None}
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process has been started."""
        assert isinstance(transport, asyncio.SubprocessTransport)  # noqa: S101 - what asyncio promises
        self._transport = transport

    def say(self, text: bytes) -> None:
        """Write to the process, and end its input; one that does not read is not an error."""
        pipe = self._transport.get_pipe_transport(0) if self._transport else None
        if isinstance(pipe, asyncio.WriteTransport):
            pipe.write(text)
            pipe.write_eof()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """The process has written: of its output all is kept up to the limit, of its complaints the end."""
        if fd == _COMPLAINTS:
            self.complaints += data
            del self.complaints[:-_COMPLAINTS_KEPT]
            return
        self.written += data
        if len(self.written) > self.max_bytes:
            self.too_much = True
            self._finish()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """The process has closed one of its outputs."""
        self._settle(fd)

    def process_exited(self) -> None:
        """The process has ended."""
        self.exited.set()
        asyncio.get_running_loop().call_later(_GRACE, self._finish)
        self._settle(None)

    async def end(self, group: int) -> None:
        """Kill the process's group, and wait for the process to be gone."""
        kill_group(group)
        with suppress(TimeoutError):
            await asyncio.wait_for(self.exited.wait(), _GRACE)
        if self._transport is not None:
            self._transport.close()

    def _settle(self, what: int | None) -> None:
        self._waiting_for.discard(what)
        if not self._waiting_for:
            self._finish()

    def _finish(self) -> None:
        if not self.finished.done():
            self.finished.set_result(None)


class Watchdog:
    """A small process that kills the groups it was told of, should this process die without doing so."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process, unless it runs."""
        if self._process is None:
            program = str(Path(__file__).with_name("_orphans.py"))
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-I", "-S", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                bufsize=0,
            )

    def watch(self, group: int) -> None:
        """From now on this group must not outlive us."""
        self.start()
        self._tell(f"+{group}\n")

    def forget(self, group: int) -> None:
        """This group has ended."""
        self._tell(f"-{group}\n")

    def close(self) -> None:
        """Kill what is still being watched."""
        if self._process is None:
            return
        self._process.communicate()
        self._process = None

    def _tell(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):  # the watchdog itself was killed
                self._process.stdin.write(line.encode())


def kill_group(group: int) -> None:
    """Kill a process and everything in its group, if there is any of it left."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(group, signal.SIGKILL)
        else:
            os.kill(group, signal.SIGTERM)
