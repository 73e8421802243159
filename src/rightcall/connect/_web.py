"""Requests to a trace server, with limits and without leaking keys, and what servers share: pages, ids, times.

Searches of Tempo and Jaeger return a limited number of traces and have no pages. A search that returns the most that
it may has left some out. Then its time window is split, and both halves are searched, until each returns fewer.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from rightcall.errors import InputError, TraceServerError, missing_package
from rightcall.values.redaction import redacted_text
from rightcall.version import __version__

from ._address import Address, Query

if TYPE_CHECKING:
    import httpx

    from ._servers import Mark


_MOST_BYTES = 64 * 1024 * 1024
"""The maximum size of a response in bytes, decompressed. A page of 1,000 spans with whole prompts is about 20 MB."""
_PIECE = 1 << 20
_TRIES = 6
_TRIES_TO_CONNECT = 3
"""Attempts if the connection is refused: waiting rarely helps, because most often the address is wrong."""
_MOST_PAUSE = 30.0
"""The maximum seconds between two attempts, whatever `Retry-After` says: a command must not sleep for an hour."""
_SECONDS = 60.0
"""Seconds without any data after which a request fails."""
_SECONDS_OF_ANSWER = 600.0
"""Seconds that a response may take in all: a server that sends a byte per second is never silent."""
_PASSING = (408, 425, 429, 500, 502, 503, 504)
"""Status codes of temporary errors, which are retried: RFC 9110 section 15, RFC 6585 section 4, RFC 8470."""
BAD_REQUEST, CONFLICT = HTTPStatus.BAD_REQUEST, HTTPStatus.CONFLICT
_QUOTED, _READ = 200, 10_000
_NAMES = {
    "phoenix": "Phoenix",
    "mlflow": "MLflow",
    "langfuse": "Langfuse",
    "langsmith": "LangSmith",
    "tempo": "Tempo",
    "jaeger": "Jaeger",
}

Decoded = TypeVar("Decoded")
Parameters = Sequence[tuple[str, str]]
_MOST_PAGES = 1_000_000
_MICROSECOND = 1000
Item = TypeVar("Item")
MOST = 500
"""The maximum number of traces that one search requests."""
SECOND = 10**9
DAY = 86_400 * SECOND
LOOKS_BACK = 7 * DAY
"""How far back a search looks by default, and the longest window of one search. Tempo and Jaeger keep weeks of
traces, and fail for windows of years: Tempo's `query_frontend.search.max_duration` is 168 hours by default, and Jaeger
asks Elasticsearch for one index per day, whose names do not fit into one request."""
Search = Callable[[int, int], dict[str, int]]
"""Returns the start times of the traces in a window, by trace id; at most `MOST` of them."""


class RefusedError(TraceServerError):
    """The server responds with an error; `status` is its status code, `answer` its message."""

    def __init__(self, message: str, status: int, answer: str) -> None:
        super().__init__(message)
        self.status, self.answer = status, answer


class NotFoundError(RefusedError):
    """The server does not have what was requested, or does not support the request (404, 501)."""


class WebPageError(TraceServerError):
    """The server responds with a web page, as some do for unknown paths."""


class TooLargeError(TraceServerError):
    """A response is larger than the limit."""


class Web:
    """A connection to one server. Use it in a `with` block.

    Args:
        address: The server.
        headers: Headers of each request, including keys.
        secrets: Keys, which are removed from messages: a server may repeat them.
        missing_key: A hint for the message if the server refuses access.
        warn: Called for a trace that is left out because the server returns only part of it; by default an error.
        sleep: The function that waits between two attempts.
        patience: How many seconds one response may take.

    Raises:
        MissingExtraError: httpx is not installed.
    """

    def __init__(
        self,
        address: Address,
        headers: Mapping[str, str] | None = None,
        *,
        secrets: Sequence[str] = (),
        missing_key: str = "",
        warn: Callable[[str], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        patience: float = _SECONDS_OF_ANSWER,
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise missing_package(f"{address} is a trace server, and reading from it needs httpx", "connect") from None
        self._address, self._missing_key, self._sleep = address, missing_key, sleep
        self._warn, self._patience, self._secrets = warn, patience, secrets
        ours = {"user-agent": f"rightcall/{__version__}", "accept": "application/json", "accept-encoding": "gzip"}
        # Redirects are not followed: they would send keys to another host. On loopback no proxy is used.
        self._client = httpx.Client(
            headers={**ours, **(headers or {})},
            timeout=_SECONDS,
            follow_redirects=False,
            trust_env=not address.is_local,
        )

    def __enter__(self) -> Web:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, path: str, parameters: Parameters = (), *, as_type: type[Decoded]) -> Decoded:
        """Return the decoded response to a GET. Raises `TraceServerError`."""
        return self._decoded(path, self._asked("GET", path, parameters, None), as_type)

    def post(self, path: str, body: Any, parameters: Parameters = (), *, as_type: type[Decoded]) -> Decoded:
        """Return the decoded response to a POST of JSON, which is retried if it fails. Raises `TraceServerError`."""
        return self._decoded(path, self._asked("POST", path, parameters, msgspec.json.encode(body)), as_type)

    def send(
        self, method: str, path: str, body: Any, parameters: Parameters = (), *, is_repeatable: bool = True
    ) -> bytes:
        """Send JSON and return the response body; retry only if it is repeatable. Raises `TraceServerError`."""
        tries = _TRIES if is_repeatable else 1
        return self._asked(method, path, parameters, msgspec.json.encode(body), tries)

    def leave_out(self, trace_id: str, why: str) -> None:
        """Warn that a trace is left out. Raises `TraceServerError` if there is no `warn`."""
        message = f"{self._address}: trace {trace_id} is left out: {why}"
        if self._warn is None:
            raise TraceServerError(message)
        self._warn(without(message, self._secrets))

    def _decoded(self, path: str, answer: bytes, as_type: type[Decoded]) -> Decoded:
        try:
            return msgspec.json.decode(answer, type=as_type)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            is_page = answer.lstrip()[:1] == b"<"
            found = "a web page" if is_page else f"something else ({problem})"
            prefix = self._address.prefix
            hint = f" {prefix} is taken for a prefix of its pages; a / in a name is written %2F" if prefix else ""
            raise (WebPageError if is_page else TraceServerError)(
                f"{self._address}: expected JSON from {path} and got {found}; is this the address of "
                f"{_NAMES.get(self._address.scheme, 'the server')}?{hint}"
            ) from None

    def _asked(self, method: str, path: str, parameters: Parameters, body: bytes | None, tries: int = _TRIES) -> bytes:
        """Send a request, and retry temporary errors. Raises `TraceServerError` after the last attempt."""
        import httpx

        problem = ""
        for number in range(tries):
            try:
                status, headers, answer = self._once(method, path, parameters, body)
            except httpx.HTTPError as failure:
                problem, pause = str(failure) or type(failure).__name__, float(2**number) / 4
                if isinstance(failure, httpx.ConnectError) and number + 1 >= _TRIES_TO_CONNECT:
                    tries = number + 1
                    break
            else:
                if status not in _PASSING:
                    return self._accepted(path, status, headers, answer)
                problem, pause = f"it answers {_named(status)}", _pause(headers.get("retry-after"), number)
            if number + 1 < tries:
                self._sleep(min(pause, _MOST_PAUSE))
        often = f" after {tries} tries" if tries > 1 else ""
        raise TraceServerError(f"{self._address}: the request for {path} failed{often}: {self._quoted(problem)}")

    def _once(
        self, method: str, path: str, parameters: Parameters, body: bytes | None
    ) -> tuple[int, httpx.Headers, bytes]:
        headers = {"content-type": "application/json"} if body is not None else {}
        url, end = self._address.base + path, time.monotonic() + self._patience
        with self._client.stream(method, url, params=list(parameters), content=body, headers=headers) as response:
            answer = bytearray()
            for piece in _unpacked(response):
                answer += piece
                if len(answer) > _MOST_BYTES:
                    raise TooLargeError(
                        f"{self._address}: the answer to {path} is larger than {_MOST_BYTES >> 20} MB; ask for less "
                        "with since, until or limit"
                    )
                if time.monotonic() > end:
                    raise TraceServerError(f"{self._address}: {path} was not answered within {self._patience:g} s")
            return response.status_code, response.headers, bytes(answer)

    def _accepted(self, path: str, status: int, headers: httpx.Headers, answer: bytes) -> bytes:
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return answer
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            target = self._quoted(headers.get("location", "").partition("?")[0])
            raise TraceServerError(
                f"{self._address} redirects to {target or 'nowhere'}; give that address if you trust it: "
                "keys are not sent to another host"
            )
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise TraceServerError(f"{self._address} refused access ({_named(status)}){self._missing_key}")
        quoted = "" if answer.lstrip()[:1] == b"<" else self._quoted(answer[:_READ].decode(errors="replace").strip())
        message = f"{self._address}: {path} answers {_named(status)}{f': {quoted}' if quoted else ''}"
        is_unknown = status in (HTTPStatus.NOT_FOUND, HTTPStatus.NOT_IMPLEMENTED)
        raise (NotFoundError if is_unknown else RefusedError)(message, status, quoted)

    def _quoted(self, text: str) -> str:
        """Return the beginning of a server's message, without keys. They are removed first: a cut key is not found."""
        return redacted_text(without(text, self._secrets))[:_QUOTED]


