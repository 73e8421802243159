"""How much of what could go wrong our own eval sets notice, as the table of the documents.

    python -m tests.examples.noticing

writes the table anew.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

from rightcall import Case, Trajectory, load_eval_set
from rightcall.cases.mutants import mutate
from rightcall.cli._files import write_files
from rightcall.cli._init import project_files
from rightcall.running.agents import Agent, AgentRequest, load_agent
from rightcall.running.mocking import Mocks, use_mocks
from rightcall.running.tracing import capture
from rightcall.values.results import MutationReport

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "would-your-eval-set-notice.md"
HEAD = "| eval set | cases tried | noticed |"
SHOP = Path("examples/shopping_agent")
SETS = {
    "evals/conversations.yaml": "agent.py:answer",
    "evals/shop.yaml": "agent.py:answer",
    "evals/exact/shop.evalset.json": "agent.py:answer",
    "evals/in_order/shop.evalset.json": "agent.py:answer",
    "evals/any_order/shop.evalset.json": "agent.py:answer",
}
"""The eval sets of the shopping agent."""
OPEN = {
    "examples/shopping_agent/evals/in_order/shop.evalset.json": "ADK's `IN_ORDER` lets any other call pass",
    "examples/shopping_agent/evals/any_order/shop.evalset.json": "and so does `ANY_ORDER`",
}
"""Eval sets that show what a rule of another tool lets pass, and have no word for more."""


class Tried(NamedTuple):
    """An eval set, and what it noticed."""

    name: str
    report: MutationReport

    @property
    def row(self) -> str:
        """The eval set as a row of the table."""
        noticed, counted = self.report.noticed, self.report.counted
        note = f"; {OPEN[self.name]}" if self.name in OPEN else ""
        share = f"{noticed} of {counted} ({100 * noticed // counted} %){note}"
        return f"| `{self.name}` | {len(self.report.cases)} | {share} |"


def tried() -> Iterator[Tried]:
    """Try every eval set of the examples, and the one that `rightcall init` writes."""
    for name, agent in SETS.items():
        yield _tried(ROOT, SHOP / name, agent, ROOT / SHOP)
    weather = Path("examples/weather_tools")
    yield _tried(ROOT, weather / "evaluations/eval-sets/default.json", "main.py", ROOT / weather)
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), project_files())
        found = _tried(Path(folder), Path("evals/shop.yaml"), "shop_agent.py:answer", Path(folder))
    yield found._replace(name="evals/shop.yaml of rightcall init")
    for path in sorted((ROOT / "examples/steps").glob("*.yaml")):
        eval_set = load_eval_set(path)
        [case] = eval_set.cases
        lines = (path.parent / "traces" / f"{path.stem}-right.jsonl").read_text(encoding="utf-8").splitlines()
        runs = [Trajectory.of(json.loads(line)["calls"]) for line in lines]
        yield Tried(path.relative_to(ROOT).as_posix(), mutate(eval_set, {case.id: runs}).report)


def _tried(root: Path, path: Path, agent: str, folder: Path) -> Tried:
    eval_set = load_eval_set(root / path)
    loaded = load_agent(agent, folder)
    observed = {case.id: [_path_of(case, loaded)] for case in eval_set.cases}
    loaded.close()
    return Tried(path.as_posix(), mutate(eval_set, observed).report)


def _path_of(case: Case, agent: Agent) -> Trajectory:
    """What an agent does in a case, turn by turn."""
    turns, session = case.turns or (case.input,), {} if case.session is None else case.session
    made, said = [], None
    with use_mocks(Mocks.of(case.mocks)):
        for turn, given in enumerate(turns):
            request = AgentRequest(input=given, case_id=case.id, turn=turn, session=session)
            with capture() as captured:
                said = asyncio.run(_answered(agent, request))
            made += [structs.replace(call, turn=turn if case.turns else None) for call in captured.trajectory().calls]
    return Trajectory(calls=tuple(made), input=case.input, output=said)


async def _answered(agent: Agent, request: AgentRequest) -> Any:
    answer: Any = agent.answer(request)
    if hasattr(answer, "__await__"):
        answer = await answer
    return answer.output


def table(found: list[Tried]) -> str:
    """The table of the page."""
    return "\n".join([HEAD, "| --- | --- | --- |", *[each.row for each in found]])


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    begin = text.index(HEAD)
    end = text.index("\n\n", begin)
    PAGE.write_text(text[:begin] + table(list(tried())) + text[end:], encoding="utf-8")
