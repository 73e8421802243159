"""What `rightcall run` makes of the results of more frameworks: `python -m tests.frameworks.results`.

A function returns what the framework gave it, without marks or instrumentation; then the agent is run as the object
that it is, in the conversation of three turns.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.environments import EnvironmentFailedError, provide, quiet_environment
from tests.targets import show_table, table, within

from .cells import EVALS, CellFailedError, carry_out
from .matrix import FRAMEWORKS, Framework
from .model import served

HEADING = "Results"
COLUMNS = ("answer", "calls", "tokens", "three turns with the object")
_MORE = (
    Framework("LlamaIndex", ("llama-index-core==0.14.25", "llama-index-llms-openai==0.8.3"), "llama_index"),
    Framework("smolagents", ("smolagents[openai]==1.26.0",), "smolagents"),
    Framework("Haystack", ("haystack-ai==3.4.0",), "haystack"),
    Framework("CrewAI", ("crewai==1.15.30",), "crewai"),
)
_BY_KEY = {framework.key: framework for framework in (*FRAMEWORKS, *_MORE)}
KNOWN: Mapping[str, tuple[str, ...]] = {
    "agno": ("yes", "yes", "yes", "yes"),
    "strands": ("yes", "yes", "yes", "yes"),
    "autogen": ("yes", "yes", "yes", "refused"),
    "llama_index": ("yes", "yes", "not measured", "yes"),
    "smolagents": ("yes", "yes", "yes", "yes"),
    "haystack": ("yes", "yes", "yes", "yes"),
    "crewai": ("yes", "yes", "yes", "refused"),
}
"""The frameworks, and what is known of each."""
_HERE = Path(__file__).parent
_SECONDS = 1800
_SAID = {"passed": "yes", "not_measured": "not measured", "error": "refused"}


def main() -> int:
    """Gives 0 if everything is as it is known, 1 if not, 2 if a framework could not be tried."""
    found: dict[str, tuple[str, ...]] = {}
    problems = []
    with within(_SECONDS), tempfile.TemporaryDirectory(prefix="rightcall-results-") as held, served() as model:
        variables = {**quiet_environment(), "OPENAI_BASE_URL": f"{model.address}/v1", "OPENAI_API_KEY": "none"}
        for framework in [_BY_KEY[key] for key in KNOWN]:
            print(f"trying {framework.name} {framework.version}", file=sys.stderr)
            folder = Path(held) / framework.key
            folder.mkdir()
            try:
                found[framework.key] = _tried(framework, {**variables, "NO_PROXY": "127.0.0.1"}, folder)
            except (CellFailedError, EnvironmentFailedError) as failure:
                problems.append(f"{framework.name}: {failure}")
    made = render(found)
    print(made)
    print("\n".join([f"NOT TRIED {problem}" for problem in problems]))
    if "--keep" in sys.argv and not problems:
        show_table(HEADING, made)
    return 2 if problems else int(found != KNOWN)


def render(found: Mapping[str, tuple[str, ...]]) -> str:
    """The table as Markdown."""
    rows = [(f"{_BY_KEY[key].name} {_BY_KEY[key].version}", *said) for key, said in found.items()]
    return table(("framework", *COLUMNS), rows)


def _tried(framework: Framework, variables: Mapping[str, str], folder: Path) -> tuple[str, ...]:
    python = provide(f"frameworks/{framework.key}", framework.requirements)
    agent = str(_HERE / "agents" / framework.key / "results.py")
    single = _case(python, f"{agent}:answer", "results", variables, folder)
    said = {each["evaluator"]: _SAID.get(each["verdict"], each["verdict"]) for each in single["evaluations"]}
    talk = _case(python, f"{agent}:agent", "conversation", variables, folder)
    return (said["output"], said["calls"], said["tokens"], _SAID.get(talk["verdict"], talk["verdict"]))


def _case(python: Path, agent: str, evals: str, variables: Mapping[str, str], folder: Path) -> Any:
    report = folder / f"{evals}.json"
    chosen = ("--case", "right") if evals == "conversation" else ()
    output = ("--workers", "1", "--timeout", "120", "--runs", str(folder / "runs"), "--format", f"json={report}")
    evalset = str(EVALS / f"{evals}.yaml")
    carry_out([str(python), "-m", "rightcall", "run", agent, evalset, *chosen, *output], variables, (0, 1, 2))
    [case] = json.loads(report.read_text("utf-8"))["cases"]
    return case


if __name__ == "__main__":
    raise SystemExit(main())
