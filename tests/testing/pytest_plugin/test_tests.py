"""Assertions, captures and the mark in the user's tests."""

import re
import subprocess
from pathlib import Path

import pytest
from tests.testing.pytest_plugin.sessions import (
    counts,
    error_lines,
    failures,
    make_project,
    runs_in,
    session,
    true_session,
)

Done = subprocess.CompletedProcess[str]
NO_ASYNCIO = ("-p", "no:asyncio")

ASSERTIONS = """
import unittest
import rightcall
from rightcall import ToolCall, Trajectory
from agent import answer, search

def test_captured():
    with rightcall.capture() as calls:
        answer("laptop")
    rightcall.calls(calls).in_order("search").called("search", query="phone")

def test_soft():
    with rightcall.soft():
        rightcall.calls(["search"]).never("search").times(2, "search")

def test_not_recorded():
    rightcall.calls(["search"]).called("search", query=1)

def test_equal():
    first, second = [Trajectory.of([ToolCall("search", {"query": query}), "book"]) for query in "ab"]
    assert first == second

def test_other_fields():
    assert Trajectory.of([ToolCall("search", {}, output=1)]) == Trajectory.of([ToolCall("search", {}, output=2)])

def test_list():
    assert Trajectory.of(["search"]) == ["search"]

def test_other_values():
    assert Trajectory.of(["search"]) == 3

class TestUnit(unittest.TestCase):
    def test_failing(self):
        rightcall.check(["search", "book"], ["search", "pay"])

    def test_unknown(self):
        rightcall.check(["search"], [{"search": {"query": 1}}])
"""


@pytest.fixture(scope="module")
def asserted(tmp_path_factory: pytest.TempPathFactory) -> Done:
    project = make_project(tmp_path_factory.mktemp("asserted"), test_it=ASSERTIONS)
    return true_session(project, *NO_ASYNCIO, "test_it.py")


def test_the_summary_names_the_call_and_the_argument(asserted: Done) -> None:
    summary = {name.rpartition("::")[2]: line for name, line in failures(asserted).items()}

    assert (
        summary["test_captured"] == 'rightcall: `search` was called with query "laptop", expected "phone" (called 0/1)'
    )
    assert summary["test_soft"] == (
        "rightcall: `search` was called, and must never be (never), and 1 more assertion failed"
    )
    assert (
        summary["test_not_recorded"] == "rightcall: not measured: `search`: its arguments were not recorded (called ?)"
    )
    assert summary["test_failing"] == "rightcall: `pay` was never called (and 1 more; calls 1/2)"
    assert summary["test_unknown"].startswith("rightcall: not measured: `search`: its arguments")


def test_the_last_line_of_a_traceback_is_the_tests_own(asserted: Done) -> None:
    assert '>       rightcall.calls(calls).in_order("search").called("search", query="phone")' in asserted.stdout
    assert "test_it.py:10: CheckFailedError" in asserted.stdout
    assert "assertions/_" not in asserted.stdout
    assert "rightcall.errors.CheckFailedError" not in asserted.stdout


def test_trajectories_that_are_not_equal_are_shown_side_by_side(asserted: Done) -> None:
    lines = error_lines(asserted)

    assert 'assert `search` was called with query "a", expected "b" (calls 1/2)' in lines
    assert '≠ 1 search(query="b")   1 search(query="a")' in lines
    assert "assert the calls match, but the trajectories differ in other fields: calls (output)" in lines
    assert "assert the calls match, but a trajectory is never equal to a list" in lines
    assert any(line.endswith(" == 3") for line in lines)


def test_a_test_that_checks_nothing_is_told_so(tmp_path: Path) -> None:
    test = 'import rightcall\n\ndef test_it():\n    rightcall.calls(["search"])\n'

    asserted = session(make_project(tmp_path, test_it=test), *NO_ASYNCIO, "test_it.py", "-W", "default")

    assert "test_it.py:4: RuntimeWarning" in asserted.stdout
    assert "calls(…) was used, but nothing was checked" in asserted.stdout


CAPTURES = """
import asyncio, threading
from concurrent.futures import ThreadPoolExecutor
import pytest, rightcall
from rightcall import tool

@tool
async def price(item):
    await asyncio.sleep(0.001)
    return 1

@tool
def search(query):
    return query

old = ThreadPoolExecutor(1)
old.submit(int).result()

def test_threads(captured_calls):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(search, "abcd"))
    thread = threading.Thread(target=search, args=("e",))
    thread.start()
    thread.join()
    old.submit(search, "f").result()
    rightcall.calls(captured_calls).times(6, "search")

def test_each_test_has_calls_of_its_own(captured_calls):
    search("g")
    rightcall.calls(captured_calls).exactly({"search": {"query": "g"}})

def test_no_calls(captured_calls):
    rightcall.calls(captured_calls).none()

@pytest.mark.asyncio
async def test_asyncio_fixture(captured_calls):
    await price("a")
    await asyncio.to_thread(search, "b")
    rightcall.calls(captured_calls).exactly("price", "search")

@pytest.mark.asyncio
async def test_asyncio_block():
    with rightcall.capture() as calls:
        await asyncio.gather(price("a"), price("b"))
    rightcall.calls(calls).exactly_in_any_order({"price": {"item": "a"}}, {"price": {"item": "b"}})

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.fixture
async def warmed(anyio_backend):
    await price("warm")
    yield

@pytest.mark.anyio
async def test_anyio_in_a_loop_that_is_older(warmed, captured_calls):
    await price("a")
    rightcall.calls(captured_calls).exactly({"price": {"item": "a"}})

@pytest.mark.anyio
async def test_anyio_failing(captured_calls):
    await price("a")
    rightcall.calls(captured_calls).never("price")
"""


