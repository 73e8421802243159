"""Say how far two verdicts on the same cases agree: of a judge and people, or of Rightcall and a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rightcall.judging.models import Agreement, Compared

_WORDS = {True: "passed", False: "failed"}
MOST_SHOWN = 50
"""How many cases on which they differ are listed."""


def agreement_lines(agreement: Agreement, theirs: str, ours: str) -> Iterator[str]:
    """Yield the share, kappa, the table of both and the cases on which they differ, a line each.

    Args:
        agreement: Both verdicts on each case.
        theirs: What the other verdict is of, such as `people`.
        ours: What this one is of, such as `judge`.
    """
    share, kappa = agreement.share, agreement.kappa
    total, agreed = agreement.total, agreement.agreed
    yield f"agreement  {figure(share)}" + (f"  ({agreed:,} of {total:,})" if total else "")
    yield f"kappa      {figure(kappa)}" + ("" if kappa is not None else "  (undefined: no two verdicts)")
    width = len(f"{theirs} passed")
    columns = [f"{ours} {_WORDS[verdict]}" for verdict in (True, False)]
    yield "\n" + " " * width + "".join([f"{column:>{len(ours) + 9}}" for column in columns])
    for verdict in (True, False):
        counts = [f"{agreement.count(verdict, each):>{len(ours) + 9},}" for each in (True, False)]
        yield f"{theirs} {_WORDS[verdict]}".ljust(width) + "".join(counts)
    yield from _differences(agreement.differing, theirs, ours)


def _differences(differing: tuple[Compared, ...], theirs: str, ours: str) -> Iterator[str]:
    if differing:
        yield "\nThey differ on:"
    for one in differing[:MOST_SHOWN]:
        score = "" if one.score is None else f" ({one.score:.4g})"
        yield f"  {one.case_id}: {theirs} {_WORDS[one.people]}, {ours} {_WORDS[one.judge]}{score}"
    if len(differing) > MOST_SHOWN:
        yield f"  and {len(differing) - MOST_SHOWN:,} more"


def figure(value: float | None) -> str:
    """A share or kappa; `none` where it is not defined."""
    return "none" if value is None else f"{value:.4g}"


def plain_agreement(agreement: Agreement, **beside: Any) -> dict[str, Any]:
    """Return an agreement as JSON has it."""
    table = {
        f"{_WORDS[theirs]}_{_WORDS[ours]}": agreement.count(theirs, ours)
        for theirs in (True, False)
        for ours in (True, False)
    }
    differing = [
        {"case": one.case_id, "source": _WORDS[one.people], "verdict": _WORDS[one.judge]} for one in agreement.differing
    ]
    return {
        **beside,
        "compared": agreement.total,
        "agreement": agreement.share,
        "kappa": agreement.kappa,
        "source_and_verdict": table,
        "differing": differing,
    }
