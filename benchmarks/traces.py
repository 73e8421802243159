"""Large files of realistic traces, made of recorded ones."""

import heapq
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import rightcall

from .environments import ROOT
from .recordings import CASE, Copies, Recording, naming, recordings

Layout = Literal["runs", "halves", "windows", "spread"]
"""One run a line; the same with a case named by each run; or one span a line, in any order within a window or within
the whole file."""

_WINDOW = 5_000
_THIN_CALLS = 10
_LONG_CALLS = 200
Maker = Callable[[random.Random, int], dict[str, Any]]


@dataclass(frozen=True)
class TraceFile:
    """A file of traces, and how much is in it."""

    path: str
    bytes: int
    runs: int
    calls: int
    passing: int = 0
    """How many runs do as their case expects, if they name cases."""

    @property
    def bytes_per_call(self) -> float:
        return self.bytes / self.calls


def otlp_lines(megabytes: int, layout: Layout = "runs") -> TraceFile:
    """A file of OTLP lines, made of so many megabytes of recorded runs, each with ids of its own.

    Every recording fills the same share of the bytes, so that each framework is in it and those which write most
    for a call are rarest. That makes about 6 kB a call.
    """
    path = ROOT / ".bench" / f"{layout}-{megabytes}.jsonl"
    facts = path.with_suffix(".json")
    if not facts.exists():
        path.parent.mkdir(exist_ok=True)
        # Written last, so that a file that was interrupted is not taken for a whole one.
        facts.write_text(json.dumps(asdict(_write(path, megabytes * 1_000_000, layout))))
    return TraceFile(**json.loads(facts.read_text()))


def thin_lines(megabytes: int) -> TraceFile:
    """A file of OTLP lines of runs with ten tool calls and nothing else: 0.7 kB a call, no messages of a model."""
    return _made_up_lines(ROOT / ".bench" / f"thin-{megabytes}.jsonl", megabytes, _thin_run, _THIN_CALLS)


def long_lines(megabytes: int) -> TraceFile:
    """A file of OTLP lines of runs with 200 steps, whose model is shown everything so far in each of them."""
    return _made_up_lines(ROOT / ".bench" / f"long-{megabytes}.jsonl", megabytes, _long_run, _LONG_CALLS)


def _made_up_lines(path: Path, megabytes: int, make: Maker, calls: int) -> TraceFile:
    generator, runs = random.Random(1), 0
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        while file.tell() < megabytes * 1_000_000:
            file.write(json.dumps(make(generator, runs)).encode() + b"\n")
            runs += 1
        return TraceFile(str(path), file.tell(), runs, runs * calls)


def eval_set_of_halves() -> str:
    """An eval set with two cases for each recording: its calls, and its calls without the last one."""
    cases = [
        {"id": case, "expect": {"calls": [call["name"] for call in expected]}}
        for recording in _by_name_alone()
        for case, expected in (
            (f"{recording.name} as recorded", recording.calls),
            (f"{recording.name} with a call too many", recording.calls[:-1]),
        )
    ]
    path = ROOT / ".bench" / "halves-eval-set.json"
    path.write_text(json.dumps({"defaults": {"match": "UNORDERED"}, "cases": cases}), encoding="utf-8")
    return str(path)


def _write(path: Path, size: int, layout: Layout) -> TraceFile:
    generator, runs, calls, passing, starts = random.Random(1), 0, 0, 0, [0]
    is_whole = layout in ("runs", "halves")
    with path.open("wb") as file:
        for line, made, passes in _copied_runs(size, generator, layout == "halves"):
            runs, calls, passing = runs + 1, calls + made, passing + passes
            for written in [line.encode()] if is_whole else _spans(line):
                starts.append(starts[-1] + file.write(written))
    if not is_whole:
        _shuffle(path, starts, _WINDOW if layout == "windows" else len(starts), generator)
    return TraceFile(str(path), starts[-1], runs, calls, passing)


def _copied_runs(size: int, generator: random.Random, named: bool) -> Iterator[tuple[str, int, bool]]:
    """Runs, how many calls each has, and whether it does as its case expects, if the runs are `named` after cases.

    The next run is always of the recording that has had the fewest bytes so far.
    """
    found = []
    for recording in _by_name_alone() if named else recordings():
        for which in ("as recorded", "with a call too many") if named else ("",):
            case = f"{recording.name} {which}"
            made = naming(recording.document, CASE, case) if named else recording.document
            found.append((made, recording, which))
    generator.shuffle(found)
    kinds = [(Copies(made, generator), len(recording.calls), which) for made, recording, which in found]
    sources = [iter(copies) for copies, _, _ in kinds]
    waiting, written = [(0, kind) for kind in range(len(kinds))], 0
    while written < size:
        taken, kind = waiting[0]
        copies, calls, which = kinds[kind]
        heapq.heapreplace(waiting, (taken + copies.size, kind))
        written += copies.size
        yield next(sources[kind]), calls, which == "as recorded"