def test_calls_are_captured_in_threads_and_event_loops(tmp_path: Path) -> None:
    project = make_project(tmp_path, test_it=CAPTURES)
    (project / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")

    done = session(project, "test_it.py")

    assert counts(done) == {"passed": 6, "failed": 1}, done.stdout
    assert list(failures(done).values()) == ['rightcall: `price(item="a")` was called, and must never be (never)']
    assert "_marking.py" not in done.stdout


MARKED = """
import pytest, rightcall
from agent import answer

@pytest.mark.evalset("evals/shop.yaml", tags="smoke")
@pytest.mark.parametrize("model", ["small", "large"])
def test_agent(case, model):
    with rightcall.capture() as calls:
        answer(**case.input)
    rightcall.check(calls, {"calls": ["search"]})
    rightcall.check(calls, case)

@pytest.mark.evalset("evals/shop.yaml", cases=["lap*"])
class TestClass:
    def test_with(self, case):
        assert case.id == "laptop"

    def test_without(self):
        pass
"""


def test_a_test_with_the_mark_is_run_for_each_case(tmp_path: Path) -> None:
    project = make_project(tmp_path, test_it=MARKED)

    done = session(project, *NO_ASYNCIO, "test_it.py", "--strict-markers", "--rightcall-report=all.json")

    assert counts(done) == {"passed": 2, "failed": 4}, done.stdout
    assert failures(done)["test_it.py::test_agent[phone-small]"].startswith("rightcall: `book(id=7)` was")
    assert failures(done)["test_it.py::test_agent[laptop-small]"].startswith(
        "rightcall: not measured: laptop: the final"
    )
    assert (project / "all.json").exists()


def test_results_of_marked_tests_are_kept_by_test_and_parameters(tmp_path: Path) -> None:
    project = make_project(tmp_path, test_it=MARKED.replace('    rightcall.check(calls, {"calls": ["search"]})\n', ""))

    session(project, *NO_ASYNCIO, "test_it.py", "-n", "2")

    kept = {header["agent"]: {line["case_id"]: line["verdict"] for line in lines} for header, lines in runs_in(project)}
    assert kept == {
        "test_it.py::test_agent[model='small']": {"laptop": "not_measured", "phone": "failed"},
        "test_it.py::test_agent[model='large']": {"laptop": "not_measured", "phone": "failed"},
    }


@pytest.mark.parametrize(
    ("mark", "arguments", "message"),
    [
        ('"evals/shop.yaml"', "", "the mark `evalset` passes `case` to a test"),
        ('"evals/none.yaml"', "case", "evals/none.yaml: No such file or directory"),
        ('"evals/shop.yaml", tags="smok"', "case", "no case has the tag 'smok'; did you mean 'smoke'?"),
        ('"evals/shop.yaml", tag="smoke"', "case", "the mark is evalset(path, cases=[…], tags=[…]), without tag"),
        ("", "case", "the mark is evalset(path, cases=[…], tags=[…])"),
    ],
    ids=["no case", "no file", "no tag", "no such key", "no path"],
)
def test_a_mark_that_is_wrong_is_an_error_of_the_collection(
    tmp_path: Path, mark: str, arguments: str, message: str
) -> None:
    text = f"import pytest\n\n@pytest.mark.evalset({mark})\ndef test_it({arguments}):\n    pass\n"

    done = session(make_project(tmp_path, test_it=text), *NO_ASYNCIO, "test_it.py")

    assert done.returncode == 2, done.stdout
    assert message in done.stdout
    assert "_marking.py" not in done.stdout


REFUSED = """
import unittest
from rightcall import calls, check, evaluate

def test_criteria():
    check(["search"], {"oder": ["search"]})

def test_matcher():
    calls(["search"]).called("search", query={"$rgex": "x"})

def test_rule_without_a_call():
    calls(["search"]).never()

def test_agent():
    evaluate("evals/shop.yaml", "nowhere.py:answer", cases=["laptop"])

class TestFile(unittest.TestCase):
    def test_file(self):
        check("nowhere.json", ["search"])
"""


def test_what_cannot_be_judged_is_told_without_a_frame_of_ours(tmp_path: Path) -> None:
    project = make_project(tmp_path, test_it=REFUSED)

    done = session(project, *NO_ASYNCIO, "test_it.py")

    places = re.findall(r"^(\S+\.py):\d+: ", done.stdout, re.MULTILINE)
    assert counts(done) == {"failed": 5}, done.stdout
    assert places == ["test_it.py"] * 5, done.stdout
    assert "did you mean 'order'?" in done.stdout
