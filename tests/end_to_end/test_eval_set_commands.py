"""`rightcall check`, `convert` and `schema`, in a real process."""

import json
import os
from pathlib import Path

from tests.cases.evalsets import adk_files, uipath_files
from tests.processes import rightcall

ROOT = Path(__file__).parents[2]
DOCUMENT = uipath_files.eval_set(
    uipath_files.evaluation({"Counts": None, "Judge": None, "Mine": None}),
    uipath_files.evaluation({"Judge": None}, id="two"),
    evaluatorRefs=["Counts", "Judge", "Mine"],
)


def test_check_knows_all_formats_whatever_the_files_are_called(tmp_path: Path) -> None:
    uipath = uipath_files.write(tmp_path, DOCUMENT)
    adk = adk_files.write(
        tmp_path, adk_files.eval_set(adk_files.eval_case(adk_files.invocation("a", "b"))), name="x.txt"
    )
    native = tmp_path / "native.json"
    native.write_text('{"cases": [{"id": "a", "expect": {"contains": "x"}}]}')

    done = rightcall("check", str(uipath), str(adk), str(native))

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.replace(f"{tmp_path}{os.sep}", "").splitlines() == [
        "evaluations/eval-sets/default.json: 2 cases, 4 expectations (UiPath)",
        "  note: 'Mine' (file://../evaluators/custom/mine.py:MineEvaluator) was not checked: it is custom code, "
        "which is not imported here",
        "x.txt: 1 case, 2 expectations (ADK)",
        "native.json: 1 case, 1 expectation",
    ]


def test_a_mistake_in_any_format_is_one_line_and_the_exit_code_is_2(tmp_path: Path) -> None:
    path = uipath_files.write(tmp_path, uipath_files.eval_set(uipath_files.evaluation({"Nobody": None})))

    for command in ("check", "convert"):
        done = rightcall(command, str(path))

        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"rightcall: {path}:19:9: 'Nobody' names no evaluator of this eval set; known: ")
        assert done.stderr.count("\n") == 1


def test_convert_writes_a_file_once(tmp_path: Path) -> None:
    source = uipath_files.write(tmp_path, DOCUMENT)
    target = source.with_name("converted.yaml")

    first = rightcall("convert", str(source), "--output", str(target))
    written = target.read_text(encoding="utf-8")
    target.write_text("mine")
    second = rightcall("convert", str(source), "--output", str(target))
    kept = target.read_text()
    third = rightcall("convert", str(source), "--output", str(target), "--force")

    assert (first.returncode, first.stdout, first.stderr) == (0, "", "")
    assert (second.returncode, kept) == (2, "mine")
    assert "already exists; choose another name, or use --force" in second.stderr
    assert (third.returncode, target.read_text(encoding="utf-8")) == (0, written)
    assert rightcall("check", str(target)).stdout.startswith(f"{target}: 2 cases, 4 expectations\n")


def test_convert_prints_utf_8_on_any_terminal(tmp_path: Path) -> None:
    turn = adk_files.invocation("東京の天気", "晴れ")
    source = adk_files.write(tmp_path, adk_files.eval_set(adk_files.eval_case(turn)))

    done = rightcall("convert", str(source), PYTHONIOENCODING="ascii")

    assert done.returncode == 0
    assert "東京の天気" in done.stdout


def test_convert_says_when_it_cannot_write(tmp_path: Path) -> None:
    source = adk_files.write(tmp_path, adk_files.eval_set(adk_files.eval_case(adk_files.invocation("a", "b"))))

    done = rightcall("convert", str(source), "--output", str(tmp_path / "nowhere" / "x.yaml"))

    assert done.returncode == 2
    assert "x.yaml: No such file or directory" in done.stderr


def test_half_a_surrogate_pair_survives_conversion(tmp_path: Path) -> None:
    source = tmp_path / "set.json"
    source.write_text('{"cases": [{"id": "a", "input": "\\ud800"}]}')

    done = rightcall("convert", str(source))

    assert done.returncode == 0
    assert json.loads(done.stdout)["cases"][0]["input"] == "\ud800"


def test_schema_prints_a_json_schema() -> None:
    done = rightcall("schema")

    assert done.returncode == 0
    assert json.loads(done.stdout)["title"] == "Rightcall eval set"


def test_neither_command_imports_what_a_file_names(tmp_path: Path) -> None:
    path = uipath_files.write(tmp_path, DOCUMENT)
    (tmp_path / "agent.py").write_text("raise SystemExit('imported')\n")
    native = tmp_path / "native.yaml"
    native.write_text("agent: agent.py:answer\ncases: [{id: a, expect: {calls: []}}]\n")

    for command in ("check", "convert"):
        for file in (path, native):
            assert rightcall(command, str(file), cwd=tmp_path).returncode == 0


def test_traces_are_scored_against_files_of_adk() -> None:
    done = rightcall(
        "score",
        str(ROOT / "docs" / "examples" / "shop.json"),
        "--evalset",
        str(ROOT / "docs" / "examples" / "shop.evalset.json"),
        cwd=ROOT,
    )

    assert done.returncode == 1
    assert "shop.evalset.json:13:15" in done.stdout


def test_a_folder_is_told_from_a_file(tmp_path: Path) -> None:
    done = rightcall("check", ".", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr == "rightcall: . is a folder; name the eval set in it\n"


def test_check_notes_a_bound_that_has_no_effect_at_its_place(tmp_path: Path) -> None:
    path = tmp_path / "poll.yaml"
    path.write_text(
        "cases:\n"
        "  - {id: a, expect: {calls: {match: in_order, expected: [{repeat: poll, at_most: 3}]}}}\n"
        "  - {id: b, expect: {calls: {match: in_order, extra: others, expected: [{repeat: poll, at_most: 3}]}}}\n"
        "  - {id: c, expect: {calls: [{repeat: poll, at_most: 3}]}}\n"
    )

    done = rightcall("check", str(path))

    note = "'at_most' has no effect where extra calls of `poll` are allowed; did you mean 'extra: others'?"
    assert done.returncode == 0
    assert done.stdout.splitlines()[1:] == [f"  note: {path}:2:73: {note}"]
