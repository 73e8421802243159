"""Is a run worse than another one, or is it chance?"""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from tests.reporting.viewer.viewing import RIGHT, new_run, results_of
from tests.sampling import examples

from rightcall.errors import StoreError
from rightcall.reporting.changes import Gate, GateRule, GateSide, gate, gate_base
from rightcall.values.results import Totals

Counts = tuple[int, int]


def sides(*counts: Counts, errors: int = 0) -> dict[str, GateSide]:
    """Cases by number, each with passes and trials; `errors` more in the first."""
    return {
        f"case {number}": GateSide(Totals(passed, measured - passed, 0, errors if number == 0 else 0))
        for number, (passed, measured) in enumerate(counts)
    }


def compared(before: list[Counts], after: list[Counts], rule: GateRule | None = None) -> Gate:
    return gate(sides(*before), sides(*after), rule)


def test_a_loss_in_every_case_is_worse() -> None:
    said = compared([(14, 20), (18, 20), (17, 20)], [(9, 20), (11, 20), (9, 20)])

    assert (said.verdict, said.exit_code) == ("worse", 1)
    assert [case.told for case in said.cases] == ["not told from chance", "likely worse", "worse"]
    assert said.interval == pytest.approx((-0.483955, -0.166501), abs=1e-6)


def test_one_case_that_died_is_worse_though_the_mean_is_not() -> None:
    said = compared([(5, 5), *[(4, 5)] * 10], [(0, 5), *[(4, 5)] * 10])

    assert said.verdict == "worse"
    assert [case.case_id for case in said.worse_cases] == ["case 0"]


def test_a_drop_that_is_ruled_out_is_no_worse() -> None:
    said = compared([(5, 5)] * 20, [(5, 5)] * 20)

    assert (said.verdict, said.exit_code) == ("no worse", 0)


def test_too_few_trials_are_inconclusive() -> None:
    said = compared([(1, 1)] * 20, [(1, 1)] * 20)

    assert (said.verdict, said.exit_code) == ("inconclusive", 0)
    assert compared([(1, 1)] * 20, [(1, 1)] * 20, GateRule(inconclusive="fail")).exit_code == 2


def test_a_gain_everywhere_is_better() -> None:
    assert compared([(2, 10)] * 5, [(9, 10)] * 5).verdict == "better"


def test_a_drop_that_is_allowed_passes() -> None:
    before, after = [(20, 20)] * 20, [(18, 20)] * 20

    assert compared(before, after).verdict == "worse"
    assert compared(before, after, GateRule(allow_drop=0.2, rule_out=0.2)).verdict == "no worse"


def test_errors_that_would_decide_are_inconclusive_and_never_pass() -> None:
    before, after = sides(*[(10, 10)] * 10), sides((6, 6), *[(10, 10)] * 9, errors=4)

    said = gate(before, after)

    assert (said.verdict, said.open_decides, said.exit_code) == ("inconclusive", True, 2)
    assert (said.if_failed, said.if_passed) == ("inconclusive", "no worse")
    assert said.open_trials == 4


def test_errors_that_change_nothing_leave_the_verdict() -> None:
    said = gate(sides(*[(20, 20)] * 50), sides((19, 19), *[(20, 20)] * 49, errors=1))

    assert (said.verdict, said.open_decides, said.exit_code) == ("no worse", False, 0)


def test_only_cases_with_the_same_question_are_compared() -> None:
    before = {"a": GateSide(Totals(5), "one"), "b": GateSide(Totals(5), "two"), "gone": GateSide(Totals(5))}
    after = {"a": GateSide(Totals(5), "one"), "b": GateSide(Totals(0, 5), "other"), "new": GateSide(Totals(0, 5))}

    said = gate(before, after)

    assert [case.case_id for case in said.cases] == ["a"]
    assert said.left_out.changed == ("b",)
    assert (said.left_out.only_before, said.left_out.only_after) == (("gone",), ("new",))


def test_nothing_to_compare_is_not_a_pass() -> None:
    said = gate({}, sides((5, 5)))

    assert (said.verdict, said.exit_code) == ("inconclusive", 2)