def _by_name_alone() -> list[Recording]:
    """The recordings whose calls are the recorded ones, whatever their order, and no others."""
    return [recording for recording in recordings() if _has_recorded_names(recording)]


def _has_recorded_names(recording: Recording) -> bool:
    # A recording of several traces is one run only as long as no other is beside it.
    runs = list(rightcall.read(json.dumps(recording.document).encode(), grouping="trace"))
    counted = [call.name for run in runs for call in run.calls if call.internal is False]
    wanted = Counter([call["name"] for call in recording.calls])
    return len(runs) == 1 and Counter(counted) == wanted and runs[0].calls_recorded


def _long_run(generator: random.Random, number: int) -> dict[str, Any]:
    document = _thin_run(generator, number, _LONG_CALLS)
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    root, *calls = spans
    said: list[dict[str, Any]] = [{"role": "user", "parts": [{"type": "text", "content": f"Do {number}."}]}]
    for call in calls:
        values = {each["key"]: each["value"]["stringValue"] for each in call["attributes"]}
        call_id, args = values["gen_ai.tool.call.id"], json.loads(values["gen_ai.tool.call.arguments"])
        asked = {"type": "tool_call", "id": call_id, "name": values["gen_ai.tool.name"], "arguments": args}
        output = json.loads(values["gen_ai.tool.call.result"])
        answer = {"role": "assistant", "parts": [asked]}
        held = {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps(said),
            "gen_ai.output.messages": json.dumps([answer]),
        }
        own, start = f"{generator.getrandbits(64):016x}", int(call["startTimeUnixNano"]) - 400_000_000
        spans.append(_thin_span(root["traceId"], own, root["spanId"], "chat", start, 300_000_000, held))
        response = {"type": "tool_call_response", "id": call_id, "response": output}
        said += [answer, {"role": "tool", "parts": [response]}]
    return document


def _thin_run(generator: random.Random, number: int, calls: int = _THIN_CALLS) -> dict[str, Any]:
    trace, root = f"{generator.getrandbits(128):032x}", f"{generator.getrandbits(64):016x}"
    begin = 1_700_000_000_000_000_000 + number * 1_000_000_000_000
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}
    spans = [_thin_span(trace, root, "", "invoke_agent shop", begin, (calls + 10) * 1_000_000_000, agent)]
    for place in range(calls):
        tool = generator.choice(["search", "book", "pay", "weather", "cancel"])
        held = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": f"call_{generator.getrandbits(48):012x}",
            "gen_ai.tool.call.arguments": json.dumps({"query": f"q{generator.getrandbits(30)}"}),
            "gen_ai.tool.call.result": json.dumps({"id": generator.getrandbits(30)}),
        }
        own, start = f"{generator.getrandbits(64):016x}", begin + (place + 1) * 1_000_000_000
        spans.append(_thin_span(trace, own, root, f"execute_tool {tool}", start, 500_000_000, held))
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "shop"}, "spans": spans}]}]}


def _thin_span(
    trace: str, own: str, parent: str, name: str, start: int, length: int, held: dict[str, str]
) -> dict[str, Any]:
    return {
        "traceId": trace,
        "spanId": own,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + length),
        "attributes": [{"key": key, "value": {"stringValue": text}} for key, text in held.items()],
    }


def _spans(line: str) -> Iterator[bytes]:
    for resource in json.loads(line)["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                alone = {"resourceSpans": [{**resource, "scopeSpans": [{**scope, "spans": [span]}]}]}
                yield json.dumps(alone).encode() + b"\n"


def _shuffle(path: Path, starts: list[int], window: int, generator: random.Random) -> None:
    """Put lines into another order, holding none of them: our own memory would count as that of children."""
    shuffled = path.with_suffix(".part")
    lines = range(len(starts) - 1)
    with path.open("rb") as file, shuffled.open("wb") as target:
        for first in lines[::window]:
            order = list(lines[first : first + window])
            generator.shuffle(order)
            _copy(file, target, ((starts[line], starts[line + 1]) for line in order))
    shuffled.replace(path)


def _copy(file: BinaryIO, target: BinaryIO, ranges: Iterable[tuple[int, int]]) -> None:
    for start, end in ranges:
        file.seek(start)
        target.write(file.read(end - start))