def without(text: str, secrets: Sequence[str]) -> str:
    """Return a string with each secret replaced by `[key]`."""
    for secret in secrets:
        text = text.replace(secret, "[key]")
    return text


def _unpacked(response: httpx.Response) -> Iterator[bytes]:
    """Yield the body, decompressed in pieces of bounded size: httpx does not limit how much a piece decompresses to."""
    packed = response.headers.get("content-encoding", "identity").lower()
    if packed == "identity":
        yield from response.iter_raw()
        return
    if packed not in ("gzip", "x-gzip", "deflate"):
        raise TraceServerError(f"the server compresses its answers with {packed[:20]!r}, which was not requested")
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32)  # 32: detect gzip and zlib headers (zlib's `inflateInit2`)
    try:
        for piece in response.iter_raw():
            while piece:
                yield unpacking.decompress(piece, _PIECE)
                piece = unpacking.unconsumed_tail
    except zlib.error:
        raise TraceServerError(f"the server says that its answer is compressed with {packed}, but it is not") from None


def _pause(asked_for: str | None, number: int) -> float:
    """Return how many seconds to wait: as `Retry-After` says (RFC 9110 section 10.2.3), else longer each time."""
    if asked_for is None:
        return float(2**number) / 4
    if asked_for.strip().isdigit():
        return float(asked_for[:9])
    try:
        return max(0.0, parsedate_to_datetime(asked_for).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return float(2**number) / 4


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def post_json(url: str, document: Any) -> None:
    """Post JSON to a URL. Raises `TraceServerError`, whose message names the host at most: a URL may contain a key."""
    try:
        import httpx
    except ImportError:
        raise missing_package("posting to a webhook needs httpx", "connect") from None
    try:
        place = httpx.URL(url)
        answer = httpx.post(
            place, content=msgspec.json.encode(document), headers={"content-type": "application/json"}, timeout=_SECONDS
        )
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        raise TraceServerError(f"the webhook cannot be reached: {type(problem).__name__}") from None
    if not answer.is_success:
        raise TraceServerError(f"the webhook at {place.host} answers {_named(answer.status_code)}")


def bounded_pages(page: Callable[[str | None], tuple[Sequence[Item], str | None]]) -> Iterator[Item]:
    """Yield the items of all pages. A repeated cursor is an error, not an endless loop.

    Args:
        page: Returns the items of the page at a cursor (`None` for the first page), and the cursor of the next page.

    Raises:
        TraceServerError: the pages do not end.
    """
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(_MOST_PAGES):
        items, cursor = page(cursor)
        yield from items
        if not cursor:
            return
        if cursor in seen:
            raise TraceServerError("the server's pages do not end: it returned the same cursor twice")
        seen.add(cursor)
    raise TraceServerError(f"the server has more than {_MOST_PAGES:,} pages; ask for less with since, until or limit")


def chronological(newest_first: Iterable[str], limit: int | None) -> list[str]:
    """Return unique ids, oldest first; if there are more than the limit, the newest ones."""
    unique: dict[str, None] = {}
    for each in newest_first:
        unique[each] = None
        if limit is not None and len(unique) == limit:
            break
    return list(unique)[::-1]


def batches(items: Sequence[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of this size."""
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch


def iso_time(nanoseconds: int | None) -> str | None:
    """Return a time as ISO 8601, in UTC and with microseconds."""
    if nanoseconds is None:
        return None
    seconds, rest = divmod(nanoseconds, 10**9)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // _MICROSECOND)
    return moment.isoformat().replace("+00:00", "Z")


class _Kept(msgspec.Struct):
    spans: msgspec.Raw = msgspec.Raw(b"")
    observations: msgspec.Raw = msgspec.Raw(b"")
    traces: list[_Kept] = []


def recorded_part(document: bytes) -> bytes:
    """Return the recorded part of a trace, without verdicts that some servers include in the same document.

    MLflow has assessments beside `traces[].spans`; Langfuse 3 has scores beside `observations`.
    """
    try:
        whole = msgspec.json.decode(document, type=_Kept)
    except msgspec.ValidationError:
        return document
    parts = [bytes(part) for each in (whole, *whole.traces) for part in (each.spans, each.observations)]
    return b"\n".join(parts) if any(parts) else document


def one_line(document: msgspec.Raw | bytes) -> bytes:
    """Return JSON on one line."""
    text = bytes(document)
    return msgspec.json.format(text, indent=-1) if b"\n" in text or b"\r" in text else text


class SpanServer:
    """A server that stores spans only, and no verdicts."""

    def __init__(self, web: Web) -> None:
        self._web = web

    def document(self, trace_id: str) -> bytes | None:
        """Return a whole trace; None if the server does not have it. Raises `TraceServerError`."""
        raise NotImplementedError

    def documents(self, trace_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield each whole trace with its id. Raises `TraceServerError`."""
        for trace_id in trace_ids:
            document = self.document(trace_id)
            if document is not None:
                yield trace_id, document

    def push(self, marks: Sequence[Mark]) -> None:
        """Refuse verdicts. Raises `InputError`."""
        name = type(self).__name__
        raise InputError(
            f"{name} cannot store verdicts; send them to a server for logs: --push-to otlp+http://localhost:4318"
        )


class TooLongError(TraceServerError):
    """The window of a search is longer than the server allows."""


def searched(search: Search, query: Query, *, now: Callable[[], int] = time.time_ns) -> list[str]:
    """Return the ids of all traces in the time window of a query, oldest first.

    Args:
        search: Searches one window.
        query: The window, and the limit on the number of traces, of which the newest are returned.
        now: Returns the current time in nanoseconds.

    Raises:
        TraceServerError: one second has more traces than a search returns.
    """
    end = query.until_ns if query.until_ns is not None else now() + SECOND
    begin = query.since_ns if query.since_ns is not None else end - LOOKS_BACK
    windows = [(start, min(start + LOOKS_BACK, end)) for start in range(begin, end, LOOKS_BACK)]
    found: dict[str, int] = {}
    while windows and (query.limit is None or len(found) < query.limit):
        since, until = windows.pop()  # the latest comes first
        part = _part(search, since, until)
        if part is None:
            middle = (since + until) // 2
            windows += [(since, middle), (middle, until)]
        else:
            found |= part
    oldest_first = sorted(found, key=lambda trace_id: (found[trace_id], trace_id))
    return oldest_first[-query.limit :] if query.limit is not None else oldest_first


def _part(search: Search, since: int, until: int) -> dict[str, int] | None:
    """Return the traces of a window, or `None` if the window has to be split."""
    is_small = until - since <= SECOND
    try:
        part = search(since, until)
    except (TooLargeError, TooLongError):
        if is_small:
            raise
        return None
    if len(part) < MOST:
        return part
    if is_small:
        raise TraceServerError(f"more than {MOST} traces began in one second, and no search returns more; give filter=")
    return None
