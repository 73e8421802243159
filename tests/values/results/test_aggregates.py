"""What each evaluator says over all cases."""

from rightcall.values.results import Aggregates, EvaluatorTotals


def test_results_are_counted_by_evaluator_and_scores_averaged() -> None:
    aggregates = Aggregates()

    aggregates.add([("order", "passed", 1.0), ("args", "failed", 0.5)])
    aggregates.add([("order", "failed", 0.25), ("args", "not_measured", None)])

    assert aggregates.by_evaluator() == {
        "order": EvaluatorTotals(passed=1, failed=1, mean_score=0.625),
        "args": EvaluatorTotals(failed=1, not_measured=1, mean_score=0.5),
    }


def test_what_has_no_score_is_no_zero() -> None:
    aggregates = Aggregates()

    aggregates.add([("order", "error", None)])

    assert aggregates.by_evaluator() == {"order": EvaluatorTotals(error=1)}
