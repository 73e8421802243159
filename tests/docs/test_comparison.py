"""The tables of scores in the documents say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.comparison.equivalents import EQUIVALENTS
from benchmarks.comparison.inputs import INPUTS
from benchmarks.comparison.modes import MODES
from benchmarks.comparison.recording import PEERS, recorded
from benchmarks.comparison.tables import PAGES, differing, filled, table

from rightcall.evaluators import EVALUATORS

SCORES, DIFFERENCES = PAGES
HEADINGS = {"uipath": "UiPath", "google-adk": "Google ADK", "agentevals": "AgentEvals", "deepeval": "DeepEval"}


def section_of(peer: str) -> str:
    """What the page says of a peer, without its tables."""
    section = DIFFERENCES.read_text(encoding="utf-8").split(f"\n## {HEADINGS[peer]}\n")[1].split("\n## ")[0]
    return re.sub(r"^\|.*\n", "", section, flags=re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tables_of_a_page_are_those_that_the_code_makes(page: Path) -> None:
    assert filled(page) == page.read_text(encoding="utf-8"), "python -m benchmarks.comparison writes it anew"


def test_every_evaluator_of_calls_is_in_the_tables() -> None:
    of_calls = {type_id for type_id, kind in EVALUATORS.items() if kind.reads_calls and not kind.waits}

    assert {mode.type_id for mode in MODES.values()} == of_calls
    text = SCORES.read_text(encoding="utf-8")
    assert [type_id for type_id in of_calls if f"`{type_id}`" not in text] == []


def test_every_input_stands_in_a_column() -> None:
    tables = table("others, names") + table("others, arguments")

    assert len(INPUTS) == 24
    assert [given.label for given in INPUTS if f"| `{given.label}` |" not in tables] == []


@pytest.mark.parametrize("peer", PEERS)
def test_every_difference_from_a_peer_is_explained(peer: str) -> None:
    section = section_of(peer)

    assert differing(peer)
    assert [label for label in sorted(differing(peer)) if f"`{label}`" not in section] == []


@pytest.mark.parametrize("peer", PEERS)
def test_the_answers_of_a_peer_are_those_of_the_version_that_the_page_names(peer: str) -> None:
    answers = recorded()[peer]

    assert f"`{peer}` {answers['version']}," in section_of(peer)
    assert set(EQUIVALENTS[peer]) == set(answers["modes"])
    assert {len(cells) for cells in answers["modes"].values()} == {len(INPUTS)}
