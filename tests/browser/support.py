"""A project of a shop's support: 500 cases, an eval set on disk in a git repository, and two runs of it, one worse."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.hostile.results import write_run

from rightcall import CaseResult, ToolCall, Trajectory, judge, load_eval_set
from rightcall.cases.evalsets import Case
from rightcall.cases.verdicts import error_result
from rightcall.values.results import Outcome
from rightcall.values.trajectory import Message, Usage

CASES = 500
KINDS = (
    ("amount", 31),
    ("unverified", 22),
    ("reordered", 14),
    ("searched", 11),
    ("more", 9),
    ("deleted", 7),
    ("answer", 4),
    ("forgot", 4),
    ("raised", 3),
    ("timed out", 2),
    ("unrecorded", 1),
)
"""The eleven kinds of failure, and how many cases of the second run have each."""
_ASKED = (
    "The headphones from my last order arrived broken, one side is dead. I want my money back.",
    "You charged me twice for one desk lamp",
    "The kettle leaks, refund it please",
    "I sent the chair back three weeks ago, where is my money?",
)
_MILLISECOND = 1_000_000


def write_support(folder: Path) -> None:
    """The project: `evals/support.yaml`, committed, and in `.rightcall/runs` a run that is good and one that is not."""
    (folder / "evals").mkdir(parents=True)
    (folder / "evals" / "support.yaml").write_text(_eval_set(), encoding="utf-8")
    (folder / ".gitignore").write_text(".rightcall/\nlock\nmade\n", encoding="ascii")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Add the cases"]):
        subprocess.run(["git", *_AUTHOR, *command], cwd=folder, check=True)
    where = Path.cwd()
    try:
        os.chdir(folder)  # the places of cases are written as they are named
        cases = load_eval_set("evals/support.yaml").cases
    finally:
        os.chdir(where)
    runs = folder / ".rightcall" / "runs"
    known: dict[str, Any] = {
        "agent": "agent.py:answer",
        "evalset": "evals/support.yaml",
        "options": {},
        "evalset_hash": "1",
    }
    few = dict.fromkeys(range(0, CASES, 40), "reordered") | dict.fromkeys(range(1, CASES, 50), "forgot")
    write_run(runs, _results(cases, few), **known, branch="main", commit="91ab" * 10)
    write_run(runs, _results(cases, _many()), **known, branch="prompt-v7", commit="fe05" * 10)


_AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@example.org")


def _many() -> dict[int, str]:
    kinds = [kind for kind, count in KINDS for _ in range(count)]
    return {(number * 4 + 3) % CASES: kind for number, kind in enumerate(kinds)}


def _results(cases: tuple[Case, ...], kinds: dict[int, str]) -> Iterator[CaseResult]:
    for number, case in enumerate(cases):
        kind = kinds.get(number, "")
        made, seconds = trajectory(number, kind), 3.1 + number % 7 / 2
        if kind in ("raised", "timed out"):
            error = "the agent raised KeyError: 'O-404'" if kind == "raised" else "the agent took longer than 30 s"
            outcome = Outcome(seconds=seconds, cause="raised" if kind == "raised" else "timed_out", error=error)
            yield replace(error_result(case, outcome, made), outcome=outcome)
        else:
            yield replace(judge(case, made), outcome=Outcome(seconds=seconds))


def trajectory(number: int, kind: str) -> Trajectory:
    """What the agent did in a case, with one mistake or none, and what its model said."""
    customer, order = f"C-{7000 + number}", f"O-{2000 + number}"
    amount = 5990 if kind == "amount" else 59.9
    made: list[tuple[str, dict[str, Any], Any]] = [
        ("look_up_customer", {"email": f"c{number}@example.org"}, {"customer_id": customer}),
        ("get_order", {"order_id": order}, {"status": "delivered", "currency": "EUR", "total": 59.9}),
        ("verify_identity", {"customer_id": customer}, {"verified": True}),
        ("issue_refund", {"order_id": order, "amount": amount}, {"refund_id": f"R-{number}", "status": "ok"}),
        ("send_email", {"to": f"c{number}@example.org", "subject": "Your refund"}, {"sent": True}),
    ]
    if kind == "unverified":
        del made[2]
    elif kind == "forgot":
        del made[4]
    elif kind == "reordered":
        made[2], made[3] = made[3], made[2]
    elif kind == "searched":
        made[1:1] = [("search_kb", {"query": f"refund {each}"}, []) for each in range(4)]
    elif kind == "more":
        made.insert(3, ("hand_to_billing", {"note": "duplicate charge"}, None))
    elif kind == "deleted":
        made.append(("delete_account", {"customer_id": customer}, "ok"))
    elif kind in ("raised", "timed out"):
        made = made[:2]
    calls, said = _timed(made, number)
    if kind == "unrecorded":
        calls = [ToolCall(call.name, start_ns=call.start_ns, end_ns=call.end_ns) for call in calls]
    answer = "I have passed this on." if kind == "answer" else f"I've refunded {amount} EUR to your card."
    last = _model(len(calls), len(calls) * 700, answer, 0)
    return Trajectory(
        calls=tuple(calls),
        input=_ASKED[number % 4],
        output=answer,
        usage=Usage(duration_ns=4_200 * _MILLISECOND, input_tokens=6_204, output_tokens=402),
        messages=(Message(writer="user", text=_ASKED[number % 4]), *said, last),
    )


def _timed(made: list[tuple[str, dict[str, Any], Any]], number: int) -> tuple[list[ToolCall], list[Message]]:
    calls, said = [], []
    for place, (name, args, output) in enumerate(made):
        start = (place * 700 + 400) * _MILLISECOND
        calls.append(ToolCall(name, args, output, start_ns=start, end_ns=start + 200 * _MILLISECOND))
        text = (
            "The order total is 59.90 EUR and it is within 30 days. I'll refund it." if name == "issue_refund" else ""
        )
        said.append(_model(place, place * 700, text or f"Next I call {name} for customer {number}.", 1))
    return calls, said


def _model(at: int, milliseconds: int, text: str, asks: int) -> Message:
    start = milliseconds * _MILLISECOND
    return Message(
        writer="model",
        text=text,
        at=at,
        asks=asks,
        model="gpt-4.1-mini",
        input_tokens=1_100 + 90 * at,
        output_tokens=60 + at,
        cost=0.0018,
        start_ns=start,
        end_ns=start + 380 * _MILLISECOND,
    )


def _eval_set() -> str:
    lines = ["name: Support", "cases:"]
    for number in range(CASES):
        lines += [
            f"  - id: refund_{number:04}",
            f"    input: {_ASKED[number % 4]!r}",
            "    expect:",
            "      calls:",
            f"        - look_up_customer: {{email: c{number}@example.org}}",
            f"        - get_order: {{order_id: O-{2000 + number}}}",
            f"        - verify_identity: {{customer_id: C-{7000 + number}}}",
            f"        - issue_refund: {{order_id: O-{2000 + number}, amount: 59.9}}  # in euros",
            f"        - send_email: {{to: c{number}@example.org}}",
            "      never: [delete_account]",
            '      counts: {search_kb: "<= 3"}',
            "      output: {$contains: refunded}",
        ]
    return "\n".join(lines) + "\n"
