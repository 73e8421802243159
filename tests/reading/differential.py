"""Runs read the direct way, and built from their spans and all their messages: what is read has to be the same.

    python -m tests.reading.differential --mutants 100000
    python -m tests.reading.differential --mutants 100000 --told

makes mutants of all recordings of the corpus and of plain runs of calls (with `--told`, of runs whose models show their
prompts), reads each both ways, and ends with 1 and the first inputs that differ. The suite does the same with a few
thousand.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

from tests.reading.changes import Document, spans, written
from tests.reading.corpus import recordings

import rightcall
from rightcall.reading.messages import _message_exchange, _span_messages
from rightcall.reading.messages._conversation_reader import LastPrompt
from rightcall.reading.runs._simple_runs import SimpleRun, SimpleRuns

_ODD = ("", "null", "{}", "[]", "tool", "agent", "true", "<not specified>", "[Scrubbed due to 'x']", '{"a": 1}', '"x"')
_VALUES: tuple[dict[str, Any], ...] = (
    *[{"stringValue": text} for text in _ODD],
    {"intValue": "3"},
    {"intValue": 7},
    {"boolValue": True},
    {"doubleValue": 1.5},
    {"arrayValue": {"values": [{"stringValue": "a"}]}},
    {"stringValue": None},
    {},
)
_NAMES = (
    "execute_tool x",
    "invoke_agent y",
    "running tool",
    "a.tool",
    "tools/call z",
    "handoff to B",
    "execute_tool (merged)",
    "create_agent q",
    "",
)
_KEYS = (
    "tool.name",
    "gen_ai.tool.name",
    "gen_ai.operation.name",
    "gen_ai.agent.name",
    "gen_ai.conversation.id",
    "gen_ai.usage.input_tokens",
    "gen_ai.input.messages",
    "error.type",
    "session.id",
    "rightcall.case.id",
    "reward",
    "input.value",
    "output.value",
    "openinference.span.kind",
    "pydantic_ai.tool.deferral.name",
)
_ANSWERS = ("x", "tool", "execute_tool", "7", "LLM", "agent", '{"a": 1}', "final_result", "transfer_to_b")
_OF_MESSAGES = ("role", "type", "content", "parts", "text", "message", "tool_calls", "finish_reason", "name", "source")
_SAID: tuple[Any, ...] = (
    *("user", "assistant", "tool", "system", "agent", "text", "Hi", "", None, 7, [], {}),
    *(
        "Observation: 3",
        "Action: x\nAction Input: y",
        '[{"type": "text", "text": "Hi"}]',
        '{"name": "x", "arguments": {}}',
    ),
    *(
        [{"type": "text", "content": "Hi"}],
        [{"type": "tool_use", "id": "1", "name": "x", "input": {}}],
        {"role": "user"},
    ),
)
_EVENT = {"name": "exception", "attributes": [{"key": "exception.message", "value": {"stringValue": "bad"}}]}

Span = dict[str, Any]
Change = Callable[[Document, Span, random.Random], None]


def read_directly(data: bytes | list[bytes], **options: Any) -> str:
    """What is read, each run the direct way where it is simple; an error as text."""
    try:
        return repr(list(rightcall.read(data, **options)))
    except rightcall.RightcallError as problem:
        return repr(problem)


def read_by_spans(data: bytes | list[bytes], **options: Any) -> str:
    """What is read if no run is simple, no message is plain, and every prompt is read from its beginning."""
    with (
        patch.object(SimpleRuns, "run_of", return_value=None),
        patch.object(_message_exchange, "is_plain", return_value=False),
        patch.object(LastPrompt, "_shared", return_value=0),
        patch.object(LastPrompt, "_read_with_answer", return_value=0),
        patch.object(_span_messages, "_SHORT", sys.maxsize),
        patch.object(_span_messages, "_FEWEST", sys.maxsize),
    ):
        return read_directly(data, **options)


@contextmanager
def counted() -> Iterator[list[SimpleRun]]:
    """The runs that are read directly, inside a `with`."""
    found: list[SimpleRun] = []
    run_of = SimpleRuns.run_of

    def counting(self: SimpleRuns, request: Any) -> SimpleRun | None:
        run = run_of(self, request)
        found.extend([] if run is None else [run])
        return run

    with patch.object(SimpleRuns, "run_of", counting):
        yield found


def plain_run(number: int = 0, calls: int = 4) -> Document:
    """An agent and its calls one after the other, as OpenTelemetry's conventions have them."""
    trace = f"{number + 1:032x}"
    begin = 1_700_000_000_000_000_000 + number * 10_000
    root: dict[str, Any] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}
    own = 1 + number * 100
    made = [_span(trace, own, None, "invoke_agent shop", begin, begin + 9_000, root)]
    for place in range(calls):
        tool = ("search", "book", "pay")[place % 3]
        held = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": f"call_{number}_{place}",
            "gen_ai.tool.call.arguments": json.dumps({"query": f"q{place}", "limit": place}),
            "gen_ai.tool.call.result": json.dumps({"status": "ok", "id": place}),
        }
        start = begin + 1_000 * (place + 1)
        made.append(_span(trace, own + place + 1, own, f"execute_tool {tool}", start, start + 500, held))
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "shop"}, "spans": made}]}]}


