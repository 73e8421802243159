"""`rightcall accept --learn`, as a user gives it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.processes import rightcall

ROOT = Path(__file__).parents[2]
GOLDEN = str(ROOT / "docs" / "examples" / "golden.jsonl")


def test_a_new_eval_set_has_what_good_runs_have_in_common_and_they_all_pass_it(tmp_path: Path) -> None:
    done = rightcall("accept", GOLDEN, "--evalset", "new.yaml", "--learn", cwd=tmp_path)
    score = rightcall("score", GOLDEN, "--evalset", "new.yaml", cwd=tmp_path)
    again = rightcall("accept", GOLDEN, "--evalset", "new.yaml", "--learn", cwd=tmp_path)

    assert done.returncode == 0
    assert "reserve: learned from 6 good runs" in done.stdout
    assert "- optional: {log_in: {user: ann}}  # 3 of 6 runs" in (tmp_path / "new.yaml").read_text()
    assert score.returncode == 0
    assert again.stdout.splitlines()[-1] == "nothing to change, 1 unchanged"


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    done = rightcall("accept", GOLDEN, "--evalset", "new.yaml", "--learn", "--dry-run", cwd=tmp_path)

    assert done.stdout.endswith("1 case would be learned\n")
    assert not (tmp_path / "new.yaml").exists()


def test_traces_without_a_case_are_one_if_they_have_the_same_input(tmp_path: Path) -> None:
    rows = [{"input": "Hello there", "calls": [{"name": name, "args": {}}]} for name in ("a", "b", "a")]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    rightcall("accept", "t.jsonl", "--evalset", "new.yaml", "--learn", cwd=tmp_path)

    assert "  - id: hello-there\n" in (tmp_path / "new.yaml").read_text()
    assert "one_of: [a, b]" in (tmp_path / "new.yaml").read_text()


@pytest.mark.parametrize("options", [["--dry-run"], []], ids=["dry run", "written"])
def test_a_case_that_is_left_alone_is_named_where_it_is_in_the_file(tmp_path: Path, options: list[str]) -> None:
    file = tmp_path / "set.yaml"
    file.write_text("cases:\n  - id: reserve\n  - id: lost\n    expect: {calls: [a]}\n")

    done = rightcall("accept", GOLDEN, "--evalset", "set.yaml", "--learn", *options, cwd=tmp_path)

    place = file.read_text().splitlines().index("  - id: lost") + 1
    assert (place == 3) is bool(options)
    assert f"set.yaml:{place}:5: RC303 lost: left alone" in done.stdout


def test_a_case_that_no_run_passes_is_left_alone_with_exit_code_1(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text("cases:\n  - id: reserve\n    expect: {calls: [nothing]}\n")

    done = rightcall("accept", GOLDEN, "--evalset", "set.yaml", "--learn", cwd=tmp_path)

    assert done.returncode == 1
    assert "left alone: none of its 6 runs passes; --golden all takes every run as good" in done.stdout


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        ("a", "! only 1 good run: what it did may be luck"),
        ("b", "left alone: its only run does not pass; --golden all takes every run as good"),
    ],
)
def test_a_single_run_is_counted_as_one(tmp_path: Path, expected: str, sentence: str) -> None:
    (tmp_path / "set.yaml").write_text(f"cases:\n  - id: one\n    input: Hello\n    expect: {{calls: [{expected}]}}\n")
    row = {"case": "one", "input": "Hello", "calls": [{"name": "a", "args": {}}]}
    (tmp_path / "t.jsonl").write_text(json.dumps(row) + "\n")

    done = rightcall("accept", "t.jsonl", "--evalset", "set.yaml", "--learn", "--join", "order", cwd=tmp_path)

    assert sentence in done.stdout


@pytest.mark.parametrize("strict", ["0", "1", "2"])
def test_the_level_can_be_chosen(tmp_path: Path, strict: str) -> None:
    done = rightcall("accept", GOLDEN, "--evalset", "new.yaml", "--learn", "--strict", strict, cwd=tmp_path)

    assert done.returncode == 0
    assert ("ignore_tools" in (tmp_path / "new.yaml").read_text()) is (strict != "2")
