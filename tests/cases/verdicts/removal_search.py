"""Search for information that makes a verdict pass once it is taken out, in spans, in logs and in conversations.

    python -m tests.cases.verdicts.removal_search --seconds 600 --seed 7

takes everything that a recording can lose out of every recording, one thing after the other, against expectations of
every evaluator, and ends with 1 and the first verdicts that became `passed`. The suite does the same with a few.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

from tests.cases.verdicts import removal
from tests.cases.verdicts.removal import Rule, read_document, spans_of, verdicts_of
from tests.reading import corpus

from rightcall import Trajectory
from rightcall.judging import EVALUATORS

Criteria = tuple[str, dict[str, Any], dict[str, Any]]
Change = tuple[str, Callable[[], Any]]

_CONVERSATIONS = Path(__file__).parents[2] / "data" / "frameworks"
_ANSWERS = ("exact-match", "json-similarity", "response-match", "contains", "regex-match", "final-output")
_EXPECTED = dict(
    zip(
        _ANSWERS,
        ("expected_output", "expected_output", "expected", "search_text", "pattern", "output"),
        strict=True,
    )
)
_VALUES = frozenset(
    {"value", "result", "response", "json", "text", "error", "is_error", "isError", "status", "outcome", "usage"}
)
"""Keys of values, of which any is possible, and of flags whose absence says that there was no error."""
_NULLABLE = frozenset({"args", "arguments", "content", "input", "output", "raw_output", "tool_kwargs", "tool_output"})
"""Keys of arguments and outputs: null in their place is a value, that of a tool that takes or returns nothing."""


def sources() -> dict[str, bytes]:
    """The recordings by their names: runs of the corpus as spans and as logs, conversations, and two runs at once."""
    runs = {
        f"{run}/{name}": files[name]
        for run, files in sorted(corpus.recordings().items())
        for name in ("otlp.json", "messages.json")
        if name in files
    }
    talks = sorted([*_CONVERSATIONS.glob("*/turns.json"), *_CONVERSATIONS.glob("*/whole.json")])
    spans = [name for name in runs if name.endswith("otlp.json")]
    pairs = list(zip(spans[::5], spans[2::5], strict=False))
    return (
        runs
        | {f"{path.parent.name}/{path.name}": path.read_bytes() for path in talks}
        | {f"{first} and {second}": _together(runs[first], runs[second]) for first, second in pairs}
    )


def _together(*runs: bytes) -> bytes:
    held = [resource for run in runs for resource in json.loads(run)["resourceSpans"]]
    return json.dumps({"resourceSpans": held}).encode()


def broken(name: str, data: bytes, random: Random, rules: int, changes: int) -> list[tuple[str, str, Rule]]:
    """The verdicts of a recording that a change makes pass, or makes an error: what was taken out, and which."""
    document = json.loads(data)
    read = read_document(document) or []
    found = []
    if read:
        place = random.randrange(len(read))
        asked = rules_of(read[place], random, rules)
        before = verdicts_of(read[place], asked)
        possible = list(changes_of(document, read, random))
        for change, changed in random.sample(possible, min(changes, len(possible))):
            again = _same_run(read, place, read_document(changed()) or [])
            after = before if again is None else verdicts_of(again, asked)
            pairs = zip(before, after, asked, strict=True)
            found += [(f"{name}: {change}", f"{old} to {new}", rule) for old, new, rule in pairs if _is_wrong(old, new)]
    return found


def _same_run(before: Sequence[Trajectory], place: int, after: Sequence[Trajectory]) -> Trajectory | None:
    """The run of a file after a change; none where the change takes runs apart, or several of them together."""
    if len(before) != len(after):
        return None
    same = [each for each in after if len(after) == 1 or each.trace_id == before[place].trace_id]
    return same[0] if len(same) == 1 else None


def _is_wrong(old: str, new: str) -> bool:
    return old != new and (new == "error" or (new == "passed" and old in ("failed", "not_measured")))


def rules_of(made: Trajectory, random: Random, count: int) -> list[Rule]:
    """So many expectations about a run, as many of each evaluator as of any other, some of them narrowed."""
    by_evaluator: dict[str, list[Criteria]] = {}
    plain = [(kind, json.loads(criteria), json.loads(config)) for kind, criteria, config in removal.rules_for(made)]
    for each in chain(plain, _of_steps(made), _of_parts(made), _of_sources(made), _of_answers(made)):
        by_evaluator.setdefault(each[0], []).append(each)
    chosen: list[Rule] = []
    while by_evaluator and len(chosen) < count:
        for kind, left in list(by_evaluator.items()):
            _, criteria, config = left.pop(random.randrange(len(left)))
            more = random.choice(_narrowings(kind, made)) if random.random() < 0.6 else {}
            more = {} if "turn" in more and "expected_turns" in criteria else more
            chosen.append((kind, json.dumps({**more, **criteria}, sort_keys=True), json.dumps(config, sort_keys=True)))
            if not left:
                del by_evaluator[kind]
    return chosen[:count]


def _narrowings(kind: str, made: Trajectory) -> list[dict[str, Any]]:
    if not EVALUATORS[kind].reads_calls:
        return [{}]
    agents = sorted({call.agent for call in made.calls if call.agent is not None})
    found: list[dict[str, Any]] = [{"agent": agent} for agent in [*agents[:2], "nobody"]]
    found += [{"parallel": parallel} for parallel in ("any_order", "overlap", "recorded")]
    found += [{"failed": failed} for failed in ("ignore", "ignore_suspected")]
    return [*found, {"turn": 0}, {"turn": 1}, {"top_level": True}]


def _of_steps(made: Trajectory) -> Iterator[Criteria]:
    names = list(made.names)
    groups: dict[str, list[str]] = {}
    for call in made.calls:
        groups.setdefault(call.group or "", []).append(call.name)
    for some in (names[:2], names[-2:], *[group for group in groups.values() if len(group) > 1]):
        if len(some) < 2:
            continue
        for step in ({"at_once": some}, {"any_order": some[::-1]}, {"one_of": some}, {"steps": some}):
            for match in ("EXACT", "IN_ORDER"):
                yield "tool-trajectory", {"expected": [step]}, {"match_type": match, "args_match": "ignore"}
    for name in dict.fromkeys(names):
        yield "tool-trajectory", {"expected": [{"optional": name}, *names]}, {"args_match": "ignore"}
        repeated = [{"repeat": name, "at_most": 1}]
        yield "tool-trajectory", {"expected": repeated}, {"match_type": "IN_ORDER", "extra": "others"}


def _of_parts(made: Trajectory) -> Iterator[Criteria]:
    for place, call in enumerate(made.calls[:4]):
        for part in (
            {"status": "ok"},
            {"status": "error"},
            {"agent": call.agent or "nobody"},
            {"turn": call.turn or 0},
            {"turn": 1},
            {"output": {"$literal": call.output}},
            {"output": {"$any": True}},
        ):
            named: Any = {"name": call.name, **part}
            yield "tool-trajectory", {"expected": [*made.names[:place], named, *made.names[place + 1 :]]}, {}
            yield "forbidden-tools", {"never": [named]}, {}
            yield "tool-recall", {"expected": [named]}, {}
            yield "call-rules", {"rules": [{"call": named, "at_most": 0}]}, {}
            yield "call-rules", {"rules": [{"call": "*", "only_with": named}]}, {}
        for per in ("turn", "agent"):
            yield "call-rules", {"rules": [{"call": call.name, "at_most": 1, "per": per}]}, {}
            yield "call-rules", {"rules": [{"first": call.name, "per": per}]}, {}
        yield "call-rules", {"rules": [{"call": call.name, "always": {"status": "ok"}}]}, {}
        yield "call-rules", {"rules": [{"call": {"name": call.name, "nth": -1, "status": "ok"}, "at_most": 0}]}, {}


def _of_sources(made: Trajectory) -> Iterator[Criteria]:
    names = list(dict.fromkeys(made.names))[:3]
    places: list[Any] = ["anywhere", {"input": "$"}, *names, *[{"call": name, "output": "$"} for name in names]]
    for call in made.calls[:5]:
        for key in list(call.args or {})[:2]:
            for place in places:
                for value in ({"$from": place}, {"$not": {"$from": place}}):
                    named = {"name": call.name, "args": {key: value}}
                    yield "tool-call-args", {"tool_calls": [named]}, {}
                    yield "forbidden-tools", {"never": [named]}, {}
                    yield "call-rules", {"rules": [{"call": call.name, "always": {"args": {key: value}}}]}, {}
            for other in [each for each in made.calls[:4] if each is not call and each.args]:
                bound = {"name": call.name, "args": {key: {"$bind": "x"}}}
                used = {"name": other.name, "args": {next(iter(other.args or {})): {"$ref": "x"}}}
                yield "tool-trajectory", {"expected": [bound, used]}, {"match_type": "ANY_ORDER"}


def _of_answers(made: Trajectory) -> Iterator[Criteria]:
    answers = [each if isinstance(each, str) else json.dumps(each) for each in (*made.turn_outputs, made.output)]
    for kind, key in _EXPECTED.items():
        for answer in dict.fromkeys([*answers, "never given back"]):
            written = re.escape(answer) if kind == "regex-match" else answer
            for turn in ({}, {"turn": 0}, {"turn": 1}, {"turn": "last"}, {"turn": "any"}):
                yield kind, {key: written, **turn}, {}
        turns = [re.escape(each) if kind == "regex-match" else each for each in answers[:-1] or answers]
        for expected in (turns, turns[::-1], turns[:1]):
            yield kind, {"expected_turns": expected}, {"threshold": 0.5}
    yield "contains", {"search_text": "never given back"}, {"negated": True}


def changes_of(document: Any, read: Sequence[Trajectory], random: Random) -> Iterator[Change]:
    """What can be taken out of a recording: a name for each change, and a function that makes it."""
    held: set[str] = {*_VALUES, *_scrubbed(document)}
    _keys_in([[made.output, *[[call.args, call.output] for call in made.calls]] for made in read], held)
    for made in read:
        _keys_of_question(document, made.input, held)
    names = {*_VALUES} | {key for key in held if key not in ("type", "content", "name")}
    losses = losses_in_spans if "resourceSpans" in document else losses_in_log
    return losses(document, names, random)


def losses_in_log(document: Any, values: set[str], random: Random) -> Iterator[Change]:
    """What can be taken out of a log of messages, but for keys of values."""
    keys: set[str] = set()
    _keys_in(document, keys)
    for key in sorted(keys - values):
        for left in ("",) if key in _NULLABLE else ("", None):
            for share in (1.0, 0.5, 0.2):
                yield f"{key} {left!r} {share}", partial(_without, document, key, left, share, random)


def losses_in_spans(document: Any, values: set[str], random: Random) -> Iterator[Change]:
    """What can be taken out of a trace, but for keys of values."""
    for kind, pattern in removal.ATTRIBUTES.items():
        yield kind, partial(removal.without_attributes, document, re.compile(pattern).search)
    for kind, fields in removal.SPAN_FIELDS.items():
        yield kind, partial(removal.without_fields, document, *fields)
    for field in ("events", "name", "startTimeUnixNano", "endTimeUnixNano", "parentSpanId", "spanId"):
        yield f"some {field}", partial(_some_without, document, _drop_field, field, random)
    for key in removal.attribute_keys(document):
        yield key, partial(removal.without_attributes, document, key.__eq__)
        yield f"some {key}", partial(_some_without, document, _drop_attribute, key, random)
    keys: set[str] = set()
    _keys_in(_texts(document), keys)
    for key in sorted(
        keys - values - {"content", "messages", "data", "tool_output", "raw_output"}
    ):  # what is under these is a value of a span
        yield f"{key} inside", partial(_without_inside, document, key, random)


def _texts(document: Any) -> list[str]:
    holders = [holder for span in spans_of(document) for holder in (span, *span.get("events", ()))]
    held = [attribute["value"].get("stringValue") for holder in holders for attribute in holder.get("attributes", ())]
    return [text for text in held if isinstance(text, str)]


def _keys_in(value: Any, found: set[str]) -> None:
    if isinstance(value, dict):
        found.update(value)
        for held in value.values():
            _keys_in(held, found)
    elif isinstance(value, (list, tuple)):
        for held in value:
            _keys_in(held, found)
    elif (inner := _decoded(value)) is not None:
        _keys_in(inner, found)


def _keys_of_question(value: Any, question: Any, found: set[str]) -> None:
    """Find the names of the parameters whose only value is the question: without one, it is another question."""
    if isinstance(value, dict):
        found.update(value if list(value.values()) == [question] else ())
        for held in value.values():
            _keys_of_question(held, question, found)
    elif isinstance(value, list):
        for held in value:
            _keys_of_question(held, question, found)
    elif (inner := _decoded(value)) is not None:
        _keys_of_question(inner, question, found)


def _scrubbed(value: Any) -> set[str]:
    """The keys inside of outputs that Logfire wrote over: whatever else is removed there changes a value."""
    found: set[str] = set()
    for text in _texts(value) if "resourceSpans" in value else ():
        if "[Scrubbed due to " in text:
            _keys_in(text, found)
    return found


def _decoded(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) and value[:1] in ("[", "{") else None
    except ValueError:
        return None


def _without(value: Any, key: str, left: Any, share: float, random: Random) -> Any:
    """The value without a key, or with null for it, at some of the places that have it; also inside of JSON text."""
    if isinstance(value, dict) and value.keys() == {"type", "value"}:
        return value  # an output of the AI SDK
    if isinstance(value, dict):
        lost = {name for name in value if name == key and random.random() < share}
        kept = {name: _without(held, key, left, share, random) for name, held in value.items() if name not in lost}
        return kept | ({} if left == "" else dict.fromkeys(lost, left))
    if isinstance(value, list):
        return [_without(held, key, left, share, random) for held in value]
    inner = _decoded(value)
    return value if inner is None or f'"{key}"' not in value else json.dumps(_without(inner, key, left, share, random))


def _some_without(document: Any, drop: Callable[[dict[str, Any], str], None], name: str, random: Random) -> Any:
    changed = copy.deepcopy(document)
    for span in spans_of(changed):
        if random.random() < 0.5:
            drop(span, name)
    return changed


def _drop_field(span: dict[str, Any], field: str) -> None:
    span.pop(field, None)


def _drop_attribute(span: dict[str, Any], key: str) -> None:
    span["attributes"] = [each for each in span.get("attributes", ()) if each["key"] != key]


def _without_inside(document: Any, key: str, random: Random) -> Any:
    changed = copy.deepcopy(document)
    share = random.choice((1.0, 0.5))
    for span in spans_of(changed):
        for holder in (span, *span.get("events", ())):
            for attribute in holder.get("attributes", ()):
                text = attribute["value"].get("stringValue")
                if text and f'"{key}"' in text:
                    attribute["value"]["stringValue"] = _without(text, key, "", share, random)
    return changed


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the verdicts that passed once something was taken out; return 1 if there are any."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.cases.verdicts.removal_search", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--seconds", type=float, default=600, help="how long to search")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", default="", metavar="TEXT", help="recordings whose names contain this")
    asked = parser.parse_args(arguments)
    end, seen, found = time.monotonic() + asked.seconds, 0, 0
    named = [(name, data) for name, data in sources().items() if asked.only in name]
    for number in range(1_000_000):
        if time.monotonic() > end or not named:
            break
        name, data = named[number % len(named)]
        seen += 1
        for place, change, rule in broken(name, data, Random(f"{name} {asked.seed} {number}"), 120, 40):
            found += 1
            print(place, change, *rule)
    print(f"{seen:,} times a recording lost something, {found:,} verdicts passed or broke that must not")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
