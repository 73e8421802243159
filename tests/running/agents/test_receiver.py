"""The private receiver of spans, over real connections."""

from __future__ import annotations

import asyncio
import gzip
import re
import socket

import pytest

from rightcall.errors import AgentError
from rightcall.running.agents._http import Receiver, receiving

LIMIT = 10_000
HEAD = b"POST /r/TOKEN/v1/traces HTTP/1.1\r\nhost: x\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"


async def exchange(receiver: Receiver, message: bytes) -> int:
    """The status the receiver responds with."""
    found = re.match(r"http://127\.0\.0\.1:(\d+)/", receiver.endpoint)
    assert found
    reader, writer = await asyncio.open_connection("127.0.0.1", int(found[1]))
    writer.write(message)
    if not message.endswith(b"\r\n\r\n"):
        writer.write_eof()
    response = await reader.read()
    writer.close()
    return int(response.split(b" ")[1])


def post(path: str, body: bytes = b"{}", *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "host: x", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def sent(*messages: str | bytes) -> tuple[list[int], tuple[bytes, ...]]:
    """The statuses of messages, in which `TOKEN` stands for the token, and the documents received."""

    async def send() -> tuple[list[int], tuple[bytes, ...]]:
        async with receiving(LIMIT) as receiver:
            made = [one.encode() if isinstance(one, str) else one for one in messages]
            statuses = [await exchange(receiver, one.replace(b"TOKEN", receiver.token.encode())) for one in made]
            return statuses, await receiver.documents()

    return asyncio.run(send())


def test_documents_are_kept_as_they_were_sent() -> None:
    assert sent(post("/r/TOKEN/v1/traces", b"\x0a\x00"), post("/r/TOKEN/v1/logs", b"{}")) == (
        [200, 200],
        (b"\x0a\x00", b"{}"),
    )


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (post("/v1/traces", b"{}"), 401),
        (post("/r/wrong/v1/traces"), 401),
        (post("/r/TOKENx/v1/traces"), 401),
        (post("/r//v1/traces", b"{}", "x-rightcall-token: wrong"), 401),
        (post("/r/\xe9/v1/traces"), 400),
        (post("/r/TOKEN/v1/secrets"), 404),
        (post("/r/TOKEN/../etc/passwd"), 404),
        (b"GET /r/TOKEN/v1/traces HTTP/1.1\r\nhost: x\r\n\r\n", 405),
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"POST /v1/traces HTTP/1.1\r\nhost: x\r\nno colon here\r\n\r\n", 400),
        (b"half a head", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\nx: " + b"y" * 100_000 + b"\r\n\r\n", 431),
    ],
)
def test_a_message_that_is_not_meant_for_it_is_refused(message: bytes, status: int) -> None:
    assert sent(message) == ([status], ())


def test_the_token_may_be_a_header() -> None:
    assert sent(post("/v1/traces", b"{}", "x-rightcall-token: TOKEN")) == ([200], (b"{}",))


def test_metrics_are_taken_and_dropped() -> None:
    assert sent(post("/r/TOKEN/v1/metrics", b"{}")) == ([200], ())


@pytest.mark.parametrize(
    "message",
    [
        CHUNKED + b"2\r\n{}\r\n3;x=y\r\n   \r\n0\r\nt: v\r\n\r\n",
        post("/r/TOKEN/v1/traces", gzip.compress(b"{}   "), "content-encoding: gzip"),
    ],
    ids=["chunked", "gzip"],
)
def test_a_body_may_come_in_chunks_or_packed(message: bytes) -> None:
    assert sent(message) == ([200], (b"{}   ",))


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (post("/r/TOKEN/v1/traces", b"x" * (LIMIT + 1)), "more than allowed"),
        (post("/r/TOKEN/v1/traces", gzip.compress(b"x" * 10_000_000), "content-encoding: gzip"), "once decompressed"),
        (post("/r/TOKEN/v1/traces", gzip.compress(b"xyz" * 9)[:-9], "content-encoding: gzip"), "ends early"),
        (post("/r/TOKEN/v1/traces", b"no gzip", "content-encoding: gzip"), "damaged gzip"),
        (post("/r/TOKEN/v1/traces", b"x", "content-encoding: br"), "'br' is not known"),
        (HEAD + b"content-length: 50\r\n\r\nshort", "closed before the body"),
        (CHUNKED + b"zz\r\n\r\n", "illegal chunk header"),
        (CHUNKED + b"fffffff\r\ntoo short", "closed before the body"),
        (HEAD + b"content-length: -5\r\n\r\n", "bad Content-Length"),
        (HEAD + b"content-length: " + b"9" * 5000 + b"\r\n\r\n", "bad Content-Length"),
        (HEAD + b"content-length: 1\r\ncontent-length: 2\r\n\r\n", "conflicting Content-Length"),
        (HEAD + b"no colon here\r\n\r\n", "illegal header line"),
        (HEAD + b"x: " + b"y" * 100_000 + b"\r\n\r\n", "headers exceed 65,536 bytes"),
        (HEAD + b"x: y", "closed before the headers"),
        (b"POST /r/TOKEN/v1/traces HTTP/1.1\r\ncontent-length: 0\r\n\r\n", "Missing mandatory Host"),
        (CHUNKED + b"fffffff\r\n" + b"x" * (LIMIT + 1), "more than 10,000 bytes"),
    ],
)
def test_spans_that_cannot_be_taken_are_an_error_of_the_request_and_not_fewer_calls(
    message: bytes, complaint: str
) -> None:
    with pytest.raises(AgentError, match=complaint):
        sent(message)


def test_the_limit_is_for_all_documents_of_a_request_together() -> None:
    with pytest.raises(AgentError, match="more than allowed"):
        sent(post("/r/TOKEN/v1/traces", b"x" * 6_000), post("/r/TOKEN/v1/traces", b"x" * 6_000))


def test_documents_sent_at_once_share_the_limit() -> None:
    async def send() -> None:
        async with receiving(LIMIT) as receiver:
            message = post(f"/r/{receiver.token}/v1/traces", b"x" * 6_000)
            assert sorted(await asyncio.gather(*(exchange(receiver, message) for _ in range(3)))) == [200, 413, 413]
            await receiver.documents()

    with pytest.raises(AgentError, match=r"in all|more than allowed"):
        asyncio.run(send())


def test_every_request_has_a_token_and_a_receiver_of_its_own_that_ends_with_it() -> None:
    async def two() -> tuple[Receiver, Receiver]:
        async with receiving(LIMIT) as first, receiving(LIMIT) as second:
            assert await exchange(second, post(f"/r/{first.token}/v1/traces")) == 401
        with pytest.raises(ConnectionError):
            await exchange(first, post(f"/r/{first.token}/v1/traces"))
        return first, second

    first, second = asyncio.run(two())

    assert first.token != second.token
    assert len(first.token) == 32


def test_what_is_on_its_way_is_waited_for() -> None:
    async def send_and_go() -> tuple[bytes, ...]:
        async with receiving(LIMIT) as receiver:
            port = int(receiver.endpoint.split(":")[2].split("/")[0])
            with socket.create_connection(("127.0.0.1", port)) as link:
                link.sendall(post(f"/r/{receiver.token}/v1/traces", b"x" * 5000))
            return await receiver.documents()

    assert asyncio.run(send_and_go()) == (b"x" * 5000,)