def plain_calls(number: int = 0, calls: int = 4) -> Document:
    """The calls of a plain run without its agent."""
    document = plain_run(number, calls)
    scoped = document["resourceSpans"][0]["scopeSpans"][0]
    scoped["spans"] = [{**span, "parentSpanId": ""} for span in scoped["spans"][1:]]
    return document


def told_run(number: int = 0, steps: int = 5) -> Document:
    """An agent whose model asks for a call in each of four times as many steps, and is shown all that was said."""
    document = plain_run(number, 4 * steps)
    held = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    root, calls = held[0], held[1:]
    root["endTimeUnixNano"] = str(int(calls[-1]["endTimeUnixNano"]) + 1_000)
    said: list[dict[str, Any]] = [{"role": "user", "parts": [{"type": "text", "content": "Buy a phone."}]}]
    for place, call in enumerate([*calls, None]):
        values = {each["key"]: each["value"]["stringValue"] for each in call["attributes"]} if call else {}
        call_id = values.get("gen_ai.tool.call.id")
        asked = {"type": "tool_call", "id": call_id, "name": values.get("gen_ai.tool.name")}
        asked["arguments"] = json.loads(values.get("gen_ai.tool.call.arguments", "{}"))
        answer = {"role": "assistant", "parts": [asked if call else {"type": "text", "content": "Done."}]}
        told = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.input.messages": json.dumps(said),
            "gen_ai.output.messages": json.dumps([answer]),
        }
        start = int(root["startTimeUnixNano"]) + 1_000 * place + 600
        own = int(root["spanId"], 16) + 50 + place
        held.append(_span(root["traceId"], own, int(root["spanId"], 16), "chat m", start, start + 300, told))
        response = {"type": "tool_call_response", "id": call_id, "response": {"status": "ok", "id": place}}
        said += [answer, {"role": "tool", "parts": [response]}]
    return document


def _span(trace: str, own: int, parent: int | None, name: str, start: int, end: int, held: dict[str, Any]) -> Span:
    return {
        "traceId": trace,
        "spanId": f"{own:016x}",
        "parentSpanId": "" if parent is None else f"{parent:016x}",
        "name": name,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": [{"key": key, "value": {"stringValue": text}} for key, text in held.items()],
        "status": {},
    }


def _drop_attribute(document: Document, span: Span, chance: random.Random) -> None:
    if span.get("attributes"):
        span["attributes"].pop(chance.randrange(len(span["attributes"])))


def _change_value(document: Document, span: Span, chance: random.Random) -> None:
    if span.get("attributes"):
        chance.choice(span["attributes"])["value"] = chance.choice(_VALUES)


def _add_attribute(document: Document, span: Span, chance: random.Random) -> None:
    held = {"key": chance.choice(_KEYS), "value": {"stringValue": chance.choice(_ANSWERS)}}
    span["attributes"] = [*span.get("attributes", ()), held]


def _mix_attributes(document: Document, span: Span, chance: random.Random) -> None:
    chance.shuffle(span.get("attributes", []))


def _cut_text(document: Document, span: Span, chance: random.Random) -> None:
    texts = [each["value"] for each in span.get("attributes", ()) if each["value"].get("stringValue")]
    if texts:
        held = chance.choice(texts)
        text, place = held["stringValue"], chance.randrange(len(held["stringValue"]))
        held["stringValue"] = text[:place] + chance.choice(["", '"', "x", "\\"]) + text[place + chance.randrange(4) :]


def _move(document: Document, span: Span, chance: random.Random) -> None:
    others = spans(document)
    span["parentSpanId"] = chance.choice([chance.choice(others).get("spanId", ""), "", "0" * 16, "00f067aa0ba902b7"])


def _retime(document: Document, span: Span, chance: random.Random) -> None:
    key = chance.choice(["startTimeUnixNano", "endTimeUnixNano"])
    span[key] = chance.choice(spans(document)).get(chance.choice(["startTimeUnixNano", "endTimeUnixNano"]))


