"""Run folders: whole or not there, private, found again, and never mixed up."""

import errno
import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace
from tests.builders import call
from tests.sampling import examples

from rightcall import CaseResult, ToolCall, Trajectory, load_eval_set
from rightcall.cases.verdicts import judge
from rightcall.errors import StoreError
from rightcall.limits import DEFAULT_LIMITS
from rightcall.reporting.store import RunFolder, case_digest, commit_of, create_run, list_runs, open_run
from rightcall.values.results import Outcome, Source, Totals


def new_run(runs: Path, **known: Any) -> RunFolder:
    return create_run(runs, **{"agent": "agent.py", "evalset": "set.yaml", "evalset_hash": "0", **known})


def result(case_id: str = "a", repeat: int = 0, output: Any = None) -> CaseResult:
    made = Trajectory(calls=(call("search", query=output), ToolCall("names_only")), output=output)
    outcome = Outcome(seconds=0.5, cause="raised", error="no", traceback="Traceback", stdout="printed\n")
    return CaseResult(
        case_id=case_id,
        verdict="error",
        score=None,
        source=Source("set.yaml", 3, 5, "- id: a"),
        trajectory=made,
        repeat=repeat,
        outcome=outcome,
    )


def written(run: RunFolder, *results: CaseResult) -> None:
    journal = run.journal()
    for each in results:
        journal.append(each, "digest")
    journal.close()


def unsealed(run: RunFolder) -> RunFolder:
    """The run as versions wrote it that knew no seal."""
    header = json.loads((run.folder / "run.json").read_text())
    del header["journal"]
    (run.folder / "run.json").write_text(json.dumps(header))
    return run


STRANGE = [float("nan"), float("inf"), -float("inf"), -0.0, 2**64, 2**53 + 1, "\ud800", "a\0b", {"$float": "nan"}, "\n"]


@pytest.mark.parametrize("value", STRANGE, ids=repr)
def test_what_is_stored_comes_back_as_it_was(tmp_path: Path, value: Any) -> None:
    run = new_run(tmp_path)
    written(run, result(output=[value, {"key": value}]))

    [entry] = open_run("last", tmp_path).entries()

    assert repr(entry.result) == repr(result(output=[value, {"key": value}]))
    assert entry.digest == "digest"


@examples(50)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=20))
def test_any_json_value_survives_the_form_of_a_result(value: Any) -> None:
    kept = CaseResult.from_json(result(output=value).to_json())

    assert repr(kept) == repr(result(output=value))


def test_a_judged_result_keeps_its_evaluations_and_findings(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text("cases: [{id: a, expect: {calls: [search, pay], counts: {search: 2}}}]")
    [case] = load_eval_set(tmp_path / "set.yaml").cases
    judged = judge(case, Trajectory.of(["search"]))

    assert judged.findings
    assert CaseResult.from_json(judged.to_json()) == judged


def test_folders_and_files_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        run = new_run(tmp_path / ".rightcall" / "runs")
        written(run, result())
    finally:
        os.umask(before)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / ".rightcall").rglob("*")}
    assert modes == {"runs": 0o700, run.folder.name: 0o700, "run.json": 0o600, "cases.jsonl": 0o600}
    assert stat.S_IMODE((tmp_path / ".rightcall").stat().st_mode) == 0o700


