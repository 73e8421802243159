"""Agents that are commands: a request on standard input, the answer on standard output, one process a request."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import stat
import tempfile
from pathlib import Path

import msgspec

from rightcall.errors import AgentError

from ._agent import AgentOptions, Answer, Request
from ._exchange import answer_from, request_json, traceparent_of
from ._processes import Conversation, Watchdog
from ._receiver import TOKEN_HEADER, Receiver, receiving


class CommandAgent:
    """A program that is started for every request, in the project's folder, without a shell."""

    is_async = True

    def __init__(self, command: str, project: Path, options: AgentOptions) -> None:
        self._arguments = _split(command, project)
        self._project, self._options = project, options
        self._watchdog = Watchdog()

    async def answer(self, request: Request) -> Answer:
        """What the program wrote, and the spans it sent or left in the file.

        Raises:
            AgentError: it cannot be started, fails, takes too long, or writes more than is allowed.
        """
        request = msgspec.structs.replace(request, traceparent=traceparent_of(request))
        folder = Path(tempfile.mkdtemp(prefix="rightcall-"))
        try:
            async with receiving(self._options.max_bytes) as receiver, asyncio.timeout(self._options.timeout):
                environment = self._environment(receiver, request.traceparent, folder / "spans")
                written = await self._run(request_json(request), environment)
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

    async def _run(self, said: bytes, environment: dict[str, str]) -> bytes:
        program = self._arguments[0]
        loop = asyncio.get_running_loop()
        # First, because it takes long to start, and we may be killed meanwhile.
        self._watchdog.start()
        try:
            transport, talk = await loop.subprocess_exec(
                lambda: Conversation(self._options.max_bytes),
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
            talk.say(said)
            await talk.finished
        finally:
            # Whatever the program has started and left behind belongs to its group, and ends with it.
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
    # A link is not followed: what a virtual environment calls python is one, and would lose its packages.
    found = os.path.abspath(project / program) if os.sep in program else shutil.which(program)
    if found is None or not os.access(found, os.X_OK) or Path(found).is_dir():
        raise AgentError(f"no program {program!r:.200} that can be run, {'here' if os.sep in program else 'in PATH'}")
    return [found, *arguments[1:]]


def _written(talk: Conversation, returncode: int | None, program: str) -> bytes:
    """What a program that has ended wrote.

    Raises:
        AgentError: it failed, or wrote too much.
    """
    complaints = talk.complaints.decode("utf-8", "replace").strip()
    if talk.too_much:
        raise AgentError(f"{program} wrote more than the {talk.max_bytes:,} bytes that an answer may have", complaints)
    if returncode:
        reason = _reason(complaints)
        raise AgentError(f"{program} {_ending(returncode)}" + (f": {reason}" if reason else ""), complaints)
    return bytes(talk.written)


def _reason(complaints: str) -> str:
    """The line that says most likely what went wrong: the last that speaks of an error, else the last."""
    lines = [line.strip() for line in complaints.splitlines() if line.strip()]
    told = [line for line in lines if "error" in line.lower()]
    return (told or lines or [""])[-1][:500]


def _ending(returncode: int) -> str:
    if returncode > 0:
        return f"ended with exit code {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was killed by signal {-returncode}"


def _contents(file: Path, max_bytes: int) -> tuple[bytes, ...]:
    """What a program left in its file of spans, if it is one.

    Raises:
        AgentError: it is larger than allowed.
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
