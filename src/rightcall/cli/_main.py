"""The command `rightcall` and its sub-commands, none of which is imported before it is needed."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module

import click

from rightcall.errors import RightcallError, nearest
from rightcall.version import __version__

from ._output import Screen, print_error, terminal_width

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("_init:demo", "Run a small agent over its eval set, offline, and show the verdicts."),
    "init": ("_init:init", "Make a project: an agent, an eval set, recorded traces, a workflow for CI."),
    "show": ("_show", "Show which calls are in traces: the tree, the timing, what was not recorded."),
    "run": ("run", "Run an agent over an eval set, and compare what it calls with what is expected."),
    "score": ("score", "Check recorded traces against expectations, without running the agent."),
    "pull": ("_pull", "Save the traces of a server as a file, to test with or to work offline."),
    "report": ("_runs:report", "Write a run as JUnit XML, GitHub annotations, Markdown, JSON or HTML."),
    "view": ("_view", "Show runs as web pages, to this machine only."),
    "diff": ("_runs:diff", "Compare runs: regressions, fixes and other paths."),
    "baseline": ("_runs:baseline", "Pool the trials of runs into a file that a gate compares with."),
    "stats": ("_runs:stats", "Show how steady a run is: rates, intervals, flaky cases, where their runs diverge."),
    "paths": ("_paths", "Show which paths runs take, and what changed in them."),
    "judge-check": ("_judge_check", "Compare a judge with human labels: agreement, kappa, the cases they differ on."),
    "accept": ("_accept", "Update an eval set from traces or a run, as an edit to review."),
    "mutate": (
        "_eval_sets:mutate",
        "Show whether an eval set would notice if the agent went wrong, and what it lacks.",
    ),
    "check": ("_eval_sets:check", "Check eval sets, and report every mistake in them."),
    "convert": ("_eval_sets:convert", "Convert an eval set of UiPath or ADK to the native format."),
    "schema": ("_eval_sets:schema", "Print the JSON Schema of eval sets, for editors."),
    "mcp": ("_mcp", "Serve runs, failures and traces to a coding agent, by the Model Context Protocol."),
    "explain": ("_main:explain", "Explain the code of a finding, and what to do about it."),
    "completion": ("_completion", "Print the script that completes commands, runs and cases in your shell."),
}
"""Each command's module, with a name if it has several, and the line that the list prints without loading it."""

EXAMPLES = {
    "show": "traces: rightcall show traces/trip.json",
    "score": "traces, and what to expect of them: rightcall score traces/ --evalset shop.yaml",
    "pull": "the address of a trace server, and a file: rightcall pull phoenix:support -o traces.jsonl.gz",
    "report": "a run: rightcall report last --format html=report.html",
    "diff": "two runs, by id or branch: rightcall diff main last",
    "baseline": "finished runs and a file: rightcall baseline last --to evals/shop.baseline.json",
    "paths": "a run or traces: rightcall paths last",
    "judge-check": "a file of labels: rightcall judge-check labels.jsonl",
    "accept": "a run, or traces and an eval set: rightcall accept last",
    "check": "an eval set: rightcall check evals/shop.yaml",
    "convert": "an eval set of another tool: rightcall convert evals/default.json",
    "completion": "a shell: rightcall completion bash",
}
"""What a command needs that cannot run by its name alone, with an example."""

_COMPLETING = "_RIGHTCALL_COMPLETE"
"""The variable by which the scripts of `rightcall completion` ask."""

_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)

_HELP = ("-h", "--help")
_HELP_WIDTH = 80

EXIT_COULD_NOT_MEASURE = 2
EXIT_DEFECT = 3
EXIT_INTERRUPTED = 130


class LazyCommands(click.Group):
    """A group whose commands are imported when they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of this name; `None` for an option. An error names the nearest command."""
        if cmd_name.startswith("-"):
            return None
        if cmd_name not in COMMANDS:
            raise click.UsageError(f"no command {cmd_name!r:.40}; {nearest(cmd_name, tuple(COMMANDS))}", ctx)
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f".{module}", __package__), name or "command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


