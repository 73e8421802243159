"""Ask a judge: the cache, a function, or an endpoint with OpenAI's chat completions API."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from rightcall.errors import ConfigurationError, install_command, shown
from rightcall.judging.core import Execution
from rightcall.values.results import Finding, JudgedRubric, JudgedSample, JudgeJustification, NamedCall, call_text

from ._reply import FIXED, MOST_REPLY_BYTES, JudgeError, Question, Reply, Rubric, RubricReply, parse_reply

_FORMAT = 1
_MOST_BYTES = 1024 * 1024
LONGEST_WAIT = 30.0
"""Most seconds between attempts, unless the endpoint asks for more."""
_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529)
_HTTP = ("httpx", "httpcore", "h11", "anyio")
_MOST_ERROR_BYTES = 4_096
PREFIX = "RIGHTCALL_JUDGE_"
CACHE = Path(".rightcall") / "cache"
"""The folder of cached answers, relative to the current folder."""
_OFF = ("off", "no", "false", "0")
_MOST_ATTEMPTS = 10


class Cache:
    """Answers in a private folder, one file each. Cached answers are parsed and checked like new ones."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "judge"

    def get(self, key: str) -> Asked | None:
        """Return a cached answer; `None` if there is none that can be read."""
        try:
            with self._path(key).open("rb") as file:
                return msgspec.json.decode(file.read(_MOST_BYTES), type=Asked)
        except (OSError, msgspec.DecodeError):
            return None

    def put(self, key: str, asked: Asked) -> str:
        """Save an answer. Return an empty string, or a warning that says why it was not possible."""
        path = self._path(key)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            _make_private(path.parent)
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, 0o600)
                file.write(msgspec.json.encode(asked))
            os.replace(beside, path)
        except OSError as problem:
            return f"the judge's answer was not kept: {path}: {problem.strerror or problem}"
        return ""

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key[2:]}.json"


