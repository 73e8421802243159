"""What cases are called in pytest: their ids, marks and properties."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rightcall.reporting.reports import printable
from rightcall.values.results import CaseResult

if TYPE_CHECKING:
    import pytest

    from rightcall.cases.evalsets import Case

_MARK = re.compile(r"[A-Za-z][\w.-]*")
_PYTESTS_OWN = frozenset({"filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"})
"""Marks by which pytest decides whether a test counts. A tag is data, and decides nothing."""


def shown_id(case: Case) -> str:
    """The id of a case as part of the name of a test, harmless and on one line."""
    return printable(case.id, one_line=True)


def marks_of(case: Case, config: pytest.Config) -> Iterator[pytest.MarkDecorator]:
    """The tags of a case as marks, for `-m`, as far as they can be: others are keywords only."""
    import pytest

    for tag in case.tags:
        if _MARK.fullmatch(tag) and tag not in _PYTESTS_OWN:
            known = [line.split(":")[0] for line in config.getini("markers")]
            if tag not in known and not any(line.startswith(f"{tag}(") for line in known):
                config.addinivalue_line("markers", f"{tag}: a tag of an eval set")
            yield getattr(pytest.mark, tag)


def properties(result: CaseResult) -> list[tuple[str, object]]:
    """What JUnit files keep of a result, as properties of the test."""
    kept: list[tuple[str, object]] = [("rightcall.case", printable(result.case_id, one_line=True))]
    kept.append(("rightcall.verdict", result.verdict))
    if result.score is not None:
        kept.append(("rightcall.score", _rounded(result.score)))
    kept += [
        (f"rightcall.score.{one.evaluator}", _rounded(one.score)) for one in result.results if one.score is not None
    ]
    if result.trajectory is not None:
        kept.append(("rightcall.calls", len(result.trajectory.calls)))
    codes = sorted({placed.finding.code for placed in result.findings})
    return [*kept, ("rightcall.codes", " ".join(codes))] if codes else kept


def _rounded(score: float) -> float:
    return round(score, 4)