_rightcall = LazyCommands(
    name="rightcall",
    help="""Did the agent make the right calls?

    Rightcall compares the tools an agent called with those it should have called, and says which call or which
    argument is wrong. Without a command it shows the state of the project.
    """,
    invoke_without_command=True,
    context_settings={"help_option_names": list(_HELP)},
)
click.version_option(__version__, message="rightcall %(version)s")(_rightcall)


@click.command(name="explain")
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Explain what the code of a finding means and what to do about it. Without CODE, list all codes."""
    import textwrap

    from rightcall.values.results import CODES, explain

    screen = Screen()
    if code is None:
        for known in CODES.values():
            screen.line((known.code, "bold"), f"  {known.name}")
        return
    found = explain(code)
    screen.line((found.code, "bold"), f" {found.name}\n")
    screen.line(textwrap.fill(found.explanation, 80))


def run_command() -> int:
    """Run the command that the arguments name, and return its exit code."""
    if _COMPLETING in os.environ:
        from ._completion import complete

        return complete(_rightcall, COMMANDS)
    try:
        # Only help is laid out. click would ask `shutil`, which loads three compressors: a twentieth of `score --help`.
        is_help = not set(_HELP).isdisjoint(sys.argv)
        width = max(min(terminal_width(), _HELP_WIDTH) - 2, 50) if is_help else None
        # Its `main` would end the program with 1 where the reader of our output has stopped reading.
        with _rightcall.make_context("rightcall", sys.argv[1:], terminal_width=width) as context:
            code = _rightcall.invoke(context)
            if context.invoked_subcommand is None:
                from ._status import print_status

                code = print_status()
            if sys.stdout is not None:  # it is None where standard output is closed
                sys.stdout.flush()
    except click.exceptions.Exit as ended:
        code = ended.exit_code
    except click.ClickException as problem:
        print_error(_message_of(problem) + _where_to_look(problem))
        code = EXIT_COULD_NOT_MEASURE
    except RightcallError as problem:
        print_error(problem)
        code = EXIT_COULD_NOT_MEASURE
    except (KeyboardInterrupt, EOFError):
        click.echo(err=True)  # the line on which a terminal shows `^C`
        code = EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader of our output has stopped reading
        _forget_output()
        code = EXIT_INTERRUPTED
    except Exception as problem:  # noqa: BLE001 - whatever else goes wrong is ours, and has an exit code of its own
        code = _unforeseen(problem)
    return code if isinstance(code, int) else 0


def _unforeseen(problem: Exception) -> int:
    """Report what only a full disk or a defect can be the reason of, and return the exit code."""
    if isinstance(problem, OSError) and problem.errno in _NO_ROOM and problem.filename is None:
        _forget_output()
        print_error(f"standard output: {problem.strerror}; free some space, or redirect it")
        return EXIT_COULD_NOT_MEASURE
    import traceback

    from rightcall.reporting.reports import printable

    # A message may quote a trace, which a terminal must not obey (escape sequences, OSC 52).
    for line in traceback.format_exc().splitlines():
        click.echo(printable(line), err=True)
    click.echo("rightcall: this is a defect in Rightcall; please report it with the lines above", err=True)
    return EXIT_DEFECT


def _message_of(problem: click.ClickException) -> str:
    """Return what is wrong or, if an argument or a required option is missing, what to write."""
    command = problem.ctx.info_name if isinstance(problem, click.MissingParameter) and problem.ctx is not None else None
    if command in EXAMPLES:
        return f"{command} needs {EXAMPLES[command]}"
    return problem.format_message()


def _where_to_look(problem: click.ClickException) -> str:
    context = problem.ctx if isinstance(problem, click.UsageError) else None
    return f" (see {context.command_path} --help)" if context is not None else ""


def _forget_output() -> None:
    """Discard unwritten output, which the interpreter would otherwise try to write again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