def key_of(question: Question, settings: Settings, sampling: Sampling, sample: int) -> str:
    """Return a cache key for an answer: a hash of the endpoint, the question, the parameters and the sample number."""
    asked = [_FORMAT, settings.base_url, question.messages(FIXED), sampling.parameters(question), sample]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _make_private(folder: Path) -> None:
    """Make a folder and missing parents, each accessible only to its owner. Existing folders are not changed."""
    if folder.exists():
        return
    _make_private(folder.parent)
    try:
        os.mkdir(folder, 0o700)
        os.chmod(folder, 0o700)
    except FileExistsError:
        return  # another process made it in the meantime


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """The result of all answers to a question."""

    score: float
    samples: tuple[Reply, ...]
    rubrics: tuple[tuple[RubricReply, float], ...] = ()
    """The majority verdict on each rubric, and the share of answers that agree with it."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached: int = 0
    """The number of answers from the cache."""
    warnings: tuple[str, ...] = ()

    def decisive(self) -> Reply:
        """Return the answer that represents all: the first of those nearest to the score."""
        return min(self.samples, key=lambda reply: abs(reply.score - self.score))


class Answer(msgspec.Struct, frozen=True):
    """One answer, whether it was cached, and the tokens it took."""

    reply: Reply
    asked: Asked
    cached: bool = False
    warning: str = ""


async def ask_endpoint(
    question: Question, settings: Settings, sampling: Sampling, samples: int, deadline: float
) -> Ruling:
    """Ask a model behind an endpoint. Answers in the cache are not asked for again.

    Raises:
        JudgeError: one of the answers is not a judgement, or there is no endpoint to ask.
    """
    settings.check()
    question.check_size()
    judge = EndpointJudge(settings, sampling)
    cache = Cache(settings.cache) if settings.cache is not None else None
    answers = []
    for sample in range(samples):
        key = key_of(question, settings, sampling, sample)
        answers.append(await _answer(question, judge, cache, key, deadline))
    return _ruling(answers, question)


async def ask_callable(judge: Callable[[Question], Awaitable[Any]], question: Question, samples: int) -> Ruling:
    """Ask a function that takes the question and returns an answer of its schema.

    Raises:
        JudgeError: one of the answers is not a judgement.
    """
    answers = [Answer(parse_reply(await judge(question), question), Asked("")) for _ in range(samples)]
    return _ruling(answers, question)


async def _answer(question: Question, judge: EndpointJudge, cache: Cache | None, key: str, deadline: float) -> Answer:
    known = cache.get(key) if cache is not None else None
    if known is not None:
        try:
            return Answer(parse_reply(known.content, question), known, cached=True)
        except JudgeError:  # the cached file was changed
            known = None
    asked = await judge.ask(question, deadline)
    reply = parse_reply(asked.content, question)
    return Answer(reply, asked, warning=cache.put(key, asked) if cache is not None else "")


def _ruling(answers: Sequence[Answer], question: Question) -> Ruling:
    """Combine answers: the median score or, with rubrics, the share met by majority. The number of samples is odd."""
    replies = tuple([answer.reply for answer in answers])
    new = [answer.asked for answer in answers if not answer.cached]
    rubrics = tuple(
        [_majority([reply.rubrics[number] for reply in replies]) for number in range(len(question.rubrics))]
    )
    if rubrics:
        score = sum(verdict.met for verdict, _ in rubrics) / len(rubrics)
    else:
        score = sorted([reply.score for reply in replies])[len(replies) // 2]
    return Ruling(
        score=score,
        samples=replies,
        rubrics=rubrics,
        input_tokens=sum(asked.input_tokens for asked in new),
        output_tokens=sum(asked.output_tokens for asked in new),
        cached=len(answers) - len(new),
        warnings=tuple(dict.fromkeys([answer.warning for answer in answers if answer.warning])),
    )


def _majority(verdicts: list[RubricReply]) -> tuple[RubricReply, float]:
    is_met = sum(verdict.met for verdict in verdicts) * 2 > len(verdicts)
    agreeing = [verdict for verdict in verdicts if verdict.met == is_met]
    return agreeing[0], len(agreeing) / len(verdicts)


def justification_of(
    ruling: Ruling,
    model: str,
    execution: Execution,
    rubrics: tuple[Rubric, ...],
    settings: Settings,
    threshold: float,
) -> JudgeJustification:
    """Return the details of a result: the answers, how far they agree, and the tokens they took."""
    decisive, has_passed = ruling.decisive(), ruling.score >= threshold
    agreeing = [reply for reply in ruling.samples if (reply.score >= threshold) == has_passed]
    judged = zip(rubrics, ruling.rubrics, strict=True)
    return JudgeJustification(
        model=model,
        reason=decisive.reason,
        samples=[JudgedSample(reply.score, reply.reason, reply.call) for reply in ruling.samples],
        agreement=len(agreeing) / len(ruling.samples),
        rubrics=[JudgedRubric(one.id, one.text, answer.met, share, answer.reason) for one, (answer, share) in judged],
        call=_named(decisive.call, execution),
        input_tokens=ruling.input_tokens,
        output_tokens=ruling.output_tokens,
        cost=settings.cost(ruling.input_tokens, ruling.output_tokens),
        cached=ruling.cached,
    )


def _named(position: int | None, execution: Execution) -> NamedCall | None:
    if position is None:
        return None
    call = execution.calls[position]
    return NamedCall(position, call_text(call.name, call.args))


def findings_of(
    ruling: Ruling, details: JudgeJustification, rubrics: tuple[Rubric, ...], shared: int, threshold: float
) -> tuple[Finding, ...]:
    """Return why the run does not pass: each rubric that is not met, or the judge's reason."""
    if ruling.score >= threshold:
        return ()
    if not rubrics:
        return (
            Finding("RC110", f"the judge gives {ruling.score:.4g}: {_shortened(details.reason)}", actual=details.call),
        )
    unmet = [(number, one) for number, one in enumerate(details.rubrics) if not one.met]
    return tuple(
        [
            Finding(
                "RC110",
                f"the rubric {_shortened(one.text, 80)!r} is not met: {_shortened(one.reason)}",
                actual=details.call,
                path=f"rubrics[{number - shared}]" if number >= shared else None,
            )
            for number, one in unmet
        ]
    )