def _lose(document: Document, span: Span, chance: random.Random) -> None:
    span.pop(chance.choice(["startTimeUnixNano", "endTimeUnixNano", "spanId", "status", "events", "attributes"]), None)


def _fail(document: Document, span: Span, chance: random.Random) -> None:
    span["status"] = chance.choice([{}, {"code": 1}, {"code": 2}, {"code": 2, "message": "boom"}, {"code": "ERROR"}])


def _rename(document: Document, span: Span, chance: random.Random) -> None:
    span["name"] = chance.choice(_NAMES)


def _remove(document: Document, span: Span, chance: random.Random) -> None:
    for resource in document["resourceSpans"]:
        for scoped in resource["scopeSpans"]:
            scoped["spans"] = [each for each in scoped["spans"] if each is not span]


def _add_event(document: Document, span: Span, chance: random.Random) -> None:
    span["events"] = [copy.deepcopy(_EVENT)]


def _change_trace(document: Document, span: Span, chance: random.Random) -> None:
    span["traceId"] = f"{chance.getrandbits(128):032x}"


def _change_scope(document: Document, span: Span, chance: random.Random) -> None:
    name = chance.choice(["x", "", "openinference.instrumentation.langchain", "gcp.vertex.agent"])
    made = {"scope": {"name": name}, "spans": [span]}
    _remove(document, span, chance)
    document["resourceSpans"][0]["scopeSpans"].append(made)


def _repeat(document: Document, span: Span, chance: random.Random) -> None:
    again = copy.deepcopy(span)
    again["spanId"] = chance.choice([span.get("spanId"), f"{chance.getrandbits(64):016x}"])
    document["resourceSpans"][0]["scopeSpans"][0]["spans"].append(again)


def _write_upper(document: Document, span: Span, chance: random.Random) -> None:
    for key in ("traceId", "spanId", "parentSpanId"):
        span[key] = str(span.get(key) or "").upper()


def _change_message(document: Document, span: Span, chance: random.Random) -> None:
    """Change one object of what the attributes and events of a span hold as JSON."""
    holders = [span, *span.get("events", ())]
    texts = [each["value"] for holder in holders for each in holder.get("attributes", ())]
    held = [each for each in texts if str(each.get("stringValue"))[:1] in ("[", "{")]
    if not held:
        return
    chosen = chance.choice(held)
    try:
        decoded = json.loads(chosen["stringValue"])
    except ValueError:
        return
    objects = [each for each in _inside(decoded) if isinstance(each, dict)]
    if objects:
        changed = chance.choice(objects)
        changed.pop(chance.choice([*changed, ""]), None)
        changed[chance.choice(_OF_MESSAGES)] = copy.deepcopy(chance.choice(_SAID))
    chosen["stringValue"] = json.dumps(decoded)


def _inside(value: Any) -> Iterator[Any]:
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _inside(inner)


def _change_prompts(document: Document, span: Span, chance: random.Random) -> None:
    """Change one message wherever a prompt or an answer shows it, and what comes after it stays as it is."""
    lists = _prompts(document)
    messages = [each for _, said in lists for each in said if isinstance(each, dict)]
    if not messages:
        return
    chosen = copy.deepcopy(chance.choice(messages))
    change = chance.choice(_CHANGES_OF_MESSAGES)
    for value, said in lists:
        changed = [change(copy.deepcopy(each)) if each == chosen else [each] for each in said]
        value["stringValue"] = json.dumps([each for made in changed for each in made])


def _prompts(document: Document) -> list[tuple[dict[str, Any], list[Any]]]:
    """What models were shown and answered: the values of attributes, and the lists of messages in them."""
    found = []
    for each in [each for span in spans(document) for each in span.get("attributes", ())]:
        text = each["value"].get("stringValue") if each["key"] in _PROMPTS else None
        try:
            said = json.loads(text) if isinstance(text, str) else None
        except ValueError:
            continue
        found += [(each["value"], said)] if isinstance(said, list) else []
    return found


def _parts(message: Any) -> list[dict[str, Any]]:
    held = message.get("parts") if isinstance(message, dict) else None
    return [part for part in held if isinstance(part, dict)] if isinstance(held, list) else []


def _without_ids(message: dict[str, Any]) -> list[dict[str, Any]]:
    for part in _parts(message):
        part.pop("id", None)
    return [message]


def _refused(message: dict[str, Any]) -> list[dict[str, Any]]:
    for part in _parts(message):
        if "response" in part:
            part["response"] = "The tool call was denied."
    return [message]


