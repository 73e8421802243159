"""Options that several commands have, and what they become. What reads or judges is imported when a command runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NotRequired, Required, TypeAlias, get_type_hints

import click

from rightcall._lazy import lazy_pattern, light_imports
from rightcall.errors import InputError, StoreError, nearest

from ._output import FORMATS, Complaints

if TYPE_CHECKING:
    from pathlib import Path

    from rightcall.reading import Reading
    from rightcall.reporting.store import RunFolder
    from rightcall.running.project import Configuration
    from rightcall.scale.local import Sources
    from rightcall.scale.request import Request


Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]

STANDARD_INPUT = "-"
INPUT_FORMATS = (
    *("mlflow", "jaeger", "otlp", "sdk", "langfuse", "langsmith", "platforms", "zipkin", "openai-agents"),
    *("dataframe", "rows", "messages"),
)
GROUPINGS = ("auto", "conversation", "session", "trace", "file")
JOINS = ("auto", "attribute", "trace", "order")
CASE_ATTRIBUTE = "rightcall.case.id"
"""These values repeat those of the readers and the eval sets, so that `--help` need not load them."""

_GATE_KEYS = ("base", "rule_out", "allow_drop", "confidence", "inconclusive", "min_rate", "must")
Group = Literal["What", "How", "Gate", "Output"]
"""The sections of the help of commands with many options."""

_NEVER = {
    *("names", "dry_run", "traces", "evalset", "expect", "resume", "failed", "is_watching", "out", "engine", "paths"),
    *("every", "prune", "variants", "push", "push_to", "push_dry_run", "push_link", "webhook"),
}
"""Options that make sense on one command line only: which traces, which run, where to."""
_WRITTEN = {
    "formats": "format",
    "cases": "case",
    "tags": "tag",
    "skipped": "skip",
    "grouping": "group_by",
    "is_detailed": "print_detailed_results",
}
"""Parameters that a configuration spells like the option."""
_ROUNDS = lazy_pattern(r"(\d{1,5})(?:\.\.(\d{1,5}))?")
_MOST = 10_000


class Size(click.ParamType[int]):
    """A number of bytes such as `1000000`, `500MB` or `2G`; the units are powers of 1024."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number. Raises `click.BadParameter`."""
        from rightcall.running.project import bytes_of

        try:
            return bytes_of(value)
        except InputError as problem:
            self.fail(str(problem), param, ctx)


class Number(click.ParamType[Any]):
    """A number between two bounds, both allowed unless `above`. `nan` is never valid: no limit would be reached.

    click's own ranges are written as `INTEGER RANGE` and `x>=1` in the help.
    """

    name = "X"
    kind: type[int | float] = float
    noun = "a number"

    def __init__(self, least: float, most: float | None = None, *, above: bool = False) -> None:
        self.least, self.most, self.above = least, most, above

    @property
    def wanted(self) -> str:
        """The valid numbers, in words: `a number from 0 to 1`."""
        if self.most is not None:
            return f"{self.noun} from {self.least} to {self.most}"
        return f"{self.noun} {'above' if self.above else 'of at least'} {self.least}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raises `click.BadParameter`."""
        try:
            number = self.kind(value)
        except (ValueError, OverflowError):
            self.fail(f"{value!r:.40} is not {self.wanted}.", param, ctx)
        is_enough = number > self.least if self.above else number >= self.least
        if not is_enough or (self.most is not None and number > self.most):
            self.fail(f"{value!s:.40} is not {self.wanted}.", param, ctx)
        return number


class Whole(Number):
    """A whole number between two bounds."""

    name = "N"
    kind = int
    noun = "a whole number"


