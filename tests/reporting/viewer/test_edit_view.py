"""Edits from pages: what is shown is what is written, and nobody else writes."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.reporting.viewer.viewing import PORT, RIGHT, SEARCH, WRONG, Answer, Browser, new_run, results_of
from tests.walls import for_each

from rightcall import load_eval_set
from rightcall.cases.verdicts import judge
from rightcall.cli._view import ProjectEditor
from rightcall.reporting.pages import case_key
from rightcall.reporting.store import RunFolder
from rightcall.reporting.viewer import EditSession, Token

LAPTOP = case_key("laptop_search")
OWN = {"origin": f"http://127.0.0.1:{PORT}", "content-type": "application/x-www-form-urlencoded"}
FOREIGN = {
    "another origin": {"origin": "http://evil.example"},
    "another port": {"origin": "http://127.0.0.1:3000"},
    "no origin": {"origin": "null"},
    "another site": {"origin": OWN["origin"], "sec-fetch-site": "cross-site"},
    "the same site": {"origin": OWN["origin"], "sec-fetch-site": "same-site"},
    "nothing": {},
}


class Project:
    """A project with a run whose case took another path, and a viewer that may write to it."""

    def __init__(self, folder: Path, **known: Any) -> None:
        self.file = folder / "shop.yaml"
        results = results_of(folder, laptop_search=WRONG, gift_card=SEARCH)
        self.run: RunFolder = new_run(folder / "runs", *results, **known)
        self.session = EditSession(ProjectEditor(folder))
        self.browser = Browser(folder / "runs", session=self.session)
        self.case = f"/runs/{self.run.folder.name}/cases/{LAPTOP}"

    def fields(self, page: str) -> dict[str, str]:
        return {name: unescape(held) for name, held in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page)}

    def send(self, address: str, fields: dict[str, str], **headers: str) -> Answer:
        return self.browser.ask("POST", address, {**OWN, **headers}, urlencode(fields).encode())

    def verdict(self) -> str:
        case = load_eval_set(str(self.file)).cases[0]
        [result] = [each for each in self.run.results() if each.case_id == case.id]
        assert result.trajectory is not None
        return judge(case, result.trajectory).verdict


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the viewer was started."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def project(home: Path) -> Project:
    return Project(home)


def test_a_path_is_accepted_after_its_edit_was_shown(project: Project) -> None:
    before = project.file.read_text()
    page = project.browser.get(f"{project.case}/accept")

    assert page.status == 200
    assert "P0</td>" not in page.text
    assert project.file.read_text() == before
    assert "Write to shop.yaml" in page.text

    answer = project.send(f"{project.case}/accept", project.fields(page.text))

    assert (answer.status, answer.headers["location"]) == (303, f"{project.case}?done=1")
    assert project.file.read_text() == before.replace("{item: P001}", "{item: P010}")
    assert project.verdict() == "passed"
    assert "shop.yaml written, 2 lines" in project.browser.get(f"{project.case}?done=1").text
    assert "written, 2 lines" not in project.browser.get(project.case).text


def test_an_argument_is_ignored(project: Project) -> None:
    before = project.file.read_text()
    address = f"{project.case}/ignore?of=calls&call=2&argument=item"
    shown = project.browser.get(project.case).text

    assert f"{address}".replace("&", "&amp;") in shown
    answer = project.send(f"{project.case}/ignore", project.fields(project.browser.get(address).text))

    assert answer.status == 303
    assert project.file.read_text() == before.replace("reserve: {item: P001}", "reserve: {}")
    assert project.verdict() == "passed"


def test_an_argument_where_all_are_looked_at_may_have_any_value(project: Project) -> None:
    project.file.write_text("defaults: {args: exact}" + project.file.read_text())
    address = f"{project.case}/ignore?of=calls&call=2&argument=item"

    project.send(f"{project.case}/ignore", project.fields(project.browser.get(address).text))

    assert "item: {$any: true}" in project.file.read_text()


@for_each("argument", ["", "other", "$.nothing", "item.deep", "item[0]", "../x", "<script>", "item\n"])
def test_an_argument_that_is_not_there_is_not_ignored(tmp_path: Path, argument: str) -> None:
    project = Project(tmp_path)
    before = project.file.read_text()
    query = urlencode({"of": "calls", "call": "2", "argument": argument})

    page = project.browser.get(f"{project.case}/ignore?{query}")
    answer = project.send(f"{project.case}/ignore", project.fields(page.text))

    assert "Write to" not in page.text
    assert answer.status == 422
    assert project.file.read_text() == before


def test_an_edit_is_undone_and_only_while_nothing_else_changed(project: Project) -> None:
    before = project.file.read_text()
    project.send(f"{project.case}/accept", project.fields(project.browser.get(f"{project.case}/accept").text))
    done = project.browser.get(f"{project.case}?done=1").text

    answer = project.send("/undo", project.fields(done))

    assert (answer.status, answer.headers["location"]) == (303, project.case)
    assert project.file.read_text() == before

    project.send(f"{project.case}/accept", project.fields(project.browser.get(f"{project.case}/accept").text))
    project.file.write_text(project.file.read_text() + "# mine\n")
    refused = project.send("/undo", project.fields(done))
    assert refused.status == 422
    assert project.file.read_text().endswith("# mine\n")


def test_a_file_that_changed_since_is_shown_again_and_not_written(project: Project) -> None:
    fields = project.fields(project.browser.get(f"{project.case}/accept").text)
    changed = project.file.read_text().replace("query: laptop", "query: laptop, limit: 3")
    project.file.write_text(changed)

    answer = project.send(f"{project.case}/accept", fields)

    assert answer.status == 409
    assert "has changed since this was shown" in answer.text
    assert project.file.read_text() == changed


@for_each("stranger", list(FOREIGN))
def test_a_form_of_another_page_writes_nothing(tmp_path: Path, stranger: str) -> None:
    project = Project(tmp_path)
    before = project.file.read_text()
    fields = project.fields(project.browser.get(f"{project.case}/accept").text)
    headers = {"content-type": OWN["content-type"], **FOREIGN[stranger]}

    for address in (f"{project.case}/accept", f"/runs/{project.run.folder.name}/baseline", "/undo"):
        answer = project.browser.ask("POST", address, headers, urlencode(fields).encode())
        assert answer.status == 403

    assert project.file.read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "shop.yaml"]


def test_a_form_of_our_own_page_is_known_by_its_site_where_browsers_hide_the_origin(project: Project) -> None:
    fields = project.fields(project.browser.get(f"{project.case}/accept").text)

    answer = project.send(f"{project.case}/accept", fields, **{"origin": "null", "sec-fetch-site": "same-origin"})

    assert answer.status == 303


@for_each("token", ["", "x", "a" * 43, "é"])
def test_a_form_without_our_token_writes_nothing(tmp_path: Path, token: str) -> None:
    project = Project(tmp_path)
    before = project.file.read_text()
    fields = {**project.fields(project.browser.get(f"{project.case}/accept").text), "token": token}

    assert project.send(f"{project.case}/accept", fields).status == 403
    assert project.send("/undo", fields).status == 403
    assert project.file.read_text() == before


def test_a_body_that_is_no_form_or_too_long_is_refused(project: Project) -> None:
    fields = project.fields(project.browser.get(f"{project.case}/accept").text)
    before = project.file.read_text()

    assert project.send(f"{project.case}/accept", fields, **{"content-type": "text/plain"}).status == 403
    assert project.send(f"{project.case}/accept", {**fields, "more": "x" * 20_000}).status == 413
    assert project.file.read_text() == before


@for_each("method", ["PUT", "PATCH", "DELETE", "OPTIONS"])
def test_no_other_method_does_anything(tmp_path: Path, method: str) -> None:
    project = Project(tmp_path)

    assert project.browser.ask(method, f"{project.case}/accept", OWN).status == 405


def test_a_viewer_that_others_reach_writes_nothing_and_says_so(project: Project, tmp_path: Path) -> None:
    away = Browser(tmp_path / "runs")

    assert away.get(f"{project.case}/accept").status == 404
    assert away.ask("POST", f"{project.case}/accept", OWN).status == 405
    assert 'class="off"' in away.get(project.case).text
    assert "Ignore item" not in away.get(project.case).text


def test_a_viewer_with_a_token_asks_for_it_before_it_writes(project: Project, tmp_path: Path) -> None:
    closed = Browser(tmp_path / "runs", Token("a-token-that-is-long-enough"), session=project.session)

    assert closed.get(f"{project.case}/accept").status == 401
    form = urlencode({"token": project.session.token}).encode()
    assert closed.ask("POST", f"{project.case}/accept", OWN, form).status == 401


@for_each("path", ["/etc/passwd", "../shop.yaml", "elsewhere.yaml", "runs"])
def test_a_run_that_names_a_file_elsewhere_is_not_obeyed(tmp_path: Path, path: str) -> None:
    (tmp_path / "shop.yaml").write_text("cases: []\n")
    project = Project(tmp_path / "home", evalset=path)

    page = project.browser.get(f"{project.case}/accept")

    assert page.status == 200
    assert "Write to" not in page.text
    assert project.send(f"{project.case}/accept", project.fields(page.text)).status == 422
    assert (tmp_path / "shop.yaml").read_text() == "cases: []\n"


def test_a_run_without_its_secrets_is_not_accepted(tmp_path: Path) -> None:
    project = Project(tmp_path, options={"redact": True})

    assert "what its secrets were is not known" in project.browser.get(f"{project.case}/accept").text


def test_a_run_is_pinned_beside_its_eval_set_and_unpinned(project: Project, tmp_path: Path) -> None:
    address = f"/runs/{project.run.folder.name}/baseline"
    page = project.browser.get(address)

    assert project.send(address, project.fields(page.text)).status == 303
    assert '"laptop_search"' in (tmp_path / "shop.baseline.json").read_text()

    done = project.browser.get(f"/runs/{project.run.folder.name}?done=1").text
    assert project.send("/undo", project.fields(done)).status == 303
    assert not (tmp_path / "shop.baseline.json").exists()


@for_each("back", ["//evil.example", "https://evil.example", "/runs/x//y", "/\\evil", "javascript:1", "/runs/../x y"])
def test_a_form_leads_back_to_pages_of_ours_only(tmp_path: Path, back: str) -> None:
    project = Project(tmp_path)
    fields = project.fields(project.browser.get(f"{project.case}/accept").text)

    answer = project.send(f"{project.case}/accept", {**fields, "back": back})

    assert project.verdict() == "passed"
    assert answer.headers["location"] == f"{project.case}?done=1"


def test_all_cases_with_one_cause_are_accepted_at_once(tmp_path: Path) -> None:
    lines = [f"  - {{id: c{n}, expect: {{calls: [{{reserve: {{item: P{n}}}}}]}}}}" for n in range(3)]
    (tmp_path / "many.yaml").write_text("\n".join(["cases:", *lines]))
    cases = load_eval_set("many.yaml").cases
    [taken] = [each.trajectory for each in results_of(tmp_path / "x", gift_card=RIGHT[1:])]
    assert taken is not None
    run = new_run(tmp_path / "runs", *[judge(case, taken) for case in cases], evalset="many.yaml")
    browser = Browser(tmp_path / "runs", session=EditSession(ProjectEditor(tmp_path)))
    address = f"/runs/{run.folder.name}/cases/{case_key('c0')}/accept"

    one, every = browser.get(address).text, browser.get(f"{address}?scope=cause").text

    assert "All 3 with this cause" in one
    assert (one.count('<tr class="added">'), every.count('<tr class="added">')) == (1, 3)
