"""How steady cases are, and where their runs part, as lines of text."""

from rightcall.reporting.paths import Branch, CasePaths, Parting
from rightcall.reporting.reports import Paper, parting_lines

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
