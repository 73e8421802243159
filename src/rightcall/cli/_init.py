"""`rightcall init`: a project that works, with a case that fails on purpose. `rightcall demo` runs the same files."""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from contextlib import chdir
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from textwrap import wrap
from typing import Any

import click

from rightcall.cases.evalsets import Case, load_eval_set
from rightcall.cases.verdicts import judge
from rightcall.errors import RightcallError, missing_package, requirement
from rightcall.reporting.reports import problem_lines
from rightcall.reporting.store import open_run
from rightcall.running.project import OWN_FILE, eval_sets_in, is_configured, load_configuration
from rightcall.values.decoding import dump_json
from rightcall.values.results import CaseResult, EvaluationResult, call_text
from rightcall.values.trajectory import Trajectory

from ._files import Written, write_files
from ._frameworks import Found, Parameter, SeenTool, framework_of
from ._output import Output, Screen
from .run._request import RunRequest
from .run._run import Running

AGENT_FILE = "shop_agent.py"
EXAMPLE_EVALSET = "evals/shop.yaml"
IGNORE_FILE = ".gitignore"
_NODE_FILE = "rightcall-agent.mjs"
_NODE_AGENT = f"cmd:node {_NODE_FILE}"
WORKFLOW_FILE = ".github/workflows/rightcall.yml"
_MOST_TRACES = 500
"""The most traces to learn a first eval set from, if the address does not say which."""
SCHEMA_FILE = "evals/evalset.schema.json"
SCHEMA_LINE = "# yaml-language-server: $schema=evalset.schema.json"
"""Tells an editor to check and complete an eval set by the schema beside it."""

_FILES = {
    AGENT_FILE: AGENT_FILE,
    EXAMPLE_EVALSET: EXAMPLE_EVALSET,
    "traces/shop.jsonl": "traces/shop.jsonl",
    WORKFLOW_FILE: "github/workflows/rightcall.yml",
    "rightcall.toml": "rightcall.toml",
    IGNORE_FILE: "gitignore",
}
"""Each file of a project, and its name in the template, without a dot if tools would pick it up there."""

_NOT_FOR_RUNNERS = """\
      # This Rightcall was installed from a folder or a file, which a runner does not have. Until Rightcall is on the
      # package index, install it from a repository instead: 'rightcall @ git+https://HOST/OWNER/rightcall'
"""
_QUESTIONS = {
    "calls": "the expected path?",
    "order": "in the right order?",
    "counts": "as often as they should be?",
    "args": "with the right arguments?",
    "outputs": "giving the right outputs?",
    "never": "nothing forbidden?",
    "output": "the right answer in the end?",
}
_FAILS_ON_PURPOSE = "reserve_two"
_COULD_NOT_MEASURE, _INTERRUPTED = 2, 130


@click.command(name="init")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Write the files that are missing, even if there is an eval set already.")
@click.option("--from", "source", metavar="URL", help="Learn the eval set from the traces of a trace server.")
@click.pass_context
def init(context: click.Context, folder: Path, force: bool, source: str | None) -> int:
    """Make a project in DIR, or here: an agent, an eval set, recorded traces, a workflow for CI.

    Nothing that exists is overwritten. Where DIR has an agent made with ADK, LangGraph, OpenAI Agents or
    pydantic-ai, all that is written is for that agent and its tools; an eval set that it has is used.
    """
    if folder.exists() and not folder.is_dir():
        raise RightcallError(f"{folder} is not a folder")
    if source is not None:
        return _begin_with_traces(context, folder, source)
    there, found, screen = eval_sets_in(folder), framework_of(folder), Screen()
    if there and found is not None and found.is_seen and not is_configured(folder):
        written = write_files(folder, settings_of(found.agent, there[0], folder))
        _print_adopted(screen, folder, found, there[0], written)
    elif there and not force:
        raise RightcallError(
            f"{folder / there[0]} is already an eval set; nothing was written. --force writes what is missing"
        )
    elif found is None and (folder / "package.json").is_file():
        _print_node(screen, folder, write_files(folder, node_files()))
    elif found is None:
        _print_project(screen, folder, write_files(folder, project_files()))
    else:
        _print_beginning(screen, folder, found, write_files(folder, beginning_of(found, folder)))
    return 0


