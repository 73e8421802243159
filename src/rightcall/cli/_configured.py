"""The options of a command where the command line says nothing: those of the project's file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import click

from rightcall.errors import InputError
from rightcall.running.project import Configuration, load_configuration

KNOWN = (
    *(
        "agent",
        "evalset",
        "case",
        "tag",
        "workers",
        "fail_fast",
        "strict_agent",
        "format",
        "max_detail",
        "output_file",
        "redact",
        "runs",
    ),
    *("concurrency", "timeout", "max_memory", "repeat", "min_repeat_pass", "min_pass", "record", "replay", "spans"),
    *(
        "trust",
        "keep",
        "join",
        "case_attribute",
        "input_format",
        "group_by",
        "max_size",
        "together",
        "no_cache",
        "print_detailed_results",
    ),
)
"""What a project's file may set: the options of `run` and `score`. Each takes those that it has."""

_WRITTEN = {
    "formats": "format",
    "cases": "case",
    "tags": "tag",
    "grouping": "group_by",
    "is_detailed": "print_detailed_results",
}


def configured(
    context: click.Context, options: dict[str, Any], never: Collection[str]
) -> tuple[Configuration, set[str]]:
    """Complete the options of a command; the file, and which options were given on the command line.

    Those in `never` are not taken from a file.

    Raises:
        InputError: the file cannot be read, names an option that is not known, or has a value that cannot be.
    """
    configuration = load_configuration(Path.cwd(), KNOWN)
    given = {name for name in options if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE}
    for name in options:
        key = _WRITTEN.get(name, name)
        if name not in given and name not in never and key in configuration.values:
            options[name] = _converted(context, name, configuration.values[key], f"{configuration.path}: {key}")
    return configuration, given


def _converted(context: click.Context, name: str, value: Any, where: str) -> Any:
    """A value of the configuration, checked as if it had been given on the command line."""
    [parameter] = [one for one in context.command.params if one.name == name]
    if parameter.multiple and isinstance(value, str):
        value = [value]
    if isinstance(parameter, click.Option) and parameter.is_flag and not isinstance(value, bool):
        raise InputError(f"{where} is true or false, not {value!r:.80}")
    try:
        return parameter.process_value(context, str(value) if isinstance(value, (int, float)) else value)
    except click.BadParameter as problem:
        raise InputError(f"{where}: {problem.message}") from None
