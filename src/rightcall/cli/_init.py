"""`rightcall init`: a project that works, with a case that fails on purpose."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from rightcall.errors import RightcallError

from ._frameworks import Found, framework_of
from ._project import IGNORE_FILE, Written, project_files, write_files
from ._terminal import Screen

_SKELETON = """\
# What the agent is asked, and which tools it should call then.
# Write cases of your own; `rightcall check {file}` says whether they hold together.

# {framework}: {advice}.{guess}
agent: {agent}

cases:
  - id: first                        # every case has an id of its own
    input: What is the weather?      # what the agent is given
    expect:
      calls:                         # these calls, in this order, and no others
        - get_weather: {{city: {{$any: true}}}}   # the arguments that matter; a $ matcher where a value may vary
      # never: [delete_order]        # must not be called
      # output: {{$contains: sunny}}   # what it says in the end
"""
_SKELETON_FILE = "evals/agent.yaml"
_EVAL_SETS = (
    "evals/*.yaml",
    "evals/*.yml",
    "evals/*.json",
    "*.evalset.json",
    "*/*.evalset.json",
    "*.test.json",
    "evaluations/eval-sets/*.json",
)


@click.command(name="init")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Write the files that are missing, even if there is an eval set already.")
def command(folder: Path, force: bool) -> int:
    """Make a project in DIR, or here: an agent, an eval set, recorded traces, a workflow for CI.

    Nothing that exists is overwritten. Where DIR has an agent made with ADK, LangGraph, OpenAI Agents or
    pydantic-ai, only the beginning of an eval set for that agent is written.
    """
    if folder.exists() and not folder.is_dir():
        raise RightcallError(f"{folder} is not a folder")
    there = _eval_set_in(folder)
    if there is not None and not force:
        raise RightcallError(f"{there} is an eval set already; nothing was written. --force writes what is missing")
    screen, found = Screen(), framework_of(folder)
    if found is None:
        _tell_project(screen, folder, write_files(folder, project_files()))
    else:
        _tell_skeleton(screen, folder, found, write_files(folder, {_SKELETON_FILE: _skeleton(found)}))
    return 0


def _eval_set_in(folder: Path) -> Path | None:
    found = [path for pattern in _EVAL_SETS for path in folder.glob(pattern)]
    return min(found) if found else None


def _skeleton(found: Found) -> str:
    guess = "" if found.is_seen else " The name below is an example: write yours."
    return _SKELETON.format(
        file=_SKELETON_FILE,
        framework=found.framework.name,
        advice=found.framework.advice,
        agent=found.agent,
        guess=guess,
    )


def _tell_files(screen: Screen, folder: Path, written: Written) -> None:
    for name in written.made:
        screen.line("wrote  ", (folder / name).as_posix())
    for name in written.kept:
        hint = ": add .rightcall/ to it, where runs are kept" if name == IGNORE_FILE else ""
        screen.line("kept   ", (folder / name).as_posix(), f", which was there{hint}")


def _tell_project(screen: Screen, folder: Path, written: Written) -> None:
    _tell_files(screen, folder, written)
    screen.line("\nNext:")
    if folder.resolve() != Path.cwd():
        screen.line(f"  cd {shlex.quote(str(folder))}")
    screen.line("  rightcall run                                      # one case fails on purpose")
    screen.line("  rightcall score traces --evalset evals/shop.yaml   # the same, from recorded traces")
    screen.line("evals/shop.yaml says how to mend what fails, and how cases are written.")


def _tell_skeleton(screen: Screen, folder: Path, found: Found, written: Written) -> None:
    _tell_files(screen, folder, written)
    name = found.framework.name
    screen.line(f"\nThis project uses {name}. For `rightcall run` its agent is {found.framework.advice}:")
    screen.line(f"  {found.agent}" + ("" if found.is_seen else "      (an example: no agent was seen)"))
    screen.line("Its calls are captured from the spans it emits, or from tools marked with rightcall's @tool.")
    screen.line("\nNext: write what you expect, then")
    if folder.resolve() != Path.cwd():
        screen.line(f"  cd {shlex.quote(str(folder))}")
    screen.line(f"  rightcall run {shlex.quote(found.agent)} {_SKELETON_FILE}")
