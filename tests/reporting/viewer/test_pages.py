"""The pages of the viewer: what they show of runs, and what they say where there is nothing to show."""

import json
import os
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.reporting.viewer.viewing import (
    PORT,
    RIGHT,
    SEARCH,
    WRONG,
    Browser,
    append,
    call,
    new_run,
    results_of,
    unsealed,
)

from rightcall import CaseResult
from rightcall.reporting.pages import Links, case_key, ends_text, key_of
from rightcall.reporting.store import RunFolder, Sample, create_run, keep_mutation
from rightcall.reporting.viewer import Hosts, Index, Library, make_app
from rightcall.reporting.viewer._runs_view import shown_search
from rightcall.values.results import EvaluatorTotals, MutatedCase, MutationReport, Survivor, Totals

LAPTOP = case_key("laptop_search")


def text_of(page: str) -> str:
    """What a reader reads, on one line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def good(tmp_path: Path, runs: Path) -> RunFolder:
    return new_run(runs, *results_of(tmp_path, laptop_search=RIGHT, gift_card=SEARCH), commit="0123456789abcdef")


@pytest.fixture
def bad(tmp_path: Path, runs: Path, good: RunFolder) -> RunFolder:
    return new_run(runs, *results_of(tmp_path, laptop_search=WRONG, gift_card=SEARCH), branch="other")


def test_without_runs_a_page_says_how_to_make_one(runs: Path) -> None:
    answer = Browser(runs).get("/")

    assert answer.status == 200
    assert "rightcall init" in answer.text
    assert "data-running" in answer.text


def test_a_run_that_keeps_examples_says_so_and_shows_what_they_stand_for(runs: Path, bad: RunFolder) -> None:
    sample = Sample(1_000_000, (("RC101", "search", 70_000),))
    bad.finish(Totals(900_000, 100_000), {"order": EvaluatorTotals(5, 6)}, 9.0, is_complete=True, sample=sample)

    page = text_of(Browser(runs).get(f"/runs/{bad.folder.name}").text)

    assert "2 of 1,000,000 results are kept here, as examples of each kind of failure" in page
    assert "900,000 of 1,000,000 passed" in page
    assert "search never called, or not often enough RC101 70,000 cases" in page
    assert "Calls per case" not in page


def test_the_runs_stand_newest_first_with_what_they_come_to(runs: Path, good: RunFolder, bad: RunFolder) -> None:
    page = Browser(runs).get("/").text

    assert page.index(bad.folder.name) < page.index(good.folder.name) or page.index("<table") > page.index("<svg")
    table = page[page.index("<table") :]
    assert table.index(bad.short_id) < table.index(good.short_id)
    assert "main 012345678" in text_of(table)
    assert "1 passed, 1 failed" in text_of(table)
    assert f'<time datetime="{good.header.started[:19]}' in table


def test_the_picture_says_in_words_what_it_shows_and_leads_to_each_run(
    runs: Path, good: RunFolder, bad: RunFolder
) -> None:
    page = Browser(runs).get("/").text
    picture = page[page.index('<svg class="rate-picture"') :]

    assert re.search(rf'href="/runs/{good.folder.name}" aria-label="run {good.short_id}, [^"]*: 100 % passed', picture)
    assert re.search(rf'href="/runs/{bad.folder.name}" aria-label="run {bad.short_id}, [^"]*: 50 % passed', picture)


def test_runs_come_in_pages_and_by_eval_set(tmp_path: Path, runs: Path) -> None:
    results = results_of(tmp_path, gift_card=SEARCH)
    for number in range(60):
        new_run(runs, *results, evalset="b.yaml" if number % 3 else "a&b.yaml")
    browser = Browser(runs)

    first, second = browser.get("/").text, browser.get("/?page=2").text
    chosen = browser.get("/?evalset=a%26b.yaml").text

    assert (first.count('type="checkbox"'), second.count('type="checkbox"')) == (50, 10)
    assert "page 1 of 2" in first
    assert 'rel="next" href="/?page=2"' in first
    assert chosen.count('type="checkbox"') == 20
    assert browser.get("/?page=99").text.count('type="checkbox"') == 10
    assert browser.get("/?page=-1&evalset=nothing").status == 200


def test_a_run_that_cannot_be_read_says_why_and_the_others_are_shown(
    runs: Path, good: RunFolder, bad: RunFolder
) -> None:
    header = json.loads((bad.folder / "run.json").read_text())
    (bad.folder / "run.json").write_text(json.dumps({**header, "schema": 99}))
    browser = Browser(runs)

    page, own = browser.get("/"), browser.get(f"/runs/{bad.folder.name}")

    assert "written by a newer Rightcall (format 99; this one knows 1)" in page.text
    assert good.short_id in page.text
    assert own.status == 422
    assert "written by a newer Rightcall (format 99; this one knows 1)" in own.text


@pytest.mark.parametrize("address", ["/runs/{}", "/runs/{}/cases/x", "/runs/{}/tools/x"])
def test_a_damaged_journal_is_a_page_with_the_words_of_the_terminal(runs: Path, good: RunFolder, address: str) -> None:
    unsealed(good)
    with (good.folder / "cases.jsonl").open("a") as file:
        file.write('{"digest": "x", "case_id": 5}\n')

    answer = Browser(runs).get(address.format(good.folder.name))

    assert answer.status == 422
    assert "cases.jsonl:3: this line is damaged" in answer.text
    assert "remove it, and its case is run again" in answer.text


def test_a_comparison_has_flips_first_in_the_words_of_the_terminal(runs: Path, good: RunFolder, bad: RunFolder) -> None:
    browser = Browser(runs)

    page = browser.get(f"/compare?a={good.folder.name}&b={bad.folder.name}").text

    assert "1 Regression 0 Fixes 0 Other paths or scores 1 Unchanged" in text_of(page)
    assert 'reserve item "P001" → "P010"' in text_of(page)
    assert "`reserve` has other arguments".replace("`", "") in text_of(page)
    assert "calls 1.00 → 0.00" in text_of(page)
    assert "2/2 → 1/2" in text_of(page)
    assert "gift_card" not in page
    for run in (good, bad):
        assert f'href="/runs/{run.folder.name}/cases/{LAPTOP}"' in page
        assert browser.get(f"/runs/{run.folder.name}/cases/{LAPTOP}").status == 200
    assert "gift_card" in browser.get(f"/compare?a={good.folder.name}&b={bad.folder.name}&show=same").text


def test_a_compared_case_has_its_question_and_both_answers(tmp_path: Path, runs: Path) -> None:
    made = []
    for calls, answer in ((RIGHT, "Reserved."), (WRONG, "Reserved!")):
        [result] = results_of(tmp_path, laptop_search=calls)
        assert result.trajectory is not None
        said = replace(result.trajectory, input="Reserve a laptop", output=answer)
        made.append(new_run(runs, replace(result, trajectory=said)).folder.name)

    page = text_of(Browser(runs).get(f"/compare?a={made[0]}&b={made[1]}").text)

    assert "laptop_search Reserve a laptop" in page
    assert "answer Reserved . Reserved !" in page


def test_an_argument_that_alone_differs_can_be_ignored_and_compared_again(tmp_path: Path, runs: Path) -> None:
    made = [
        new_run(
            runs,
            *[
                replace(each, case_id=f"card {n}")
                for n in range(3)
                for each in results_of(tmp_path, gift_card=[call("search", query="card", key=f"{letter}{n}")])
            ],
            *results_of(tmp_path, laptop_search=[*RIGHT[:1], call("reserve", 10, 20, item=item)]),
        )
        for letter, item in (("a", "P001"), ("b", "P010"))
    ]
    browser, address = Browser(runs), f"/compare?a={made[0].folder.name}&b={made[1].folder.name}"

    page = browser.get(f"{address}&show=paths").text
    [href] = re.findall(r'href="([^"]*)">ignore this argument', page)
    ignoring = browser.get(unescape(href)).text
    [back] = re.findall(r'<a class="tag" href="([^"]*)">ignoring <code>search.key</code>', ignoring)
    same = browser.get(f"{unescape(href)}&show=same".replace("show=paths&", "")).text

    assert "3 cases search key differs" in text_of(page)
    assert unescape(href) == f"{address}&show=paths&ignore=search.key"
    assert "1 Regression 0 Fixes 0 Other paths or scores 3 Unchanged" in text_of(ignoring)
    assert unescape(back) == f"{address}&show=paths"
    assert "The calls are the same." in text_of(same)
    links = re.findall(r'href="(/compare[^"]*)"', same)
    assert [link for link in links if "ignore=search.key" not in link] == [back.replace("paths", "same")]
    assert browser.get(f"{address}&show=paths").text == page


def test_an_edited_case_is_in_a_tab_of_its_own_and_named_once(tmp_path: Path, runs: Path) -> None:
    [right], [wrong] = [results_of(tmp_path, laptop_search=calls) for calls in (RIGHT, RIGHT[:1])]
    [steady] = results_of(tmp_path, gift_card=[])
    made = []
    for result, question in ((wrong, "asked-x"), (right, "edited-x")):
        run = create_run(runs, agent="agent.py:answer", evalset="shop.yaml", evalset_hash="0")
        journal = run.journal()
        journal.append(result, question)
        journal.append(steady, "steady-x")
        journal.close()
        made.append(run.folder.name)

    page = text_of(Browser(runs).get(f"/compare?a={made[0]}&b={made[1]}").text)

    assert "0 Regressions 0 Fixes 1 Edited 0 Other paths or scores 1 Unchanged" in page
    assert "Not compared, edited since" not in page


def test_a_search_keeps_the_rows_of_all_runs_whatever_their_last_case_holds(tmp_path: Path, runs: Path) -> None:
    for _ in range(3):
        new_run(runs, *results_of(tmp_path, laptop_search=[call("search", query=str(n)) for n in range(100)]))
    library = Library(runs, rows=150)

    page = shown_search(library, {"q": "laptop"}, Links())

    assert "and in 2 more runs" in text_of(page)
    assert library.kept["indices"] == 3


def test_trends_begin_with_an_eval_set_that_has_something_to_compare(tmp_path: Path, runs: Path) -> None:
    for evalset in ("shop.yaml", "shop.yaml", "once.yaml", ""):
        new_run(runs, *results_of(tmp_path, laptop_search=RIGHT), evalset=evalset)

    page = Browser(runs).get("/trends").text

    assert re.findall(r'<span class="card-name"><code>([^<]*)', page) == ["shop.yaml", "once.yaml"]
    assert "Pass rate of shop.yaml" in text_of(page)


def test_a_regression_stays_and_is_not_offered_to_be_ignored(runs: Path, good: RunFolder, bad: RunFolder) -> None:
    address = f"/compare?a={good.folder.name}&b={bad.folder.name}"

    page = Browser(runs).get(address).text
    ignoring = Browser(runs).get(f"{address}&ignore=item&ignore=&ignore={'x' * 201}").text

    assert "ignore this argument" not in page
    assert "1 Regression 0 Fixes 0 Other paths or scores 1 Unchanged" in text_of(ignoring)
    assert ignoring.count('class="tag"') == 1


def test_cases_that_one_run_has_are_listed_with_it(tmp_path: Path, runs: Path) -> None:
    old = new_run(runs, *results_of(tmp_path, laptop_search=RIGHT))
    new = new_run(runs, *results_of(tmp_path, gift_card=SEARCH))

    page = text_of(Browser(runs).get(f"/compare?a={old.folder.name}&b={new.folder.name}").text)

    assert f"Only in main {old.short_id} 1 laptop_search passed" in page
    assert f"Only in main {new.short_id} 1 gift_card passed" in page


def test_two_runs_are_put_through_the_gate(tmp_path: Path, runs: Path) -> None:
    [good] = results_of(tmp_path, gift_card=SEARCH)
    before = new_run(runs, *[replace(good, repeat=repeat) for repeat in range(5)])
    after = new_run(runs, *[replace(good, repeat=repeat, verdict="failed") for repeat in range(5)])

    page = text_of(Browser(runs).get(f"/compare?a={before.folder.name}&b={after.folder.name}").text)
    back = text_of(Browser(runs).get(f"/compare?a={after.folder.name}&b={before.folder.name}").text)

    assert re.search(r"Worse than main\s+100 %.*0 %\s+−100 points", page, re.DOTALL)
    assert re.search(r"gift_card.*5/5 → 0/5\s+worse", page)
    assert "better" in back


def test_two_boxes_lead_to_the_comparison_of_the_older_with_the_newer(
    runs: Path, good: RunFolder, bad: RunFolder
) -> None:
    answer = Browser(runs).get(f"/compare?run={bad.folder.name}&run={good.folder.name}")

    assert answer.status == 303
    assert answer.headers["location"] == f"/compare?a={good.folder.name}&b={bad.folder.name}"


def test_more_runs_are_a_table_of_verdicts_that_are_not_the_same(tmp_path: Path, runs: Path) -> None:
    made = [
        new_run(runs, *results_of(tmp_path, laptop_search=calls, gift_card=SEARCH)) for calls in (RIGHT, WRONG, RIGHT)
    ]

    page = Browser(runs).get("/compare?" + "&".join([f"run={run.folder.name}" for run in made])).text

    assert "1 case differs, 1 is the same in all runs" in text_of(page)
    assert "laptop_search passed failed passed" in text_of(page)
    assert "gift_card" not in page


@pytest.mark.parametrize("query", ["", "?run=x", "?a=x", "?a=&b=", "?" + "&".join([f"run={n}" for n in range(50)])])
def test_a_comparison_of_nothing_says_what_to_do(runs: Path, good: RunFolder, query: str) -> None:
    answer = Browser(runs).get(f"/compare{query}")

    assert answer.status == 400
    assert "select 2 to " in answer.text


def test_a_comparison_is_made_anew_when_a_journal_has_grown(tmp_path: Path, runs: Path, good: RunFolder) -> None:
    other = new_run(runs, *results_of(tmp_path, laptop_search=RIGHT), is_complete=False)
    browser = Browser(runs)
    address = f"/compare?a={good.folder.name}&b={other.folder.name}"
    assert "Only in" in browser.get(address).text

    append(other, *results_of(tmp_path, gift_card=SEARCH))

    assert "No change in 2 cases" in browser.get(address).text


def test_a_tool_is_shown_with_every_call_its_errors_and_its_times(tmp_path: Path, runs: Path) -> None:
    calls = [call("search", 0, took, error="no network" if took > 50 else None, n=took) for took in range(1, 101)]
    run = new_run(runs, *results_of(tmp_path, laptop_search=calls[:60], gift_card=calls[60:]))
    browser, address = Browser(runs), f"/runs/{run.folder.name}/tools/{key_of('search')}"

    page = text_of(browser.get(address).text)
    errors, slowest = browser.get(f"{address}?errors=1").text, browser.get(f"{address}?sort=-took").text

    assert "Calls 100 Cases 2 Errors 50 50 % Median 51ms 95 % within 96ms" in page
    assert "page 1 of 2" in page
    assert '{"n": 1} {"ok": true} 1.00ms' in page
    assert errors.count("no network") == 50
    assert slowest.index("&#34;n&#34;: 100") < slowest.index("&#34;n&#34;: 99")
    assert f'/runs/{run.folder.name}/cases/{LAPTOP}#call-60"' in browser.get(f"{address}?page=2").text


def test_what_was_not_recorded_of_a_call_is_said(tmp_path: Path, runs: Path) -> None:
    [result] = results_of(tmp_path, gift_card=SEARCH)
    assert result.trajectory is not None
    bare = replace(SEARCH[0], args=None, output=None, start_ns=None, end_ns=None, unrecorded={"args", "output"})
    run = new_run(runs, replace(result, trajectory=replace(result.trajectory, calls=(bare,))))

    page = text_of(Browser(runs).get(f"/runs/{run.folder.name}/tools/{key_of('search')}").text)

    assert "call 1 not recorded not recorded –" in page
    assert "Median" not in page


def test_a_run_that_is_going_on_is_followed_and_one_that_was_killed_says_how_to_go_on(
    tmp_path: Path, runs: Path
) -> None:
    first, second = results_of(tmp_path, laptop_search=RIGHT, gift_card=SEARCH)
    run = new_run(runs, first, is_complete=False, planned=2)
    browser, address = Browser(runs), f"/runs/{run.folder.name}"
    journal = run.journal()
    going, listed = browser.get(address).text, browser.get("/").text
    journal.append(second, "digest")
    further = browser.get(address).text
    journal.close()
    killed = browser.get(address).text

    assert "data-running" in going
    assert "data-running" in listed
    assert "running" in text_of(listed)
    assert "1 of 2 results so far." in text_of(going)
    assert "2 of 2 results so far." in text_of(further)
    assert "data-running" not in killed
    assert f"rightcall run --resume {run.header.id} --runs {runs}" in text_of(killed)
    assert "unfinished" in text_of(browser.get("/").text)


def test_a_case_of_a_run_that_is_going_on_is_followed_with_its_neighbours(tmp_path: Path, runs: Path) -> None:
    first, second = results_of(tmp_path, laptop_search=WRONG, gift_card=SEARCH)
    run = new_run(runs, first, is_complete=False, planned=2)
    browser, address = Browser(runs), f"/runs/{run.folder.name}/cases/{LAPTOP}"
    journal = run.journal()
    going = browser.get(address).text
    journal.append(second, "digest")
    further = browser.get(address).text
    journal.close()
    killed = browser.get(address).text

    assert "data-running" in going
    assert "The run of this case is not finished yet; the page updates itself." in text_of(going)
    assert "Case → j" not in text_of(going)
    assert "Case → j" in text_of(further)
    assert "data-running" not in killed
    assert "not finished yet" not in text_of(killed)


def test_the_history_of_a_case_says_in_which_run_it_began_to_fail(tmp_path: Path, runs: Path) -> None:
    made = [
        new_run(runs, *results_of(tmp_path, laptop_search=calls))
        for calls in (WRONG, RIGHT, RIGHT, WRONG, WRONG, WRONG)
    ]
    new_run(runs, *results_of(tmp_path, laptop_search=RIGHT), evalset="another.yaml")
    new_run(runs, *results_of(tmp_path, gift_card=SEARCH))
    browser = Browser(runs)

    page = browser.get(f"/runs/{made[4].folder.name}/cases/{LAPTOP}").text
    history = page[page.index('class="history"') : page.index("</ol>", page.index('class="history"'))]

    assert re.findall(r"<(?:a href(?!=./compare)|span aria-current)", history) == ["<a href"] * 4 + [
        "<span aria-current",
        "<a href",
    ]
    [began] = [item for item in history.split("<li") if "began" in item]
    assert made[3].short_id in began
    assert f'href="/runs/{made[3].folder.name}/cases/{LAPTOP}"' in began
    assert f'href="/compare?a={made[2].folder.name}&amp;b={made[3].folder.name}"' in began
    assert "stopped passing" not in browser.get(f"/runs/{made[0].folder.name}/cases/{LAPTOP}").text
    assert "began" not in browser.get(f"/runs/{made[2].folder.name}/cases/{LAPTOP}").text


def test_a_case_that_never_passed_is_said_to_fail_since_its_first_run(tmp_path: Path, runs: Path) -> None:
    made = [new_run(runs, *results_of(tmp_path, laptop_search=WRONG)) for _ in range(3)]

    page = text_of(Browser(runs).get(f"/runs/{made[2].folder.name}/cases/{LAPTOP}").text)

    assert f"failed {made[0].short_id} just now the first run: it never passed before failed" in page


def test_where_a_case_began_to_fail_is_shown_however_long_ago_it_was(tmp_path: Path, runs: Path) -> None:
    right, wrong = [results_of(tmp_path, laptop_search=calls) for calls in (RIGHT, WRONG)]
    made = [new_run(runs, *(right if number < 3 else wrong)) for number in range(45)]
    new_run(runs, *right)

    page = Browser(runs).get(f"/runs/{made[40].folder.name}/cases/{LAPTOP}").text
    history = re.findall(r'<li[^>]*>.*?/(2\d{7}T[^/"]*)/|<li class="this">', page)

    assert f"{made[3].short_id}</a>" in page
    assert "stopped passing here" in page
    assert f'href="/compare?a={made[2].folder.name}&amp;b={made[3].folder.name}"' in page
    assert len(history) == 21 + 2 + 5


def test_a_case_leads_to_its_neighbours_its_failures_and_its_repeats(tmp_path: Path, runs: Path) -> None:
    wrong, right = results_of(tmp_path, laptop_search=WRONG, gift_card=SEARCH)
    run = new_run(runs, wrong, replace(wrong, repeat=1, verdict="error"), right)
    browser = Browser(runs)
    where = f"/runs/{run.folder.name}/cases/"
    pages = [browser.get(where + key).text for key in (LAPTOP, f"{LAPTOP}.1", case_key("gift_card"))]

    first, second, third = [
        {key: address.removeprefix(where) for address, key in re.findall(r'href="([^"]*)" data-key="(\w)"', page)}
        for page in pages
    ]

    assert first == {"j": f"{LAPTOP}.1", "n": f"{LAPTOP}.1"}
    assert second == {"k": LAPTOP, "p": LAPTOP, "j": case_key("gift_card")}
    assert third == {"k": f"{LAPTOP}.1", "p": f"{LAPTOP}.1"}
    assert f'<a href="{where}{LAPTOP}"' in pages[1]


NAMES = [
    "..",
    "%2e%2e",
    "..%2f..%2fetc%2fpasswd",
    "..%252f..",
    "%00",
    "C:%5C",
    "CON",
    "a" * 300,
    "run",
    "%E2%80%AE",
    ".",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("address", ["/{}", "/runs/{}", "/runs/{}/cases/{}", "/runs/{}/tools/{}", "/compare?a={}&b={}"])
def test_a_name_that_is_none_of_ours_is_not_here(runs: Path, good: RunFolder, address: str, name: str) -> None:
    assert Browser(runs).get(address.format(name, name)).status == 404


def test_links_and_pipes_in_the_place_of_runs_are_not_followed(tmp_path: Path, runs: Path, good: RunFolder) -> None:
    elsewhere = new_run(tmp_path / "elsewhere", *results_of(tmp_path, gift_card=SEARCH))
    names = [f"20260101T00000{number}.000Z-00000{number}" for number in range(3)]
    (runs / names[0]).symlink_to(elsewhere.folder)
    for name in names[1:]:
        (runs / name).mkdir()
        (runs / name / "run.json").write_bytes((elsewhere.folder / "run.json").read_bytes())
    (runs / names[1] / "cases.jsonl").symlink_to(elsewhere.folder / "cases.jsonl")
    os.mkfifo(runs / names[2] / "cases.jsonl")
    browser = Browser(runs)

    assert browser.library.names() == [good.folder.name]
    assert {browser.get(f"/runs/{name}").status for name in names} == {404}


def test_a_runs_own_folder_is_shown_whatever_its_name(tmp_path: Path, good: RunFolder) -> None:
    moved = good.folder.rename(tmp_path / "artifact")
    browser = Browser(moved)

    assert good.short_id in browser.get("/").text
    assert browser.get(f"/runs/run/cases/{LAPTOP}").status == 200
    assert browser.get(f"/runs/{good.folder.name}").status == 404


class Counted(Index):
    """Rows that know how often a whole result was read."""

    read = 0

    def result(self, entry: Any) -> CaseResult:
        self.read += 1
        return super().result(entry)


class OneIndex(Library):
    """Runs of which one is looked at."""

    def __init__(self, run: RunFolder) -> None:
        super().__init__(run.folder.parent)
        self.only = Counted(run)

    def index(self, name: str, run: RunFolder) -> Index:
        self.only.extend(run)
        return self.only


def test_calls_of_one_case_are_shown_after_one_look_at_it(tmp_path: Path, runs: Path) -> None:
    many = [call("search", begin, query=str(begin)) for begin in range(40)]
    library = OneIndex(new_run(runs, *results_of(tmp_path, laptop_search=many, gift_card=SEARCH)))
    browser = Browser(runs)
    browser.app = make_app(library, Hosts("127.0.0.1", PORT))

    page = browser.get(f"/runs/{library.names()[0]}/tools/{key_of('search')}").text

    assert "call 40" in text_of(page)
    assert library.only.read == 2


def test_a_run_lists_its_tools_and_leads_to_their_calls(tmp_path: Path, runs: Path) -> None:
    calls = (call("search"), call("pay", error="declined"), call("search"), call("a/../b", error="no"), call("pay"))
    first, again = results_of(tmp_path, laptop_search=(call("gone"),)), results_of(tmp_path, laptop_search=calls)
    run = new_run(runs, *first, *again)
    browser = Browser(runs)

    page = browser.get(f"/runs/{run.folder.name}").text

    tools = page[page.index('<ul class="tools">') :]
    assert text_of(tools[: tools.index("</ul>")]) == "pay 2 calls, 1 failed search 2 calls a/../b 1 call, 1 failed"
    for name in ("search", "pay", "a/../b"):
        assert f'href="/runs/{run.folder.name}/tools/{key_of(name)}"' in page
        assert browser.get(f"/runs/{run.folder.name}/tools/{key_of(name)}").status == 200


SPAN = {"name": "execute_tool search", "span_id": "0123456789abcdef", "attributes": {"gen_ai.tool.name": "search"}}


def test_a_case_shows_the_spans_that_its_run_kept_and_says_where_they_cannot_be_read(
    tmp_path: Path, runs: Path
) -> None:
    [result] = results_of(tmp_path, gift_card=[replace(SEARCH[0], span_id=SPAN["span_id"])])
    run = new_run(runs, result)
    file = run.folder / "spans.jsonl"
    line = {"case_id": "gift_card", "repeat": 0, "left_out": 0, "spans": [SPAN]}
    address = f"/runs/{run.folder.name}/cases/{case_key('gift_card')}"
    file.write_text(json.dumps(line) + "\n")
    shown = Browser(runs).get(address)
    file.write_text(json.dumps({**line, "spans": 5}) + "\n")
    damaged = Browser(runs).get(address)

    assert "execute_tool search" in shown.text
    assert damaged.status == 200
    assert "spans.jsonl: the line of &#39;gift_card&#39; is damaged" in damaged.text


KEY = "sk-proj-" + "aB3" * 16


def test_secrets_are_shown_on_no_page_unless_they_are_wanted(tmp_path: Path, runs: Path) -> None:
    named = call(f"fetch {KEY}")
    asked = call("search", query="laptop", password="hunter2-and-more", header=f"Bearer {KEY}")
    broken = replace(asked, output=None, error=f"refused: {KEY}", span_id=SPAN["span_id"])
    made = [
        new_run(runs, *results_of(tmp_path, laptop_search=calls), agent=f"https://bob:{KEY}@host.example/")
        for calls in ((named, asked, RIGHT[1]), (named, broken, call("reserve", item="P010", token=KEY)))
    ]
    kept = {"case_id": "laptop_search", "repeat": 0, "left_out": 3, "spans": [{**SPAN, "attributes": {"key": KEY}}]}
    (made[1].folder / "spans.jsonl").write_text(json.dumps(kept) + "\n")
    where = f"/runs/{made[1].folder.name}"
    addresses = [
        *("/", where, f"{where}/cases/{LAPTOP}", f"{where}/tools/{key_of('search')}"),
        f"/compare?a={made[0].folder.name}&b={made[1].folder.name}",
    ]
    shut = [Browser(runs).get(address) for address in addresses]
    opened = Browser(runs, redacts=False).get(addresses[2])
    links = [re.findall(r'href="(/runs/[^"#]+)', answer.text) for answer in shut]

    assert {answer.status for answer in shut} == {200}
    assert not [answer for answer in shut if KEY in answer.text or "hunter2" in answer.text]
    assert "[redacted: " in shut[2].text
    assert "3 spans of this case were not kept" in shut[2].text
    assert KEY in opened.text
    assert {Browser(runs).get(unescape(link)).status for found in links for link in found} == {200}


def test_the_page_of_mutants_says_how_to_make_them_and_shows_those_that_were_made(runs: Path, good: RunFolder) -> None:
    browser = Browser(runs)
    address = f"/runs/{good.folder.name}/mutants"

    before = text_of(browser.get(address).text)
    case = MutatedCase(
        case_id="laptop_search", cells={"drop": (1, 2)}, survivors=(Survivor(operator="drop", fault="x"),)
    )
    keep_mutation(good.folder, MutationReport(evalset="set.yaml", operators=("drop",), cases=(case,)))
    after, run = text_of(browser.get(address).text), text_of(browser.get(f"/runs/{good.folder.name}").text)

    assert f"rightcall mutate {good.short_id}" in before
    assert "50 % · 1 case, 2 mutants: 1 noticed, 1 let pass" in after
    assert "Mutants : 50 % noticed" in run


def test_the_scale_of_rates_has_round_shares(runs: Path, good: RunFolder, bad: RunFolder) -> None:
    page = Browser(runs).get("/trends").text

    drawn = page[page.index('class="trend"') : page.index("as-table")]
    assert re.findall(r'text-anchor="end">(\d+) %', drawn) == ["100", "80", "60", "40", "20", "0"]


def test_a_case_says_how_many_have_the_same_cause(tmp_path: Path, runs: Path) -> None:
    [wrong], [right] = (results_of(tmp_path, laptop_search=calls) for calls in (WRONG, RIGHT))
    named = {"a": wrong, "b": right, "c": wrong, "d": replace(wrong, case_id="c", repeat=1)}
    results = [each if each.repeat else replace(each, case_id=name) for name, each in named.items()]
    name = new_run(runs, *results).folder.name
    browser = Browser(runs)

    second = browser.get(f"/runs/{name}/cases/{case_key('c')}").text
    [cause] = re.findall(r'href="([^"]+)">2 of 2 with this cause<', second)

    assert "1 of 2 with this cause" in browser.get(f"/runs/{name}/cases/{case_key('a')}").text
    assert "with this cause" not in browser.get(f"/runs/{name}/cases/{case_key('b')}").text
    assert "with this cause" not in browser.get(f"/runs/{name}").text
    listed = browser.get(unescape(cause)).text
    assert [each for each in "abc" if f">{each}<" in listed] == ["a", "c"]


@pytest.mark.parametrize(
    ("verdicts", "told"),
    [
        ({"a": ["passed"], "b": ["failed"], "c": ["error"], "d": ["not_measured"], "e": ["passed"]}, "67 %"),
        ({"a": ["passed", "failed"], "b": ["passed", "error"], "c": ["error", "error"]}, "75 %"),
    ],
    ids=["some cases without an answer", "some trials without an answer"],
)
@pytest.mark.parametrize("is_older", [False, True], ids=["", "header without a rate"])
def test_a_run_has_one_rate_on_every_page(
    tmp_path: Path, runs: Path, verdicts: dict[str, list[Any]], told: str, is_older: bool
) -> None:
    [made] = results_of(tmp_path, laptop_search=WRONG)
    results = [
        replace(made, case_id=case_id, repeat=repeat, verdict=verdict)
        for case_id, found in verdicts.items()
        for repeat, verdict in enumerate(found)
    ]
    name = new_run(runs, *results).folder.name
    header = json.loads((runs / name / "run.json").read_text())
    (runs / name / "run.json").write_text(json.dumps({**header, "rate": None} if is_older else header))
    browser = Browser(runs)

    listed, run, trends = (browser.get(address).text for address in ("/", f"/runs/{name}", "/trends"))

    assert re.findall(r'<td class="rate">(.*?)</td>', listed) == [told]
    assert re.findall(r"<h1>.*?<small>(\d+ %)", run) == [told]
    assert re.findall(r'class="card-foot"><strong>(.*?)</strong>', trends) == [told]


def test_a_part_of_many_cases_says_how_many_there_are(tmp_path: Path, runs: Path) -> None:
    [right] = results_of(tmp_path, laptop_search=RIGHT)
    results = [replace(right, case_id=f"case_{number:03}") for number in range(250)]
    first, second = (new_run(runs, *results).folder.name for _ in range(2))
    browser = Browser(runs)

    passed = browser.get(f"/runs/{second}?verdict=passed").text
    same = browser.get(f"/compare?a={first}&b={second}&show=same&page=2").text

    assert [page.count('class="case-row"') for page in (passed, same)] == [120, 100]
    assert "Passed 250" in text_of(passed)
    assert "250 cases the same calls" in text_of(same)
    assert "could be chance" not in same


def test_a_chart_of_one_day_has_times_at_its_ends() -> None:
    assert ends_text("2026-01-02 03:04:05 UTC", "2026-01-02 17:18:19 UTC") == ("03:04", "17:18")
    assert ends_text("2026-01-02 03:04:05 UTC", "2026-01-02 03:04:19 UTC") == ("03:04:05", "03:04:19")
    assert ends_text("2026-01-02 03:04:05 UTC", "2026-02-02 03:04:05 UTC") == ("2026-01-02", "2026-02-02")