def _begin_with_traces(context: click.Context, folder: Path, source: str) -> int:
    """Save the traces of a server, and write an eval set with what traces of the same question have in common."""
    from ._accept import command as accept
    from ._pull import save_traces

    traces, evalset = folder / "traces/production.jsonl", folder / "evals/production.yaml"
    if evalset.exists():
        raise RightcallError(f"{evalset} is already an eval set; nothing was written")
    count, address = save_traces(source, str(traces), most=_MOST_TRACES)
    if not count:
        traces.unlink()
        raise RightcallError(f"{address}: no traces match this address")
    asked = {"traces": (str(traces),), "evalset": str(evalset), "learns": True, "fits_by_input": True}
    code = int(context.invoke(accept, **asked))
    screen = Screen()
    screen.line(f"\n{count:,} traces of {address} are in {traces.as_posix()}. Next:")
    _print_where(screen, folder)
    screen.line("  rightcall paths traces                                    # the paths that the agent takes")
    screen.line("  rightcall score traces --evalset evals/production.yaml    # what was learned, on the same traces")
    screen.line("Read evals/production.yaml before you trust it: what was wrong in production was learned, too.")
    return code


def _print_files(screen: Screen, folder: Path, written: Written) -> None:
    for name in written.made:
        screen.line("wrote  ", (folder / name).as_posix())
    for name in written.kept:
        hint = ": add .rightcall/ to it, where runs are kept" if name == IGNORE_FILE else ""
        screen.line("kept   ", (folder / name).as_posix(), f", which was there{hint}")


def _print_project(screen: Screen, folder: Path, written: Written) -> None:
    _print_files(screen, folder, written)
    screen.line("\nNext:")
    _print_where(screen, folder)
    screen.line("  rightcall run                                      # one case fails on purpose")
    screen.line("  rightcall view                                     # the same in the browser")
    screen.line("  rightcall score traces --evalset evals/shop.yaml   # the same, from traces")
    screen.line("evals/shop.yaml says how to fix what fails, and how cases are written.")


def _print_node(screen: Screen, folder: Path, written: Written) -> None:
    _print_files(screen, folder, written)
    screen.line("\nThis is a project of Node.js. For `rightcall run` its agent is a command:")
    screen.line(f"  {_NODE_AGENT}")
    screen.line("\nNext:")
    _print_where(screen, folder)
    screen.line("  rightcall run            # an example; one case fails on purpose")
    screen.line("  rightcall run --record   # keep what your model answers, to replay")
    screen.line(f"Call your agent in {_NODE_FILE}; its cases are in {EVALSET_FILE}.")


def _print_beginning(screen: Screen, folder: Path, found: Found, written: Written) -> None:
    _print_files(screen, folder, written)
    _print_agent(screen, found)
    screen.line("\nNext:")
    _print_where(screen, folder)
    screen.line(f"  rightcall score traces --evalset {EVALSET_FILE}   # one fails on purpose")
    screen.line("  rightcall run                                       # your agent instead")
    screen.line("  rightcall run --record                              # keep answers to replay")
    screen.line(f"{EVALSET_FILE} is a beginning: add what your agent is asked and should call.")


def _print_adopted(screen: Screen, folder: Path, found: Found, evalset: str, written: Written) -> None:
    _print_files(screen, folder, written)
    _print_agent(screen, found)
    screen.line("\nNext:")
    _print_where(screen, folder)
    screen.line(f"  rightcall check {shlex.quote(evalset)}   # your eval set, as it is")
    screen.line("  rightcall run   # your agent, on its cases")


def _print_agent(screen: Screen, found: Found) -> None:
    name = found.framework.name
    screen.line(f"\nThis project uses {name}. For `rightcall run` its agent is")
    screen.line(f"  {found.agent}" + ("" if found.is_seen else "      (an example: no agent was seen)"))
    screen.line(f"that is, {found.framework.advice}.")
    if found.others:
        screen.line(f"Other agents that were seen, which it or your code may use: {', '.join(found.others[:5])}")
    if found.tools:
        names = [one.name for one in found.tools]
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        screen.line(f"Tools that were seen: {', '.join(names[:5])}{more}")


def _print_where(screen: Screen, folder: Path) -> None:
    if folder.resolve() != Path.cwd():
        screen.line(f"  cd {shlex.quote(str(folder))}")


def project_files() -> dict[str, str]:
    """Return the text of each file of the example project."""
    template = resources.files(__package__) / "template"
    kept = {name: template.joinpath(*file.split("/")).read_text(encoding="utf-8") for name, file in _FILES.items()}
    return {**kept, WORKFLOW_FILE: _with_origin(kept[WORKFLOW_FILE]), SCHEMA_FILE: schema_text()}


def _with_origin(workflow: str) -> str:
    """Add to a workflow where a runner gets Rightcall from, if this installation is not from the package index."""
    origin = requirement()
    if origin == "rightcall" or "https://" in origin:
        return workflow.replace("pip install rightcall", f"pip install {origin}")
    return workflow.replace("      - run: pip install", f"{_NOT_FOR_RUNNERS}      - run: pip install")


