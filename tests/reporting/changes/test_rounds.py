"""A gate over rounds: it looks at whole rounds, in any order of trials, and says the same when it is asked again."""

from __future__ import annotations

from itertools import product

from hypothesis import given, strategies as st
from tests.sampling import examples

from rightcall.reporting.changes import Decision, GatePlan, GateRule, GateSide, Rounds, gate
from rightcall.values.results import Totals, Verdict
from rightcall.values.statistics import looks

Trial = tuple[str, int, Verdict]
CASES = ("a", "b", "c")
GOOD: Verdict = "passed"
BAD: Verdict = "failed"


def side(passed: int, failed: int = 0, question: str = "q") -> GateSide:
    return GateSide(Totals(passed, failed), question)


def plan(**known: object) -> GatePlan:
    fields: dict[str, object] = {
        "rule": GateRule(),
        "least": 3,
        "most": 6,
        "questions": dict.fromkeys(CASES, "q"),
        "base": dict.fromkeys(CASES, side(10)),
        "base_name": "main",
        **known,
    }
    return GatePlan(**fields)  # type: ignore[arg-type]


def decided(asked: GatePlan, trials: list[Trial]) -> Decision | None:
    rounds = Rounds(asked)
    for trial in trials:
        rounds.add(*trial)
    return rounds.decision


def every(verdicts: dict[str, str], rounds: int) -> list[Trial]:
    """Trials of all cases, round by round: `x` failed, `!` in error, else passed; the last mark is repeated."""
    kinds: dict[str, Verdict] = {"x": BAD, "!": "error"}
    return [
        (case, round_, kinds.get(marks[min(round_, len(marks) - 1)], GOOD))
        for round_ in range(rounds)
        for case, marks in verdicts.items()
    ]


@st.composite
def runs(draw: st.DrawFn) -> tuple[GatePlan, list[Trial]]:
    least = draw(st.integers(1, 3))
    most = draw(st.integers(least, 6))
    base = {
        case: side(*draw(st.tuples(st.integers(0, 5), st.integers(0, 5))), draw(st.sampled_from("qqqr")))
        for case in CASES
    }
    must = frozenset(draw(st.sets(st.sampled_from(CASES), max_size=1)))
    rate = draw(st.sampled_from([None, 0.5, 0.9]))
    asked = plan(least=least, most=most, base=draw(st.sampled_from([base, base, None])), must=must, min_rate=rate)
    kinds: list[Verdict] = ["passed", "passed", "failed", "error", "not_measured"]
    verdicts = st.sampled_from(kinds)
    return asked, [(case, repeat, draw(verdicts)) for repeat, case in product(range(most), CASES)]


@examples(60)
@given(runs(), st.randoms(use_true_random=False))
def test_the_order_of_trials_changes_nothing(made: tuple[GatePlan, list[Trial]], random: object) -> None:
    asked, trials = made
    shuffled = sorted(trials, key=lambda _: random.random())  # type: ignore[attr-defined]

    assert decided(asked, shuffled) == decided(asked, trials)


@examples(60)
@given(runs())
def test_a_journal_cut_at_the_deciding_round_says_the_same(made: tuple[GatePlan, list[Trial]]) -> None:
    asked, trials = made
    whole = decided(asked, trials)
    assert whole is not None
    cut = [trial for trial in trials if trial[1] < whole.rounds]

    assert decided(asked, cut) == whole
    assert decided(asked, cut[:-1]) is None


@examples(60)
@given(runs())
def test_the_first_look_that_may_stop_is_the_one_that_counts(made: tuple[GatePlan, list[Trial]]) -> None:
    asked, trials = made
    if asked.base is None or asked.min_rate is not None or asked.own:
        return
    for rounds, share in looks(asked.least, asked.most):
        sides = {
            case: GateSide(
                Totals.of([verdict for each, repeat, verdict in trials if each == case and repeat < rounds]), "q"
            )
            for case in CASES
        }
        said = gate(asked.base, sides, asked.rule, share)
        if said.may_stop or rounds == asked.most:
            break

    found = decided(asked, trials)

    assert found is not None
    assert (found.gate, found.rounds, found.exit_code) == (said, rounds, said.exit_code)


