"""The rows of a run: read once, read on, and never more than there is."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.reporting.viewer.viewing import RIGHT, SEARCH, WRONG, Browser, append, new_run, results_of, unsealed

from rightcall import CaseResult
from rightcall.errors import StoreError
from rightcall.reporting.pages import case_key, key_of
from rightcall.reporting.viewer import Index, Library
from rightcall.values.results import Source


def index_of(library: Library) -> Index:
    [name] = library.names()
    run = library.run(name)
    assert run is not None
    return library.index(name, run)


@pytest.fixture
def results(tmp_path: Path) -> list[CaseResult]:
    return results_of(tmp_path, laptop_search=WRONG, gift_card=SEARCH)


def test_rows_stand_by_gravity_and_then_as_they_are_written(tmp_path: Path, results: list[CaseResult]) -> None:
    wrong, right = results
    new_run(
        tmp_path / "runs",
        replace(right, case_id="z", source=Source("a.yaml", 9, 1)),
        replace(right, case_id="y", source=Source("a.yaml", 3, 1)),
        replace(wrong, case_id="x", source=Source("a.yaml", 99, 1)),
        replace(wrong, case_id="w", verdict="error", source=Source("a.yaml", 50, 1)),
    )

    assert [entry.row.case_id for entry in index_of(Library(tmp_path / "runs")).entries()] == ["x", "w", "y", "z"]


def test_of_a_case_that_was_run_again_the_last_line_counts(tmp_path: Path, results: list[CaseResult]) -> None:
    wrong, right = results
    run = new_run(tmp_path / "runs", wrong, right, is_complete=False)
    library = Library(tmp_path / "runs")
    before = index_of(library)
    assert before.totals().failed == 1

    append(run, *results_of(tmp_path, laptop_search=RIGHT))
    after = index_of(library)

    assert (after.totals().failed, after.totals().passed, len(after)) == (0, 2, 2)
    entry = after.entry(case_key("laptop_search"))
    assert entry is not None
    assert after.result(entry).passed
    assert after.evaluators()["calls"].passed == 2


def test_a_case_is_made_ready_once_however_many_of_its_pages_are_looked_at(
    tmp_path: Path, results: list[CaseResult]
) -> None:
    new_run(tmp_path / "runs", *results)
    index = index_of(Library(tmp_path / "runs"))
    first, second = index.entries()

    shown = index.result(second)

    assert index.result(second) is shown
    assert (index.result(first).case_id, index.result(second).case_id) == (first.row.case_id, second.row.case_id)


def test_a_result_that_is_kept_counts_as_memory(tmp_path: Path, results: list[CaseResult]) -> None:
    [long] = results_of(tmp_path, gift_card=SEARCH * 300)
    new_run(tmp_path / "runs", results[0], long)
    index = index_of(Library(tmp_path / "runs"))
    few, many = [index.entry(case_key(name)) for name in ("laptop_search", "gift_card")]
    assert few is not None
    assert many is not None

    index.result(few)
    before = index.weight
    index.result(many)

    assert index.weight - before >= 250


def test_a_journal_is_read_on_and_a_torn_line_is_waited_for(tmp_path: Path, results: list[CaseResult]) -> None:
    run = new_run(tmp_path / "runs", results[0], is_complete=False)
    library = Library(tmp_path / "runs")
    file = run.folder / "cases.jsonl"
    first = file.read_bytes()
    append(run, results[1])
    second = file.read_bytes()[len(first) :]
    unsealed(run)
    for cut in (0, 1, 100, len(second) - 1, len(second)):
        file.write_bytes(first + second[:cut])

        assert len(index_of(library)) == (2 if cut == len(second) else 1)


def test_a_longer_journal_in_the_place_of_another_is_read_anew(tmp_path: Path, results: list[CaseResult]) -> None:
    run = new_run(tmp_path / "runs", *results)
    library = Library(tmp_path / "runs")
    assert len(index_of(library)) == 2
    file = run.folder / "cases.jsonl"
    first, second = file.read_bytes().splitlines(keepends=True)

    fixed = file.with_name("fixed")
    fixed.write_bytes(second + first + first)
    fixed.replace(file)
    unsealed(run)

    index = index_of(library)
    assert [index.result(entry).case_id for entry in index.entries()] == ["laptop_search", "gift_card"]


def test_a_case_is_never_shown_as_another_one(tmp_path: Path, results: list[CaseResult]) -> None:
    run = new_run(tmp_path / "runs", *results)
    index = index_of(Library(tmp_path / "runs"))
    file = run.folder / "cases.jsonl"
    file.write_bytes(b"".join(reversed(file.read_bytes().splitlines(keepends=True))))

    with pytest.raises(StoreError, match="has changed while it was read"):
        index.result(index.entries()[0])


def test_a_journal_that_became_another_one_is_read_anew(tmp_path: Path, results: list[CaseResult]) -> None:
    run = new_run(tmp_path / "runs", *results)
    library = Library(tmp_path / "runs")
    assert len(index_of(library)) == 2

    unsealed(run)
    (run.folder / "cases.jsonl").unlink()
    append(run, results[1])

    assert [entry.row.case_id for entry in index_of(library).entries()] == ["gift_card"]


def test_a_damaged_line_is_told_each_time_and_heals_when_it_is_taken_out(
    tmp_path: Path, results: list[CaseResult]
) -> None:
    run = new_run(tmp_path / "runs", results[0])
    file = run.folder / "cases.jsonl"
    unsealed(run)
    whole = file.read_bytes()
    file.write_bytes(whole + b"{}\n")
    library = Library(tmp_path / "runs")
    for _ in range(2):
        with pytest.raises(StoreError, match=r"cases\.jsonl:2: this line is damaged"):
            index_of(library)

    file.write_bytes(whole)

    assert len(index_of(library)) == 1


def test_calls_of_results_that_do_not_count_any_more_are_not_counted(tmp_path: Path, results: list[CaseResult]) -> None:
    new_run(tmp_path / "runs", *results, results[0])
    [name] = Browser(tmp_path / "runs").library.names()

    page = Browser(tmp_path / "runs").get(f"/runs/{name}/tools/{key_of('reserve')}").text

    assert "<dt>Calls</dt><dd>1</dd>" in page


def test_what_is_kept_of_runs_has_bounds_whatever_their_number(tmp_path: Path, results: list[CaseResult]) -> None:
    for _ in range(12):
        new_run(tmp_path / "runs", *results)
    library = Library(tmp_path / "runs", rows=12, headers=4)  # two rows and the two calls of a result each
    for name in library.names():
        run = library.run(name)
        assert run is not None
        library.index(name, run)

    assert library.kept == {"headers": 4, "indices": 3, "verdicts": 0, "changes": 0, "paths": 0, "figures": 0}


def test_lines_that_were_never_sealed_are_shown_while_a_run_lasts_and_not_when_it_was_killed(
    tmp_path: Path, results: list[CaseResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rightcall.reporting.store._journal._SYNC_EVERY", 1_000.0)
    run = new_run(tmp_path / "runs", results[0], is_complete=False)
    library = Library(tmp_path / "runs")
    journal = run.journal()
    journal.append(results[1], "digest")
    going = [len(index_of(library)), len(library.verdicts(run.folder.name, run))]

    os.close(journal._lines._descriptor)  # as the end of a process does

    assert going == [2, 2]
    assert [len(index_of(library)), len(library.verdicts(run.folder.name, run))] == [1, 1]