def node_files() -> dict[str, str]:
    """Return the text of each file for a project of Node.js."""
    template = resources.files(__package__) / "template" / "node"
    kept = {
        name: template.joinpath(*name.split("/")).read_text(encoding="utf-8") for name in (_NODE_FILE, EVALSET_FILE)
    }
    shared = project_files()
    configuration = _CONFIGURATION.format(agent=dump_json(_NODE_AGENT), evalset=dump_json(EVALSET_FILE))
    check = "      - run: rightcall check"
    workflow = shared[WORKFLOW_FILE].replace(check, f"      - run: npm ci\n{check}")
    return {
        **kept,
        SCHEMA_FILE: schema_text(),
        OWN_FILE: configuration,
        WORKFLOW_FILE: workflow,
        IGNORE_FILE: shared[IGNORE_FILE],
    }


def schema_text() -> str:
    """Return the JSON Schema of eval sets, as a file: what `rightcall schema` prints."""
    from rightcall.cases.evalsets import eval_set_schema

    return dump_json(eval_set_schema(), indent=2) + "\n"


EVALSET_FILE = "evals/agent.yaml"
TRACES_FILE = "traces/agent.jsonl"

_EVALSET = """\
{schema}
# What the agent is asked, and which tools it should call then.
#
#   {score}   checks recorded traces against it: one case fails on purpose
#   rightcall run                                       runs the agent on it

# {framework}: {advice}.{guess}
agent: {agent}

# {tools}
cases:
  - id: first                        # every case has an id of its own
    input: What a user would say     # what the agent is given: write what suits yours
    tags: [smoke]                    # rightcall run --tag smoke
    expect:
      calls:                         # these calls, in this order, and no others
        # The arguments that matter, and a $ matcher where a value may vary.
        - {tool}: {any}
      # never: [delete_everything]   # must not be called
      # output: {{$contains: done}}    # what it says in the end

  - id: fails_on_purpose             # {traces} has another path; take this case out when you have seen it
    input: Something else a user would say
    expect:
      calls:
        - {tool}: {wrong}
"""
_CONFIGURATION = """\
# What `rightcall run` takes when it is given no names. Other options may be set here, too: timeout = 30
agent = {agent}
evalset = {evalset}
"""
_EXAMPLE = SeenTool("get_weather", (Parameter("city", "str"),))
_VALUES: dict[str, tuple[Any, Any]] = {
    "str": ("this one", "another one"),
    "int": (1, 2),
    "float": (1.5, 2.5),
    "bool": (True, False),
}
"""For each type, the value that the failing case expects, and the one that was recorded."""
_STARTED = 1_794_792_687_968_166_641
_MILLISECOND = 1_000_000


def beginning_of(found: Found, folder: Path) -> dict[str, str]:
    """Return the text of each file for a project that has an agent."""
    tool = max(found.tools, key=lambda one: _plain(one) is not None, default=_EXAMPLE)  # the first of the best
    return {
        EVALSET_FILE: _eval_set(found, tool),
        SCHEMA_FILE: schema_text(),
        TRACES_FILE: _traces(found, tool),
        **settings_of(found.agent, EVALSET_FILE, folder),
    }


def settings_of(agent: str, evalset: str, folder: Path) -> dict[str, str]:
    """Return the text of the files that say what to run, here and in CI, for an existing eval set."""
    template = project_files()
    workflow = template[WORKFLOW_FILE].replace("evals/*.yaml", evalset)
    recording = Path(evalset).with_suffix(".recording.jsonl").as_posix()
    ending = (
        " --replay\n"
        f"        # from {recording}, which `rightcall run --record` makes: commit it, and no key is needed here.\n"
        "        # Without --replay: env with the keys of the agent's model, from the secrets of the repository\n"
    )
    configuration = _CONFIGURATION.format(agent=dump_json(agent), evalset=dump_json(evalset))
    return {
        WORKFLOW_FILE: _with_requirements(workflow, folder).rstrip() + ending,
        **({} if is_configured(folder) else {OWN_FILE: configuration}),
        IGNORE_FILE: template[IGNORE_FILE],
    }


def _with_requirements(workflow: str, folder: Path) -> str:
    """Add the installation of the project to a workflow, if its files show how."""
    if (folder / "requirements.txt").is_file():
        project = "-r requirements.txt"
    elif (folder / "pyproject.toml").is_file():
        project = "."
    else:
        return workflow
    return workflow.replace("pip install ", f"pip install {project} ").replace(" # and what your agent needs", "")


