"""Runs read the direct way, and built from their spans and all their messages: what is read has to be the same.

    python -m tests.reading.differential --mutants 100000

makes mutants of all recordings of the corpus and of plain runs of calls, reads each both ways, and ends with 1 and the
first inputs that differ. The suite does the same with a few thousand.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from tests.reading.changes import Document, spans, written
from tests.reading.corpus import recordings

import rightcall
from rightcall.reading.messages import _message_exchange
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
    """What is read if no run is simple, and no message is plain."""
    with (
        patch.object(SimpleRuns, "run_of", return_value=None),
        patch.object(_message_exchange, "is_plain", return_value=False),
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


def mutants(count: int, seed: int) -> Iterator[bytes]:
    """Yield so many sources, each of one or two mutated documents."""
    chance = random.Random(seed)
    texts = [files["otlp.json"] for _, files in sorted(recordings().items()) if "otlp.json" in files]
    for number in range(count):
        # Most of them are of plain runs: recordings are far from simple, whatever is changed.
        make = chance.choice((plain_run, plain_run, plain_run, plain_calls, None))
        document = make(number, chance.randint(1, 5)) if make else json.loads(chance.choice(texts))
        for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
            held = spans(document)
            if held:
                chance.choice(CHANGES)(document, chance.choice(held), chance)
        beside = [plain_run(number + chance.choice((0, 1)))] if chance.random() < 0.2 else []
        yield b"\n".join([written(each) for each in (document, *beside)]) + b"\n"


def differing(count: int, seed: int) -> tuple[list[bytes], int]:
    """Return the mutants that are read differently, and how many runs were read directly."""
    with counted() as simple:
        found = [source for source in mutants(count, seed) if read_directly(source) != read_by_spans(source)]
    return found, len(simple)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how many mutants differ, and the first of them; return 1 if any does."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.reading.differential", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--mutants", type=int, default=100_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    found, simple = differing(asked.mutants, asked.seed)
    print(f"{asked.mutants:,} mutants, {simple:,} runs read directly, {len(found):,} differ")
    for source in found[:5]:
        print(source.decode())
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
