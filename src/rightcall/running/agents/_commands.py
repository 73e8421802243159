"""Agents that are commands, one process per request, and the proxy between them and their models.

A command finds the proxy by the environment variables that SDKs read. A request that no recording answers is forwarded
to where the variables pointed before. Of each exchange only the request, and the status, content type and body of the
response are recorded.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import shlex
import shutil
import signal
import ssl
import stat
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import h11
import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import AgentError
from rightcall.running.mocking import (
    KEY_VARIABLES,
    PROVIDERS,
    ModelAnswer,
    ModelReplay,
    ModelRequest,
    ModelTap,
    Provider,
    model_request,
    model_tap,
)

from ._agent import AgentAnswer, AgentOptions, AgentRequest, answer_from, errors_listener, request_json, traceparent_of
from ._http import MAX_HEAD, TOKEN_HEADER, Headers, HttpError, HttpStream, Receiver, headers_of, receiving

_ERRORS_KEPT = 64 * 1024
"""How many of the last bytes of standard error are kept: a traceback ends with its reason."""
_GRACE = 1.0
"""Seconds to wait for outputs to close after the program has ended, and for its end after it was killed."""
_OUTPUT, _ERRORS = 1, 2
_ERROR_LINE = lazy_pattern(
    r"(?:Uncaught |Exception in thread \S+ |Unhandled exception\. )?[A-Za-z_$][\w.$:]*(?:Error|Exception)\b"
    r"|panic: |thread '[^']*' panicked"
)
_PATIENCE = 600.0
"""Seconds that a model may take: the default timeout of OpenAI's and Anthropic's SDKs."""
_HOP_BY_HOP = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "keep-alive"})
"""Headers of one connection (RFC 9110, section 7.6.1), and `accept-encoding`: recorded bodies must be readable."""
_NOT_REACHED = 502
_FIRST_ERROR = 400


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
            raise AgentError(f"{self._arguments[0]} did not answer within {self._options.timeout:g} s") from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Kill what is still running."""
        self._watchdog.close()

    @asynccontextmanager
    async def _models(self, environment: Mapping[str, str]) -> AsyncIterator[Mapping[str, str]]:
        """Yield environment variables that direct model requests to a proxy, if models are recorded or replayed."""
        tap = model_tap.get()
        if tap is None:
            yield {}
            return

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
            # What the program has started and left running is in its process group, and is killed with it.
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
        # Its output is not an answer, but may say why it failed: print it, so that it is kept with the case.
        print(talk.written[-_ERRORS_KEPT:].decode("utf-8", "replace"), end="")
        reason = _reason(errors)
        raise AgentError(f"{program} {_ending(returncode)}" + (f": {reason}" if reason else ""), errors)
    return bytes(talk.written)


def _reason(errors: str) -> str:
    """Return the line that most likely says what went wrong.

    That is the last line that begins with the name of an error (Python, JavaScript, Java) or with a panic (Go, Rust);
    else the last with "error" in it, else the last. Not simply the last: Node prints the properties of an error below
    it.
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
    """The input and output of a command's process; `finished` is done when no more output is expected.

    That is when the process has ended and its outputs are closed. If a program that it started keeps them open, that is
    one second after its end.
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
        """Write to the process, and close its input. The process need not read it."""
        pipe = self._transport.get_pipe_transport(0) if self._transport else None
        if isinstance(pipe, asyncio.WriteTransport):
            pipe.write(text)
            pipe.write_eof()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what the process writes: its output up to the limit, and the last part of its standard error."""
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
    """A small process that kills the process groups it watches if this process dies before it can do so."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the watchdog, unless it is running."""
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
        """Add a group to kill if this process dies."""
        self.start()
        self._send(f"+{group}\n")

    def forget(self, group: int) -> None:
        """Remove a group that has ended."""
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


