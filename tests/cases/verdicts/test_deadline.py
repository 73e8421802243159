"""A plain evaluator that takes too long is an error of its case, and the caller goes on."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from tests.builders import calls
from tests.waiting import PATIENCE

from rightcall.cases.evalsets import Case, Check
from rightcall.cases.verdicts import JudgingExecutor
from rightcall.judging import EVALUATORS, ToolCallOrderEvaluator
from rightcall.judging.core._evaluator import Measurement
from rightcall.values.results import Source

PROJECT = Path(__file__).parents[3]
HERE = Source("shop.yaml", 1, 1)
MADE = calls("search", "book")
BEGUN, RELEASED = threading.Event(), threading.Event()


@pytest.fixture(autouse=True)
def _release() -> Iterator[None]:
    BEGUN.clear()
    RELEASED.clear()
    yield
    RELEASED.set()


class Endless(ToolCallOrderEvaluator):
    """Judges until it is let go."""

    def measure(self, selection: Any, plan: Any) -> Measurement:
        BEGUN.set()
        RELEASED.wait()
        return super().measure(selection, plan)


class Raising(ToolCallOrderEvaluator):
    """Ends the process, if it may."""

    def measure(self, selection: Any, plan: Any) -> Measurement:
        raise SystemExit(7)


def check(evaluator: Any, *names: str) -> Check:
    return Check(evaluator.id, evaluator, evaluator.criteria({"tool_calls_order": list(names)}), lambda path: HERE)


def plain(*names: str) -> Check:
    return check(EVALUATORS["tool-call-order"]("order"), *names)


def case(*checks: Check, case_id: str = "a") -> Case:
    return Case(id=case_id, source=HERE, checks=checks)


def waited_for(judging: JudgingExecutor, futures: list[Any], seconds: float = 20.0) -> list[Any]:
    end = monotonic() + seconds
    while not all(future.done() for future in futures):
        assert monotonic() < end
        judging.check_deadline()
        threading.Event().wait(0.005)
    return [future.result() for future in futures]


def test_whoever_submits_a_case_is_not_kept_waiting() -> None:
    with JudgingExecutor(timeout=60) as judging:
        future = judging.submit(case(check(Endless("endless"), "search")), MADE)
        was_done = future.done()
        RELEASED.set()
        [result] = waited_for(judging, [future])

    assert not was_done
    assert result.passed


def test_an_evaluator_that_is_at_work_keeps_its_time() -> None:
    with JudgingExecutor(timeout=PATIENCE) as judging:
        future = judging.submit(case(check(Endless("endless"), "search")), MADE)
        assert BEGUN.wait(PATIENCE)
        judging.check_deadline()
        was_done = future.done()
        RELEASED.set()
        [result] = waited_for(judging, [future])

    assert not was_done
    assert result.passed


def test_an_evaluator_that_takes_too_long_costs_its_case_and_no_other() -> None:
    with JudgingExecutor(timeout=1) as judging:  # long enough for the others on a busy machine
        late = judging.submit(case(check(Endless("endless"), "search"), plain("search", "book")), MADE)
        others = [judging.submit(case(plain("search", "book"), case_id=f"c{n}"), MADE) for n in range(20)]
        [result, *passed] = waited_for(judging, [late, *others])

    assert [each.verdict for each in result.results] == ["error", "passed"]
    assert result.results[0].error == "RC404 'endless' did not answer within 1 s"
    assert [each.finding.code for each in result.findings] == ["RC404"]
    assert all(each.passed for each in passed)


def test_an_answer_that_comes_after_all_changes_nothing() -> None:
    with JudgingExecutor(timeout=1) as judging:
        [result] = waited_for(judging, [judging.submit(case(check(Endless("endless"), "search")), MADE)])
        RELEASED.set()
        [other] = waited_for(judging, [judging.submit(case(plain("book")), MADE)])

    assert result.verdict == "error"
    assert other.passed


def test_the_results_are_those_that_judging_at_once_gives() -> None:
    cases = [case(plain("search", "book")), case(plain("book", "search")), case(plain("search"), plain("x")), case()]

    with JudgingExecutor() as at_once, JudgingExecutor(timeout=60) as aside:
        expected = [at_once.submit(each, MADE).result() for each in cases]
        results = waited_for(aside, [aside.submit(each, MADE) for each in cases])

    assert [(each.verdict, each.score, each.findings) for each in results] == [
        (each.verdict, each.score, each.findings) for each in expected
    ]


def test_what_ends_a_process_is_raised_where_the_result_is_waited_for() -> None:
    with JudgingExecutor(timeout=60) as judging:
        future = judging.submit(case(check(Raising("raising"), "search")), MADE)
        with pytest.raises(SystemExit):
            future.result(20)
        [other] = waited_for(judging, [judging.submit(case(plain("book")), MADE)])

    assert other.passed


def test_what_is_not_judged_at_the_end_is_cancelled() -> None:
    from concurrent.futures import CancelledError

    with JudgingExecutor(timeout=60) as judging:
        futures = [judging.submit(case(check(Endless("endless"), "search")), MADE) for _ in range(3)]

    for future in futures:
        with pytest.raises(CancelledError):
            future.result(5)


def test_no_thread_is_left_when_judging_is_over() -> None:
    before = set(threading.enumerate())
    with JudgingExecutor(timeout=60) as judging:
        waited_for(judging, [judging.submit(case(plain("book")), MADE)])
        started = [each for each in threading.enumerate() if each.name == "rightcall-verdicts" and each not in before]

    judging.close()  # once more, which changes nothing
    for thread in started:
        thread.join(20)
    assert [thread.is_alive() for thread in started] == [False]


def test_an_evaluator_that_never_ends_does_not_keep_the_process() -> None:
    judged = (
        "from tests.cases.verdicts.test_deadline import *\n"
        "with JudgingExecutor(timeout=0.05) as judging:\n"
        "    [result] = waited_for(judging, [judging.submit(case(check(Endless('endless'), 'search')), MADE)])\n"
        "print(result.verdict)\n"
    )

    command = [sys.executable, "-c", judged]
    ended = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=PATIENCE, check=True)

    assert ended.stdout == "error\n"


def test_who_waits_for_a_result_cannot_cancel_it() -> None:
    with JudgingExecutor(timeout=60) as judging:
        future = judging.submit(case(check(Endless("endless"), "search")), MADE)
        was_cancelled = future.cancel()
        RELEASED.set()
        [result] = waited_for(judging, [future])

    assert not was_cancelled
    assert result.passed
