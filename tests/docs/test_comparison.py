"""The tables of scores in the documents say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.comparison.equivalents import EQUIVALENTS
from benchmarks.comparison.failure_page import FAILURE_PAGE, filled_failure_page, our_text
from benchmarks.comparison.failures import FAILURES
from benchmarks.comparison.inputs import INPUTS, Input
from benchmarks.comparison.modes import MODES
from benchmarks.comparison.recording import PEERS, TELLERS, recorded, recorded_failures
from benchmarks.comparison.tables import PAGES, differing, filled, table

from rightcall.judging import EVALUATORS

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
    limits = {type_id for type_id, kind in EVALUATORS.items() if "at_most" in kind.criteria_type.model_fields}
    of_calls = {type_id for type_id, kind in EVALUATORS.items() if kind.reads_calls and not kind.waits} - limits
    of_calls -= {"call-rules"}  # rules expect no list of calls that other tools could be given

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


def test_the_texts_of_failures_are_those_that_the_code_makes() -> None:
    assert filled_failure_page() == FAILURE_PAGE.read_text(encoding="utf-8"), "python -m benchmarks.comparison"


@pytest.mark.parametrize(
    ("given", "named"),
    list(
        zip(
            FAILURES,
            ("book_hotel nights", "check_policy", "close_account", "check_stock", "get_details filter.id"),
            strict=True,
        )
    ),
    ids=[given.label for given in FAILURES],
)
def test_the_first_line_of_a_failure_names_the_call_and_the_argument_to_blame(given: Input, named: str) -> None:
    first = our_text(given).splitlines()[0]

    assert [word for word in named.split() if word not in first] == []


@pytest.mark.parametrize("peer", TELLERS)
def test_the_texts_of_a_peer_are_those_of_the_version_that_the_page_names(peer: str) -> None:
    told = recorded_failures()[peer]

    version = re.escape(told["version"])

    assert re.search(rf"`{peer}`\s{version}\s", FAILURE_PAGE.read_text(encoding="utf-8"))
    assert list(told["texts"]) == [given.label for given in FAILURES]
