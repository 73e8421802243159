"""The page of figures, and the comparison of a tree with a release."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import against, page
from benchmarks.rounds import QUICK
from benchmarks.table import Line, faster, within

ROOT = Path(__file__).resolve().parents[2]


def test_a_section_that_is_measured_again_replaces_its_own_table_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "speed.md"
    file.write_text("# Speed\n", encoding="utf-8")
    monkeypatch.setattr(page, "PAGE", file)
    page.write_page(
        {"one": [faster("a", True, 1.0, 12.0, 10)], "two": [faster("b", True, 1.0, 3.0, 10)]}, ["P 1"], QUICK
    )

    page.write_page({"one": [faster("a", True, 1.0, 20.0, 10)]}, ["P 1"], QUICK)

    text = file.read_text(encoding="utf-8")
    assert text.count("## one") == text.count("## two") == 1
    assert "| a | read | 1 s | 20 s | 20 | ≥ 10 × | ok |" in text
    assert "| b | read | 1 s | 3 s | 3 | ≥ 10 × | MISSED |" in text
    assert "12 s" not in text


def test_ratios_get_worse_downwards_where_more_is_better_and_upwards_where_less_is() -> None:
    lines = [faster("quick", True, 1.0, 12.0, 10), within("slow", False, 3.0, 1.0, 2), Line("told", "–", "1", "2", 5.0)]
    before = page.ratios_of({"one": lines})
    assert before == {"one: quick, read": [12.0, "at least"], "one: slow, unread": [3.0, "at most"]}

    sides = [{name: (ratio, sense)} for name, (ratio, sense) in before.items()]
    halved = {"one: quick, read": (6.0, "at least")}
    doubled = {"one: slow, unread": (6.0, "at most"), "one: new, read": (1.0, "at most")}
    assert list(against._compared([sides[0]], [halved])) == [("one: quick, read", 12.0, 6.0, 2.0)]  # type: ignore[list-item]
    assert list(against._compared([sides[1]], [doubled])) == [("one: slow, unread", 3.0, 6.0, 2.0)]  # type: ignore[list-item]


def test_the_page_has_a_table_of_every_section_that_was_measured() -> None:
    text = (ROOT / "docs/explanation/speed.md").read_text(encoding="utf-8")

    sections = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert {"uipath", "google-adk", "matchers", "reports", "growth"} <= set(sections)
    assert all(f"<!-- {name} -->" in text and f"<!-- end of {name} -->" in text for name in sections)
