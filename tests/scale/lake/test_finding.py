"""What is meant by paths, patterns, folders and tables."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.scale.lake.lakes import PLAN, rows, score, scores, write_lines, write_table

from rightcall.errors import InputError, MissingExtraError
from rightcall.scale.lake import find_fragments


def _found(*sources: str | Path, out: Path | None = None) -> list[str]:
    fragments = find_fragments([str(each) for each in sources], PLAN, out=None if out is None else str(out))
    return [fragment.path for fragment in fragments]


def test_a_pattern_that_no_shell_expanded_is_expanded(tmp_path: Path) -> None:
    names = ["b/2.parquet", "b/1.parquet", "a/deep/3.parquet", "a/4.jsonl"]
    for name in names[:3]:
        write_table(tmp_path / name, rows(2))
    write_lines(tmp_path / names[3], [{"calls": []}])

    assert _found(tmp_path / "b" / "*.parquet") == [str(tmp_path / name) for name in ("b/1.parquet", "b/2.parquet")]
    assert _found(tmp_path / "**" / "*.parquet") == [str(tmp_path / name) for name in sorted(names[:3])]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    odd = write_table(tmp_path / "a[1].parquet", rows(2))
    write_table(tmp_path / "a1.parquet", rows(2))

    assert _found(odd) == [str(odd)]


def test_of_a_folder_all_files_are_meant_but_hidden_ones_and_the_scores(tmp_path: Path) -> None:
    for name in ("x/1.parquet", "_temporary/2.parquet", ".hidden/3.parquet", "_4.parquet", "scores/5.parquet"):
        write_table(tmp_path / name, rows(2))
    (tmp_path / "_SUCCESS").touch()

    assert _found(tmp_path, out=tmp_path / "scores") == [str(tmp_path / "x" / "1.parquet")]


def test_scores_of_an_earlier_command_are_no_traces(tmp_path: Path) -> None:
    write_table(tmp_path / "1.parquet", rows(2))
    score(tmp_path, tmp_path / "earlier")

    assert _found(tmp_path) == [str(tmp_path / "1.parquet")]


def test_a_file_that_is_meant_twice_is_scored_once(tmp_path: Path) -> None:
    table = write_table(tmp_path / "1.parquet", rows(2))

    assert _found(table, tmp_path) == [str(table)]


@pytest.mark.parametrize("source", ["nothing.parquet", "nothing/*.parquet", "empty"])
def test_what_is_not_there_is_told(tmp_path: Path, source: str) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(InputError, match=f"{os.path.basename(source)}".replace("*", r"\*")):
        _found(tmp_path / source)


def test_names_of_folders_say_which_case_rows_belong_to(tmp_path: Path) -> None:
    for case in ("refund", "two words", "__HIVE_DEFAULT_PARTITION__"):
        write_table(tmp_path / "in" / f"case_id={case}".replace(" ", "%20") / "1.parquet", [{"id": "x", "calls": []}])

    constants = [fragment.constants for fragment in find_fragments([str(tmp_path / "in")], PLAN)]

    assert constants == [(("case_id", None),), (("case_id", "refund"),), (("case_id", "two words"),)]


def _delta(path: Path, **options: Any) -> Path:
    table = pa.table({"id": ["a", "b", "c"], "case_id": ["x", "y", "x"], "calls": [["search", "book"], ["book"], []]})
    deltalake.write_deltalake(str(path), table, mode="overwrite", **options)
    return path


def test_of_a_delta_table_the_files_are_meant_that_it_consists_of_now(tmp_path: Path) -> None:
    table = _delta(_delta(tmp_path / "trips"))

    score(table, tmp_path / "out")

    assert len(list(table.glob("*.parquet"))) == 2
    assert [row["id"] for row in scores(tmp_path / "out")] == ["a", "b", "c"]


def test_columns_that_a_delta_table_is_partitioned_by_are_read_from_its_log(tmp_path: Path) -> None:
    table = _delta(tmp_path / "trips", partition_by=["case_id"])

    constants = [fragment.constants for fragment in find_fragments([str(table)], PLAN)]

    assert sorted(constants) == [(("case_id", "x"),), (("case_id", "y"),)]


def _rewrite_log(table: Path, **changes: dict[str, Any]) -> None:
    """Change actions of the log as other writers of Delta tables would have written them."""
    log = table / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        for kind in changes.keys() & action.keys():
            action[kind].update(changes[kind])
    log.write_text("".join([json.dumps(action) + "\n" for action in actions]))


_DELETING = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors"],
    "writerFeatures": ["deletionVectors"],
}


def test_a_delta_table_with_deleted_rows_in_its_files_is_refused(tmp_path: Path) -> None:
    table = _delta(tmp_path / "trips")
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "sizeInBytes": 40, "cardinality": 2}
    _rewrite_log(table, protocol=_DELETING, add={"deletionVector": {**vector, "offset": 4}})

    with pytest.raises(InputError, match=r"trips: rows of this Delta table are deleted .* --engine spark"):
        _found(table)


def test_a_delta_table_that_could_have_deleted_rows_and_has_none_is_read(tmp_path: Path) -> None:
    table = _delta(tmp_path / "trips")
    _rewrite_log(table, protocol=_DELETING)

    assert len(_found(table)) == 1


def test_a_delta_table_whose_columns_go_by_other_names_is_refused(tmp_path: Path) -> None:
    table = _delta(tmp_path / "trips")
    schema = json.loads(deltalake.DeltaTable(str(table)).schema().to_json())
    for number, field in enumerate(schema["fields"], start=1):
        field["metadata"] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
    _rewrite_log(
        table,
        protocol={"minReaderVersion": 2, "minWriterVersion": 5},
        metaData={"configuration": {"delta.columnMapping.mode": "name"}, "schemaString": json.dumps(schema)},
    )

    with pytest.raises(InputError, match=r"trips: .*column mapping.* --engine spark"):
        _found(table)


def test_a_delta_table_needs_a_package_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = _delta(tmp_path / "trips")
    monkeypatch.setitem(sys.modules, "deltalake", None)

    with pytest.raises(MissingExtraError, match=r"reading it needs deltalake: pip install .*\[delta\]'"):
        _found(table)


def test_a_store_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere://x: Protocol not known: nowhere"):
        _found("nowhere://x/y")


def test_a_store_that_arrow_does_not_know_is_read_through_fsspec(tmp_path: Path) -> None:
    import fsspec

    table = write_table(tmp_path / "a.parquet", rows(3))
    with fsspec.filesystem("memory").open("/lake/in/a.parquet", "wb") as file:
        file.write(table.read_bytes())

    score("memory://lake/in/*.parquet", tmp_path / "out")

    assert len(scores(tmp_path / "out")) == 3


def test_a_table_may_be_written_by_others(tmp_path: Path) -> None:
    call = pa.struct([("name", pa.dictionary(pa.int32(), pa.string())), ("args", pa.large_string())])
    made = pa.array([[{"name": "search", "args": "{}"}, {"name": "book", "args": "{}"}]], pa.large_list(call))
    parquet.write_table(pa.table({"id": pa.array(["a"], pa.large_string()), "calls": made}), tmp_path / "a.parquet")

    score(tmp_path / "a.parquet", tmp_path / "out")

    assert [row["verdict"] for row in scores(tmp_path / "out")] == ["passed"]
