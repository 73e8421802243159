"""`rightcall completion`: the script that makes a shell complete commands, runs and cases."""

from __future__ import annotations

import click

from rightcall.errors import UnknownNameError, nearest

from ._completing import SHELLS, VARIABLE


@click.command(name="completion")
@click.argument("shell", metavar="bash|zsh|fish")
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the script that makes a shell complete commands, options, runs, cases, formats and codes.

    bash: eval "$(rightcall completion bash)" in ~/.bashrc. zsh: the same in ~/.zshrc, after compinit. fish: rightcall
    completion fish > ~/.config/fish/completions/rightcall.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell) if shell in SHELLS else None
    if kind is None:
        raise UnknownNameError(f"no shell {shell!r:.40}; {nearest(shell, SHELLS)}")
    click.echo(kind(context.command, {}, "rightcall", VARIABLE).source())
    return 0