def _with_first_id(message: dict[str, Any]) -> list[dict[str, Any]]:
    for part in _parts(message):
        part["id"] = "call_0"
    return [message]


_CHANGES_OF_MESSAGES: tuple[Callable[[dict[str, Any]], list[dict[str, Any]]], ...] = (
    _without_ids,
    _refused,
    _with_first_id,
    lambda message: [],
    lambda message: [message, message],
    lambda message: [{"role": "user", "parts": [{"type": "text", "content": "And now?"}]}],
    lambda message: [message, {"role": "user", "parts": [{"type": "text", "content": "Go on."}]}],
    lambda message: [{**message, "parent_tool_use_id": "call_0"}],
    lambda message: [message, {"role": "assistant", "parts": [{"type": "text", "content": "Well."}]}],
    lambda message: [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "lost", "response": 1}]}, message],
)
_PROMPTS = ("gen_ai.input.messages", "gen_ai.output.messages")


def _lose_ids(document: Document, span: Span, chance: random.Random) -> None:
    """Take the ids of calls out of all messages and spans, or only out of messages."""
    for value, said in _prompts(document):
        value["stringValue"] = json.dumps([kept for each in said for kept in _without_ids(each)])
    for each in spans(document) if chance.random() < 0.5 else ():
        each["attributes"] = [held for held in each.get("attributes", ()) if held["key"] != "gen_ai.tool.call.id"]


def _put_inside(document: Document, span: Span, chance: random.Random) -> None:
    """Put a model inside of a call: it works for another agent."""
    held = spans(document)
    models = [each for each in held if each.get("name") == "chat m"]
    calls = [each for each in held if str(each.get("name")).startswith("execute_tool")]
    if models and calls:
        chance.choice(models)["parentSpanId"] = chance.choice(calls).get("spanId", "")


def _remove_calls(document: Document, span: Span, chance: random.Random) -> None:
    """Remove the spans of all calls, so that nothing but messages shows them."""
    for each in [each for each in spans(document) if str(each.get("name")).startswith("execute_tool")]:
        _remove(document, each, chance)


CHANGES: tuple[Change, ...] = (
    _change_message,
    _drop_attribute,
    _change_value,
    _add_attribute,
    _mix_attributes,
    _cut_text,
    _move,
    _retime,
    _lose,
    _fail,
    _rename,
    _remove,
    _add_event,
    _change_trace,
    _change_scope,
    _repeat,
    _write_upper,
)


class Kind(NamedTuple):
    """What mutants are made of, recordings where that is None, and what is changed."""

    makers: tuple[Callable[[int, int], Document] | None, ...]
    changes: tuple[Change, ...] = CHANGES


# Most mutants are of plain runs: recordings are far from simple, whatever is changed.
PLAIN = Kind((plain_run, plain_run, plain_run, plain_calls, None))
TOLD = Kind(
    (told_run, told_run, told_run, None),
    (*CHANGES, *[_change_prompts] * 10, *[_lose_ids] * 4, *[_put_inside] * 4, *[_remove_calls] * 4),
)


def mutants(count: int, seed: int, kind: Kind = PLAIN) -> Iterator[bytes]:
    """Yield so many sources, each of one or two mutated documents."""
    chance = random.Random(seed)
    texts = [files["otlp.json"] for _, files in sorted(recordings().items()) if "otlp.json" in files]
    for number in range(count):
        make = chance.choice(kind.makers)
        document = make(number, chance.randint(1, 5)) if make else json.loads(chance.choice(texts))
        for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
            held = spans(document)
            if held:
                chance.choice(kind.changes)(document, chance.choice(held), chance)
        beside = [plain_run(number + chance.choice((0, 1)))] if chance.random() < 0.2 else []
        yield b"\n".join([written(each) for each in (document, *beside)]) + b"\n"


def differing(count: int, seed: int, kind: Kind = PLAIN) -> tuple[list[bytes], int]:
    """Return the mutants that are read differently, and how many runs were read directly."""
    with counted() as simple:
        found = [source for source in mutants(count, seed, kind) if read_directly(source) != read_by_spans(source)]
    return found, len(simple)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how many mutants differ, and the first of them; return 1 if any does."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.reading.differential", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--mutants", type=int, default=100_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--told", action="store_true", help="mutants of runs whose models show their prompts")
    asked = parser.parse_args(arguments)
    found, simple = differing(asked.mutants, asked.seed, TOLD if asked.told else PLAIN)
    print(f"{asked.mutants:,} mutants, {simple:,} runs read directly, {len(found):,} differ")
    for source in found[:5]:
        print(source.decode())
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
