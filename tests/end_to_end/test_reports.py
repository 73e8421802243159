"""`rightcall report` and `rightcall diff`, in real processes, over real runs."""

import hashlib
import json
import os
import stat
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.processes import rightcall

from rightcall.errors import install_command

AGENT = """
from rightcall.running.tracing import tool

@tool
def search(query):
    return [query]

@tool
def pay(amount):
    return True

def answer(query):
    print("asked for", query)
    search(query)
    pay(AMOUNT)
    return "done"
"""
SHOP = """\
cases:
  - {id: laptop, input: {query: laptop}, expect: {calls: [search, {pay: {amount: 2}}]}}
  - {id: phone, input: {query: phone}, expect: {order: [search]}}
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two runs: all is well in the first, one case fails in the second."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.yaml").write_text(SHOP)
    for amount in (2, 1):
        (folder / "agent.py").write_text(AGENT.replace("AMOUNT", str(amount)))
        done = rightcall("run", "agent.py:answer", "shop.yaml", "--workers", "1", cwd=folder)
        assert done.returncode == 2 - amount, done.stderr
    return folder


@pytest.fixture(scope="module")
def first(shop: Path) -> str:
    """The id of the first run."""
    return min((shop / ".rightcall" / "runs").iterdir()).name.rpartition("-")[2]


def test_a_run_is_printed_as_markdown(shop: Path) -> None:
    done = rightcall("report", "last", cwd=shop)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "### ❌ Rightcall: 1 passed, 1 failed\n\neval set `shop.yaml` · agent `agent.py:answer`"
    )
    assert "- ❌ `laptop`: failed\n  - **`RC104`** `` `pay` was called with " in done.stdout


def test_markdown_says_what_changed_against_a_baseline(shop: Path, first: str) -> None:
    done = rightcall("report", "last", "--baseline", first, cwd=shop)

    assert f"#### Changed against `{first[:4]}`\n\n`passed` 2/2 → 1/2" in done.stdout
    assert "- ✅→❌ `laptop`: passed → failed, `calls 1.00 → 0.00 · pay amount 2 → 1`\n" in done.stdout


def test_each_format_can_have_a_file(shop: Path) -> None:
    formats = ["--format=junit=junit.xml", "--format", "json=all.json", "--format", "markdown=comment.md"]

    done = rightcall("report", "last", *formats, "--format", "github", cwd=shop)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("::error file=shop.yaml,line=2,col=")
    root = ElementTree.parse(shop / "junit.xml").getroot()
    assert root.attrib["failures"] == "1"
    assert [out.text for out in root.iter("system-out")] == ["asked for laptop\n", "asked for phone\n"]
    assert json.loads((shop / "all.json").read_text())["totals"]["failed"] == 1
    assert (shop / "comment.md").read_text().startswith("### ❌")


def test_the_same_run_gives_the_same_bytes(shop: Path) -> None:
    assert rightcall("report", "last", "--format", "junit", cwd=shop).stdout == (
        rightcall("report", "last", "--format", "junit", cwd=shop).stdout
    )


def test_the_summary_of_a_step_is_added_to(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "summary.md").write_text("before\n")

    done = rightcall("report", "last", "--format", "github", cwd=shop, GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "summary.md").read_text().startswith("before\n### ❌ Rightcall: 1 passed, 1 failed\n")


WRONG = [
    (["report", "last", "--format", "jnit"], "no format 'jnit'; did you mean 'junit'?"),
    (["report", "last", "--format", "junit="], "the name of a file is missing"),
    (["report", "last", "--format", "json", "--format", "junit"], "one format can be printed"),
    (["report", "last", "--format", "junit=no/such/folder.xml"], "no/such/folder.xml: No such file or directory"),
    (["report", "zzz"], "no run 'zzz'"),
    (["diff", "last"], "two runs or more: rightcall diff main last"),
    (["baseline", "last"], "baseline needs finished runs and a file: rightcall baseline last --to "),
    (["diff", "last", "zzz"], "no run 'zzz'"),
    (["diff", "last", "last", "--runs", "elsewhere"], "there are no runs here yet"),
]


@pytest.mark.parametrize(("arguments", "complaint"), WRONG, ids=lambda given: " ".join(given)[:40])
def test_what_cannot_be_done_is_said(shop: Path, arguments: list[str], complaint: str) -> None:
    done = rightcall(*arguments, cwd=shop)

    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stdout == ""


def test_a_run_that_was_killed_is_counted_as_far_as_it_came(shop: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    killed.mkdir(mode=stat.S_IRWXU)
    last = max((shop / ".rightcall" / "runs").iterdir())
    header = json.loads((last / "run.json").read_text())
    first_line, second_line = (last / "cases.jsonl").read_bytes().splitlines(keepends=True)
    seal = {"length": len(first_line), "sha256": hashlib.sha256(first_line).hexdigest()}
    early = {"finished": None, "totals": None, "evaluators": {}, "journal": seal}
    (killed / "run.json").write_text(json.dumps({**header, **early}))
    (killed / "cases.jsonl").write_bytes(first_line + second_line[:100])

    done = rightcall("report", str(killed), cwd=shop)

    assert done.returncode == 0
    assert done.stderr == f"rightcall: run {header['id'][:4]} is not complete; its results so far are shown\n"
    assert done.stdout.startswith("### ❌ Rightcall: 1 failed, not complete\n")
    page = rightcall("report", str(killed), "--format", "html", cwd=shop).stdout
    assert '<p class="note">this run is not complete; its results so far are shown</p>' in page


def test_two_runs_are_compared_flips_first(shop: Path, first: str) -> None:
    done = rightcall("diff", first, "last", cwd=shop)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "1 regression\n"
        "  ✓→✗ laptop   calls 1.00 → 0.00   pay amount 2 → 1\n"
        "1 other path\n"
        "  ≈   phone    passes on both, path differs: pay amount 2 → 1\n"
        "passed  2/2 → 1/2     calls  1.000 → 0.000     calls/case  2.0 → 2.0\n"
        "1 regression · 1 other path · 0 unchanged\n"
    )


def test_three_runs_are_a_table(shop: Path, first: str) -> None:
    done = rightcall("diff", first, "last", first, cwd=shop, PYTHONIOENCODING="ascii")

    assert done.returncode == 0
    assert [line.split() for line in done.stdout.splitlines()][1:] == [
        ["|", "passed", "2/2", "1/2", "2/2"],
        ["|", "calls", "1.000", "0.000", "1.000"],
        ["|", "calls/case", "2.0", "2.0", "2.0"],
        ["|", "rate", "100", "%", "50", "%", "100", "%"],
        ["|", "95", "%", "34-100", "%", "9-91", "%", "34-100", "%"],
        ["|", "against", first[-6:-2], "not", "told", "apart", "not", "told", "apart"],
        ["|", "laptop", "ok", "x", "ok"],
    ]


@pytest.mark.parametrize(("order", "code"), [((0, 1), 1), ((1, 0), 0), ((1, 1), 0)], ids=["worse", "better", "same"])
def test_a_flip_to_the_worse_can_be_a_failure(shop: Path, first: str, order: tuple[int, int], code: int) -> None:
    runs = (first, "last")

    assert rightcall("diff", runs[order[0]], runs[order[1]], "--fail-on-flip", cwd=shop).returncode == code


def test_a_run_is_written_as_one_html_file_for_its_owner_alone(shop: Path) -> None:
    done = rightcall("report", "last", "--format", "html=report.html", cwd=shop)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    page = (shop / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>")
    assert '<strong class="mono">amount</strong> <code><mark class="wanted">2</mark></code>' in page
    assert stat.S_IMODE((shop / "report.html").stat().st_mode) == 0o600


def test_html_is_printed_where_no_file_is_named(shop: Path) -> None:
    done = rightcall("report", "last", "--format", "html", cwd=shop)

    assert done.returncode == 0
    assert done.stdout.startswith("<!doctype html>")


def test_recorded_traces_are_told_as_html_without_a_run(shop: Path) -> None:
    (shop / "traces.json").write_text('[{"role": "user", "content": "hi"}]')

    done = rightcall("score", "traces.json", "--evalset", "shop.yaml", "--format", "html=scored.html", cwd=shop)

    assert done.returncode == 2
    assert "laptop" in (shop / "scored.html").read_text(encoding="utf-8")


def test_without_jinja_html_is_refused_in_one_line_before_anything_is_run(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['jinja2'] = None\n")
    search = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])

    done = rightcall("run", "agent.py:answer", "shop.yaml", "--format", "html=x.html", cwd=shop, PYTHONPATH=search)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"rightcall: web pages need jinja2: {install_command()}\n"
    assert not (shop / "x.html").exists()
