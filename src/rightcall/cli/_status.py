"""`rightcall` alone: the state of the project, and what to do next.

It has to be quick, so it looks at a bounded number of files, and loads nothing but click and the standard library,
unless a case did not pass: then what is said of it is redacted.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from rightcall.reporting.store import CaseProblem, RunSummary, summaries
from rightcall.running.project import OWN_FILE, PROJECT_FILE, eval_sets_in, project_of
from rightcall.values.results import SIGNS

_RUNS = Path(".rightcall") / "runs"
_SPOILT = 2
_MOST_LISTED = 5
_MOST_LINES = 3
_NARROWEST, _WIDEST = 40, 120
_SHOWN = ("passed", "failed", "error", "not_measured")
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
_WAYS_IN = """\
Did the agent make the right calls?

There is no project here. Two ways in:
  rightcall demo   # see a small agent fail, offline, and why
  rightcall init   # make a project here, or begin with the agent that is here

`rightcall --help` lists all commands."""


class Project(NamedTuple):
    """The state of a project."""

    folder: Path
    has_file: bool
    """Whether the folder, or one above it, has a project file: the agents that its eval sets name are run."""
    agent: str | None
    evalset: str | None
    eval_sets: list[str]
    runs: list[RunSummary]


def print_status() -> int:
    """Print the state of the project of the current folder, or how to begin if there is none; return the exit code."""
    project = _project()
    if project is None:
        click.echo(_WAYS_IN)
        return 0
    is_spoilt = bool(project.runs) and project.runs[0].is_changed()
    for line in _spoilt_lines(project) if is_spoilt else _lines(project):
        click.echo(_harmless(line))
    return _SPOILT if is_spoilt else 0


def _project() -> Project | None:
    here = Path.cwd()
    own = project_of(here)
    folder = own or here
    values = _configured(folder)
    runs = values.get("runs")
    places = [folder / runs] if isinstance(runs, str) else [_RUNS, folder / _RUNS]
    found = next((newest for newest in (list(summaries(place)) for place in places) if newest), [])
    eval_sets = eval_sets_in(folder)
    if not eval_sets and not found and not values:
        return None
    agent, evalset = (values.get(key) if isinstance(values.get(key), str) else None for key in ("agent", "evalset"))
    return Project(folder, own is not None, agent, evalset, eval_sets, found)


def _configured(folder: Path) -> dict[str, Any]:
    """Return the options of a project; none if its file is wrong, which the commands that need them will report."""
    for name, mark in ((OWN_FILE, ""), (PROJECT_FILE, "tool.rightcall")):
        try:
            text = (folder / name).read_text(encoding="utf-8")[: 1 << 20]
            if mark not in text:
                continue
            import tomllib

            document = tomllib.loads(text)
            values = document if not mark else document["tool"]["rightcall"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        return values if isinstance(values, dict) else {}
    return {}


def _spoilt_lines(project: Project) -> Iterator[str]:
    """Yield the lines if another program has changed the journal of the last run, so that it does not count."""
    last = project.runs[0]
    yield from _head_lines(project)
    yield f"Last run   {last.id[:4]}, {_ago(last)}, {last.evalset}: its journal was changed by another program"
    yield f"\nNext:\n  {_run_command(project)}"


def _head_lines(project: Project) -> Iterator[str]:
    run_last = [run.evalset for run in project.runs[:1] if _file_in(project, run.evalset) is not None]
    listed = list(dict.fromkeys([name for name in (project.evalset, *project.eval_sets, *run_last) if name]))
    more = f" and {len(listed) - _MOST_LISTED:,} more" if len(listed) > _MOST_LISTED else ""
    yield f"Eval sets  {', '.join(listed[:_MOST_LISTED]) or 'none yet'}{more}"
    if project.agent is not None:
        yield f"Agent      {project.agent}"


def _lines(project: Project) -> Iterator[str]:
    yield from _head_lines(project)
    if not project.runs:
        yield "Runs       none yet"
        yield from _next(project, [])
        return
    last = project.runs[0]
    yield f"Last run   {last.id[:4]}, {_ago(last)}, {last.evalset}: {_totals(last)}"
    troubles = last.problems()
    yield from _trouble_lines(last, troubles)
    yield from _since(project, last)
    yield from _next(project, troubles)


def _counted(run: RunSummary) -> Mapping[str, int]:
    """Return the number of cases by verdict. A run that was killed has none in its header."""
    if run.totals:
        return run.totals
    return Counter([verdict for case, verdict in run.verdicts().items() if case not in run.quarantined])


def _totals(run: RunSummary) -> str:
    totals = _counted(run)
    counts = [f"{totals[name]:,} {SIGNS[name].word}" for name in _SHOWN if totals.get(name)]
    apart = [f"{len(run.quarantined):,} in quarantine"] if run.quarantined else []
    told = ", ".join([*counts, *apart]) or "no cases"
    return told if run.is_finished else f"{told}; it is not complete"


def _trouble_lines(run: RunSummary, troubles: list[CaseProblem]) -> Iterator[str]:
    for case in troubles:
        line, width = f"  {_mark(case.verdict)} {case.case_id}  {case.message}".rstrip(), _width()
        yield from [line] if len(line) <= width else _wrapped(case, width)
    totals = _counted(run)
    more = sum([totals.get(name, 0) for name in _SHOWN[1:]]) - len(troubles)
    if more > 0:
        yield f"    and {more:,} more"


def _wrapped(case: CaseProblem, width: int) -> Iterator[str]:
    """Yield a case and what is wrong with it on separate lines, enough of them to see the argument."""
    from textwrap import wrap

    yield f"  {_mark(case.verdict)} {case.case_id}"[:width]
    lines = wrap(_harmless(case.message), width - 4)
    yield from [f"    {line}" for line in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        yield "    ..."


def _since(project: Project, last: RunSummary) -> Iterator[str]:
    """Yield what changed: files since the last run, and verdicts between that run and the one before it."""
    changed = [name for name in (last.evalset, _file_of(project.agent)) if name and _is_newer(project, name, last)]
    if changed:
        yield f"Since then {' and '.join(dict.fromkeys(changed))} changed"
    before = next((run for run in project.runs[1:] if run.evalset == last.evalset), None)
    if before is None or before.is_changed():
        return
    then, now = before.verdicts(), last.verdicts()
    judged = [case for case in now if case not in last.quarantined]
    worse = [case for case in judged if now[case] != "passed" and then.get(case) == "passed"]
    better = [case for case in judged if now[case] == "passed" and then.get(case, "passed") != "passed"]
    flips = [_flips(worse, "passed then"), _flips(better, "passes now")]
    yield "; ".join([f"Run before {before.id[:4]}, {_ago(before)}: {_totals(before)}", *filter(None, flips)])


def _flips(cases: list[str], what: str) -> str:
    more = f" and {len(cases) - _MOST_LISTED:,} more" if len(cases) > _MOST_LISTED else ""
    return f"{', '.join(cases[:_MOST_LISTED])}{more} {what}" if cases else ""


def _next(project: Project, troubles: list[CaseProblem]) -> Iterator[str]:
    last = project.runs[0] if project.runs else None
    yield "\nNext:"
    if last is None:
        has_eval_set = project.eval_sets or project.evalset is not None
        yield f"  {_run_command(project)}" if has_eval_set else "  rightcall init   # an eval set to begin with"
    elif not last.is_finished:
        yield f"  rightcall run --resume {last.id}   # what is finished is not run again"
    elif troubles:
        yield f"  rightcall show last --case {shlex.quote(troubles[0].case_id)}   # the whole path"
        # Recorded traces that were scored have no agent that could be run again.
        if last.has_agent or project.agent is not None:
            yield f"  {_run_command(project)} --failed"
    elif not last.has_agent and project.agent is None:
        yield "  rightcall mutate   # would the eval set notice a mistake?"
    else:
        yield f"  {_run_command(project)}"


def _run_command(project: Project) -> str:
    """Return the command that runs the eval set, without names if the configuration has them."""
    if project.evalset is not None:
        return "rightcall run"
    name = project.runs[0].evalset if project.runs else project.eval_sets[0]
    may_name_agent = name.endswith((".yaml", ".yml")) and project.has_file
    has_agent = may_name_agent or project.agent is not None
    return f"rightcall run {'' if has_agent else 'AGENT '}{shlex.quote(name)}"


def _file_of(agent: str | None) -> str | None:
    place = (agent or "").partition(":")[0]
    return place if place.endswith(".py") else None


def _is_newer(project: Project, name: str, run: RunSummary) -> bool:
    path = _file_in(project, name)
    return path is not None and path.stat().st_mtime > _seconds(run.started)


def _file_in(project: Project, name: str) -> Path | None:
    """Return the file of a name, which is relative to the current folder or to the project."""
    return next((path for path in (Path(name), project.folder / name) if path.is_file()), None)


def _seconds(moment: str) -> float:
    from datetime import datetime

    try:
        return datetime.fromisoformat(moment).timestamp()
    except (ValueError, OverflowError):
        return float("inf")


def _ago(run: RunSummary) -> str:
    import time

    passed = time.time() - _seconds(run.started)
    for size, unit in _UNITS:
        if passed >= size:
            count = int(passed // size)
            return f"{count} {unit}{'s' * (count > 1)} ago"
    return "just now" if passed >= 0 else "at an unknown time"


def _mark(verdict: str) -> str:
    sign = SIGNS.get(verdict, SIGNS["failed"])
    return sign.symbol if _is_unicode() else sign.ascii


def _harmless(line: str) -> str:
    """Return a line without anything that a terminal would obey or could not show."""
    text = "".join([one if one.isprintable() or one == "\n" else f"\\u{ord(one):04x}" for one in line])
    return text if _is_unicode() else text.encode("ascii", "backslashreplace").decode()


def _width() -> int:
    try:
        columns = int(os.environ.get("COLUMNS") or os.get_terminal_size(1).columns)
    except (OSError, ValueError):
        columns = _WIDEST
    return min(max(columns, _NARROWEST), _WIDEST)


def _is_unicode() -> bool:
    return (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
