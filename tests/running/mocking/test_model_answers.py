"""Models: recorded at the HTTP client, and replayed without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from rightcall.running.mocking import (
    ModelAnswer,
    ModelRecorder,
    ModelReplay,
    RecordedModelCall,
    Recording,
    model_request,
    tapping_models,
)

CHAT = "https://api.example.com/v1/chat/completions"
SSE = 'data: {"delta": "He"}\n\ndata: {"delta": "llo"}\n\ndata: [DONE]\n\n'
KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"


def asked(*texts: str, model: str = "gpt", **more: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    messages = [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]
    return {"model": model, "messages": messages, "temperature": 0.5, **more}


class Model:
    """A scripted model: it answers with what it is given, one after the other."""

    def __init__(self, *answers: httpx.Response | Callable[[], httpx.Response]) -> None:
        self.answers: Iterator[Any] = iter(answers)
        self.requests = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        answer = next(self.answers)
        made: httpx.Response = answer() if callable(answer) else answer
        return made

    def client(self) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(self))


def said(text: str) -> httpx.Response:
    return httpx.Response(200, json={"choices": [{"message": {"role": "assistant", "content": text}}]})


def gone() -> httpx.Client:
    return Model().client()


def recorded(model: Model, *bodies: dict[str, Any], url: str = CHAT, **options: Any) -> tuple[RecordedModelCall, ...]:
    recorder = ModelRecorder("a")
    with tapping_models(recorder), model.client() as client:
        for body in bodies:
            client.post(url, json=body, **options)
    return recorder.entries


def test_what_a_model_answered_is_given_again_without_it() -> None:
    entries = recorded(Model(said("Hello"), said("Bye")), asked("Hi"), asked("Hi", "Hello", "Bye"))

    with tapping_models(ModelReplay("a", entries)), gone() as client:
        second = client.post(CHAT, json=asked("Hi", "Hello", "Bye", temperature=1)).json()
        first = client.post(CHAT, json=asked("Hi", user="someone else")).json()

    assert [one["choices"][0]["message"]["content"] for one in (first, second)] == ["Hello", "Bye"]


def test_a_stream_is_recorded_as_it_comes_and_given_again() -> None:
    model, recorder = (
        Model(httpx.Response(200, headers={"content-type": "text/event-stream"}, text=SSE)),
        ModelRecorder("a"),
    )
    with (
        tapping_models(recorder),
        model.client() as client,
        client.stream("POST", CHAT, json=asked("Hi", stream=True)) as live,
    ):
        first = "".join(live.iter_text())
    with (
        tapping_models(ModelReplay("a", recorder.entries)),
        gone() as client,
        client.stream("POST", CHAT, json=asked("Hi", stream=True)) as again,
    ):
        lines = list(again.iter_lines())

    assert first == SSE == "\n".join(lines) + "\n"


def test_a_stream_that_the_agent_closes_early_is_kept_as_far_as_it_came() -> None:
    def slowly() -> httpx.Response:
        return httpx.Response(
            200, headers={"content-type": "text/event-stream"}, content=iter([b"data: 1\n\n", b"data: 2\n\n"])
        )

    recorder = ModelRecorder("a")
    with (
        tapping_models(recorder),
        Model(slowly).client() as client,
        client.stream("POST", CHAT, json=asked("Hi")) as live,
    ):
        next(live.iter_raw())

    assert recorder.entries[0].answer.text == "data: 1\n\n"


def test_answers_are_recorded_in_the_order_of_their_requests_whichever_ends_first() -> None:
    recorder, slowly = ModelRecorder("a"), httpx.Response(200, content=iter([b"fir", b"st"]))
    with (
        tapping_models(recorder),
        Model(slowly, said("second")).client() as client,
        client.stream("POST", CHAT, json=asked("Hi")) as left_open,
    ):
        client.post(CHAT, json=asked("Hi"))
        left_open.read()

    assert [b"first" in entry.answer.content for entry in recorder.entries] == [True, False]


def test_an_asynchronous_client_is_tapped_too() -> None:
    async def ask(client: httpx.AsyncClient, **more: Any) -> str:
        async with client, client.stream("POST", CHAT, json=asked("Hi", **more)) as response:
            return "".join([text async for text in response.aiter_text()])

    recorder = ModelRecorder("a")
    with tapping_models(recorder):
        live = asyncio.run(ask(httpx.AsyncClient(transport=httpx.MockTransport(Model(said("Hello"))))))
    with tapping_models(ModelReplay("a", recorder.entries)):
        again = asyncio.run(ask(httpx.AsyncClient(transport=httpx.MockTransport(Model()))))

    assert json.loads(live) == json.loads(again)


def test_errors_are_recorded_and_come_in_their_order() -> None:
    busy, broken = httpx.Response(429, json={"error": "busy"}), httpx.Response(500, text="oops")
    entries = recorded(Model(busy, broken, said("Hello")), *[asked("Hi")] * 3)

    with tapping_models(ModelReplay("a", entries)), gone() as client:
        answers = [client.post(CHAT, json=asked("Hi")) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [429, 500, 200]
    assert answers[0].headers["retry-after-ms"] == "1"


def test_requests_at_once_get_their_own_answers() -> None:
    texts = [f"question {number}" for number in range(40)]
    entries = recorded(Model(*[said(text) for text in texts]), *[asked(text) for text in texts])

    with tapping_models(ModelReplay("a", entries)), gone() as client, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda text: client.post(CHAT, json=asked(text)).json(), reversed(texts)))

    assert [answer["choices"][0]["message"]["content"] for answer in answers] == texts[::-1]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("Today is 2026-11-17.", "Today is 2027-01-02."),
        ("It is 2026-11-17T07:40:25Z", "It is 2026-11-18T09:00:00+01:00"),
        ("run 0f8fad5b-d9cb-469f-a165-70867728950e", "run 7c9e6679-7425-40de-944b-e07fc1f90ae7"),
        ("<Agent object at 0x7f0b768e9890>", "<Agent object at 0x7f0b768e0000>"),
    ],
    ids=["date", "time", "uuid", "address"],
)
def test_what_changes_from_run_to_run_does_not_count(before: str, now: str) -> None:
    entries = recorded(Model(said("Hello")), asked(before))

    with tapping_models(ModelReplay("a", entries)), gone() as client:
        assert client.post(CHAT, json=asked(now)).status_code == 200


def test_an_equal_request_goes_before_one_that_differs_in_its_date() -> None:
    entries = recorded(Model(said("first"), said("second")), asked("Book 2026-01-01"), asked("Book 2026-02-02"))

    with tapping_models(ModelReplay("a", entries)), gone() as client:
        answer = client.post(CHAT, json=asked("Book 2026-02-02")).json()

    assert answer["choices"][0]["message"]["content"] == "second"


def test_ids_of_calls_do_not_count() -> None:
    def conversation(key: str) -> dict[str, Any]:
        call = {"id": key, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        messages = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": key, "content": "1"}]
        return {"model": "gpt", "messages": messages}

    entries = recorded(Model(said("Hello")), conversation("call_1"))

    with tapping_models(ModelReplay("a", entries)), gone() as client:
        assert client.post(CHAT, json=conversation("call_2")).status_code == 200


@pytest.mark.parametrize(
    ("body", "difference"),
    [
        (asked("Hi", "Hello", "Bye?"), 'messages[2].content: recorded "Bye", now "Bye?"'),
        (asked("Hi", model="other"), "model: recorded 'gpt', now 'other'"),
        (asked("Hi", tools=[{"name": "look"}]), 'tools: recorded nothing, now [{"name": "look"}]'),
        (asked("Hi", "Hello", "Bye", "x"), 'messages[3].content: recorded nothing, now "x"'),
    ],
    ids=["message", "model", "tools", "longer"],
)
def test_a_request_that_was_not_recorded_is_told_with_its_difference_to_the_nearest(
    body: dict[str, Any], difference: str
) -> None:
    entries = recorded(Model(said("a"), said("b")), asked("Hi"), asked("Hi", "Hello", "Bye"))
    replay = ModelReplay("a", entries)

    with tapping_models(replay), gone() as client:
        answer = client.post(CHAT, json=body)

    assert answer.status_code == 400
    assert "RC508 model-not-recorded" in answer.json()["error"]["message"]
    [problem] = replay.problems
    assert "differs in" in str(problem)
    if "[3]" not in difference:
        assert difference in str(problem)


def test_no_key_is_in_a_recording(tmp_path: Path) -> None:
    body = {**asked(f"my key is {KEY}", metadata={"api_key": KEY}), "user": KEY}
    echo = httpx.Response(200, json={"echo": f"Bearer {KEY}"}, headers={"set-cookie": f"session={KEY}"})
    headers = {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "cookie": f"session={KEY}"}
    entries = recorded(Model(echo), body, url=f"{CHAT}?key={KEY}", headers=headers)

    Recording(entries).save(path := tmp_path / "a.jsonl")

    assert KEY not in path.read_text()
    with tapping_models(ModelReplay("a", Recording.load(path).entries)), gone() as client:  # type: ignore[arg-type]
        assert client.post(CHAT, json=body).status_code == 200


def test_a_line_has_only_what_is_new_in_a_conversation(tmp_path: Path) -> None:
    tools = [{"name": "look"}]
    bodies = [asked(*["Hi", "Hello", "Bye", "See you", "!"][:count], tools=tools) for count in (1, 3, 5)]
    entries = recorded(Model(*[said(str(number)) for number in range(3)]), *bodies)

    Recording(entries).save(path := tmp_path / "a.jsonl")

    lines = [json.loads(line)["request"] for line in path.read_text().splitlines()]
    assert [len(line["messages"]) for line in lines] == [1, 2, 2]
    assert ["tools" in line for line in lines] == [True, False, False]
    assert Recording.load(path).entries == entries


@pytest.mark.parametrize(
    ("path", "body", "known"),
    [
        ("/v1/responses", {"model": "gpt", "input": "Hi", "instructions": "Help."}, ("openai.responses", "gpt", 2)),
        (
            "/v1/messages",
            {"model": "claude", "system": "Help.", "messages": [{"role": "user"}]},
            ("anthropic.messages", "claude", 2),
        ),
        (
            "/v1beta/models/gemini-3:streamGenerateContent",
            {"contents": [{}], "systemInstruction": {"parts": []}},
            ("gemini.generate", "gemini-3", 2),
        ),
        ("/v1/embeddings", {"model": "small", "input": ["a", "b"]}, ("openai.embeddings", "small", 2)),
    ],
    ids=["responses", "anthropic", "gemini", "embeddings"],
)
def test_the_protocols_of_providers_are_known_by_their_paths(path: str, body: dict[str, Any], known: Any) -> None:
    request = model_request("POST", path, json.dumps(body).encode())

    assert request is not None
    assert (request.api, request.model, len(request.messages)) == known
    assert request.stream == ("stream" in path)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/orders", b'{"messages": []}'),
        ("GET", "/v1/chat/completions", b""),
        ("POST", "/v1/messages", b"no JSON"),
    ],
)
def test_other_requests_of_the_agent_are_left_alone(method: str, path: str, body: bytes) -> None:
    assert model_request(method, path, body) is None


def test_an_answer_that_calls_itself_json_and_is_not_is_kept_as_text() -> None:
    answer = ModelAnswer.of(502, "application/json", b"<html>bad gateway")

    assert (answer.content, answer.status) == (b"<html>bad gateway", 502)
