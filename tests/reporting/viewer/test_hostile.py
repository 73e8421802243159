"""Runs that somebody else wrote: whatever stands in them is shown, and nothing is obeyed, written or looked up."""

import json
import re
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from msgspec.structs import replace
from tests.hostile.corpus import LONG, NAMES, SHORT, harmful
from tests.reporting.reports.reporting import hostile_report
from tests.reporting.viewer.viewing import RIGHT, Browser, call, new_run, results_of
from tests.waiting import PATIENCE

from rightcall import CaseResult, Trajectory
from rightcall.cli._view import ProjectEditor
from rightcall.reporting.pages import case_key, key_of
from rightcall.reporting.viewer import EditSession
from rightcall.values.results import Outcome, Source


class Links(HTMLParser):
    """Where a page leads, and what would do something by itself."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.acting: list[str] = []
        self._texts: list[str] = []
        self.feed(page)
        self.close()
        self.text = "".join(self._texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and given.get("href") is not None:
            self.addresses.append(given["href"] or "")
        if tag in ("iframe", "object", "embed", "base", "style", "img", "video") or (
            tag == "script" and "src" not in given
        ):
            self.acting.append(tag)
        self.acting += [name for name, _ in attrs if name.startswith("on") or name == "style"]

    def handle_data(self, data: str) -> None:
        self._texts.append(data)


def walked(browser: Browser, most: int = 400) -> Iterator[tuple[str, Links]]:
    """Every page that can be reached from the first one, then each choice on each kind of page; not all of both."""
    waiting = deque(["/", *[f"/search?q={quote(text, safe='')}" for text in ("a", SHORT[0])]])
    seen = {choice for address in waiting for choice in _choices(address)}
    for _ in range(most):
        if not waiting:
            break
        address = waiting.popleft()
        answer = browser.get(address)
        assert answer.status == 200, (address, answer.status, answer.text[-300:])
        page = Links(answer.text)
        yield address, page
        for found in page.addresses:
            plain = found.partition("#")[0]
            if plain and not _choices(plain) <= seen:
                seen |= _choices(plain)
                (waiting.append if "?" in plain else waiting.appendleft)(plain)


def _choices(address: str) -> set[tuple[str, ...]]:
    """A page, and each value that is chosen on a page of its kind."""
    parts = urlsplit(address)
    kind = "/".join(parts.path.split("/")[1::2])
    return {(parts.path,), *[(kind, *each) for each in parse_qsl(parts.query, keep_blank_values=True)]}


def test_every_page_of_a_hostile_run_shows_text_and_leads_to_pages_of_its_own(tmp_path: Path) -> None:
    texts = [*SHORT[::9], *NAMES[::7], LONG[0]]
    results: dict[str, CaseResult] = {}
    for text in texts:
        for each in hostile_report(text).results():
            results[each.case_id] = each
    for _ in range(2):
        new_run(tmp_path, *results.values(), agent=texts[3], branch=texts[5], commit=texts[1], evalset=SHORT[0])
    browser = Browser(tmp_path, session=EditSession(ProjectEditor(tmp_path)))
    pages = dict(walked(browser, most=280))
    [where, _] = [f"/runs/{name}" for name in browser.library.names()]
    for key in map(case_key, results):
        for query in ("accept", "accept?scope=cause", f"ignore?of=calls&call=1&argument={quote(key)}"):
            address = f"{where}/cases/{key}/{query}"
            pages[address] = Links(browser.get(address).text)

    assert len(pages) > 100
    for address, page in pages.items():
        assert not page.acting, address
        assert not harmful(page.text), address
        assert all(re.match(r"(/|#|$)", found) and not found.startswith("//") for found in page.addresses), address


@pytest.mark.parametrize("text", [*NAMES, *LONG[:1]], ids=range(len(NAMES) + 1))
def test_a_case_and_a_tool_of_any_name_have_pages(tmp_path: Path, text: str) -> None:
    [result] = results_of(tmp_path / "made", laptop_search=[call(text[:200] or "x")])
    run = new_run(tmp_path / "runs", CaseResult(**{**_fields(result), "case_id": text}))
    browser, where = Browser(tmp_path / "runs"), f"/runs/{run.folder.name}"

    assert browser.get(f"{where}/cases/{case_key(text)}").status == 200
    assert browser.get(f"{where}/tools/{key_of(text[:200] or 'x')}").status == 200
    assert browser.get(f"{where}/cases/{quote(text[:300], safe='', errors='backslashreplace')}").status == 404
    assert sorted(path.name for path in (tmp_path / "runs").rglob("*")) == sorted(
        [run.folder.name, "run.json", "cases.jsonl"]
    )


def _fields(result: CaseResult) -> dict[str, Any]:
    return {name: getattr(result, name) for name in CaseResult.__struct_fields__}


HEADERS: list[dict[str, Any]] = [
    {"seconds": {"$float": "inf"}},
    {"seconds": {"$float": "nan"}},
    {"seconds": -5},
    {"seconds": 1e300},
    {"started": "not a time"},
    {"started": "9999-12-31T23:59:59.999999-23:59"},
    {"started": "0001-01-01T00:00:00+23:59"},
    {"started": "2026-01-01T00:00:00"},
    {"id": "../../x"},
    {"id": ""},
    {"finished": None, "totals": None},
    {"finished": None, "started": "2026-01-01T00:00:00"},
    {"planned": -1, "finished": None},
    {"totals": {"passed": -1, "failed": 10**30}},
    {"totals": {}},
    {"options": {"min_repeat_pass": 10**9, "cases": ["<script>"] * 1_000}},
    {"evaluators": {"\u202e<b>": {"mean_score": {"$float": "nan"}}}},
    {"evalset": "", "agent": ""},
    {"branch": "x" * 100_000},
]


@pytest.mark.parametrize("changed", HEADERS, ids=[json.dumps(header)[:50] for header in HEADERS])
def test_a_header_may_say_anything_that_its_fields_can_hold(tmp_path: Path, changed: dict[str, Any]) -> None:
    for _ in range(2):
        run = new_run(tmp_path / "runs", *results_of(tmp_path, laptop_search=RIGHT))
        header = json.loads((run.folder / "run.json").read_text())
        (run.folder / "run.json").write_text(json.dumps({**header, **changed}))

    assert len(list(walked(Browser(tmp_path / "runs")))) > 4


TIMES = [
    (0, 10**400),
    (-(10**400), 3),
    (0, 2**64 - 1),
    (2**63, 0),
    (-(2**70), 2**70),
    (1, 1),
    (None, 5),
    (10**18, 10**18 + 1),
]


def test_times_and_numbers_may_be_any(tmp_path: Path) -> None:
    calls = [call("search", error=None if place % 2 else "no") for place in range(len(TIMES))]
    calls = [replace(each, start_ns=begin, end_ns=end) for each, (begin, end) in zip(calls, TIMES, strict=True)]
    [made] = results_of(tmp_path, laptop_search=RIGHT)
    odd = [
        replace(made, case_id="times", trajectory=Trajectory(calls=tuple(calls))),
        replace(made, case_id="long", outcome=Outcome(seconds=float("inf"))),
        replace(made, case_id="negative", outcome=Outcome(seconds=-1.0), repeat=10**6),
        replace(made, case_id="score", score=float("nan"), source=Source("", -1, 10**20)),
        replace(made, case_id="bare", trajectory=None, results=(), findings=(), outcome=None, verdict="error"),
    ]
    new_run(tmp_path / "runs", *odd)

    assert len(list(walked(Browser(tmp_path / "runs")))) > 8


WATCHED = """
import sys, os
from pathlib import Path
from tests.reporting.viewer.viewing import Browser
from tests.reporting.viewer.test_hostile import walked
from tests.hostile.corpus import NAMES
from urllib.parse import quote

