"""Agents that are commands: a request on standard input, an answer on standard output, one process per request."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import AgentError
from rightcall.running.mocking import model_tap

from ._agent import AgentAnswer, AgentOptions, AgentRequest, answer_from, errors_listener, request_json, traceparent_of
from ._http import TOKEN_HEADER, Receiver, receiving

_ERRORS_KEPT = 64 * 1024
"""Bytes of standard error that are kept: the last ones, because a traceback ends with its reason."""
_GRACE = 1.0
"""Seconds for outputs to close after the program has ended, and for the program to end after it was killed."""
_OUTPUT, _ERRORS = 1, 2
_ERROR_LINE = lazy_pattern(
    r"(?:Uncaught |Exception in thread \S+ |Unhandled exception\. )?[A-Za-z_$][\w.$:]*(?:Error|Exception)\b"
    r"|panic: |thread '[^']*' panicked"
)


class CommandAgent:
    """A program that is started for every request, in the project's folder, without a shell."""

    is_async = True
    target = None

    def __init__(self, command: str, project: Path, options: AgentOptions) -> None:
        self._arguments = _split(command, project)
        self._project, self._options = project, options
        self._watchdog = Watchdog()

    async def answer(self, request: AgentRequest) -> AgentAnswer:
        """Run the program; return what it wrote, and the spans it sent or left in a file.

        Raises:
            AgentError: it cannot be started, fails, takes too long, or writes too much.
        """
        request = msgspec.structs.replace(request, traceparent=traceparent_of(request))
        folder = Path(tempfile.mkdtemp(prefix="rightcall-"))
        try:
            async with receiving(self._options.max_bytes) as receiver, asyncio.timeout(self._options.timeout):
                environment = self._environment(receiver, request.traceparent, folder / "spans")
                async with self._models(environment) as variables:
                    written = await self._run(request_json(request), {**environment, **variables})
                left = _contents(folder / "spans", self._options.max_bytes)
                sent = await receiver.documents()
                return answer_from(written, sent + left, self._options.max_bytes)
        except TimeoutError:
            raise AgentError(f"{self._arguments[0]} gave no answer within {self._options.timeout:g} s") from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Kill what is still running."""
        self._watchdog.close()

    @asynccontextmanager
    async def _models(self, environment: Mapping[str, str]) -> AsyncIterator[Mapping[str, str]]:
        """Yield the variables that lead the program to a recording of its models, if there is one to make or to use."""
        tap = model_tap.get()
        if tap is None:
            yield {}
            return
        from ._model_proxy import proxied_models

        async with proxied_models(tap, environment, self._options.max_bytes) as variables:
            yield variables

    def _environment(self, receiver: Receiver, traceparent: str, spans: Path) -> dict[str, str]:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_EXPORTER_OTLP_")}
        return {
            **inherited,
            **self._options.environment,
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_HEADERS": f"{TOKEN_HEADER}={receiver.token}",
            "TRACEPARENT": traceparent,
            "RIGHTCALL_SPANS_FILE": str(spans),
        }

    async def _run(self, request: bytes, environment: dict[str, str]) -> bytes:
        program = self._arguments[0]
        loop = asyncio.get_running_loop()
        # Before the program: the watchdog takes some milliseconds to start, and we may be killed meanwhile.
        self._watchdog.start()
        try:
            transport, talk = await loop.subprocess_exec(
                lambda: CommandProtocol(self._options.max_bytes),
                *self._arguments,
                cwd=self._project,
                env=environment,
                start_new_session=True,
            )
        except OSError as problem:
            raise AgentError(f"{program} cannot be started: {problem.strerror or problem}") from None
        group = transport.get_pid()
        self._watchdog.watch(group)
        try:
            talk.write(request)
            await talk.finished
        finally:
            # What the program has started and left behind is in its group, and ends with it.
            await talk.end(group)
            self._watchdog.forget(group)
        return _written(talk, transport.get_returncode(), program)


def _split(command: str, project: Path) -> list[str]:
    try:
        arguments = shlex.split(command)
    except ValueError as problem:
        raise AgentError(f"the command {command!r:.200} cannot be split into arguments: {problem}") from None
    if not arguments:
        raise AgentError("an agent that is a command needs a program: cmd:program argument…")
    program = arguments[0]
    # Not `resolve`: a virtual environment's `python` is a link, whose target lacks the environment's packages.
    found = os.path.abspath(project / program) if os.sep in program else shutil.which(program)
    if found is None or not os.access(found, os.X_OK) or Path(found).is_dir():
        raise AgentError(f"no program {program!r:.200} that can be run, {'here' if os.sep in program else 'in PATH'}")
    return [found, *arguments[1:]]


def _written(talk: CommandProtocol, returncode: int | None, program: str) -> bytes:
    """Return the output of a program that has ended.

    Raises:
        AgentError: it failed, or wrote too much.
    """
    errors = talk.errors.decode("utf-8", "replace").strip()
    if talk.too_much:
        raise AgentError(f"{program} wrote more than the {talk.max_bytes:,} bytes that an answer may have", errors)
    if returncode:
        # What it wrote is not an answer, but may say why: it is kept with what the case printed.
        print(talk.written[-_ERRORS_KEPT:].decode("utf-8", "replace"), end="")
        reason = _reason(errors)
        raise AgentError(f"{program} {_ending(returncode)}" + (f": {reason}" if reason else ""), errors)
    return bytes(talk.written)


def _reason(errors: str) -> str:
    """Return the line that most likely says what went wrong.

    That is the last one that begins with the name of an error, as in Python, JavaScript and Java, or with a panic, as
    in Go and Rust; else the last with "error" in it, else the last. Node prints the properties of an error below it.
    """
    lines = [line.rstrip() for line in errors.splitlines() if line.strip()]
    begun = [line for line in lines if _ERROR_LINE.match(line)]
    named = [line for line in lines if "error" in line.lower()]
    return (begun or named or lines or [""])[-1].strip()[:500]


def _ending(returncode: int) -> str:
    if returncode > 0:
        return f"ended with exit code {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was killed by signal {-returncode}"


def _contents(file: Path, max_bytes: int) -> tuple[bytes, ...]:
    """Return the content of a program's file of spans, if it left a regular file.

    Raises:
        AgentError: the file is too large.
    """
    try:
        found = file.lstat()
    except OSError:
        return ()
    if not stat.S_ISREG(found.st_mode) or not found.st_size:
        return ()
    if found.st_size > max_bytes:
        raise AgentError(f"the file of spans has {found.st_size:,} bytes, more than the {max_bytes:,} allowed")
    return (file.read_bytes(),)


class CommandProtocol(asyncio.SubprocessProtocol):
    """The input and output of a command's process; `finished` is done when nothing more can come.

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
        self._listener = errors_listener.get()

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
            if self._listener is not None:
                self._listener(data)
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