def _shortened(text: str, width: int = 300) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else f"{text[: width - 1]}…"


class Asked(msgspec.Struct, frozen=True):
    """The text of an answer, and the tokens it took."""

    content: str
    input_tokens: int = 0
    output_tokens: int = 0


class Sampling(msgspec.Struct, frozen=True):
    """Parameters of the model's answer."""

    model: str
    temperature: float | None = 0.0
    max_tokens: int | None = None

    def parameters(self, question: Question) -> dict[str, Any]:
        """Return the request parameters other than the messages."""
        schema = {"name": "judgement", "strict": True, "schema": question.schema()}
        sent: dict[str, Any] = {"model": self.model, "response_format": {"type": "json_schema", "json_schema": schema}}
        sent |= {"temperature": self.temperature} if self.temperature is not None else {}
        return sent | ({"max_tokens": self.max_tokens} if self.max_tokens is not None else {})


class StatusError(Exception):
    """The endpoint responded with an error status; `wait` is its `Retry-After` in seconds."""

    def __init__(self, status: int, text: str, wait: float | None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.wait = wait


class EndpointJudge:
    """A model behind an endpoint. Only the configured address is contacted: redirects are errors."""

    def __init__(self, settings: Settings, sampling: Sampling) -> None:
        self._settings = settings
        self._sampling = sampling

    async def ask(self, question: Question, deadline: float) -> Asked:
        """Return the model's answer. The request ends by `deadline`, a time of the event loop.

        Raises:
            JudgeError: there is no answer after all attempts, or in the time that is left.
        """
        import asyncio

        clock = asyncio.get_running_loop().time
        attempt = 0
        while True:
            attempt += 1
            reason, wait = await self._attempt(question, max(0.001, deadline - clock()))
            if isinstance(reason, Asked):
                return reason
            text = f"{self._shown_address()}: {reason} ({attempt} {'attempt' if attempt == 1 else 'attempts'}"
            if attempt >= self._settings.attempts:
                raise JudgeError("RC602", f"{text})")
            delay = delay_before(attempt + 1, wait, self._settings.backoff)
            if clock() + delay >= deadline:
                raise JudgeError("RC602", f"{text}; no time is left for the next, in {delay:g} s)")
            await asyncio.sleep(delay)

    async def _attempt(self, question: Question, left: float) -> tuple[Asked | str, float | None]:
        """Return the answer, or why this attempt failed and how long the endpoint asks to wait before the next."""
        import asyncio

        seconds = min(left, self._settings.timeout)
        openai = await asyncio.to_thread(_library)  # importing it takes a second, in which other tasks go on
        try:
            async with asyncio.timeout(seconds):
                return answer_in(await self._post(openai, question)), None
        except TimeoutError:
            return f"no answer within {seconds:.3g} s", None
        except Exception as problem:  # noqa: BLE001 - faults of this program are raised again
            return self._failed(problem, openai)

    def _failed(self, problem: Exception, openai: Any) -> tuple[str, float | None]:
        """Return why an attempt failed, and the seconds to wait. Raises `JudgeError`, or a fault of this program."""
        is_wrapped = isinstance(problem, openai.APIConnectionError) and problem.__cause__ is not None
        cause = problem.__cause__ if is_wrapped else problem
        if isinstance(cause, StatusError):
            return self._status(cause), cause.wait
        if isinstance(cause, JudgeError):
            raise cause from None
        # Errors while reading a body are those of the HTTP library, which differs between versions.
        if isinstance(cause, (OSError, openai.APIConnectionError)) or type(cause).__module__.startswith(_HTTP):
            return f"the connection failed: {_sentence(cause)}", None
        if isinstance(problem, openai.OpenAIError):
            raise JudgeError("RC603", f"{self._shown_address()}: {_sentence(problem)}") from None
        raise problem

    async def _post(self, openai: Any, question: Question) -> bytes:
        async with openai.DefaultAsyncHttpxClient(
            # The user chose this address; a 307 or 308 would send the whole question to another (RFC 9110, 15.4.8).
            follow_redirects=False,
            verify=_certificates(),
            event_hooks={"response": [_inspect]},
        ) as http:
            client = openai.AsyncOpenAI(
                base_url=self._settings.base_url,
                api_key=self._settings.api_key,
                timeout=self._settings.timeout,
                # The retries of the library would not be counted against the deadline of the case.
                max_retries=0,
                http_client=http,
                # A small compressed body may expand to gigabytes. Uncompressed bodies are limited as they arrive.
                default_headers={"accept-encoding": "identity"},
            )
            client.organization = client.project = None  # those in the environment are not meant for this address
            parameters = self._sampling.parameters(question)
            requests = client.chat.completions.with_streaming_response
            async with requests.create(messages=question.messages(), **parameters) as response:
                return await _bounded(response.iter_bytes())

    def _status(self, problem: StatusError) -> str:
        reason = f"status {problem.status}" + (f": {problem.text}" if problem.text else "")
        if problem.status not in _AGAIN:
            raise JudgeError("RC603", f"{self._shown_address()}: {reason}") from None
        return reason

    def _shown_address(self) -> str:
        """Return the address without parts that may be secret."""
        address = self._settings.base_url.split("?")[0].split("#")[0]
        scheme, _, rest = address.partition("://")
        return f"the judge at {scheme}://{rest.rpartition('@')[2]}"[:200]


def delay_before(attempt: int, asked: float | None, backoff: float) -> float:
    """Return the seconds to wait before the second or a later attempt: as requested, else doubled each time."""
    # Exponential backoff: an overloaded endpoint recovers sooner if it gets fewer requests.
    doubled: float = min(backoff * 2 ** (attempt - 2), LONGEST_WAIT)
    return doubled if asked is None else max(asked, 0.0)


def answer_in(body: bytes) -> Asked:
    """Return the model's answer from the body of a response.

    Raises:
        JudgeError: the model refused, or was cut off; or the body is something else.
    """
    try:
        value = json.loads(body)
        # Exactly one: to pick one of several choices would be a guess.
        [choice] = value["choices"]
        message, finish = choice["message"], choice.get("finish_reason")
        content, refusal = message.get("content"), message.get("refusal")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _malformed(f"the response is not a chat completion with one choice: {shown(body)}") from None
    if refusal or finish == "content_filter":
        raise JudgeError("RC605", f"the judge refused: {shown(refusal or 'its content filter')}")
    if finish not in ("stop", None):
        raise _malformed(f"it was not finished (finish_reason {shown(finish)})")
    if not isinstance(content, str):
        raise _malformed(f"its content is {shown(content)}, not a string")
    usage = value.get("usage")
    return Asked(content, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))