browser = Browser(Path(sys.argv[1]))
list(walked(browser))  # what is imported, and which templates are compiled, late has been by now
browser.get("/nothing")
own = (os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]))
seen = []

def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        outside = not os.path.realpath(os.fsdecode(path)).startswith(own) if isinstance(path, (str, bytes)) else False
        if outside or (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
            seen.append((event, str(path)))
    elif event.partition(".")[0] in ("subprocess", "shutil", "tempfile", "ftplib", "urllib", "sqlite3") or event in (
        "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod", "os.link", "os.symlink",
        "os.system", "socket.connect", "socket.bind", "exec", "compile",
    ):
        seen.append((event, repr(arguments)[:100]))

sys.addaudithook(watch)
list(walked(browser))
[name] = browser.library.names()
for text in [*NAMES, "' OR 1=1 --", "1; DROP TABLE runs", "{{7*7}}"]:
    given = quote(text[:300], safe="", errors="backslashreplace")
    for address in (f"/{given}", f"/runs/{given}", f"/runs/{name}/cases/{given}", f"/runs/{name}/tools/{given}",
                    f"/compare?a={given}&b={given}", f"/?evalset={given}&page={given}",
                    f"/runs/{name}?q={given}&rule={given}&tool={given}&verdict={given}&page={given}"):
        assert browser.get(address).status in (200, 400, 404), (address, browser.get(address).status)
print(seen)
"""


def test_nothing_is_written_and_nothing_read_outside_of_the_runs(tmp_path: Path) -> None:
    new_run(tmp_path / "runs", *results_of(tmp_path, laptop_search=RIGHT))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    package = Path(sys.modules["rightcall.reporting.pages"].__file__ or "").parent

    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(tmp_path / "runs"), str(package)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )

    assert done.stdout == "[]\n", done.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_million_characters_are_cut_and_the_page_stays_small(tmp_path: Path) -> None:
    long = "<b>x</b>" * 125_000
    [made] = results_of(tmp_path, laptop_search=[call("search", query=long), call("reserve", error=long)])
    run = new_run(tmp_path / "runs", made, agent=long, evalset=long, branch=long)
    browser = Browser(tmp_path / "runs")

    sizes = {address: len(browser.get(address).text) for address, _ in walked(browser)}

    assert f"/runs/{run.folder.name}/cases/{case_key('laptop_search')}" in sizes
    assert max(sizes.values()) < 1_000_000
