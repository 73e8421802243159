"""`rightcall convert`: an eval set of another tool, in the native format."""

from __future__ import annotations

from pathlib import Path

import click

from rightcall.cases.evalsets import convert_eval_set
from rightcall.errors import RightcallError


@click.command(name="convert")
@click.argument("file")
@click.option("--output", metavar="FILE", help="Write to this file, which must not be there yet.")
@click.option("--force", is_flag=True, help="Write to it all the same.")
def command(file: str, output: str | None, force: bool) -> int:
    """Convert an eval set of UiPath or ADK to the native format, losing nothing. Nothing is imported."""
    text = convert_eval_set(file).encode()
    if output is None:
        click.echo(text, nl=False)  # bytes, because a file is UTF-8 whatever the terminal is
        return 0
    try:
        with Path(output).open("wb" if force else "xb") as stream:
            stream.write(text)
    except FileExistsError:
        raise RightcallError(f"{output}: is there already; choose another name, or say --force") from None
    except OSError as problem:
        raise RightcallError(f"{output}: {problem.strerror or problem}") from None
    return 0