def test_a_case_without_any_answer_is_named() -> None:
    said = gate(sides((5, 5), (5, 5)), sides((0, 0), (5, 5), errors=5))

    assert said.left_out.open == ("case 0",)
    assert said.open_decides


def test_a_look_that_sees_a_case_lose_half_goes_on() -> None:
    before = [(10, 10)] * 50

    assert compared(before, [(3, 3)] * 50, GateRule(rule_out=0.2)).may_stop
    assert not compared(before, [(1, 3), *[(3, 3)] * 49], GateRule(rule_out=0.2)).may_stop


CASES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6), st.integers(0, 6)).filter(
        lambda case: case[0] + case[1] > 0 and case[2] + case[3] > 0
    ),
    min_size=1,
    max_size=5,
)
_STRICT = {"better": 0, "no worse": 0, "inconclusive": 1, "worse": 2}


def both(cases: list[tuple[int, int, int, int]]) -> tuple[dict[str, GateSide], dict[str, GateSide]]:
    before = {str(number): GateSide(Totals(case[0], case[1])) for number, case in enumerate(cases)}
    return before, {str(number): GateSide(Totals(case[2], case[3])) for number, case in enumerate(cases)}


@given(CASES)
def test_both_sides_swapped_swap_better_and_worse_of_all_cases(cases: list[tuple[int, int, int, int]]) -> None:
    before, after = both(cases)

    there, back = gate(before, after), gate(after, before)

    assert there.odds is not None and back.odds is not None  # noqa: PT018
    assert there.odds[:2] == pytest.approx(back.odds[1::-1])
    if there.verdict == "better":
        assert back.verdict == "worse"


@given(CASES, st.floats(0.0, 0.5), st.floats(0.0, 0.5))
@examples(60)
def test_a_wider_margin_is_never_stricter(cases: list[tuple[int, int, int, int]], margin: float, more: float) -> None:
    before, after = both(cases)
    strict, lax = (
        GateRule(rule_out=margin, allow_drop=margin),
        GateRule(rule_out=margin + more, allow_drop=margin + more),
    )

    assert _STRICT[gate(before, after, lax).verdict] <= _STRICT[gate(before, after, strict).verdict]


@given(CASES, st.integers(0, 3), st.integers(0, 3))
@examples(60)
def test_open_trials_give_one_of_the_two_ways_to_count_them(
    cases: list[tuple[int, int, int, int]], old: int, new: int
) -> None:
    before, after = both(cases)
    before["0"] = GateSide(Totals(cases[0][0], cases[0][1], old))
    after["0"] = GateSide(Totals(cases[0][2], cases[0][3], 0, new))

    said = gate(before, after)

    assert said.open_decides == (said.if_failed != said.if_passed)
    assert said.verdict in (said.if_failed, said.if_passed, "inconclusive") or not (old or new)


def test_a_branch_is_its_newest_finished_run_of_the_eval_set(tmp_path: Path) -> None:
    runs, shop, other = tmp_path / "runs", str(tmp_path / "shop.yaml"), str(tmp_path / "other.yaml")
    results = results_of(tmp_path, laptop_search=RIGHT)
    new_run(runs, *results, evalset=shop)
    newest = new_run(runs, *results, evalset=shop)
    new_run(runs, *results, evalset=shop, branch="topic")
    new_run(runs, *results, evalset=other)
    new_run(runs, *results, evalset=shop, is_complete=False)

    found = gate_base("main", shop, runs)

    assert (found.name, found.kept) == (f"main {newest.short_id}", newest.folder.name)
    assert found.sides["laptop_search"].trials == Totals(passed=1)


def test_a_run_that_is_not_finished_is_no_base(tmp_path: Path) -> None:
    run = new_run(tmp_path / "runs", *results_of(tmp_path, laptop_search=RIGHT), is_complete=False)

    with pytest.raises(StoreError, match="is not complete"):
        gate_base(run.folder.name, "shop.yaml", tmp_path / "runs")
