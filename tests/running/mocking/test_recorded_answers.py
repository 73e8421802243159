"""Recordings: what real tools gave back, kept, and given back again."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from rightcall import InputError, tool
from rightcall.errors import MockError
from rightcall.matching.matchers import equal
from rightcall.running.mocking import Mocks, RecordedCall, Recorder, Recording, recording_to, use_mocks
from rightcall.running.project import recording_path
from rightcall.running.tracing import ToolAnswer, mockable

RAN: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


@tool
def search(query: Any, limit: int = 5) -> Any:
    RAN.append(query)
    if query == "broken":
        raise ConnectionError("no route", 7)
    return [query, len(RAN)]


def recorded(*queries: Any, case: str = "one") -> Recording:
    RAN.clear()
    recorder = Recorder(case)
    with recording_to(recorder):
        for query in queries:
            try:
                search(query)
            except ConnectionError:
                continue
    RAN.clear()
    return Recording(recorder.entries)


def replayed(recording: Recording, *queries: Any, case: str = "one") -> list[Any]:
    found: list[Any] = []
    with use_mocks(recording.replay(case)):
        for query in queries:
            try:
                found.append(search(query))
            except Exception as problem:  # noqa: BLE001 - what is raised is what is tested
                found.append(problem)
    assert RAN == []
    return found


def test_calls_are_answered_from_the_recording_without_running_a_tool(tmp_path: Path) -> None:
    path = tmp_path / "shop.recording.jsonl"
    recorded("a", "b").save(path)

    assert replayed(Recording.load(path), "b", "a") == [["b", 2], ["a", 1]]


def test_equal_calls_are_answered_in_the_order_in_which_they_were_recorded() -> None:
    assert replayed(recorded("a", "b", "a"), "a", "a", "b") == [["a", 1], ["a", 3], ["b", 2]]


def test_an_exception_is_recorded_and_raised_again() -> None:
    [problem] = replayed(recorded("broken"), "broken")

    assert (type(problem), problem.args) == (ConnectionError, ("no route", 7))


def test_a_call_that_was_not_recorded_is_an_error_that_is_remembered() -> None:
    replay = recorded("a").replay("one")

    with use_mocks(replay), pytest.raises(MockError, match=r"'search' with .*'z'.* is not in the recording of 'one'"):
        search("z")

    assert len(replay.problems) == 1


def test_a_call_that_was_recorded_less_often_is_an_error_that_says_so() -> None:
    _, problem = replayed(recorded("a"), "a", "a")

    assert isinstance(problem, MockError)
    assert "was not recorded as often" in str(problem)


def test_cases_have_their_own_answers() -> None:
    both = recorded("a", case="one").updated(["two"], recorded("b", case="two").entries)

    assert replayed(both, "b", case="two") == [["b", 1]]
    assert isinstance(replayed(both, "b", case="one")[0], MockError)


def test_a_case_that_is_recorded_again_loses_what_it_had_and_others_do_not() -> None:
    before = recorded("a", case="one").updated(["two"], recorded("b", case="two").entries)

    after = before.updated(["two", "three"], [])

    assert [entry.case for entry in after.entries] == ["one"]


def test_what_is_mocked_is_not_recorded() -> None:
    recorder = Recorder("one")

    with recording_to(recorder), use_mocks(Mocks.of({"search": {"when": {"query": "m"}, "returns": 1}})):
        search("m")

    assert recorder.entries == ()


def test_a_value_that_is_not_json_cannot_be_replayed_and_says_so() -> None:
    @tool
    def make() -> Any:
        return {"file": object()}

    recorder = Recorder("one")
    with recording_to(recorder):
        make()

    replay = Recording(recorder.entries).replay("one")
    with (
        use_mocks(replay),
        pytest.raises(MockError, match=r"could not be recorded: an object at \$.file is not a JSON"),
    ):
        make()


def test_async_tools_generators_and_mockable_functions_are_recorded() -> None:
    @tool
    async def later(x: int) -> int:
        return x + 1

    @tool
    def pages() -> Iterator[int]:
        yield from (1, 2)

    @mockable
    def fetch() -> str:
        return "page"

    def run() -> list[Any]:
        return [asyncio.run(later(1)), list(pages()), fetch()]

    recorder = Recorder("one")
    with recording_to(recorder):
        real = run()
    with use_mocks(Recording(recorder.entries).replay("one")):
        again = run()

    assert again == real == [2, [1, 2], "page"]
    assert [entry.tool for entry in recorder.entries] == ["later", "pages", "fetch"]


def test_a_cancelled_call_has_no_outcome_to_record() -> None:
    @tool
    async def wait() -> None:
        await asyncio.sleep(60)

    recorder = Recorder("one")

    async def run() -> None:
        with recording_to(recorder):
            await asyncio.wait_for(wait(), 0.01)

    with pytest.raises(TimeoutError):
        asyncio.run(run())

    assert recorder.entries == ()


def test_calls_in_threads_are_recorded() -> None:
    recorder = Recorder("one")

    with recording_to(recorder), ThreadPoolExecutor(4) as pool:
        list(pool.map(search, range(50)))

    assert sorted(entry.args["query"] for entry in recorder.entries) == list(range(50))


SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_infinity=False, width=16) | st.sampled_from("ab")
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner), max_leaves=6
)


@given(VALUES, VALUES)
def test_arguments_are_the_same_exactly_when_the_evaluators_call_them_equal(first: Any, second: Any) -> None:
    entry = RecordedCall(case="one", tool="search", args={"query": first}, output="found")
    replay = Recording([entry]).replay("one")

    try:
        is_answered = replay.answer("search", {"query": second}) == ToolAnswer("found")
    except MockError:
        is_answered = False

    assert is_answered == equal(first, second)


@given(
    args=VALUES,
    output=st.recursive(SCALARS | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)),
)
def test_a_line_is_read_as_what_was_written(tmp_path_factory: pytest.TempPathFactory, args: Any, output: Any) -> None:
    path = tmp_path_factory.mktemp("recording") / "r.jsonl"
    Recording([RecordedCall(case="ä\n", tool="t", args={"x": args}, output=output)]).save(path)

    [entry] = Recording.load(path).entries

    assert isinstance(entry, RecordedCall)
    assert (entry.case, entry.tool) == ("ä\n", "t")
    assert equal(args, entry.args["x"])
    assert equal(output, entry.output)


def test_lines_can_go_from_one_process_to_another() -> None:
    entries = recorded("a", "broken").entries

    assert Recording.of_lines([entry.line() for entry in entries]).entries == entries


def test_a_file_has_one_line_a_call_and_the_calls_of_a_case_together(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    entries = [RecordedCall(case=case, tool="t", args={}, output=n) for n, case in enumerate(["one", "two", "one"])]

    Recording(entries).save(path)

    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"case": "one", "tool": "t", "args": {}, "output": 0},
        {"case": "one", "tool": "t", "args": {}, "output": 2},
        {"case": "two", "tool": "t", "args": {}, "output": 1},
    ]


def test_a_file_is_replaced_whole_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("something else")
    before = os.umask(0)
    try:
        recorded("a").save(path)
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["r.jsonl"]


def test_a_file_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "no" / "r.jsonl"

    with pytest.raises(InputError, match=r"r\.jsonl: No such file or directory"):
        recorded("a").save(path)


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"r\.jsonl: No such file or directory"):
        Recording.load(tmp_path / "r.jsonl")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not an entry of a recording"),
        ("[]", "not an entry of a recording"),
        ('{"case": "a", "tool": "t"}', "missing required field `args`"),
        ('{"case": "a", "tool": "t", "args": {}, "import": "os"}', "unknown field `import`"),
        ('{"case": "a", "tool": "t", "args": {}}', "an entry has one of output, error, unfit and runs"),
        ('{"case": "a", "tool": "t", "args": {}, "output": 1, "unfit": "x"}', "an entry has one of"),
    ],
)
def test_a_line_that_is_no_entry_is_an_error_with_its_number(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"case": "a", "tool": "t", "args": {}, "output": 1}\n\n' + line + "\n")

    with pytest.raises(InputError) as raised:
        Recording.load(path)

    assert str(raised.value).startswith(f"{path}:3: ")
    assert message in str(raised.value)


@pytest.mark.parametrize("name", ["os.system", "__import__", "/etc/passwd", "https://example.com", "../../x"])
def test_a_recording_that_names_something_else_calls_nothing(name: str) -> None:
    entries = [RecordedCall(case="one", tool=name, args={"command": "id"}, output=0)]

    [problem] = replayed(Recording(entries), "a")

    assert isinstance(problem, MockError)


def test_a_recorded_exception_that_is_not_loaded_is_an_error_and_nothing_is_imported() -> None:
    error: Any = {"type": "antigravity.FlyError"}
    entry = RecordedCall(case="one", tool="search", args={"query": "a", "limit": 5}, error=error)
    recording = Recording([json_round_trip(entry)])

    [problem] = replayed(recording, "a")

    assert isinstance(problem, MockError)
    assert "antigravity.FlyError" in str(problem)


def json_round_trip(entry: RecordedCall) -> RecordedCall:
    import msgspec

    return msgspec.convert(msgspec.to_builtins(entry), RecordedCall)


def test_a_recording_stands_beside_its_eval_set() -> None:
    assert recording_path("evals/shop.yaml") == Path("evals/shop.recording.jsonl")
    assert recording_path("evals/shop.evalset.json") == Path("evals/shop.evalset.recording.jsonl")
