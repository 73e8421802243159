"""`rightcall mcp`: runs, failures and traces for coding agents, by the Model Context Protocol."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rightcall.errors import InputError, RightcallError, missing_package
from rightcall.version import __version__

from ._options import runs_folder

MOST_BYTES = 4_000
"""An answer goes into the context of a model, where it is paid for: what is longer comes in pages."""
_LONGEST_LINE = 1_000
_MOST_RUNS = 500
_MOST_TRACES = 10
_PATIENCE = 900.0
_INSTRUCTIONS = (
    "Rightcall judges AI agents by the tools they call. Begin with `failures`: each line names the case, the code, the "
    "call and the argument that is wrong. `explain_case` has the expected path beside the actual one. Answers are "
    "short; where one ends with a cursor, ask again with it."
)


@click.command(name="mcp")
@click.option("--runs", metavar="DIR", help="The folder of runs; .rightcall/runs by default.")
@click.option("--allow-run", is_flag=True, help="Offer a tool that runs the agent over its eval set.")
@click.option("--allow-edit", is_flag=True, help="Offer a tool that edits eval sets, as `rightcall accept` does.")
def command(runs: str | None, allow_run: bool, allow_edit: bool) -> int:
    """Serve runs, failures and traces to a coding agent, by the Model Context Protocol on standard input and output.

    Nothing is run and nothing is written, unless --allow-run or --allow-edit says so. Only files in the current folder
    are read, and traces of servers on this machine or in [sources] of the configuration. In the settings of the agent,
    the command is `rightcall mcp`.
    """
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError:
        raise missing_package("rightcall mcp needs the package mcp, version 2", "mcp") from None

    answers = Answers(runs_folder(runs))
    server = MCPServer("rightcall", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING")
    for tool, is_reading in offered(answers, allow_run=allow_run, allow_edit=allow_edit):
        hints = ToolAnnotations(read_only_hint=is_reading, open_world_hint=tool.__name__ == "show_trace")
        server.add_tool(
            _with_protocol_errors(tool, ToolError), name=tool.__name__, annotations=hints, structured_output=False
        )
    server.run("stdio")
    return 0


def offered(answers: Answers, *, allow_run: bool, allow_edit: bool) -> list[tuple[Callable[..., str], bool]]:
    """Return the tools, each with whether it only reads."""
    tools: list[tuple[Callable[..., str], bool]] = [
        (tool, True)
        for tool in (
            answers.runs,
            answers.failures,
            answers.explain_case,
            answers.compare,
            answers.show_trace,
            answers.check_evalset,
        )
    ]
    if allow_run:
        tools.append((answers.run_evalset, False))
    if allow_edit:
        tools.append((answers.accept_run, False))
    return tools


def _with_protocol_errors(tool: Callable[..., str], error: type[Exception]) -> Callable[..., str]:
    """Return a tool whose errors are answers of the protocol."""
    from functools import wraps

    @wraps(tool)
    def answered(*args: Any, **given: Any) -> str:
        try:
            return tool(*args, **given)
        except RightcallError as problem:
            from rightcall.values.redaction import redacted_text

            raise error(redacted_text(str(problem))) from None

    return answered


class Answers:
    """The tools. Their docstrings are what a model reads of them."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs

    def runs(self, cursor: str = "") -> str:
        """List the runs of this project, the newest first: id, time, totals, eval set."""
        from rightcall.reporting.store import list_runs, open_run

        lines = []
        for folder in reversed(list_runs(self._runs)[-_MOST_RUNS:]):
            header = open_run(str(folder)).header
            totals = str(header.totals) if header.totals is not None else "not finished"
            where = f" on {header.branch}" if header.branch else ""
            lines.append(f"{header.id[:4]}  {header.started[:16]}  {totals}  {header.evalset}{where}")
        return page("\n".join(lines) or "no runs yet: rightcall run", cursor)

    def failures(self, run: str = "last", cursor: str = "") -> str:
        """List the cases of a run that did not pass: file and line, code, case, and what is wrong with which call.

        Args:
            run: The beginning of a run's id, a branch, or `last`.
            cursor: Where to continue, from an earlier answer.
        """
        from rightcall.reporting.reports import problem_lines
        from rightcall.reporting.store import open_run
        from rightcall.values.redaction import redacted_text

        found = open_run(_run(run), self._runs)
        lines = [f"run {found.short_id} of {found.header.evalset}: {found.header.totals or 'not finished'}"]
        for result in found.results():
            lines += problem_lines(result, redact=redacted_text)
        return page("\n".join(lines), cursor)

    def explain_case(self, case: str, run: str = "last", cursor: str = "") -> str:
        """Explain one case of a run: expected beside actual, and every call with its arguments and its output.

        Args:
            case: The id of the case.
            run: The beginning of a run's id, a branch, or `last`.
            cursor: Where to continue, from an earlier answer.
        """
        return page(self._asked("show", f"--case={case}", f"--runs={self._runs}", "--", _run(run)), cursor)

    def compare(self, before: str, after: str = "last", cursor: str = "") -> str:
        """Say what changed between two runs: verdicts that flipped, and calls that differ."""
        return page(self._asked("diff", f"--runs={self._runs}", "--", _run(before), _run(after)), cursor)

    def show_trace(self, source: str, cursor: str = "") -> str:
        """Show which calls are in recorded traces: the tree, the timing, what was not recorded.

        Args:
            source: A file of this folder, or the address of a trace server: `phoenix://localhost:6006/shop`, or `prod:`
                where that is a name in `[sources]` of the configuration. `?trace=ID`, `?since=1h` or `?limit=3` may
                follow; without a limit it is the newest ten.
            cursor: Where to continue, from an earlier answer.
        """
        return page(self._asked("show", "--", known_address(source) or str(_inside(source))), cursor)

    def check_evalset(self, file: str = "", text: str = "") -> str:
        """Check an eval set, a file of this folder or a string: every key, every expectation, every id.

        Args:
            file: The path of the file.
            text: The content of an eval set, in YAML or JSON, if it is not in a file.
        """
        from rightcall.cases.evalsets import load_eval_set, parse_eval_set
        from rightcall.values.results import count_text

        if bool(file) == bool(text):
            raise InputError("give either file or text")
        eval_set = load_eval_set(str(_inside(file))) if file else parse_eval_set(text, "text")
        checks = sum([len(case.checks) for case in eval_set.cases])
        return f"right: {count_text(len(eval_set.cases), 'case')}, {count_text(checks, 'expectation')}"

    def run_evalset(self, evalset: str = "", case: str = "", cursor: str = "") -> str:
        """Run the agent over an eval set, keep the run, and say what did not pass. It may take minutes.

        Args:
            evalset: The file; by default the one of the project.
            case: Only cases whose id matches this pattern.
            cursor: Where to continue, from an earlier answer; the agent runs again.
        """
        chosen = [f"--case={case}"] if case else []
        named = ["--", str(_inside(evalset))] if evalset else []
        output = self._asked("run", "--format=concise", f"--runs={self._runs}", *chosen, *named, fails_with=(1, 2))
        return page(output, cursor)

    def accept_run(self, run: str = "last", case: str = "", learn: bool = False, cursor: str = "") -> str:
        """Write what a run did into its eval set, so that it passes, and return the edit.

        Args:
            run: The beginning of a run's id, a branch, or `last`.
            case: Only cases whose id matches this pattern.
            learn: Whether to write what all its good repeats have in common.
            cursor: Where to continue, from an earlier answer.
        """
        chosen = [*([f"--case={case}"] if case else []), *(["--learn"] if learn else [])]
        return page(self._asked("accept", f"--runs={self._runs}", *chosen, "--", _run(run), fails_with=(1,)), cursor)

    def _asked(self, *arguments: str, fails_with: tuple[int, ...] = ()) -> str:
        """Return what a command prints. Raises `InputError` if it could not do what it was asked to do."""
        # A process of its own: standard output is the protocol here, and an agent may print to it.
        environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
        command = [sys.executable, "-m", "rightcall", *arguments]
        try:
            done = subprocess.run(  # noqa: S603 - our own command, with arguments that cannot be options
                command, capture_output=True, timeout=_PATIENCE, env=environment, stdin=subprocess.DEVNULL, check=False
            )
        except subprocess.TimeoutExpired:
            raise InputError(f"rightcall {arguments[0]} took more than {_PATIENCE:.0f} s") from None
        output, complaint = [stream.decode(errors="replace") for stream in (done.stdout, done.stderr)]
        if done.returncode not in (0, *fails_with):
            raise InputError(complaint.strip().removeprefix("rightcall: ")[:_LONGEST_LINE] or output[:_LONGEST_LINE])
        return output + (complaint if done.returncode else "")


