"""The page on which texts of failures stand side by side."""

import os
import re
from collections.abc import Iterator, Sequence

from benchmarks.environments import ROOT
from rightcall import CheckFailedError, Trajectory, check

from .failures import FAILURES
from .inputs import Call, Input
from .recording import recorded_failures

FAILURE_PAGE = ROOT / "docs" / "explanation" / "failure-texts.md"
_TITLES = {"agentevals": "AgentEvals", "deepeval": "DeepEval", "google-adk": "ADK"}
_MARKED = re.compile(r"(<!-- failures -->\n)(.*)(<!-- end -->)", re.DOTALL)


def filled_failure_page() -> str:
    """The text of the page, with everything between its marks made anew."""
    made = "\n".join(["\n".join(_section(given)) for given in FAILURES])
    return _MARKED.sub(lambda found: f"{found[1]}\n{made}\n{found[3]}", FAILURE_PAGE.read_text(encoding="utf-8"))


def our_text(given: Input) -> str:
    """What `check` says of a path that went wrong, on a terminal of 120 columns, whatever the one at hand has.

    Raises:
        ValueError: it did not go wrong.
    """
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "120"
    try:
        check(Trajectory.of(given.actual), list(given.expected), args="exact")
    except CheckFailedError as problem:
        return str(problem)
    finally:
        os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)
    raise ValueError(f"{given.label}: nothing is wrong with it")


def _section(given: Input) -> Iterator[str]:
    yield f"## {given.label}\n"
    yield f"Expected: {_calls(given.expected)}.\n\nMade: {_calls(given.actual)}.\n"
    yield from _block("Rightcall", our_text(given))
    for peer, title in _TITLES.items():
        yield from _block(title, recorded_failures()[peer]["texts"][given.label])


def _calls(calls: Sequence[Call]) -> str:
    return ", ".join(
        [
            f"`{call['name']}({', '.join([f'{key}={value!r}' for key, value in call['args'].items()])})`"
            for call in calls
        ]
    )


def _block(title: str, text: str) -> Iterator[str]:
    lines = [line.expandtabs(4).rstrip() for line in text.splitlines()]
    yield "\n".join([f"**{title}**\n", "```text", *lines, "```\n"])