class ModelProxy:
    """Answers requests from a tap; what that does not answer is forwarded, and the tap keeps the response."""

    def __init__(self, tap: ModelTap, environment: Mapping[str, str], max_bytes: int) -> None:
        self._tap, self._max_bytes = tap, max_bytes
        self._token = secrets.token_hex(16)
        self._upstream = {each.name: address for each in PROVIDERS if (address := _address(each, environment))}
        self._connections: set[asyncio.Task[None]] = set()

    def variables(self, port: int) -> dict[str, str]:
        """Return the environment variables that direct SDKs to this proxy."""
        root = f"http://127.0.0.1:{port}/m/{self._token}"
        return {name: f"{root}/{each.name}" for each in PROVIDERS if each.name in self._upstream for name in each.bases}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, with one request."""
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        await asyncio.wait([task])

    async def close(self) -> None:
        """End open connections."""
        for task in (left := list(self._connections)):
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stream = HttpStream(h11.SERVER, reader, writer)
        try:
            with suppress(OSError):  # the command has closed the connection
                await self._respond(stream)
        finally:
            writer.close()

    async def _respond(self, stream: HttpStream) -> None:
        try:
            head = await stream.read_head()
            assert isinstance(head, h11.Request)  # noqa: S101 - a server reads nothing else
            provider, path = self._place(head.target.decode("ascii"))
            headers = headers_of(head)
            body = await stream.read_body(headers, self._max_bytes)
        except HttpError as problem:
            await _send(stream, _failure(problem.status, str(problem)))
            return
        method = head.method.decode("ascii")
        asked = model_request(method, path, body, is_any=True)
        assert asked is not None  # noqa: S101 - `is_any`
        answer = self._tap.answer(asked)
        if answer is not None:
            await _send(stream, answer)
            return
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._pass_on(stream, asked, _Request(method, self._upstream[provider], path, headers, body))
        except (HttpError, OSError, TimeoutError) as problem:
            if stream.has_begun:  # too late for an error: the response ends where the provider or the command broke off
                return
            reason = getattr(problem, "strerror", None) or str(problem) or "it took too long"
            await _send(stream, _failure(_NOT_REACHED, f"{provider} cannot be reached: {reason}"))

    def _place(self, target: str) -> tuple[str, str]:
        """Return the provider that a request is for, and the path of the request there. Raises `HttpError`."""
        _, marker, rest = target.partition("/m/")
        token, _, rest = rest.partition("/")
        provider, _, path = rest.partition("/")
        if not marker or not hmac.compare_digest(token.encode(), self._token.encode()):
            raise HttpError(401, "the token is missing or wrong")
        if provider not in self._upstream:
            raise HttpError(404, f"no provider {provider[:40]!r}")
        return provider, f"/{path}"

    async def _pass_on(self, stream: HttpStream, asked: ModelRequest, request: _Request) -> None:
        """Forward a request to its provider, and the response as it arrives; keep the response when it is complete."""
        async with request.sent() as source:
            head = await source.read_head()
            assert isinstance(head, h11.Response)  # noqa: S101 - a client reads nothing else
            headers = headers_of(head)
            passed = {name: value for name, value in headers.items() if name not in _HOP_BY_HOP}
            # Many clients read no more of an error than its status, so it is kept before any of it is passed on.
            is_error, content = head.status_code >= _FIRST_ERROR, bytearray()
            if not is_error:
                await stream.begin(head.status_code, {**passed, "connection": "close"})
            async for piece in source.pieces():
                content += piece
                if len(content) > self._max_bytes:
                    raise HttpError(413, f"more than {self._max_bytes:,} bytes")
                if not is_error:
                    await stream.write(piece)
            # Before the end is sent: as soon as the command gets it, it may send the next request, or end.
            self._tap.keep(asked, ModelAnswer.of(head.status_code, headers.get("content-type", ""), bytes(content)))
            if is_error:
                await stream.begin(head.status_code, {**passed, "connection": "close"})
                await stream.write(bytes(content))
            await stream.finish()


class _Request:
    """A request to a provider."""

    def __init__(self, method: str, address: str, path: str, headers: Headers, body: bytes) -> None:
        self._url = urlsplit(address)
        self._method, self._body = method, body
        self._target = self._url.path.rstrip("/") + path
        self._headers = {name: value for name, value in headers.items() if name not in _HOP_BY_HOP}

    @asynccontextmanager
    async def sent(self) -> AsyncIterator[HttpStream]:
        """Connect, send the request, and yield the stream to read the response from."""
        secure = ssl.create_default_context() if self._url.scheme == "https" else None
        host, port = self._url.hostname or "", self._url.port or (443 if secure else 80)
        reader, writer = await asyncio.open_connection(host, port, ssl=secure, limit=MAX_HEAD)
        try:
            stream = HttpStream(h11.CLIENT, reader, writer)
            own = {"host": self._url.netloc.rpartition("@")[2], "connection": "close", "accept-encoding": "identity"}
            headers = {**self._headers, **own, "content-length": str(len(self._body))}
            await stream.send(
                h11.Request(method=self._method, target=self._target, headers=list(headers.items())), self._body
            )
            yield stream
        finally:
            writer.close()


@asynccontextmanager
async def proxied_models(
    tap: ModelTap, environment: Mapping[str, str], max_bytes: int
) -> AsyncIterator[dict[str, str]]:
    """Run a proxy during the block; yield the environment variables that direct a command to it.

    If a recording answers, placeholders are set for missing API keys, because SDKs refuse to create a client without
    one. If real models answer, they are not: an SDK may prefer a placeholder to the real key in another variable, as
    Gemini's does.
    """
    proxy = ModelProxy(tap, environment, max_bytes)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=MAX_HEAD)
    made_up = KEY_VARIABLES if isinstance(tap, ModelReplay) else ()
    keys = {name: "not-needed" for name in made_up if name not in environment}
    local = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
    try:
        yield {**keys, **local, **proxy.variables(server.sockets[0].getsockname()[1])}
    finally:
        server.close()
        await proxy.close()


def _address(provider: Provider, environment: Mapping[str, str]) -> str:
    """Return the address of a provider: the one in an environment variable, else its default."""
    set_to = [environment[name] for name in provider.bases if environment.get(name, "").startswith("http")]
    return set_to[0] if set_to else provider.address


def _failure(status: int, message: str) -> ModelAnswer:
    return ModelAnswer(status=status, body={"error": {"message": message, "type": "rightcall"}})


async def _send(stream: HttpStream, answer: ModelAnswer) -> None:
    body = answer.content
    headers = {**answer.headers, "content-length": str(len(body)), "connection": "close"}
    await stream.send(h11.Response(status_code=answer.status, headers=list(headers.items())), body)