class GroupedOption(click.Option):
    """An option that is listed in one of the sections of the help."""

    def __init__(self, *names: Any, group: Group, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.group = group


class FormatType(click.ParamType[str]):
    """A value of `--format`: `NAME` or `NAME=FILE`."""

    name = "format"

    def __init__(self, known: Collection[str]) -> None:
        self._known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value if it is valid. Raises `click.BadParameter`."""
        name, equals, file = value.partition("=")
        if name not in self._known:
            self.fail(f"no format {name!r:.40}; {nearest(name, list(self._known))}", param, ctx)
        if equals and not file:
            self.fail(f"{value!r:.40} names no file; write {name}=FILE", param, ctx)
        return str(value)


class GroupedCommand(click.Command):
    """A command whose help lists its options in sections: what, how, output."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        # What is left out here was a tenth of what `rightcall show` executes.
        late: dict[str, dict[str, Any]] = {
            # msgspec takes these names from it if it is installed, and from `typing` otherwise. They are the same since
            # Python 3.11.
            "typing_extensions": {"get_type_hints": get_type_hints, "NotRequired": NotRequired, "Required": Required},
            "msgspec.inspect": {},  # for JSON Schemas
            "urllib.parse": {"quote_from_bytes": _quote_from_bytes},  # for `Path.as_uri`
            "ntpath": {},  # for paths of Windows on other systems
        }
        with light_imports("json", late=late):
            import json  # noqa: F401 - every command needs these, and its help does not
            import pathlib  # noqa: F401

            import msgspec  # noqa: F401
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        sections: dict[str, list[tuple[str, str]]] = {"What": [], "How": [], "Gate": [], "Output": [], "Other": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                sections[param.group if isinstance(param, GroupedOption) else "Other"].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _quote_from_bytes(given: bytes, safe: str = "/") -> str:
    from urllib.parse import quote_from_bytes

    return quote_from_bytes(given, safe)


def option(group: Group, *names: str, **settings: Any) -> Decorator:
    """Return the decorator that adds an option to a command, in a section of its help."""
    return click.option(*names, cls=GroupedOption, group=group, **settings)


def options(*added: Decorator) -> Decorator:
    """Return the decorator that adds several options, in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for each in reversed(added):
            command = each(command)
        return command

    return add


class Given(click.ParamType[Any]):
    """A value that a function converts. click calls a callback for an option that is not given, too, and no type."""

    name = "given"

    def __init__(self, convert: Callable[[Any], Any]) -> None:
        self._convert = convert

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return what the function makes of the value. Raises `click.BadParameter`."""
        return self._convert(value)


def _ignore_cache(is_wanted: bool) -> None:
    """Turn the cache of judges off, for this process and those that it starts."""
    if is_wanted:
        os.environ["RIGHTCALL_JUDGE_CACHE"] = "off"


def _checked_join(value: Any) -> str:
    way = str(value)
    if way not in JOINS:
        from rightcall.cases.verdicts import join_rule
        from rightcall.errors import RightcallError

        try:
            join_rule(way)
        except RightcallError as problem:
            raise click.BadParameter(str(problem)) from None
    return way


def _names(value: Any) -> list[str]:
    """Return the names in a string with commas between. A command gets such a list for each time that it is given."""
    return [name.strip() for name in str(value).split(",") if name.strip()]


reading_options = options(
    option(
        "How",
        "--input-format",
        type=click.Choice(INPUT_FORMATS),
        metavar="FORMAT",
        help=f"The format of the files, detected from their content by default: {', '.join(INPUT_FORMATS)}.",
    ),
    option(
        "How",
        "--group-by",
        "grouping",
        type=click.Choice(GROUPINGS),
        default="auto",
        show_default=True,
        help="What counts as one run.",
    ),
    option(
        "How", "--max-size", metavar="SIZE", type=Size(), help="Refuse larger files, measured unpacked: 500MB, 2GB."
    ),
)
case_options = options(
    option("What", "--case", "cases", multiple=True, metavar="GLOB", help="Only cases whose id matches; repeatable."),
    option("What", "--tag", "tags", multiple=True, metavar="TAG", help="Only cases with this tag; repeatable."),
)


joining_options = options(
    case_options,
    option(
        "What",
        "--join",
        metavar="WAY",
        type=Given(_checked_join),
        shell_complete=lambda context, parameter, begun: [
            way for way in (*JOINS, "key=", "file=") if way.startswith(begun)
        ],
        help="How traces are joined to cases: auto, attribute, trace, order, key=NAME (a key or column with the id of "
        "a case) or file={case}/{repeat}.json (the names of the files).",
    ),
    option(
        "What",
        "--case-attribute",
        default=CASE_ATTRIBUTE,
        metavar="NAME",
        help=f"The span attribute with the id of a case; {CASE_ATTRIBUTE} by default.",
    ),
    reading_options,
    option("How", "--together", is_flag=True, help="Read all files as one source: spans in one file, logs in another."),
)
no_cache_option = option(
    "How",
    "--no-cache",
    is_flag=True,
    default=None,
    expose_value=False,
    type=Given(_ignore_cache),
    help="Ask judges again even if nothing has changed, and do not keep their answers.",
)
trust_option = option(
    "How", "--trust", is_flag=True, help="Import code that the eval set names even if it is outside this project."
)
runs_option = option("Output", "--runs", metavar="DIR", help="The folder of runs; .rightcall/runs by default.")
no_redact_option = option(
    "Output", "--no-redact", is_flag=True, help="Show secrets, such as keys and passwords, as they are."
)
redact_option = option(
    "Output",
    "--redact/--no-redact",
    default=None,
    help="Secrets, such as keys and passwords, are left out of what is printed and written. --redact also leaves them "
    "out of what is kept, and --no-redact leaves them in.",
)


def reading_of(options: dict[str, Any], request: Request | None = None, **more: Any) -> Reading:
    """Return how to read files, from the options of a command. Metadata that a request needs is kept."""
    from rightcall.limits import KEEPING_MESSAGES
    from rightcall.reading import Reading

    known = {field: options[field] for field in Reading.__struct_fields__ if field in options}
    kind, _, key = (options.get("join") or "").partition("=")
    if kind == "key":
        known["case_attribute"] = key
    kept = request.expected.kept if request is not None else ()
    known["metadata_attributes"] = (known.get("case_attribute", CASE_ATTRIBUTE), *kept)
    if options.get("keep"):
        known["limits"] = KEEPING_MESSAGES
    return Reading(**known, **more)


def request_of(options: dict[str, Any], **more: Any) -> Request:
    """Return the request to judge recorded traces, from the options of a command."""
    from rightcall.running.project import trusted_project
    from rightcall.scale.request import Request

    expect = options.get("expect")
    request = Request(
        evalset=options["evalset"],
        expectation=None if expect is None else _expectation(expect),
        case_globs=tuple(options["cases"]),
        tags=tuple(options["tags"]),
        evaluators=tuple(chain(*options.get("only") or ())),
        skipped=tuple(chain(*options.get("skipped") or ())),
        join=options["join"] or "auto",
        trust=options.get("trust", False),
        compare_with=options.get("compare_with"),
        home=trusted_project(),
        **more,
    )
    return _only_failed(request, options) if options.get("failed") else request


def _only_failed(request: Request, options: dict[str, Any]) -> Request:
    """Return the request for the cases that did not pass when the eval set was last kept."""
    from ._runs import failed_in, last_run_of

    last = last_run_of(options["evalset"], runs_folder(options["runs"]), is_recorded=True)
    return request.only(frozenset([case.id for case in failed_in(last, request.expected.cases)]))


def _expectation(given: str) -> tuple[bytes, str]:
    """Return the text of an expectation and a name for it; a file is named by its path."""
    if not os.path.isfile(given):
        # An expectation is an object, and so has a colon.
        if ":" not in given and given.endswith((".yaml", ".yml", ".json")):
            raise InputError(f"{given}: no such file, and --expect takes a file or an expectation such as 'never: [x]'")
        return given.encode(), "--expect"
    try:
        with open(given, "rb") as file:
            return file.read(), given
    except OSError as problem:
        raise InputError(f"{given}: {problem.strerror or problem}") from None


def runs_folder(given: str | None) -> Path:
    """Return the folder of runs: the one that is given, or the one of the current folder."""
    from pathlib import Path

    from rightcall.reporting.store import RUNS

    return RUNS if given is None else Path(given)


def run_named(name: str, runs: str | None, *, is_meant: bool = False) -> RunFolder | None:
    """Return the run of a name, or `None` if the name is that of traces.

    Raises:
        StoreError: there is neither a file nor a run of this name, or the run cannot be read. If a run `is_meant`, or
            a folder of runs is given, files do not count.
    """
    exists = os.path.exists(name)
    # A branch has none of these characters (git-check-ref-format): this is a pattern, or the address of a server.
    if name == STANDARD_INPUT or (not exists and any(mark in name for mark in "*?[:")):
        return None
    # A file is not a run, and neither is a folder, unless it has a run.json: the store need not be loaded to know that.
    if exists and not os.path.isfile(os.path.join(name, "run.json")):
        return None
    from rightcall.reporting.store import open_run

    try:
        return open_run(name, runs_folder(runs))
    except StoreError as problem:
        if is_meant or runs is not None or exists:
            raise
        raise StoreError(f"{name}: neither a file nor a run: {problem}") from None


def sources_of(options: dict[str, Any], request: Request | None = None, **more: Any) -> Sources:
    """Return the files to read: those given, those in folders, of trace servers, and standard input.

    `more` has further settings of the reading, beside the options.
    """
    from rightcall.scale.local import Sources

    traces, names = options["traces"], dict(options.get("names", {}))
    if any([":" in trace for trace in traces]):
        traces, pulled = local_traces(traces)
        names |= pulled
    files = found_files(traces)
    if STANDARD_INPUT in files:
        if files.count(STANDARD_INPUT) > 1:
            raise click.UsageError("standard input (-) can be read only once")
        path = _saved_input(click.get_current_context())
        files[files.index(STANDARD_INPUT)] = path
        names[path] = "<stdin>"
    return Sources(
        reading_of(options, request, **more),
        files,
        together=options.get("together", False),
        complain=Complaints(),
        names=names,
        is_named=request is not None and request.expectation is not None,
    )


def local_traces(traces: Sequence[str]) -> tuple[Sequence[str], dict[str, str]]:
    """Return traces with a file in place of each address of a server, and the names of these files for users.

    An address has a colon; without one, this need not be called, and what pulls traces is not imported.
    """
    from ._pull import pulled_files

    return pulled_files(traces, click.get_current_context())


def _saved_input(context: click.Context) -> str:
    """Save standard input as a temporary file, which is removed when the command ends, and return its path.

    Large traces are read by several processes, and some twice; standard input can be read once.
    """
    import shutil
    from tempfile import TemporaryDirectory

    folder = context.with_resource(TemporaryDirectory(prefix="rightcall-"))
    path = os.path.join(folder, "stdin")
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def found_files(traces: Sequence[str]) -> list[str]:
    """Return the files to read. Raises `InputError` if there are none."""
    files = list(trace_files(traces))
    if not files:
        raise InputError(f"no files in {', '.join(traces)}")
    return files


def trace_files(traces: Sequence[str]) -> Iterator[str]:
    """Yield the files to read, sorted: of a folder all files in it, of a pattern those that match."""
    for trace in traces:
        if os.path.isdir(trace):
            from pathlib import Path

            yield from sorted(str(path) for path in Path(trace).rglob("*") if path.is_file())
        elif not os.path.exists(trace) and any(mark in trace for mark in "*?["):
            from glob import glob

            yield from sorted(trace_files(sorted(glob(trace, recursive=True)))) or [trace]
        else:
            yield trace


def configurable() -> set[str]:
    """Return what a project's file may set: the options of `run` and `score`. Each command takes those it has."""
    commands = [import_module(f".{name}", __package__).command for name in ("run", "score")]
    names = {param.name for command in commands for param in command.params} - _NEVER
    return {"agent", "evalset", "sources", "variants", *[_WRITTEN.get(name, name) for name in names]}


def configured(context: click.Context, options: dict[str, Any]) -> tuple[Configuration, set[str]]:
    """Complete the options of a command; return the configuration, and which options are from the command line.

    Raises:
        InputError: the file cannot be read, names an unknown option, or has a value that the option cannot have.
    """
    from pathlib import Path

    from rightcall.running.project import load_configuration

    configuration = load_configuration(Path.cwd(), configurable)
    if isinstance(configuration.values.get("gate"), dict):
        configuration = _without_gate_table(configuration)
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


def _without_gate_table(configuration: Configuration) -> Configuration:
    """Return a configuration with the table `[gate]` replaced by options; `base` is `--gate`.

    Raises:
        InputError: the table has an unknown key.
    """
    values = {key: value for key, value in configuration.values.items() if key != "gate"}
    for written, value in configuration.values["gate"].items():
        key = written.replace("-", "_")
        if key not in _GATE_KEYS:
            raise InputError(f"{configuration.path}: [gate] has no {written!r:.40}; {nearest(written, _GATE_KEYS)}")
        is_file = key == "base" and isinstance(value, str) and (configuration.folder / value).is_file()
        values["gate" if key == "base" else key] = os.path.relpath(configuration.folder / value) if is_file else value
    return configuration._replace(values=values)


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


class RoundsType(click.ParamType[tuple[int, int]]):
    """How often each case is run: `5`, or `3..10` if a gate may stop early."""

    name = "rounds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Return the least and the most rounds. Raises `click.BadParameter`."""
        if isinstance(value, tuple):
            return value
        found = _ROUNDS.fullmatch(str(value).strip())
        if found is None:
            self.fail(f"{value!r:.40} is not a number of repeats; write 5, or 3..10", param, ctx)
        least = int(found[1])
        most = int(found[2] or least)
        if not 1 <= least <= most <= _MOST:
            self.fail(
                f"{value!r:.40} is not a number from 1 to {_MOST:,}, or two such as 3..10, the smaller first.",
                param,
                ctx,
            )
        return least, most


gate_options = options(
    option(
        "Gate",
        "--rule-out",
        type=Number(0, 1),
        help="The drop that has to be ruled out for `no worse`; 0.10 by default.",
    ),
    option(
        "Gate", "--allow-drop", type=Number(0, 1), help="A drop that is tolerated even if it is certain; 0 by default."
    ),
    option("Gate", "--confidence", type=Number(0.5, 0.9999), help="1 minus the rate of false alarms; 0.95 by default."),
    option(
        "Gate",
        "--inconclusive",
        type=click.Choice(["pass", "fail"]),
        help="Whether an inconclusive result passes with a warning (the default) or exits with 2.",
    ),
)
base_options = options(
    option(
        "Gate",
        "--gate",
        metavar="BASE",
        help="Compare with a run, a branch or a baseline file; the result is the exit code.",
    ),
    option("Gate", "--min-rate", type=Number(0, 1), help="The pass rate that has to be reached, at this confidence."),
    option("Gate", "--must", multiple=True, metavar="TAG", help="Cases with this tag must always pass; repeatable."),
)
"""Options that `diff` does not need, because it names both of its runs."""


evaluator_options = options(
    option(
        "What",
        "--only",
        multiple=True,
        type=Given(_names),
        metavar="NAMES",
        help="Only these evaluators: order,args; by key of expect, type id, or judges.",
    ),
    option(
        "What",
        "--skip",
        "skipped",
        multiple=True,
        type=Given(_names),
        metavar="NAMES",
        help="Skip these evaluators; judges means all that ask a model.",
    ),
)
format_options = options(
    option(
        "Output",
        "--format",
        "formats",
        multiple=True,
        metavar="NAME[=FILE]",
        type=FormatType(FORMATS),
        help=f"Print a format or, with =FILE, write it: {', '.join(FORMATS)}; repeatable. By default full on a "
        "terminal, else concise.",
    ),
    option(
        "Output",
        "--max-detail",
        type=Whole(0),
        default=10,
        show_default=True,
        help="How many cases the full format explains; where more did not pass, one of each cause.",
    ),
    option("Output", "--output-file", metavar="FILE", help="Write all results to this file as JSON."),
    option(
        "Output",
        "--print-detailed-results",
        "is_detailed",
        is_flag=True,
        help="Print every evaluator of every case, with its score and the reasons for it.",
    ),
    redact_option,
)
