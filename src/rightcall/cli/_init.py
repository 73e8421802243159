"""`rightcall init`: a project that works, with a case that fails on purpose."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from rightcall.errors import RightcallError
from rightcall.running.project import eval_sets_in, is_configured

from ._frameworks import Found, framework_of
from ._project_files import EVALSET_FILE, IGNORE_FILE, Written, beginning_of, project_files, settings_of, write_files
from ._terminal import Screen


@click.command(name="init")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Write the files that are missing, even if there is an eval set already.")
def command(folder: Path, force: bool) -> int:
    """Make a project in DIR, or here: an agent, an eval set, recorded traces, a workflow for CI.

    Nothing that exists is overwritten. Where DIR has an agent made with ADK, LangGraph, OpenAI Agents or
    pydantic-ai, all that is written is for that agent and its tools; an eval set that it has is used.
    """
    if folder.exists() and not folder.is_dir():
        raise RightcallError(f"{folder} is not a folder")
    there, found, screen = eval_sets_in(folder), framework_of(folder), Screen()
    if there and found is not None and found.is_seen and not is_configured(folder):
        written = write_files(folder, settings_of(found.agent, there[0], folder))
        _tell_adopted(screen, folder, found, there[0], written)
    elif there and not force:
        raise RightcallError(
            f"{folder / there[0]} is an eval set already; nothing was written. --force writes what is missing"
        )
    elif found is None:
        _tell_project(screen, folder, write_files(folder, project_files()))
    else:
        _tell_beginning(screen, folder, found, write_files(folder, beginning_of(found, folder)))
    return 0


def _tell_files(screen: Screen, folder: Path, written: Written) -> None:
    for name in written.made:
        screen.line("wrote  ", (folder / name).as_posix())
    for name in written.kept:
        hint = ": add .rightcall/ to it, where runs are kept" if name == IGNORE_FILE else ""
        screen.line("kept   ", (folder / name).as_posix(), f", which was there{hint}")


def _tell_project(screen: Screen, folder: Path, written: Written) -> None:
    _tell_files(screen, folder, written)
    screen.line("\nNext:")
    _tell_where(screen, folder)
    screen.line("  rightcall run                                      # one case fails on purpose")
    screen.line("  rightcall view                                     # the same in the browser")
    screen.line("  rightcall score traces --evalset evals/shop.yaml   # the same, from recorded traces")
    screen.line("evals/shop.yaml says how to fix what fails, and how cases are written.")


def _tell_beginning(screen: Screen, folder: Path, found: Found, written: Written) -> None:
    _tell_files(screen, folder, written)
    _tell_agent(screen, found)
    screen.line("\nNext:")
    _tell_where(screen, folder)
    screen.line(f"  rightcall score traces --evalset {EVALSET_FILE}   # no model needed; one case fails on purpose")
    screen.line("  rightcall run                                       # your agent, on the same cases")
    screen.line(f"{EVALSET_FILE} is a beginning: write what your agent is asked, and what it should call.")


def _tell_adopted(screen: Screen, folder: Path, found: Found, evalset: str, written: Written) -> None:
    _tell_files(screen, folder, written)
    _tell_agent(screen, found)
    screen.line("\nNext:")
    _tell_where(screen, folder)
    screen.line(f"  rightcall check {shlex.quote(evalset)}   # your eval set, as it is")
    screen.line("  rightcall run   # your agent, on its cases")


def _tell_agent(screen: Screen, found: Found) -> None:
    name = found.framework.name
    screen.line(f"\nThis project uses {name}. For `rightcall run` its agent is")
    screen.line(f"  {found.agent}" + ("" if found.is_seen else "      (an example: no agent was seen)"))
    screen.line(f"that is, {found.framework.advice}.")
    if found.tools:
        names = [one.name for one in found.tools]
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        screen.line(f"Tools that were seen: {', '.join(names[:5])}{more}")


def _tell_where(screen: Screen, folder: Path) -> None:
    if folder.resolve() != Path.cwd():
        screen.line(f"  cd {shlex.quote(str(folder))}")
