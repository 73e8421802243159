"""`rightcall run --dry-run`: what would be run, the tools of the agent, and what stands in for each. Nothing is run."""

from __future__ import annotations

from collections.abc import Iterator

from rightcall.matching.matchers import NamePattern
from rightcall.running import runner
from rightcall.running.frameworks import FoundTool, ToolInventory

from .._terminal import Screen
from ._plan import PlannedRun
from ._request import RunRequest


def dry_run(options: RunRequest) -> int:
    """Load the agent, print the cases and tools, and return the exit code.

    Raises:
        RightcallError: what is asked cannot be run, as a real run would say.
    """
    plan = PlannedRun(options)
    inventory = None if plan.chosen.is_elsewhere else _inventory(plan)
    screen = Screen()
    for line in (*_case_lines(plan), "", *_tool_lines(plan, inventory)):
        screen.line(line)
    return 0


def _inventory(plan: PlannedRun) -> ToolInventory | None:
    """Load the agent in a worker, as a run does, and stop before the first request."""
    import msgspec

    options = msgspec.structs.replace(plan.run_options(), is_inspected=True, workers=1)
    events = runner.run(plan.for_runner(), options)
    try:
        for event in events:
            if isinstance(event, runner.RunStarted):
                return event.inventory
    finally:
        events.close()  # type: ignore[attr-defined]
    return None


def _case_lines(plan: PlannedRun) -> Iterator[str]:
    count = len(plan.cases)
    yield f"{count:,} case{'s' if count != 1 else ''} of {plan.chosen.eval_set.path}, agent {plan.chosen.agent}"
    width = max([len(case_id) for case_id in plan.cases], default=0)
    for case in plan.cases.values():
        facts = [f"{len(case.turns)} turns"] if case.turns else []
        facts += [f"{plan.rounds[case.id]} times"] if plan.rounds[case.id] > 1 else []
        facts += [f"mocks {', '.join(case.mocks)}"] if case.mocks else []
        yield f"  {case.id:<{width}}  {'; '.join(facts)}".rstrip()


def _tool_lines(plan: PlannedRun, inventory: ToolInventory | None) -> Iterator[str]:
    if inventory is None:
        yield "tools: those of another program, which are not known here"
        return
    if not inventory.tools:
        yield "tools: none were found" + ("; some may be made when the agent runs" if inventory.is_open else "")
        return
    yield "tools"
    named = [f"{tool.name}({', '.join(tool.parameters)})" for tool in inventory.tools]
    width = min(44, max(map(len, named)))
    for tool, text in zip(inventory.tools, named, strict=True):
        yield f"  {text:<{width}}  {tool.framework:<13}  {_stand_in(plan, tool)}"


def _stand_in(plan: PlannedRun, tool: FoundTool) -> str:
    """Say what answers for a tool in the chosen cases."""
    if tool.is_source:
        return "lists its tools when the agent runs"
    mocking = [case for case in plan.cases.values() if any([_fits(name, tool.name) for name in case.mocks])]
    if len(mocking) == len(plan.cases):
        return "mocks"
    rest = "runs, and is recorded" if plan.options.record else "runs"
    if plan.options.replay and not plan.options.is_live("tools"):
        rest = "recording"
    if tool.problem:
        rest = f"runs: {tool.problem}"
    return f"mocks in {len(mocking)} of {len(plan.cases)} cases, else {rest}" if mocking else rest


def _fits(written: str, name: str) -> bool:
    return NamePattern.of(written).matches(name) if "*" in written else written == name