def page(text: str, cursor: str = "") -> str:
    """Return the part of a string that begins at a cursor, in at most 4,000 bytes, with the cursor of the next part.

    Raises:
        InputError: the cursor is not one of this text.
    """
    lines = text.splitlines()
    if cursor and not (cursor.isascii() and cursor.isdigit() and int(cursor) < len(lines)):
        raise InputError(f"{cursor!r:.40} is not a cursor of this answer; leave it out to begin again")
    begin = int(cursor or 0)
    ending = '… {} more lines; cursor: "{}"'
    room = MOST_BYTES - len(ending) - 20
    kept: list[str] = []
    for line in lines[begin:]:
        shown = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} …"
        room -= len(shown.encode(errors="replace")) + 1
        if room < 0 and kept:
            break
        kept.append(shown)
    end = begin + len(kept)
    if end < len(lines):
        kept.append(ending.format(len(lines) - end, end))
    return "\n".join(kept)


def _run(name: str) -> str:
    """Return the name of a run; a path has to be inside the current folder. Raises `InputError`."""
    return str(_inside(name)) if "/" in name or os.sep in name or name in (".", "..") else name


def known_address(source: str) -> str | None:
    """Return the address of a trace server, with a limit; `None` for a file. Raises `InputError`.

    What a model asks for may come from a trace that it read. So no key and nothing else is sent to a server, unless the
    configuration names it or it is on this machine.
    """
    from urllib.parse import parse_qs, urlsplit

    from rightcall.connect import is_address, parse_address

    from ._pull import source_aliases

    aliases = source_aliases()
    if not is_address(source, aliases):
        return None
    asked = parse_qs(urlsplit(source).query, keep_blank_values=True)
    if "key" in asked:
        raise InputError("the key of a server comes from the configuration; leave out key=")
    address = parse_address(source, aliases)
    known = [parse_address(f"{alias}:", aliases) for alias in aliases]
    if not address.is_local and (address.scheme, address.base) not in [(each.scheme, each.base) for each in known]:
        raise InputError(
            f"{address} is not a server of this project; allowed are those on this machine, and in [sources] of "
            f"rightcall.toml: {', '.join([f'{alias}:' for alias in aliases]) or 'none'}"
        )
    if {"limit", "trace"} & asked.keys() or address.query.limit is not None:
        return source
    return f"{source}{'&' if '?' in source else '?'}limit={_MOST_TRACES}"


def _inside(file: str) -> Path:
    """Return the path of a file inside the current folder. Raises `InputError` for any other."""
    here, meant = Path.cwd().resolve(), Path(file).resolve()
    if not meant.is_relative_to(here):
        raise InputError(f"{file:.200} is not in {here}; only files of this folder are read")
    if not meant.exists():
        raise InputError(f"{file:.200}: no such file")
    return meant.relative_to(here)
