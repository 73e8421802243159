"""What commands that read traces have in common."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import click

from rightcall.reading import INPUT_FORMATS, Grouping

from ._sizes import size


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how to read: `--input-format`, `--group-by` and `--max-size`."""
    added = [
        click.option(
            "--input-format",
            type=click.Choice(INPUT_FORMATS),
            help="What the files are, where their content alone would be taken for something else.",
        ),
        click.option(
            "--group-by",
            "grouping",
            type=click.Choice(get_args(Grouping)),
            default="auto",
            show_default=True,
            help="What makes one run.",
        ),
        click.option(
            "--max-size",
            metavar="SIZE",
            callback=size,
            help="The most bytes to read of a file, unpacked: 500MB, 2GB.",
        ),
    ]
    for option in reversed(added):
        command = option(command)
    return command


STANDARD_INPUT = "-"


def saved_input(context: click.Context) -> str:
    """Save standard input as a temporary file, which is gone when the command ends, and return its path.

    Traces are read more than once, by more than one process; standard input can be read once.
    """
    folder = context.with_resource(TemporaryDirectory(prefix="rightcall-"))
    path = os.path.join(folder, "stdin")
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def trace_files(traces: Sequence[str]) -> Iterator[str]:
    """The files to read: those given, for a folder all files in it, for a pattern what it matches, by name."""
    for trace in traces:
        if os.path.isdir(trace):
            yield from sorted(str(path) for path in Path(trace).rglob("*") if path.is_file())
        elif has_magic(trace) and not os.path.exists(trace):
            yield from sorted(trace_files(sorted(glob(trace, recursive=True)))) or [trace]
        else:
            yield trace