async def _inspect(response: Any) -> None:
    """Refuse a response that is compressed or has an error status, before its body is read."""
    headers = response.headers
    if (packing := headers.get("content-encoding", "identity").lower()) != "identity":
        raise _malformed(f"the response is compressed ({shown(packing)}), which was not requested")
    if response.status_code != 200:
        text = " ".join((await _beginning(response)).decode("utf-8", "replace").split())
        raise StatusError(response.status_code, text[:200], retry_after(headers))


def retry_after(headers: Any) -> float | None:
    """Return the seconds of a `Retry-After` header, a number or a date; `None` if there is none."""
    from email.utils import parsedate_to_datetime
    from time import time

    text = headers.get("retry-after", "").strip()
    try:
        # RFC 9110, section 10.2.3: Retry-After is a number of seconds or an HTTP date.
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time()
        except (ValueError, OverflowError, OSError):
            return None
    return max(0.0, seconds) if seconds < float("inf") else None


async def _beginning(response: Any) -> bytes:
    read = b""
    async for piece in response.aiter_raw():
        read += piece
        if len(read) >= _MOST_ERROR_BYTES:
            break
    return read[:_MOST_ERROR_BYTES]


async def _bounded(pieces: Any) -> bytes:
    read = bytearray()
    async for piece in pieces:
        read += piece
        if len(read) > MOST_REPLY_BYTES:
            raise _malformed(f"the response is longer than {MOST_REPLY_BYTES:,} bytes")
    return bytes(read)