def test_one_look_is_the_gate_without_rounds() -> None:
    asked = plan(least=5, most=5)

    found = decided(asked, every({"a": "x", "b": ".", "c": "."}, 5))

    assert found is not None
    assert found.gate == gate(dict.fromkeys(CASES, side(10)), {"a": side(0, 5), "b": side(5), "c": side(5)})
    assert found.exit_code == 1


def test_a_case_that_must_pass_fails_by_one_trial() -> None:
    asked = plan(must=frozenset("a"), base=dict.fromkeys(CASES, side(5, 5)))

    found = decided(asked, every({"a": "..x.", "b": ".", "c": "."}, 6))

    assert found is not None
    assert (found.failed, found.exit_code, found.rounds) == (("a",), 1, 3)


def test_a_case_that_the_base_lacks_is_judged_by_itself() -> None:
    asked = plan(base={"a": side(10), "b": side(10, question="another")})

    fails = decided(asked, every({"a": ".", "b": ".", "c": "...x."}, 6))
    breaks = decided(asked, every({"a": ".", "b": "!", "c": "."}, 6))

    assert fails is not None
    assert fails.plan.own == {"b", "c"}
    assert (fails.failed, fails.exit_code) == (("c",), 1)
    assert breaks is not None
    assert (breaks.unmeasured, breaks.exit_code) == (("b",), 2)


def test_such_a_case_may_have_a_rule_of_its_own() -> None:
    asked = plan(base={"a": side(10), "b": side(10)}, needed={"c": 4})

    found = decided(asked, every({"a": ".", "b": ".", "c": "xx...."}, 6))

    assert found is not None
    assert (found.failed, found.exit_code, found.rounds) == ((), 0, 6)


def test_nothing_to_compare_is_not_a_pass() -> None:
    found = decided(plan(base={"z": side(10)}, questions={"a": "q"}), every({"a": "."}, 6))

    assert found is not None
    assert found.exit_code == 2


def test_a_rate_that_is_reached_ends_the_run_early() -> None:
    questions = {f"c{number}": "q" for number in range(20)}
    asked = plan(base=None, questions=questions, least=3, most=20, min_rate=0.9)

    passes = decided(asked, every(dict.fromkeys(questions, "."), 20))
    fails = decided(asked, every({case: "x" if case < "c14" else "." for case in questions}, 20))

    assert passes is not None
    assert passes.floor is not None
    assert (passes.floor.verdict, passes.exit_code, passes.rounds) == ("passes", 0, 4)
    assert fails is not None
    assert fails.floor is not None
    assert (fails.floor.verdict, fails.exit_code) == ("fails", 1)


def test_a_rate_that_cannot_be_told_is_not_a_pass_unless_asked_for() -> None:
    asked = plan(base=None, questions={"a": "q"}, min_rate=0.9)
    trials = every({"a": "."}, 6)

    strict, relaxed = decided(asked, trials), decided(plan(**_fields(asked), floor_inconclusive="pass"), trials)

    assert strict is not None
    assert relaxed is not None
    assert (strict.exit_code, relaxed.exit_code) == (2, 0)


def test_trials_without_an_answer_that_decide_about_a_rate_are_never_a_pass() -> None:
    questions = {f"c{number}": "q" for number in range(20)}
    asked = plan(base=None, questions=questions, least=6, most=6, min_rate=0.9, floor_inconclusive="pass")

    found = decided(asked, every({case: "!" if case < "c14" else "." for case in questions}, 6))

    assert found is not None
    assert found.floor is not None
    assert (found.floor.open_decides, found.exit_code) == (True, 2)


def test_a_case_with_fewer_rounds_of_its_own_does_not_hold_the_others_up() -> None:
    asked = plan(rounds_of={"a": 2})
    trials = [trial for trial in every(dict.fromkeys(CASES, "."), 6) if trial[0] != "a" or trial[1] < 2]

    found = decided(asked, trials)

    assert found is not None
    assert found.exit_code == 0


def _fields(asked: GatePlan) -> dict[str, object]:
    return {"base": asked.base, "questions": asked.questions, "min_rate": asked.min_rate}