def _eval_set(found: Found, tool: SeenTool) -> str:
    seen = ", ".join([one.name for one in found.tools])
    return _EVALSET.format(
        schema=SCHEMA_LINE,
        score=f"rightcall score traces --evalset {EVALSET_FILE}",
        traces=TRACES_FILE,
        framework=found.framework.name,
        advice=found.framework.advice,
        guess="" if found.is_seen else " The name below is an example: write yours.",
        agent=found.agent if re.fullmatch(r"[\w./:-]+", found.agent) else dump_json(found.agent),
        tools=f"Tools that were seen: {seen}." if seen else "No tool was seen, so that of the cases is an example.",
        tool=_key(tool.name),
        any="{" + ", ".join([f"{_key(one.name)}: {{$any: true}}" for one in tool.parameters]) + "}",
        wrong=_wrong(tool),
    )


def _key(name: str) -> str:
    """Return a name as a key of YAML, quoted if it is one of three words that are not strings."""
    return dump_json(name) if name.lower() in ("null", "true", "false") else name


def _wrong(tool: SeenTool) -> str:
    plain = _plain(tool)
    return f"{{{_key(plain.name)}: {dump_json(_VALUES[plain.type or 'str'][0])}}}" if plain is not None else "{}"


def _plain(tool: SeenTool) -> Parameter | None:
    return next((one for one in tool.parameters if one.type is not None), None)


def _traces(found: Found, tool: SeenTool) -> str:
    """Return two traces as the framework's instrumentation would have recorded them."""
    given = {one.name: _VALUES[one.type][1] if one.type else [] for one in tool.parameters}
    # If no argument can have another value, the recorded path has one call too many instead.
    paths = {"first": [given], "fails_on_purpose": [given] if _plain(tool) is not None else [given, given]}
    return "".join(
        [_trace(found, tool.name, case_id, calls, number) for number, (case_id, calls) in enumerate(paths.items(), 1)]
    )


def _trace(found: Found, tool: str, case_id: str, calls: list[dict[str, Any]], number: int) -> str:
    root = _span("agent", number, 0, {"rightcall.case.id": case_id})
    spans = [root, *[_span(tool, number, place, _attributes(found, tool, args)) for place, args in enumerate(calls, 1)]]
    scope = {"scope": {"name": found.framework.scope}, "spans": spans}
    return dump_json({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}) + "\n"


def _attributes(found: Found, tool: str, args: dict[str, Any]) -> dict[str, str]:
    if found.framework.scope.startswith("openinference"):
        kind = {"openinference.span.kind": "TOOL", "tool.name": tool}
        return {**kind, "input.value": dump_json(args), "output.value": '{"ok": true}'}
    names = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    return {**names, "gen_ai.tool.call.arguments": dump_json(args), "gen_ai.tool.call.result": '{"ok": true}'}


def _span(name: str, trace: int, place: int, attributes: dict[str, str]) -> dict[str, Any]:
    start = _STARTED + place * _MILLISECOND
    length = _MILLISECOND * (100 if place == 0 else 1)
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{trace * 16 + place:016x}",
        **({"parentSpanId": f"{trace * 16:016x}"} if place else {}),
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + length),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
        "status": {},
    }


@click.command(name="demo")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
def demo(folder: Path | None) -> int:
    """Run a small agent over its eval set, offline, and show the verdicts.

    The project is written to DIR, which must be empty or missing, else to a temporary folder.
    """
    _require_sdk()
    folder = _place(folder)
    write_files(folder, project_files())
    screen = Screen()
    screen.line("A shopping agent is run on four questions, offline; its rules stand in for a")
    screen.line("model. Does it make the right calls?\n")
    screen.line(("$ rightcall run", "bold"))
    with chdir(folder):
        code = _run()
        if code == _INTERRUPTED:
            return code
        is_as_meant = _print(screen)
    if not is_as_meant:
        return _COULD_NOT_MEASURE
    _print_next(screen, folder)
    return 0


def _require_sdk() -> None:
    try:
        is_there = find_spec("opentelemetry.sdk") is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        raise missing_package("the demo runs an agent, which needs opentelemetry-sdk")


def _place(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="rightcall-demo-"))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RightcallError(f"{folder} is not an empty folder; the demo overwrites nothing")
    return folder


def _run() -> int:
    """Run `rightcall run` in the project, and print only the totals: what failed is explained afterwards."""
    configuration = load_configuration(Path.cwd(), lambda: ("agent", "evalset"))
    return Running(RunRequest(names=[], configuration=configuration, given=[]), _TotalsOnly()).run()


