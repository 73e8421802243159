"""`rightcall demo`: what Rightcall is for, on one screen."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

import click

from rightcall.evaluators import EVALUATORS
from rightcall.results import EvaluationResult, call_text
from rightcall.trajectory import Trajectory

from ._terminal import Screen

_EXPECTED: list[dict[str, Any]] = [
    {"name": "search_products", "args": {"query": "laptop"}},
    {"name": "get_product_details", "args": {"product_id": "P001"}},
    {"name": "check_inventory", "args": {"product_id": "P001"}},
    {"name": "reserve_item", "args": {"product_id": "P001"}},
]
_ACTUAL = Trajectory.of(
    [
        {"name": "search_products", "args": {"query": "laptop", "limit": 5}, "output": {"found": ["P001", "P010"]}},
        {"name": "check_inventory", "args": {"product_id": "P001"}, "output": {"in_stock": True, "quantity": 3}},
        {"name": "get_product_details", "args": {"product_id": "P010"}, "output": {"name": "Pro Laptop"}},
        {"name": "add_to_cart", "args": {"product_id": "P010", "quantity": 1}, "output": {"ok": True}},
    ]
)
_NAMES_ONLY = Trajectory.of(_ACTUAL.names)

_QUESTIONS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("tool-call-order", "in the right order?", {}, {"tool_calls_order": [call["name"] for call in _EXPECTED]}),
    (
        "tool-call-count",
        "as often as they should be?",
        {},
        {"tool_calls_count": {"search_products": ("<=", 2), "check_inventory": ("=", 1), "reserve_item": ("=", 1)}},
    ),
    ("tool-call-args", "with the right arguments?", {}, {"tool_calls": _EXPECTED}),
    (
        "tool-call-output",
        "giving the right outputs?",
        {},
        {"tool_outputs": [{"name": "check_inventory", "output": {"$subset": {"in_stock": True}}}]},
    ),
    ("tool-trajectory", "the expected path (IN_ORDER)?", {"match_type": "IN_ORDER"}, {"expected": _EXPECTED}),
    ("tool-precision", "nothing superfluous?", {}, {"expected": _EXPECTED}),
    ("forbidden-tools", "never delete_order?", {}, {"never": ["delete_order"]}),
]


@click.command(name="demo")
def command() -> None:
    """Score a few recorded trajectories and see what Rightcall says of them."""
    screen = Screen()
    screen.line("A shopping agent was asked to find a laptop and reserve it.")
    screen.line("Did it make the right calls?\n")
    _print_path(screen)
    results = _print_questions(screen)
    _print_problems(screen, results["tool-trajectory"])
    _print_unrecorded(screen)
    for line in _IN_PYTHON:
        screen.line(line)


_IN_PYTHON = """
The same in Python, for your own agent:

    from rightcall import ToolTrajectoryEvaluator, Trajectory
    made = Trajectory.of([{"name": "search", "args": {"query": "laptop"}}])
    result = ToolTrajectoryEvaluator().evaluate(made, {"expected": ["search"]})
    print(result.verdict, result.score, result.findings)

`rightcall explain RC104` says what a code means. Next: docs/tutorial.md
""".splitlines()


def _judge(type_id: str, config: dict[str, Any], made: Trajectory, criteria: dict[str, Any]) -> EvaluationResult:
    return EVALUATORS[type_id](config=config).evaluate(made, criteria)


def _print_path(screen: Screen) -> None:
    """Expected and actual calls side by side."""
    result = _judge("tool-trajectory", {"match_type": "IN_ORDER"}, _ACTUAL, {"expected": _EXPECTED})
    screen.line((f"    {'expected':<37}  called", "dim"))
    for step in result.details.alignment.steps:
        expected, actual = _cell(step.expected, _EXPECTED), _cell(step.actual, _ACTUAL.calls)
        style = {"match": "green", "moved": "yellow"}.get(step.kind, "red")
        screen.line((f"  {screen.mark(step.kind)} ", style), f"{expected:<37}  {actual}".rstrip())
    screen.line()


def _cell(position: int | None, calls: Any) -> str:
    if position is None:
        return ""
    call = calls[position]
    name, args = (call["name"], call["args"]) if isinstance(call, dict) else (call.name, call.args)
    return f"{position + 1} {call_text(name, args, 35)}"


def _print_questions(screen: Screen) -> dict[str, EvaluationResult]:
    """Each evaluator's question, score and verdict."""
    results = {}
    screen.line(("    Were the tools called …                score  verdict  evaluator", "dim"))
    for type_id, question, config, criteria in _QUESTIONS:
        result = results[type_id] = _judge(type_id, config, _ACTUAL, criteria)
        mark, style = ("match", "green") if result.passed else ("failed", "red")
        score = f"{result.score:.2f}" if result.score is not None else "-"
        screen.line((f"  {screen.mark(mark)} ", style), f"{question:<36} {score:>7}  {result.verdict:<8} {type_id}")
    screen.line()
    return results


def _print_problems(screen: Screen, result: EvaluationResult) -> None:
    """What went wrong, one sentence each."""
    screen.line(("    What went wrong, by the expected path", "dim"))
    for finding in result.findings:
        first, *rest = wrap(finding.message, 66)
        screen.line("    ", (finding.code, "bold"), "  ", first)
        for line in rest:
            screen.line("           ", line)
    screen.line()


def _print_unrecorded(screen: Screen) -> None:
    """The same run from a trace that recorded names only."""
    result = _judge("tool-call-args", {}, _NAMES_ONLY, {"tool_calls": _EXPECTED[:3]})
    screen.line(("    The same run, from a trace that recorded names only", "dim"))
    screen.line(f"  {screen.mark('not_measured')} {'with the right arguments?':<36} {'-':>7}  {result.verdict}")
    screen.line("    What was not recorded is not wrong, and not right either: there is no score.")
