"""Heads of tables that sort them: links, so that they work without a script, and keep what was chosen."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from msgspec.structs import replace
from tests.reporting.viewer.viewing import RIGHT, SEARCH, WRONG, Browser, new_run, results_of

RUN = re.compile(r'<th scope="row" class="short"><a href="/runs/([^"]+)">')
FLAKY = re.compile(r'<tr><th scope="row"><a href="[^"]+"><code>([^<]+)</code>')
SORTED = re.compile(r'aria-sort="(\w+)"><a class="sorts" href="([^"]+)">([^<]+)</a>')


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def names(tmp_path: Path, runs: Path) -> dict[str, str]:
    """Names of runs: one that is half right, one that is right, one that is wrong, and one that was killed."""
    half = results_of(tmp_path, laptop_search=WRONG, gift_card=SEARCH)
    made = {
        "half": new_run(runs, *half, branch="main", evalset="b.yaml"),
        "right": new_run(runs, *results_of(tmp_path, laptop_search=RIGHT), branch="", evalset="a.yaml"),
        "wrong": new_run(runs, *results_of(tmp_path, laptop_search=WRONG), branch="dev", evalset="b.yaml"),
        "killed": new_run(runs, *half, is_complete=False, branch="later", evalset="b.yaml"),
    }
    return {run.folder.name: name for name, run in made.items()}


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", "killed wrong right half"),
        ("-started", "killed wrong right half"),
        ("started", "half right wrong killed"),
        ("passed", "wrong half right killed"),
        ("-passed", "right half wrong killed"),
        ("-cases", "half wrong right killed"),
        ("branch", "wrong killed half right"),
        ("-branch", "half killed wrong right"),
        ("agent", "right killed wrong half"),
        ("nonsense", "killed wrong right half"),
        ("--passed", "killed wrong right half"),
    ],
)
def test_runs_are_sorted_and_those_without_a_value_are_last(
    runs: Path, names: dict[str, str], sort: str, order: str
) -> None:
    page = Browser(runs).get(f"/?sort={sort}").text

    assert [names[name] for name in RUN.findall(page)] == order.split()


def test_a_head_says_how_the_list_is_sorted_and_turns_it_round(runs: Path, names: dict[str, str]) -> None:
    browser = Browser(runs)

    assert SORTED.findall(browser.get("/").text) == [("descending", "/?sort=started", "Started")]
    assert SORTED.findall(browser.get("/?sort=passed").text) == [("ascending", "/?sort=-passed", "Passed")]
    assert SORTED.findall(browser.get("/?sort=-passed").text) == [("descending", "/?sort=passed", "Passed")]


def test_sorting_keeps_the_eval_set_and_the_eval_set_the_sorting(runs: Path, names: dict[str, str]) -> None:
    page = unescape(Browser(runs).get("/?evalset=b.yaml&sort=passed").text)

    assert [names[name] for name in RUN.findall(page)] == ["wrong", "half", "killed"]
    for href in ("/?evalset=b.yaml&sort=took", "/?evalset=b.yaml&sort=-passed", "/?sort=passed"):
        assert f'href="{href}"' in page


def test_all_pages_of_a_list_are_sorted_as_one(tmp_path: Path, runs: Path) -> None:
    [right], [wrong] = (results_of(tmp_path, laptop_search=calls) for calls in (RIGHT, WRONG))
    first = new_run(runs, right).folder.name
    for _ in range(50):
        new_run(runs, wrong)
    browser = Browser(runs)

    page = unescape(browser.get("/?sort=-passed").text)

    assert RUN.findall(page)[0] == first
    assert 'rel="next" href="/?sort=-passed&page=2"' in page
    assert RUN.findall(browser.get("/?sort=passed&page=2").text) == [first]


def test_a_sorting_of_an_address_stays_text(runs: Path, names: dict[str, str]) -> None:
    hostile = quote('"><script>alert(1)</script>')
    for path in ("/", "/trends"):
        page = Browser(runs).get(f"{path}?sort={hostile}")
        assert page.status == 200
        assert "alert(1)" not in page.text


@pytest.mark.parametrize(
    ("sort", "order"),
    [("case", "a b c"), ("-case", "c b a"), ("rate", "b a c"), ("-rate", "c a b"), ("-rounds", "b c a")],
)
def test_flaky_cases_are_sorted(tmp_path: Path, runs: Path, sort: str, order: str) -> None:
    [right], [wrong] = (results_of(tmp_path, laptop_search=calls) for calls in (RIGHT, WRONG))
    trials = {"a": [right, wrong], "b": [wrong, wrong, wrong, right], "c": [right, wrong, right]}
    results = [
        replace(each, case_id=case_id, repeat=repeat)
        for case_id, found in trials.items()
        for repeat, each in enumerate(found)
    ]
    new_run(runs, *results)
    new_run(runs, *results)

    page = Browser(runs).get(f"/trends?sort={sort}").text

    assert FLAKY.findall(page) == order.split()
    [(direction, href, _)] = SORTED.findall(page)
    assert direction == ("descending" if sort.startswith("-") else "ascending")
    assert href.endswith("#flaky")