class _TotalsOnly(Output):
    """Prints nothing of single results."""

    def __init__(self) -> None:
        super().__init__({"formats": ["concise"]})

    def show(self, result: CaseResult) -> None:
        """Print nothing."""


def _print(screen: Screen) -> bool:
    """Print the outcome; return whether it is what the demo should show, and not a problem of this machine."""
    cases = {case.id: case for case in load_eval_set(EXAMPLE_EVALSET).cases}
    found = {result.case_id: result for result in open_run("last").results()}
    results = [found[case_id] for case_id in cases]
    bad = [result for result in results if not result.passed]
    if [(result.case_id, result.verdict) for result in bad] != [(_FAILS_ON_PURPOSE, "failed")]:
        for line in [line for result in bad for line in problem_lines(result)]:
            screen.line(line)
        return False
    _print_verdicts(screen, results)
    _print_path(screen, cases[_FAILS_ON_PURPOSE], bad[0])
    _print_unrecorded(screen, cases[_FAILS_ON_PURPOSE], bad[0])
    return True


def _print_verdicts(screen: Screen, results: list[CaseResult]) -> None:
    """Print the question, score and verdict of each expectation, case by case."""
    screen.line((f"\n    {'case':<13}what is asked                   score  verdict  expectation", "dim"))
    for result in results:
        case_id = result.case_id
        for one in result.results:
            screen.line(*_row(screen, case_id, one))
            case_id = ""
    screen.line()


def _row(screen: Screen, case_id: str, one: EvaluationResult) -> tuple[Any, ...]:
    mark, style = ("match", "green") if one.passed else ("failed", "red")
    score = f"{one.score:.2f}" if one.score is not None else "-"
    question = _QUESTIONS[one.evaluator]
    return (
        f"  {screen.mark(mark)} ",
        style,
    ), f"{case_id:<13}{question:<30} {score:>6}  {one.verdict:<8} {one.evaluator}"


def _print_path(screen: Screen, case: Case, result: CaseResult) -> None:
    """Print expected and actual calls side by side, and a sentence for each problem."""
    [one], [check] = result.results, case.checks
    made = result.trajectory.calls if result.trajectory is not None else ()
    screen.line((f"    {case.id}: {case.input}", "bold"))
    screen.line((f"    {'expected':<37}  called", "dim"))
    for step in one.details.alignment.steps:
        expected, actual = _cell(step.expected, check.criteria.expected), _cell(step.actual, made)
        style = {"match": "green", "moved": "yellow"}.get(step.kind, "red")
        screen.line((f"  {screen.mark(step.kind)} ", style), f"{expected:<37}  {actual}".rstrip())
    for placed in result.findings:
        screen.line(f"\n    {placed.source}")
        first, *rest = wrap(placed.finding.message, 66)
        screen.line("    ", (placed.finding.code, "bold"), "  ", first)
        for line in rest:
            screen.line("           ", line)


def _cell(position: int | None, calls: Any) -> str:
    if position is None:
        return ""
    return f"{position + 1} {call_text(calls[position].name, calls[position].args, 35)}"


def _print_unrecorded(screen: Screen, case: Case, result: CaseResult) -> None:
    """Print the verdict on the same path from a trace that recorded names only."""
    names = [call.name for call in result.trajectory.calls] if result.trajectory is not None else []
    [one] = judge(case, Trajectory.of(names)).results
    screen.line(("\n    The same path, from a trace that recorded names only", "dim"))
    screen.line(f"  {screen.mark('not_measured')} {'':<13}{_QUESTIONS[one.evaluator]:<30} {'-':>6}  {one.verdict}")
    screen.line("    What was not recorded is not wrong, and not right either: there is no score.")


def _print_next(screen: Screen, folder: Path) -> None:
    screen.line("\nThe project is in")
    screen.line(f"  {folder}")
    screen.line(f"where {EXAMPLE_EVALSET} says what is expected, {AGENT_FILE} has the mistake and")
    screen.line(".rightcall/runs the results. `rightcall explain RC104` says what the code means;")
    screen.line("in that folder `rightcall view` shows the run in the browser.")
    screen.line("\nNext, a project like it, to be fixed and changed:")
    if which("rightcall") is None and sys.prefix != sys.base_prefix:  # `make demo` does not activate the environment
        screen.line(f"  . {os.path.relpath(sys.prefix)}/bin/activate")
    name = "my-shop" if Path("shop").exists() else "shop"
    screen.line(f"  rightcall init {name} && cd {name} && rightcall run")
