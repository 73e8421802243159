"""Heads of tables that sort them: links, so that they work without a script, and keep what was chosen."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from msgspec.structs import replace
from tests.reporting.viewer.viewing import RIGHT, SEARCH, WRONG, Browser, call, new_run, results_of

from rightcall.reporting.pages import key_of

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
    beside = "&".join([f"run={name}" for name in list(names)[:3]])
    tool = f"/runs/{next(iter(names))}/tools/{key_of('search')}"
    keys = ("sort", "tools", "follows", "gates")
    asked = "&".join([f"{key}={hostile}" for key in keys])
    for path in ("/?", "/trends?", "/paths?", f"/compare?{beside}&", f"{tool}?"):
        page = Browser(runs).get(path + asked)
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


@pytest.mark.parametrize(
    ("sort", "order"),
    [("", "3 1 2"), ("took", "1 2 3"), ("-took", "3 2 1"), ("case", "1 2 3"), ("-error", "2 3 1"), ("x", "3 1 2")],
)
def test_calls_of_a_tool_are_sorted(tmp_path: Path, runs: Path, sort: str, order: str) -> None:
    calls = {number: call("search", 0, number, error="down" if number == 2 else None, n=number) for number in (1, 2, 3)}
    results = results_of(tmp_path, laptop_search=(calls[3],), gift_card=(calls[1], calls[2]))
    name = new_run(runs, *results).folder.name

    page = Browser(runs).get(f"/runs/{name}/tools/{key_of('search')}?sort={sort}").text

    assert re.findall(r"&#34;n&#34;: (\d)", page) == order.split()


@pytest.mark.parametrize(
    ("asked", "cells", "order"),
    [
        ("", r'<th scope="row" class="number">(\d)</th>', "2 1"),
        ("sort=runs", r'<th scope="row" class="number">(\d)</th>', "1 2"),
        ("sort=passed", r'<td class="number(?: mostly-failed)?">(\d/\d)</td>', "0/1 2/2"),
        ("sort=-passed", r'<td class="number(?: mostly-failed)?">(\d/\d)</td>', "2/2 0/1"),
        ("sort=calls", r'<th scope="row" class="number">(\d)</th>', "2 1"),
        ("sort=-calls", r'<th scope="row" class="number">(\d)</th>', "1 2"),
        ("", r'<tr><th scope="row"><code>(\w+)</code></th><td class="number">', "search reserve"),
        ("tools=tool", r'<tr><th scope="row"><code>(\w+)</code></th><td class="number">', "reserve search"),
        ("tools=-p50", r'<tr><th scope="row"><code>(\w+)</code></th><td class="number">', "reserve search"),
        ("follows=-then", r"</th><td><code>(\w+)</code></td>", "search reserve end end"),
        ("follows=times", r"</th><td><code>(\w+)</code></td>", "reserve end end search"),
    ],
)
def test_tables_of_paths_are_sorted(tmp_path: Path, runs: Path, asked: str, cells: str, order: str) -> None:
    one, two = results_of(tmp_path, laptop_search=WRONG, gift_card=SEARCH)
    new_run(runs, one, two, replace(two, repeat=1))

    page = Browser(runs).get(f"/paths?{asked}").text

    assert re.findall(cells, page) == order.split()


def test_the_chosen_path_stays_the_same_however_paths_are_sorted(tmp_path: Path, runs: Path) -> None:
    one, two = results_of(tmp_path, laptop_search=WRONG, gift_card=SEARCH)
    new_run(runs, one, two, replace(two, repeat=1))
    browser = Browser(runs)

    for sort in ("", "runs", "-runs"):
        page = browser.get(f"/paths?path=1&sort={sort}").text
        assert ">2 runs of the chosen path<" in page


@pytest.mark.parametrize(("sort", "order"), [("", "a b c"), ("-case", "c b a"), ("0", "b c a"), ("-1", "b a c")])
def test_verdicts_beside_each_other_are_sorted(tmp_path: Path, runs: Path, sort: str, order: str) -> None:
    [right], [wrong] = (results_of(tmp_path, laptop_search=calls) for calls in (RIGHT, WRONG))
    said = [{"a": right, "b": wrong, "c": wrong}, {"a": wrong, "b": right}, {"a": right, "b": right, "c": right}]
    names = [
        new_run(runs, *[replace(result, case_id=name) for name, result in each.items()]).folder.name for each in said
    ]

    page = Browser(runs).get(f"/compare?{'&'.join([f'run={name}' for name in names])}&sort={sort}").text

    assert re.findall(r'<tr><th scope="row"><code>(\w)</code>', page) == order.split()


@pytest.mark.parametrize(
    ("sort", "order"), [("", "c b a"), ("commit", "a b c"), ("-branch", "a c b"), ("-gates", "b c a")]
)
def test_gates_are_sorted(tmp_path: Path, runs: Path, sort: str, order: str) -> None:
    results = results_of(tmp_path, laptop_search=RIGHT)
    said = {"verdict": "no worse", "reason": "no worse", "told": [], "base": "x", "exit_code": 0}
    figures = {"alpha": 0.05, "share": 1.0, "rounds": 1, "planned_rounds": 1, "rule_out": 0.1, "allow_drop": 0.0}
    for commit, branch in (("a", "z"), ("b", "x"), ("b", "x"), ("c", "y")):
        file = new_run(runs, *results, commit=commit, branch=branch).folder / "run.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "gate": {**said, **figures}}))

    page = Browser(runs).get(f"/trends?gates={sort}").text

    assert re.findall(r'<tr><th scope="row"><code>(\w)</code></th><td>', page) == order.split()


def test_runs_without_a_branch_are_not_a_branch_to_choose(tmp_path: Path, runs: Path) -> None:
    for branch in ("main", ""):
        new_run(runs, *results_of(tmp_path, laptop_search=RIGHT), branch=branch)

    page = Browser(runs).get("/trends").text

    assert re.findall(r'<a href="[^"]*"( aria-current="true")?>([^<]*branch[^<]*|main)</a>', page) == [
        (' aria-current="true"', "All branches"),
        ("", "main"),
    ]
