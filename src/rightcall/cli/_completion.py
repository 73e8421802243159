"""`rightcall completion`, and what its scripts ask for: commands, runs, cases, formats, codes.

A shell asks at every press of a key, so what can be found in a few files is answered without loading the command. click
completes options. Errors are not printed: a shell would print them into the middle of a line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from rightcall.errors import UnknownNameError, nearest
from rightcall.reporting.store import RunSummary, summaries
from rightcall.running.project import OWN_FILE, PROJECT_FILE, project_of

VARIABLE = "_RIGHTCALL_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
FORMATS = ("full", "concise", "json", "junit", "github", "markdown", "html")
_RUNS = Path(".rightcall") / "runs"
_OF_RUNS = ("show", "report", "diff", "accept", "mutate", "stats", "paths", "baseline")
_OF_FILES = ("run", "score", "check", "convert", "show", "accept", "mutate", "paths")
_OF_FOLDERS = ("init", "demo", "view")
_VALUES_ARE_FILES = ("--evalset", "--output-file", "--expect")
_VALUES_ARE_RUNS = ("--resume", "--baseline", "--against", "--run")
_DATA = (".yaml", ".yml", ".json")
_MOST_BYTES = 4 << 20
_YAML_ID = re.compile(r"""^[ ]*-[ ]+\{?[ ]*id:[ ]*("[^"\n]*"|'[^'\n]*'|[^\s#,}]+)""", re.MULTILINE)
_JSON_ID = re.compile(r'"(?:id|eval_id|evalId)"\s*:\s*"([^"\\\n]+)"')
_CONFIGURED = re.compile(r"""^\s*evalset\s*=\s*["']([^"'\n]+)["']""", re.MULTILINE)


@click.command(name="completion")
@click.argument("shell", metavar="bash|zsh|fish")
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the script that makes a shell complete commands, options, runs, cases, formats and codes.

    bash: eval "$(rightcall completion bash)" in ~/.bashrc. zsh: the same in ~/.zshrc, after compinit. fish: rightcall
    completion fish > ~/.config/fish/completions/rightcall.fish
    """
    kind = get_completion_class(shell) if shell in SHELLS else None
    if kind is None:
        raise UnknownNameError(f"no shell {shell!r:.40}; {nearest(shell, SHELLS)}")
    click.echo(kind(context.command, {}, "rightcall", VARIABLE).source())
    return 0


def complete(group: click.Command, commands: Mapping[str, tuple[str, str]]) -> int:
    """Answer the shell that asks through the environment. Always 0: a shell cannot do anything about a failure."""
    shell, _, instruction = os.environ[VARIABLE].partition("_")
    kind = get_completion_class(shell)
    if kind is None or instruction != "complete":
        return 0
    asking = kind(group, {}, "rightcall", VARIABLE)
    try:
        arguments, begun = asking.get_completion_args()
        items = known(arguments, begun, commands)
        if items is None:
            items = asking.get_completions(arguments, begun)
        lines = [asking.format_completion(item) for item in items]
    except Exception:  # noqa: BLE001 - a half-written line can be anything, and there is no place for a message
        return 0
    click.echo("\n".join(lines))
    return 0


def known(arguments: list[str], begun: str, commands: Mapping[str, tuple[str, str]]) -> list[CompletionItem] | None:
    """Return what can follow these words and begins like this; `None` if only the command itself knows."""
    if begun.startswith("-"):
        return None
    if not arguments:
        return _beginning(begun, [(name, line) for name, (_, line) in commands.items()])
    command, option = arguments[0], arguments[-1]
    if option == "--case":
        return _beginning(begun, [(case, "") for case in _cases(arguments)])
    if option == "--format":
        return _beginning(begun, [(name, "") for name in FORMATS])
    if option in _VALUES_ARE_RUNS:
        return _beginning(begun, _runs())
    if option in _VALUES_ARE_FILES:
        return [CompletionItem(begun, type="file")]
    return None if option.startswith("--") else _positional(command, begun)


def _positional(command: str, begun: str) -> list[CompletionItem] | None:
    if command == "explain":
        from rightcall.values.results import CODES

        return _beginning(begun.upper(), [(code, CODES[code].name) for code in CODES])
    if command == "completion":
        return _beginning(begun, [(shell, "") for shell in SHELLS])
    if command in _OF_FOLDERS:
        return [CompletionItem(begun, type="dir")]
    items = _beginning(begun, _runs()) if command in _OF_RUNS else []
    files = [CompletionItem(begun, type="file")] if command in _OF_FILES else []
    # click's script for bash drops its items when it meets a request for files, so that comes first. bash then
    # completes files only if there are no items.
    return [*files, *items] if command in (*_OF_RUNS, *_OF_FILES) else None


def _beginning(begun: str, found: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    """Return the items that begin like this, without those that have control characters."""
    return [
        CompletionItem(name, help=help_text or None)
        for name, help_text in found
        if name.startswith(begun) and name.isprintable() and help_text.isprintable()
    ]


def _runs() -> list[tuple[str, str]]:
    """Return the names of runs: `last`, branches, ids; the newest first."""
    found = list(summaries(_RUNS))
    branches = {run.branch: f"the newest run of {run.branch}" for run in found if run.branch}
    named = [("last", "the newest run")] if found else []
    return [*named, *branches.items(), *[(run.id, _run_help(run)) for run in found]]


def _run_help(run: RunSummary) -> str:
    counts = ", ".join([f"{count} {name.replace('_', ' ')}" for name, count in run.totals.items() if count])
    return f"{run.started[:16].replace('T', ' ')}  {run.evalset}  {counts or 'not finished'}"


def _cases(arguments: list[str]) -> list[str]:
    """Return the ids of cases: of the eval set or the run that the words name, or of the project's own eval set."""
    found = list(summaries(_RUNS))
    for word in arguments[1:]:
        if word.endswith(_DATA) and Path(word).is_file():
            return _ids(Path(word))
        for run in found:
            if word and (word == run.id or word == run.branch or (word == "last" and run is found[0])):
                return list(run.verdicts())
    configured = _configured()
    if configured is not None:
        return _ids(configured)
    return list(found[0].verdicts()) if found else []


def _ids(path: Path) -> list[str]:
    """Return the ids in an eval set as they are usually written: parsing it takes too long for a key press."""
    with path.open("rb") as file:
        text = file.read(_MOST_BYTES).decode("utf-8", "replace")
    pattern = _JSON_ID if path.suffix == ".json" else _YAML_ID
    return list(dict.fromkeys(name.strip("\"'") for name in pattern.findall(text)))


def _configured() -> Path | None:
    project = project_of(Path.cwd())
    for name in (OWN_FILE, PROJECT_FILE) if project is not None else ():
        file = Path(project or "", name)
        found = _CONFIGURED.search(file.read_text(encoding="utf-8", errors="replace")) if file.is_file() else None
        if found is not None:
            return Path(project or "", found[1])
    return None
