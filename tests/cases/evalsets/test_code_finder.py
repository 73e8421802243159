"""Where evaluators of the user's own are looked for, what is imported, and what is not."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from tests.cases.evalsets import uipath_files

from rightcall import DocumentError, Trajectory, judge, load_eval_set
from rightcall.cases.evalsets import code_files, convert_eval_set, load_eval_set_with_code
from rightcall.judging import CustomEvaluator, installed_evaluators

CHECKS = """\
IMPORTED = __import__("builtins").__dict__.setdefault("checks_imported", [])
IMPORTED.append(__file__)

def polite(output):
    return "please" in output

class Inside:
    @staticmethod
    def polite(output):
        return True
"""
WRITTEN = """\
evaluators:
  polite: {{type: "{type}"}}
cases:
  - {{id: a, input: x, expect: {{polite: {criteria}}}}}
"""


@pytest.fixture(autouse=True)
def imported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was imported of these checks; and nothing of it is left for other tests."""
    import builtins

    monkeypatch.setattr(builtins, "checks_imported", [], raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("checks", "mine", "broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return builtins.checks_imported  # type: ignore[no-any-return,attr-defined]


def project(folder: Path, type: str = "checks.py:polite", criteria: str = "true") -> Path:
    (folder / "rightcall.toml").touch()
    (folder / "checks.py").write_text(CHECKS)
    (folder / "evals").mkdir()
    path = folder / "evals" / "shop.yaml"
    path.write_text(WRITTEN.format(type=type, criteria=criteria))
    return path


@pytest.mark.parametrize("type", ["checks.py:polite", "checks.py:Inside.polite", "file://../checks.py:polite"])
def test_code_of_the_project_is_found_and_judges(tmp_path: Path, type: str) -> None:
    [case] = load_eval_set_with_code(project(tmp_path, type)).cases

    assert judge(case, Trajectory.of([], output="Yes, please")).passed


def test_code_beside_the_eval_set_is_found(tmp_path: Path) -> None:
    path = project(tmp_path)
    (tmp_path / "checks.py").rename(tmp_path / "evals" / "checks.py")

    assert load_eval_set_with_code(path).cases


def test_loading_checking_and_converting_import_nothing(tmp_path: Path, imported: list[str]) -> None:
    path = project(tmp_path)

    [case] = load_eval_set(path).cases
    result = judge(case, Trajectory.of([], output="Yes, please"))
    convert_eval_set(path)

    assert imported == []
    assert (result.verdict, result.findings[0].finding.code) == ("error", "RC403")


@pytest.mark.parametrize("is_link", [False, True], ids=["by a path", "by a link"])
def test_code_outside_of_the_project_needs_trust(tmp_path: Path, imported: list[str], is_link: bool) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "checks.py").write_text(CHECKS)
    path = project(inside, "linked.py:polite" if is_link else "../checks.py:polite")
    (inside / "linked.py").symlink_to(tmp_path / "checks.py")

    with pytest.raises(DocumentError, match="is not inside the project of the eval set"):
        load_eval_set_with_code(path)
    assert imported == []
    assert load_eval_set_with_code(path, trust=True).cases


@pytest.mark.parametrize("mark", ["rightcall.toml", "pyproject.toml", ".git"])
@pytest.mark.parametrize("type", ["got/it/checks.py:polite", "linked.py:polite"], ids=["by a path", "by a link"])
def test_code_of_a_project_inside_of_ours_needs_trust(
    tmp_path: Path, imported: list[str], mark: str, type: str
) -> None:
    path = project(tmp_path, type)
    other = tmp_path / "got" / "it"
    other.mkdir(parents=True)
    (other / "checks.py").write_text(CHECKS)
    (other.parent / mark).touch()
    (tmp_path / "linked.py").symlink_to(other / "checks.py")

    with pytest.raises(DocumentError, match=r"is inside another project \(.*/got\) in the project of the eval set"):
        load_eval_set_with_code(path)
    assert imported == []
    assert load_eval_set_with_code(path, trust=True).cases


def test_code_of_ours_is_found_though_another_project_links_to_it(tmp_path: Path) -> None:
    path = project(tmp_path, "got/checks.py:polite")
    (tmp_path / "got").mkdir()
    (tmp_path / "got" / "pyproject.toml").touch()
    (tmp_path / "got" / "checks.py").symlink_to(tmp_path / "checks.py")

    assert load_eval_set_with_code(path).cases


def test_without_a_project_code_needs_trust(tmp_path: Path, imported: list[str]) -> None:
    path = project(tmp_path)
    (tmp_path / "rightcall.toml").unlink()
    (tmp_path / "checks.py").rename(tmp_path / "evals" / "checks.py")

    with pytest.raises(
        DocumentError, match=r"is in no project: .* pyproject.toml at or above the eval set; give --trust"
    ):
        load_eval_set_with_code(path)
    assert imported == []


@pytest.mark.parametrize(
    ("type", "criteria", "message"),
    [
        ("cheks.py:polite", "true", r"shop.yaml:2:12: no file cheks.py in .*; did you mean 'checks.py'\?"),
        ("checks.py:polit", "true", r"shop.yaml:2:12: checks.py has no 'polit'; did you mean 'polite'\?"),
        ("checks.py:IMPORTED", "true", r"shop.yaml:2:12: checks.py:IMPORTED is a list; an evaluator is a function"),
        ("broken.py:polite", "true", r"shop.yaml:2:12: .*broken.py:1: the evaluator cannot be imported: ZeroDiv"),
        ("checks.py:polite", "{words: []}", r"shop.yaml:4:41: 'polite' takes no criteria"),
        ("file://checks", "true", r"shop.yaml:2:12: 'file://checks' is not an evaluator"),
    ],
)
def test_mistakes_are_told_at_their_place(tmp_path: Path, type: str, criteria: str, message: str) -> None:
    path = project(tmp_path, type, criteria)
    (tmp_path / "broken.py").write_text("1 / 0")

    with pytest.raises(DocumentError, match=message):
        load_eval_set_with_code(path)


def test_a_turn_cannot_expect_something_of_code(tmp_path: Path) -> None:
    path = project(tmp_path)
    path.write_text(
        path.read_text().replace("input: x, expect: {polite: true}", "turns: [{input: x, expect: {polite: true}}]")
    )

    with pytest.raises(DocumentError, match="'polite' belongs to the case"):
        load_eval_set(path)


def test_an_installed_package_brings_evaluators_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project(tmp_path, "politeness")
    point = EntryPoint("politeness", "checks:polite", "rightcall.evaluators")
    monkeypatch.setitem(installed_evaluators(), "politeness", point)
    monkeypatch.syspath_prepend(str(tmp_path))

    [case] = load_eval_set_with_code(path).cases
    path.write_text("cases: [{id: a, input: x, expect: {politeness: true}}]")
    [direct] = load_eval_set_with_code(path).cases

    for each in (case, direct):
        assert judge(each, Trajectory.of([], output="Yes, please")).passed
        assert isinstance(each.checks[0].evaluator, CustomEvaluator)


UIPATH = """\
from rightcall.judging import BaseEvaluationCriteria, BaseEvaluator, BaseEvaluatorConfig, NumericEvaluationResult

class Criteria(BaseEvaluationCriteria):
    x: int

class Config(BaseEvaluatorConfig[Criteria]):
    name: str = "Mine"

class MineEvaluator(BaseEvaluator[Criteria, Config, str]):
    @classmethod
    def get_evaluator_id(cls):
        return "Mine"

    async def evaluate(self, agent_execution, evaluation_criteria):
        found = [span for span in agent_execution.agent_trace if span.name == "look_up"]
        return NumericEvaluationResult(score=float(len(found) == evaluation_criteria.x), details="counted")
"""


@pytest.mark.parametrize(("x", "verdict"), [(1, "passed"), (2, "failed")])
def test_an_evaluator_in_uipaths_layout_is_found_by_its_schema(tmp_path: Path, x: int, verdict: str) -> None:
    document: Any = uipath_files.eval_set(uipath_files.evaluation({"Mine": {"x": x}}), evaluatorRefs=["Mine"])
    path = uipath_files.write(tmp_path, document)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "evaluations" / "evaluators" / "custom" / "mine.py").write_text(UIPATH)

    [case] = load_eval_set_with_code(path).cases

    assert judge(case, Trajectory.of(["look_up"])).verdict == verdict


def test_code_that_has_changed_is_imported_anew(tmp_path: Path) -> None:
    path = project(tmp_path)
    answer = Trajectory.of([], output="Yes, please")

    before = judge(load_eval_set_with_code(path).cases[0], answer)
    (tmp_path / "checks.py").write_text(CHECKS.replace('"please"', '"sorry"'))
    after = judge(load_eval_set_with_code(path).cases[0], answer)

    assert (before.verdict, after.verdict) == ("passed", "failed")


def test_the_files_of_code_are_known_without_importing_them(tmp_path: Path, imported: list[str]) -> None:
    path = project(tmp_path)
    (tmp_path / "helper.py").touch()

    assert [file.name for file in code_files(path)] == ["checks.py", "helper.py"]
    path.write_text("cases: nonsense")
    assert code_files(path) == []
    assert imported == []