def test_a_result_too_large_to_be_read_again_keeps_its_verdict_and_says_what_it_lost(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    written(run, result("large", output="x" * (DEFAULT_LIMITS.text_bytes // 2)), result("small"))

    large, small = open_run("last", tmp_path).results()

    assert (large.verdict, large.trajectory) == ("error", None)
    assert "too large to be kept whole" in large.warnings[0]
    assert small == result("small")


def test_a_torn_last_line_is_dropped_and_written_over(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    written(run, result("a"), result("b"))
    file = run.folder / "cases.jsonl"
    whole = file.read_bytes()
    for cut in (1, 5, 200, len(whole) // 2 - 1):
        unsealed(run)
        file.write_bytes(whole[:-cut])

        assert [entry.result.case_id for entry in run.entries()] == ["a"]
        written(run, result("b"))
        assert file.read_bytes() == whole


def test_a_line_that_is_wrong_in_the_middle_is_told_with_its_number(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    written(run, result("a"))
    unsealed(run)
    with (run.folder / "cases.jsonl").open("a") as file:
        file.write('{"digest": "x", "case_id": 5}\n')

    with pytest.raises(StoreError, match=r"cases\.jsonl:2: this line is damaged .*; remove it"):
        list(run.entries())


def test_two_processes_do_not_write_to_one_run(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    journal = run.journal()

    with pytest.raises(StoreError, match="another process is writing to this run"):
        run.journal()
    journal.close()
    run.journal().close()


class FailingDisk:
    """A disk that is full from the k-th write on, having taken half of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, good: int) -> None:
        self._good = good
        self._write = os.write
        monkeypatch.setattr(os, "write", self)

    def __call__(self, descriptor: int, data: Any) -> int:
        self._good -= 1
        if self._good >= 0:
            return self._write(descriptor, data)
        if self._good == -1:
            return self._write(descriptor, bytes(data)[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("good", range(6))
def test_a_full_disk_at_any_write_leaves_whole_results_and_one_clear_line(
    tmp_path: Path, good: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = new_run(tmp_path)
    written(run, result("a"))
    monkeypatch.setattr("rightcall.reporting.store._journal._SYNC_EVERY", 1_000.0)
    journal = run.journal()
    with monkeypatch.context() as patched:
        FailingDisk(patched, good)
        for number in range(good):
            journal.append(result(f"b{number}"), "digest")
        with pytest.raises(StoreError, match="No space left on device; make room, then resume the run"):
            journal.append(result("too much"), "digest")
    journal.close()

    kept = [entry.result.case_id for entry in open_run("last", tmp_path).entries()]
    assert kept == ["a", *[f"b{number}" for number in range(good)]]
    assert (run.folder / "cases.jsonl").read_bytes().endswith(b"\n")


def test_a_header_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run(tmp_path)
    with monkeypatch.context() as patched:
        FailingDisk(patched, 0)
        with pytest.raises(StoreError, match="No space left"):
            run.finish(Totals(passed=1), {}, 1.0, is_complete=True)

    assert open_run("last", tmp_path).header == run.header
    assert [path.name for path in run.folder.iterdir()] == ["run.json"]


def test_a_run_is_found_by_folder_by_id_by_branch_and_as_the_last(tmp_path: Path) -> None:
    first, second = new_run(tmp_path, branch="main"), new_run(tmp_path, branch="topic")

    for name in (str(first.folder), first.header.id, first.folder.name, "main"):
        assert open_run(name, tmp_path).header == first.header
    assert open_run("last", tmp_path).header == second.header
    assert list_runs(tmp_path) == [first.folder, second.folder]


@pytest.mark.parametrize(
    ("name", "message"),
    [("zzzz", "no run 'zzzz' in"), ("2", "several runs begin with '2'"), ("", "no run ''")],
)
def test_a_run_that_is_not_there_is_told(tmp_path: Path, name: str, message: str) -> None:
    new_run(tmp_path)
    new_run(tmp_path)

    with pytest.raises(StoreError, match=message):
        open_run(name, tmp_path)


def test_a_run_that_is_not_there_is_answered_with_the_newest_ones(tmp_path: Path) -> None:
    for _ in range(4):
        new_run(tmp_path)
    newest = [folder.name.rpartition("-")[2] for folder in list_runs(tmp_path)[:0:-1]]

    with pytest.raises(StoreError) as problem:
        open_run("zzzz", tmp_path)

    assert str(problem.value).endswith(f"; the newest: {', '.join(newest)}")


def test_no_runs_at_all_are_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there are no runs here yet"):
        open_run("last", tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"schema": 99}', r"written by a newer Rightcall \(format 99; this one knows 1\)"),
        ("garbage", "not the header of a run"),
        ("{}", "not the header of a run"),
    ],
)
def test_a_header_that_cannot_be_read_is_refused_and_left_as_it_is(tmp_path: Path, content: str, message: str) -> None:
    run = new_run(tmp_path)
    (run.folder / "run.json").write_text(content)

    with pytest.raises(StoreError, match=message):
        open_run(str(run.folder))
    assert (run.folder / "run.json").read_text() == content


def test_a_place_that_is_a_file_is_one_line_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("I am a file")

    with pytest.raises(StoreError, match=r"runs.*: Not a directory; choose another folder for runs with --runs"):
        new_run(tmp_path / "runs")


def test_of_a_case_that_was_run_again_the_last_result_counts(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    written(run, result("a", output=1), result("b"), result("a", output=2), result("a", repeat=1))

    assert [(each.case_id, each.repeat) for each in run.results()] == [("b", 0), ("a", 0), ("a", 1)]


def digests(tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "set.yaml").write_text(text)
    return [case_digest(case) for case in load_eval_set(tmp_path / "set.yaml").cases]


def test_a_digest_changes_with_the_case_and_with_nothing_else(tmp_path: Path) -> None:
    base = "cases: [{id: a, input: 1, expect: {calls: [x]}}, {id: b, expect: {calls: [x]}}]"
    first, second = digests(tmp_path, base)

    assert digests(tmp_path, f"# moved\n\n{base}") == [first, second]
    for changed in ("input: 2", "input: 1, mocks: {x: {returns: 1}}", "input: 1, session: {u: 1}"):
        other, same = digests(tmp_path, base.replace("input: 1", changed))
        assert other != first
        assert same == second
    assert digests(tmp_path, base.replace("[x]}}, ", "[y]}}, "))[0] != first
    assert digests(tmp_path, f"defaults: {{match: in_order}}\n{base}") != [first, second]


def test_the_commit_is_read_without_running_git(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/topic\n")
    (git / "refs" / "heads" / "topic").write_text("abc123\n")
    (tmp_path / "below").mkdir()

    assert commit_of(tmp_path / "below") == ("abc123", "topic")
    (git / "refs" / "heads" / "topic").unlink()
    (git / "packed-refs").write_text("# pack\ndef456 refs/heads/topic\n")
    assert commit_of(tmp_path) == ("def456", "topic")
    (git / "HEAD").write_text("0123abcd\n")
    assert commit_of(tmp_path) == ("0123abcd", None)


def test_a_header_says_who_ran_what_and_names_no_remote(tmp_path: Path) -> None:
    run = new_run(tmp_path, options={"repeat": 3})

    document = json.loads((run.folder / "run.json").read_text())

    assert document["agent"] == "agent.py"
    assert document["options"] == {"repeat": 3}
    assert document["finished"] is None
    assert "remote" not in json.dumps(document)


def test_a_journal_can_be_read_on_from_any_line(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    written(run, result("a"), result("b"))
    first, second = run.lines()
    written(run, result("c"))
    with (run.folder / "cases.jsonl").open("ab") as file:
        file.write(b'{"digest": "torn')

    [third] = run.lines(second.end, second.number)

    assert (first.begin, first.end, first.number) == (0, second.begin, 1)
    assert (third.begin, third.number, third.entry.result.case_id) == (second.end, 3, "c")
    assert (run.folder / "cases.jsonl").read_bytes()[third.begin : third.end].endswith(b"}\n")


def test_a_damaged_line_has_its_number_wherever_reading_began(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    written(run, result("a"))
    [first] = run.lines()
    unsealed(run)
    with (run.folder / "cases.jsonl").open("a") as file:
        file.write("{}\n")

    with pytest.raises(StoreError, match=r"cases\.jsonl:2: this line is damaged"):
        list(run.lines(first.end, first.number))


def test_whether_a_run_is_being_written_is_told_without_getting_in_the_way(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    before = run.is_being_written
    journal = run.journal()

    assert not before
    assert run.is_being_written
    journal.close()
    assert not run.is_being_written
    run.journal().close()


HEADS = ["a", "ü\u2028", '"\\', "\ud800", '", "repeat": 7, "verdict": "passed"', "\n", ""]


@pytest.mark.parametrize("case_id", HEADS, ids=ascii)
def test_verdicts_are_read_without_results_whatever_the_ids(tmp_path: Path, case_id: str) -> None:
    run = new_run(tmp_path)
    verdicts = ("failed", "passed", "not_measured")
    results = [replace(result(case_id, 1), verdict=verdict) for verdict in verdicts]
    written(run, *results, replace(result("other"), verdict="failed"))

    assert run.verdicts() == {case_id: "not_measured", "other": "failed"}
    assert run.verdicts() == {each.case_id: each.verdict for each in run.results()}


def test_verdicts_of_repeats_are_taken_together(tmp_path: Path) -> None:
    results = [replace(result("a", repeat), verdict=("passed", "failed")[repeat % 2]) for repeat in range(4)]
    strict, lenient = new_run(tmp_path), new_run(tmp_path, options={"min_repeat_pass": 2})
    for run in (strict, lenient):
        written(run, *results)

    assert (strict.verdicts(), lenient.verdicts()) == ({"a": "failed"}, {"a": "passed"})


def test_a_damaged_line_is_told_by_whoever_reads_verdicts_as_well(tmp_path: Path) -> None:
    run = unsealed(new_run(tmp_path))
    (run.folder / "cases.jsonl").write_bytes(b'{"digest": "x", "case_id": 5}\n')

    with pytest.raises(StoreError, match=r"cases\.jsonl:1: this line is damaged .*; remove it"):
        run.verdicts()


def sealed_run(folder: Path) -> RunFolder:
    run = new_run(folder)
    written(run, result("a"), replace(result("b"), verdict="failed"))
    return run


def rewritten(run: RunFolder, change: Callable[[bytes], bytes]) -> None:
    file = run.folder / "cases.jsonl"
    file.write_bytes(change(file.read_bytes()))


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "a verdict": lambda data: data.replace(b'"failed"', b'"passed"'),
    "a line that is gone": lambda data: data.splitlines(keepends=True)[0],
    "everything gone": lambda data: b"",
    "lines that changed places": lambda data: b"".join(reversed(data.splitlines(keepends=True))),
    "a line that is none": lambda data: b"{}" + data,
    "a line in between": lambda data: data.splitlines(keepends=True)[0] + data,
    "a torn line": lambda data: data[:-1],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_journal_that_another_program_changed_is_refused_by_all_who_read_it(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    run = sealed_run(tmp_path)
    rewritten(run, change)

    for read in (run.entries, run.results, run.reading().lines, run.verdicts, run.journal):
        with pytest.raises(StoreError, match=r"cases\.jsonl: changed by another program since the run wrote it"):
            list(read())  # type: ignore[arg-type]


def test_a_journal_that_is_gone_was_changed_by_another_program(tmp_path: Path) -> None:
    run = sealed_run(tmp_path)
    (run.folder / "cases.jsonl").unlink()

    with pytest.raises(StoreError, match="changed by another program"):
        list(run.results())


def test_lines_after_the_seal_are_left_out_while_a_run_has_not_come_to_its_end(tmp_path: Path) -> None:
    run = sealed_run(tmp_path)
    rewritten(run, lambda data: data + data.splitlines(keepends=True)[0].replace(b'"a"', b'"c"'))

    assert [each.case_id for each in run.results()] == ["a", "b"]
    run.journal().close()
    assert len((run.folder / "cases.jsonl").read_bytes().splitlines()) == 2


def test_once_it_has_nothing_may_follow_the_seal(tmp_path: Path) -> None:
    run = sealed_run(tmp_path)
    run.finish(Totals(error=1, failed=1), {}, 1.0, is_complete=True)
    rewritten(run, lambda data: data + b"\n")

    with pytest.raises(StoreError, match="changed by another program"):
        list(run.results())


def test_a_run_that_grows_is_read_on_from_seal_to_seal_and_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rightcall.reporting.store._journal._SYNC_EVERY", 1_000.0)
    run = new_run(tmp_path)
    journal, reading = run.journal(), run.reading()
    seen: list[str] = []
    for number, is_sealed in enumerate([False, True, False, False, True, False]):
        journal.append(result(f"c{number}"), "digest")
        if is_sealed:
            journal.sync()
        if number != 2:
            seen += [line.entry.result.case_id for line in reading.lines()]

    assert seen == [f"c{number}" for number in range(6)]
    journal.close()
    assert list(reading.lines()) == []


def test_what_is_changed_before_it_is_sealed_is_found_out_by_the_seal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rightcall.reporting.store._journal._SYNC_EVERY", 1_000.0)
    run = new_run(tmp_path)
    journal, reading = run.journal(), run.reading()
    journal.append(result("a"), "digest")
    rewritten(run, lambda data: data.replace(b'"error"', b'"fatal"'))

    journal.sync()

    with pytest.raises(StoreError, match="changed by another program"):
        list(reading.lines())


def test_the_header_of_a_run_is_that_of_its_process_at_the_end(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    journal = run.journal()
    journal.append(result("a"), "digest")
    forged = json.loads((run.folder / "run.json").read_text()) | {"journal": None, "agent": "forged"}
    (run.folder / "run.json").write_text(json.dumps(forged))

    journal.close()

    header = open_run("last", tmp_path).header
    assert (header.agent, header.journal == journal.header.journal) == ("agent.py", True)


def test_results_can_be_had_from_a_journal_whose_folder_is_gone(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    journal = run.journal()
    journal.append(result("a"), "digest")
    shutil.rmtree(run.folder)
    journal.append(result("b"), "digest")
    journal.close()

    assert journal.trouble == (
        f"{run.folder}: another program removed this folder while the run lasted; nothing of the run is kept"
    )
    assert [each.case_id for each in journal.results()] == ["a", "b"]


def test_lines_that_another_program_writes_in_between_are_not_among_ours(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    journal = run.journal()
    journal.append(result("a"), "digest")
    rewritten(run, lambda data: data + data.replace(b'"a"', b'"x"'))
    journal.append(result("b"), "digest")
    journal.close()

    assert "changed by another program while the run lasted" in str(journal.trouble)
    assert [each.case_id for each in journal.results()] == ["a", "b"]


def test_a_run_that_had_come_to_its_end_and_goes_on_can_be_read_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rightcall.reporting.store._journal._SYNC_EVERY", 1_000.0)
    run = sealed_run(tmp_path).finish(Totals(error=1, failed=1), {}, 1.0, is_complete=True)
    run.journal().close()
    untouched = open_run("last", tmp_path).header.finished
    journal = run.journal()
    journal.append(result("c"), "digest")

    assert untouched == run.header.finished
    assert [each.case_id for each in run.results()] == ["a", "b", "c"]
    assert open_run("last", tmp_path).header.finished is None
    journal.close()
