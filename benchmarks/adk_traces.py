"""Files for `agentevals-cli` and for us: traces of ADK agents, and what is expected of each."""

import json
import random
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

from .environments import ROOT
from .recordings import Copies, Recording, naming, recordings

CASE_ATTRIBUTE = "agentevals.eval.case.id"
"""The attribute by which `agentevals-cli` joins a trace to a case; we are told to take the same."""


@dataclass(frozen=True)
class Files:
    """Many traces and a few, one of each case, as OTLP lines; the same cases as ADK's eval set and as ours."""

    many: str
    few: str
    count_of_few: int
    adk_eval_set: str
    our_eval_set: str


@dataclass(frozen=True)
class _Case:
    """A recording, and what is expected of it."""

    id: str
    recording: Recording
    expected: list[dict[str, Any]]


def adk_files(count: int) -> Files:
    """So many traces, half of which do as expected; the others make a call more than they should."""
    # ADK's own spans only: those of OpenInference are read by us but not by agentevals-cli.
    found = recordings(lambda name: name.startswith("google-adk/"))
    cases = [case for recording in found for case in _cases(recording)]
    generator = random.Random(1)
    copies = [iter(Copies(naming(case.recording.document, CASE_ATTRIBUTE, case.id), generator)) for case in cases]
    lines = [next(each) for each in islice(cycle(copies), count)]
    return Files(
        many=_written(f"adk-{count}.jsonl", "".join(lines)),
        few=_written("adk-few.jsonl", "".join(lines[: len(cases)])),
        count_of_few=len(cases),
        adk_eval_set=_written("adk-eval-set.json", json.dumps(_adk_eval_set(cases))),
        our_eval_set=_written("adk-our-eval-set.json", json.dumps(_our_eval_set(cases))),
    )


def _cases(recording: Recording) -> list[_Case]:
    return [
        _Case(f"{recording.name} as recorded", recording, recording.calls),
        _Case(f"{recording.name} with a call too many", recording, recording.calls[:-1]),
    ]


def _adk_eval_set(cases: list[_Case]) -> dict[str, Any]:
    return {"eval_set_id": "adk", "eval_cases": [_adk_case(case) for case in cases]}


def _adk_case(case: _Case) -> dict[str, Any]:
    uses = [{"name": call["name"], "args": call["args"]} for call in case.expected]
    question = {"role": "user", "parts": [{"text": "a question"}]}
    return {
        "eval_id": case.id,
        "conversation": [{"user_content": question, "intermediate_data": {"tool_uses": uses}}],
    }


def _our_eval_set(cases: list[_Case]) -> dict[str, Any]:
    written = [
        {"id": case.id, "expect": {"calls": [{call["name"]: call["args"]} for call in case.expected]}} for case in cases
    ]
    return {"defaults": {"match": "EXACT", "args": "exact"}, "cases": written}


def _written(name: str, text: str) -> str:
    path = ROOT / ".bench" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)
