"""The options of a command where the command line says nothing: those of the project's file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rightcall.errors import InputError

if TYPE_CHECKING:
    from rightcall.running.project import Configuration

_NEVER = {"names", "traces", "evalset", "expect", "resume", "failed", "is_watching", "out", "engine"}
"""What is meant for one command line: which traces, which run, where to."""

_WRITTEN = {
    "formats": "format",
    "cases": "case",
    "tags": "tag",
    "grouping": "group_by",
    "is_detailed": "print_detailed_results",
}
"""Parameters that a file spells differently: as the option."""


def configurable() -> set[str]:
    """Return what a project's file may set: the options of `run` and `score`. Each command takes those it has."""
    commands = [import_module(f".{name}", __package__).command for name in ("run", "score")]
    names = {param.name for command in commands for param in command.params} - _NEVER
    return {"agent", "evalset", *[_WRITTEN.get(name, name) for name in names]}


def configured(context: click.Context, options: dict[str, Any]) -> tuple[Configuration, set[str]]:
    """Complete the options of a command; return the file, and which options were given on the command line.

    Raises:
        InputError: the file cannot be read, names an unknown option, or has a value that the option cannot have.
    """
    from rightcall.running.project import load_configuration

    configuration = load_configuration(Path.cwd(), configurable())
    given = {name for name in options if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE}
    for param in context.command.params:
        name = str(param.name)
        key = _WRITTEN.get(name, name)
        if name in given or name in _NEVER or key not in configuration.values:
            continue
        value = _converted(context, param, configuration.values[key], f"{configuration.path}: {key}")
        if name in options:  # an option that is not passed on, such as --no-cache, has done its work by now
            options[name] = value
    return configuration, given


def _converted(context: click.Context, param: click.Parameter, value: Any, where: str) -> Any:
    """Return a value of the configuration, checked as if it had been given on the command line."""
    if param.multiple and isinstance(value, str):
        value = [value]
    if isinstance(param, click.Option) and param.is_flag and not isinstance(value, bool):
        raise InputError(f"{where} is true or false, not {value!r:.80}")
    try:
        return param.process_value(context, str(value) if isinstance(value, (int, float)) else value)
    except click.BadParameter as problem:
        raise InputError(f"{where}: {problem.message}") from None
