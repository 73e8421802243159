"""The spans of a run: found by case and repeat, the last ones counting, and never in the way of a result."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.reporting.store.test_runs import FailingDisk, new_run

from rightcall import InputError
from rightcall.errors import StoreError
from rightcall.reporting.store import RunFolder, RunSpans, SpanIndex, open_run
from rightcall.values.trajectory import KeptSpans, RawSpan


def kept(*names: str, left_out: int = 0, **attributes: Any) -> KeptSpans:
    spans = [RawSpan(name=name, span_id=f"id of {name}", attributes=attributes) for name in names]
    return KeptSpans(KeptSpans.of(spans).text, left_out)


def written(run: RunFolder, *lines: tuple[str, int, KeptSpans]) -> None:
    file = run.span_file()
    for case_id, repeat, spans in lines:
        file.append(case_id, repeat, spans)
    file.close()


def names(spans: RunSpans) -> list[str]:
    return [span.name for span in spans.values()]


def test_spans_are_found_by_case_and_repeat(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    written(run, ("a", 0, kept("x", "y", left_out=3)), ("a", 1, kept("z")), ("b", 0, kept()))

    spans = open_run("last", tmp_path).spans("a")

    assert spans["id of x"].name == "x"
    assert (names(spans), spans.left_out) == (["x", "y"], 3)
    assert names(run.spans("a", 1)) == ["z"]
    assert (len(run.spans("b")), len(run.spans("b", 1)), len(run.spans("nobody"))) == (0, 0, 0)


def test_a_run_that_kept_none_opens_as_ever(tmp_path: Path) -> None:
    run = new_run(tmp_path)

    assert (dict(run.spans("a")), run.spans("a").left_out, run.has_spans) == ({}, 0, False)


def test_of_several_lines_of_a_case_the_last_one_counts(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    written(run, ("a", 0, kept("before")), ("b", 0, kept("b")), ("a", 0, kept("after")))

    assert names(run.spans("a")) == ["after"]
    written(run, ("a", 0, KeptSpans()))
    assert names(run.spans("a")) == []


IDS = ['a", "repeat": 0, "x": "', 'a\n{"case_id": "b", "repeat": 0, ', "a\\", "é", "\ud800", "\u2028", "", "a", "a\0"]


def test_ids_are_told_apart_whatever_is_in_them(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    hostile = [(case_id, 0, kept(f"of {number}", text=case_id)) for number, case_id in enumerate(IDS)]
    written(run, *hostile)

    for number, case_id in enumerate(IDS):
        assert names(run.spans(case_id)) == [f"of {number}"]
    assert (run.folder / "spans.jsonl").read_bytes().count(b"\n") == len(IDS)
    assert names(run.spans("b")) == []


def test_an_index_knows_what_was_added_since_it_was_last_asked(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    index = SpanIndex(run.folder)

    assert names(index.spans("a")) == []
    written(run, ("a", 0, kept("x")), ("b", 0, kept("y")))
    assert names(index.spans("a")) == ["x"]
    written(run, ("a", 0, kept("again")), ("c", 1, kept("z")))
    assert [names(index.spans(case, repeat)) for case, repeat in (("a", 0), ("b", 0), ("c", 1))] == [
        ["again"],
        ["y"],
        ["z"],
    ]


def test_an_index_does_not_mix_up_two_files(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    written(run, ("a", 0, kept("x", text="long" * 100)), ("b", 0, kept("y")))
    index = SpanIndex(run.folder)
    index.spans("b")
    (run.folder / "spans.jsonl").unlink()
    written(run, ("b", 0, kept("new")))

    assert [names(index.spans(case)) for case in ("a", "b")] == [[], ["new"]]


def test_a_torn_last_line_is_left_out_and_written_over(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    written(run, ("a", 0, kept("x")), ("a", 0, kept("y")))
    file = run.folder / "spans.jsonl"
    whole = file.read_bytes()
    for cut in (1, 2, 20, 60):
        file.write_bytes(whole[:-cut])

        assert names(run.spans("a")) == ["x"]
        written(run, ("a", 0, kept("y")))
        assert file.read_bytes() == whole


def test_a_line_that_is_damaged_is_told_with_its_case(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    written(run, ("a", 0, kept("x")), ("b", 0, kept("y")))
    file = run.folder / "spans.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"name":"x"', b'"name":x'))

    with pytest.raises(StoreError, match=r"spans\.jsonl: the line of 'a' is damaged .*; remove it"):
        run.spans("a")
    assert names(run.spans("b")) == ["y"]


def test_what_is_no_span_is_left_out_of_what_is_read(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    written(run, ("a", 0, KeptSpans('[{"name": "x", "span_id": "1"}, {"name": 5}, "span"]', 1)))

    assert (names(run.spans("a")), run.spans("a").left_out) == (["x"], 3)


def test_what_would_be_more_than_one_line_is_refused(tmp_path: Path) -> None:
    file = new_run(tmp_path).span_file()

    with pytest.raises(InputError):
        file.append("a", 0, KeptSpans('[]}\n{"case_id": "b", "repeat": 0, "left_out": 0, "spans": []'))
    file.close()


def test_the_file_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        run = new_run(tmp_path)
        written(run, ("a", 0, kept("x")))
    finally:
        os.umask(before)

    assert stat.S_IMODE((run.folder / "spans.jsonl").stat().st_mode) == 0o600


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run(tmp_path)
    written(run, ("a", 0, kept("x")))
    file = run.span_file()
    with monkeypatch.context() as patched:
        FailingDisk(patched, 1)
        file.append("b", 0, kept("y"))
        with pytest.raises(StoreError, match="No space left on device"):
            file.append("c", 0, kept("z"))
    file.close()

    assert [names(run.spans(case)) for case in ("a", "b", "c")] == [["x"], ["y"], []]
    assert (run.folder / "spans.jsonl").read_bytes().endswith(b"\n")
