"""Our own eval sets notice what they tell others to notice."""

from __future__ import annotations

import pytest
from tests.examples.noticing import OPEN, PAGE, Tried, table, tried


@pytest.fixture(scope="module")
def found() -> list[Tried]:
    return list(tried())


def test_every_eval_set_of_ours_notices_nine_of_ten_mutants(found: list[Tried]) -> None:
    low = [each.row for each in found if each.report.share < 0.9 and each.name not in OPEN]

    assert low == []


def test_the_page_has_the_figures_of_today(found: list[Tried]) -> None:
    assert table(found) in PAGE.read_text(encoding="utf-8"), "write them anew: python -m tests.examples.noticing"
