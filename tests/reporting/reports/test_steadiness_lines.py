"""How steady cases are, and where their runs part, as lines of text."""

from rightcall.reporting.changes import CaseTrials, Steadiness
from rightcall.reporting.paths import Branch, CasePaths, Parting
from rightcall.reporting.reports import Paper, parting_lines, steadiness_lines
from rightcall.values.results import Verdict

REASON = "RC104 `reserve` was called with quantity 2, expected 1"


def lines(*branches: Branch) -> list[str]:
    found = CasePaths("two", 8, 6, 2, (Parting(("search",), branches),))
    return ["".join([str(part) for part in line]) for line in parting_lines(found, Paper(width=80))]


def test_a_reason_stands_beside_its_branch_where_there_is_room() -> None:
    shown = lines(Branch("pay", 6, 6, 0), Branch(None, 2, 0, 2, "RC101 `pay` was never called"))

    assert "    └─ the end    2 runs  0 passed   RC101 `pay` was never called" in shown


def test_a_long_reason_is_whole_on_a_line_below() -> None:
    shown = lines(Branch('reserve(id="P1", quantity=2)', 2, 0, 2, REASON), Branch("pay", 6, 6, 0))

    assert shown[-3:] == [
        '    ├─ reserve(id="P1", quantity=2)    2 runs  0 passed',
        f"    │  {REASON}",
        "    └─ pay                             6 runs  6 passed",
    ]


def totals(k: int, *cases: str) -> list[str]:
    """The lines below the cases, each of which is given as the signs of its trials."""
    verdicts: dict[str, Verdict] = {"+": "passed", "-": "failed"}
    trials = [
        CaseTrials(f"case {number}", tuple([verdicts[each] for each in signs])) for number, signs in enumerate(cases)
    ]
    shown = [
        "".join([str(part) for part in line])
        for line in steadiness_lines(Steadiness(tuple(trials)), k, Paper(width=80))
    ]
    return shown[1 + len(cases) :]


def test_five_passes_of_five_promise_less_than_they_seem_to() -> None:
    assert totals(5, "+++++")[1] == "all of 5    100 %   6–100 %, at least one of 5: 100 %"


def test_the_interval_of_all_tries_is_over_the_cases_that_have_enough_of_them() -> None:
    assert totals(2, "++++", "++--", "+")[1] == "all of 2     58 %   0–100 %, at least one of 2: 92 % (2 of 3 cases)"


def test_without_enough_trials_nothing_is_said_of_all_tries() -> None:
    assert totals(3, "++") == ["pass rate   100 %   34–100 % if these cases run again"]


def test_of_one_try_the_rate_is_shown_once_and_what_shows_more() -> None:
    shown = [
        "".join(map(str, line))
        for line in steadiness_lines(Steadiness((CaseTrials("laptop", ("passed",)),)), 1, Paper(width=80))
    ]

    assert shown[0].split() == ["case", "passed", "rate", "95", "%"]
    assert shown[2:] == [
        "pass rate   100 %   21–100 % if these cases run again",
        "each case was run once: rightcall run --repeat 5 shows how steady it is",
    ]