@cache
def _certificates() -> Any:
    """Return the TLS context. Creating it takes longer than most requests, so it is cached."""
    import ssl

    return ssl.create_default_context()


def _library() -> Any:
    try:
        import openai
    except ImportError:
        raise JudgeError("RC601", f"asking a judge needs openai: {install_command('judge')}") from None
    return openai


def _count(usage: Any, key: str) -> int:
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _sentence(problem: object) -> str:
    """Return the text of a server on one line, shortened."""
    text = " ".join(str(problem).split()) or type(problem).__name__
    return f"{text[:199]}…" if len(text) > 200 else text


def _malformed(reason: str) -> JudgeError:
    return JudgeError("RC604", f"the judge's answer is not a judgement: {reason}")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a judge behind an endpoint. The key comes only from the environment."""

    base_url: str = ""
    model: str = ""
    api_key: str = ""
    timeout: float = 60.0
    """Seconds that one request may take."""
    concurrency: int = 8
    """The number of evaluations at once in this process."""
    attempts: int = 4
    """The most times to send a request if the endpoint is busy, fails or times out."""
    backoff: float = 0.5
    """Seconds before the second attempt, unless the endpoint says; doubled each time."""
    input_price: float | None = None
    """The price of a million input tokens; `None` if unknown."""
    output_price: float | None = None
    cache: Path | None = CACHE
    """The folder of cached answers; `None` for no cache."""

    def __repr__(self) -> str:
        return f"Settings(base_url={self.base_url!r}, model={self.model!r})"  # not the key

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Return the settings from the variables `RIGHTCALL_JUDGE_…`.

        Raises:
            ConfigurationError: one of them is not what it should be.
        """
        given = os.environ if environment is None else environment
        found: dict[str, object] = {}
        for name in ("base_url", "model", "api_key"):
            found[name] = given.get(PREFIX + name.upper(), "").strip()
        for name in ("timeout", "backoff", "input_price", "output_price"):
            _put(found, name, given, float, 0.0 if name != "timeout" else 0.001, 86_400.0)
        _put(found, "concurrency", given, int, 1, 1_000)
        _put(found, "attempts", given, int, 1, _MOST_ATTEMPTS)
        if cache := given.get(f"{PREFIX}CACHE", "").strip():
            found["cache"] = None if cache.lower() in _OFF else Path(cache)
        return cls(**found)  # type: ignore[arg-type]

    def check(self) -> None:
        """Check that there is an endpoint to ask. Raises `JudgeError`."""
        missing = [name for name in ("base_url", "model", "api_key") if not getattr(self, name)]
        if missing:
            names = ", ".join([PREFIX + name.upper() for name in missing])
            raise JudgeError("RC601", f"the judge is not configured: set {names}")
        if not self.base_url.startswith(("http://", "https://")):
            raise JudgeError("RC601", f"{PREFIX}BASE_URL is not an address: {shown(self.base_url)}")

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return the cost of a number of tokens; `None` if a price is unknown."""
        if self.input_price is None or self.output_price is None:
            return None
        return (input_tokens * self.input_price + output_tokens * self.output_price) / 1_000_000


def _put(
    found: dict[str, object],
    name: str,
    given: Mapping[str, str],
    kind: type[int] | type[float],
    least: float,
    most: float,
) -> None:
    text = given.get(PREFIX + name.upper(), "").strip()
    if not text:
        return
    try:
        value = kind(text)
    except ValueError:
        value = kind(-1)
    if not least <= value <= most:
        raise ConfigurationError(f"{PREFIX}{name.upper()} is a number from {least:g} to {most:,g}, not {shown(text)}")
    found[name] = value
