"""UiPath's classifiers: each case is scored, and all of them are judged by one figure."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.cases.evalsets.uipath_files import eval_set, evaluation, write
from tests.sampling import examples

from rightcall import DocumentError, Trajectory
from rightcall.cases.evalsets import EvalSet, convert_eval_set, load_eval_set
from rightcall.cases.verdicts import Overall, judge
from rightcall.values.results import OverallResult

PAIRS = [("spam", "Spam"), ("ham", "spam"), ("spam", "ham"), ("Ham", "ham"), ("spam", "spam")]


def written(folder: Path, expected: Sequence[Any], kind: str = "binary", **config: Any) -> Path:
    """An eval set with a case for each expected class."""
    needed: dict[str, Any] = {"positiveClass": "spam"} if kind == "binary" else {"classes": ["spam", "ham", "other"]}
    config = {"name": "Kinds", "targetOutputKey": "mail.kind", **needed, **config}
    evaluator = {"version": "1.0", "id": "mail/kind", "evaluatorTypeId": f"uipath-{kind}-classification"}
    cases = [
        evaluation({"Kinds": {"expectedClass": each} if isinstance(each, str) else each}, id=f"case{number}")
        for number, each in enumerate(expected)
    ]
    return write(
        folder,
        eval_set(*cases, evaluatorRefs=["mail/kind"]),
        {"kinds.json": {**evaluator, "evaluatorConfig": {key: each for key, each in config.items() if each != ""}}},
    )


def concluded(eval_set: EvalSet, found: Sequence[Any]) -> tuple[list[float | None], OverallResult]:
    """The score of each case, all of which pass, and what is said of all of them."""
    overall, scores = Overall(eval_set.overall), []
    for case, each in zip(eval_set.cases, found, strict=True):
        result = judge(case, Trajectory.of([], output={"mail": {"kind": each}}))
        assert result.passed
        scores.append(result.score)
        overall.add(overall.see(case, result))
    [said] = overall.results()
    return scores, said


def judged(folder: Path, pairs: Sequence[tuple[str, Any]], kind: str = "binary", **config: Any) -> Any:
    path = written(folder, [expected for expected, _ in pairs], kind, **config)
    return concluded(load_eval_set(path), [found for _, found in pairs])


def test_each_case_has_its_score_and_the_figure_is_judged(tmp_path: Path) -> None:
    scores, said = judged(tmp_path, PAIRS)

    assert scores == [1.0, 0.0, 0.0, 1.0, 1.0]
    assert (said.evaluator, said.verdict, said.score) == ("mail/kind", "failed", pytest.approx(2 / 3))
    assert said.reason == "precision of 'spam' 0.6667 over 5 cases, and 1 is needed"
    assert said.source.file.endswith("kinds.json")


@pytest.mark.parametrize(
    ("kind", "config", "score"),
    [
        ("binary", {}, 2 / 3),
        ("binary", {"metricType": "recall"}, 2 / 3),
        ("binary", {"metricType": "recall", "positiveClass": "HAM"}, 1 / 2),
        ("binary", {"metricType": "f-score"}, 2 / 3),
        ("binary", {"metricType": "f-score", "fValue": 2, "positiveClass": "ham"}, 1 / 2),
        ("multiclass", {"classes": ["ham", "spam"]}, (2 / 3 + 1 / 2) / 2),
        ("multiclass", {"metricType": "precision", "averaging": "micro"}, 3 / 5),
    ],
)
def test_the_figure_is_the_one_that_the_configuration_asks_for(
    tmp_path: Path, kind: str, config: dict[str, Any], score: float
) -> None:
    _, said = judged(tmp_path, PAIRS, kind, **config)

    assert said.score == pytest.approx(score)


@examples(60)
@given(
    pairs=st.lists(st.tuples(st.sampled_from(["spam", "ham"]), st.sampled_from(["spam", "Ham", "x"])), min_size=1),
    metric=st.sampled_from(["precision", "recall", "f-score"]),
    beta=st.sampled_from([0.5, 1, 2.0]),
)
def test_a_binary_figure_is_that_of_counting_hits_and_misses(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]], metric: str, beta: float
) -> None:
    seen = [(expected == "spam", found.lower() == "spam") for expected, found in pairs]
    hits, wrong, missed = seen.count((True, True)), seen.count((False, True)), seen.count((True, False))
    precision = hits / (hits + wrong) if hits + wrong else 0.0
    recall = hits / (hits + missed) if hits + missed else 0.0
    below = beta**2 * precision + recall
    figures = {"precision": precision, "recall": recall}
    figures["f-score"] = (1 + beta**2) * precision * recall / below if below else 0.0

    _, said = judged(tmp_path_factory.mktemp("set"), pairs, metricType=metric, fValue=beta)

    if hits + wrong + missed:
        assert said.score == pytest.approx(figures[metric])
    else:
        assert said.verdict == "not_measured"


def test_a_threshold_can_be_given(tmp_path: Path) -> None:
    assert judged(tmp_path, PAIRS, threshold=0.6)[1].verdict == "passed"


@pytest.mark.parametrize("found", [1, "1"])
def test_a_class_may_be_a_number_in_the_answer(tmp_path: Path, found: Any) -> None:
    scores, said = judged(tmp_path, [("1", found), ("0", 0)], positiveClass="1")

    assert (scores, said.score) == ([1.0, 1.0], 1.0)


def test_an_answer_that_is_json_in_a_text_is_read(tmp_path: Path) -> None:
    loaded = load_eval_set(written(tmp_path, ["spam"]))
    [case] = loaded.cases
    result = judge(case, Trajectory.of([], output='{"mail": {"kind": "spam"}}'))
    overall = Overall(loaded.overall)
    overall.add(overall.see(case, result))

    assert result.score == overall.results()[0].score == 1.0


def test_the_whole_answer_can_be_the_class(tmp_path: Path) -> None:
    loaded = load_eval_set(written(tmp_path, ["spam"], targetOutputKey="*"))
    [case] = loaded.cases
    result = judge(case, Trajectory.of([], output="SPAM"))
    overall = Overall(loaded.overall)
    overall.add(overall.see(case, result))

    assert result.score == overall.results()[0].score == 1.0


@pytest.mark.parametrize("criteria", [None, {}])
def test_a_case_without_a_class_of_its_own_expects_the_default(tmp_path: Path, criteria: Any) -> None:
    path = written(tmp_path, ["ham", criteria], defaultEvaluationCriteria={"expectedClass": "spam"})

    scores, said = concluded(load_eval_set(path), ["ham", "spam"])

    assert (scores, said.score) == ([1.0, 1.0], 1.0)


def test_what_is_converted_says_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, [expected for expected, _ in PAIRS], metricType="f-score", fValue=2, custom="kept")
    converted = path.parent / "converted.yaml"
    converted.write_text(convert_eval_set(path), encoding="utf-8")

    before, after = [concluded(load_eval_set(each), [found for _, found in PAIRS]) for each in (path, converted)]

    assert before[0] == after[0]
    assert (before[1].score, before[1].verdict) == (after[1].score, after[1].verdict)
    kept = load_eval_set(converted).metadata["uipath"]["evaluators"]["mail/kind"]
    assert kept["evaluatorTypeId"] == "uipath-binary-classification"
    assert (kept["evaluatorConfig"]["custom"], kept["evaluatorConfig"]["fValue"]) == ("kept", 2)


@pytest.mark.parametrize("config", [{"lineByLineEvaluator": True}, {"targetOutputKey": ["a", "b"]}], ids=str)
def test_what_has_no_counterpart_is_an_error_of_each_case(tmp_path: Path, config: dict[str, Any]) -> None:
    loaded = load_eval_set(written(tmp_path, ["spam"], **config))

    result = judge(loaded.cases[0], Trajectory.of([], output="spam"))

    assert loaded.overall == ()
    assert [each.finding.code for each in result.findings] == ["RC403"]


@pytest.mark.parametrize(
    ("kind", "config", "message"),
    [
        ("binary", {"positiveClass": ""}, "'positive_class' is missing"),
        ("binary", {"positiveClass": " "}, "positive_class: names of classes are expected, not ' '"),
        ("binary", {"metricType": "auc"}, "metric_type is one of precision, recall, f-score, not 'auc'"),
        ("binary", {"fValue": 0}, "beta"),
        ("binary", {"metricTyp": "recall"}, "unknown key 'metricTyp'; did you mean 'metricType'?"),
        ("multiclass", {"classes": []}, "classes: names of classes are expected"),
        ("multiclass", {"classes": ["a", 5]}, "classes: names of classes are expected"),
        ("multiclass", {"averaging": "none"}, "averaging is one of macro, micro, not 'none'"),
    ],
)
def test_a_mistake_in_the_configuration_is_told_in_its_file(
    tmp_path: Path, kind: str, config: dict[str, Any], message: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        load_eval_set(written(tmp_path, ["spam"], kind, **config))

    assert "evaluators/kinds.json:" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "criteria", "message"),
    [
        ("binary", None, "'expectedClass' is the name of a class, not None"),
        ("binary", {"expectedClass": 5}, "'expectedClass' is the name of a class, not 5"),
        ("binary", {"expectedClas": "spam"}, "unknown key 'expectedClas'; did you mean 'expectedClass'?"),
        ("binary", ["spam"], "an object is expected, not ['spam']"),
        ("multiclass", {"expectedClass": "span"}, "'span' is not one of the classes; did you mean 'spam'?"),
    ],
)
def test_a_mistake_in_the_criteria_is_told_at_its_place(tmp_path: Path, kind: str, criteria: Any, message: str) -> None:
    path = written(tmp_path, [criteria], kind)
    [line] = [number for number, text in enumerate(path.read_text().splitlines(), 1) if '"Kinds"' in text]

    with pytest.raises(DocumentError) as caught:
        load_eval_set(path)

    assert f"default.json:{line}:" in str(caught.value)
    assert message in str(caught.value)


def test_an_evaluator_that_no_case_asks_for_says_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, ["spam"])
    document = json.loads(path.read_text())
    document["evaluations"][0]["evaluationCriterias"] = {}
    path.write_text(json.dumps(document))

    assert load_eval_set(path).overall == ()
