"""Two runs, case by case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from ._paths import PathChange, path_changes
from ._sides import Overview, Side, overview

Kind = Literal["worse", "better", "other", "drifted", "only_before", "only_after"]
_RANKS: dict[Kind, int] = {"worse": 0, "better": 1, "other": 2, "drifted": 3, "only_before": 4, "only_after": 5}


class ScoreChange(msgspec.Struct, frozen=True):
    """The score of one evaluator, before and after; `None` where there is none."""

    evaluator: str
    before: float | None
    after: float | None


class CaseChange(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one case.

    `worse`: it passed, and does not now. `better`: it did not pass, and does now. `other`: another verdict, neither
    of them `passed`. `drifted`: the same verdict by another path or with other scores. `only_before` and
    `only_after`: one run only has it.
    """

    case_id: str
    kind: Kind
    before: Side | None = None
    after: Side | None = None
    scores: tuple[ScoreChange, ...] = ()
    path: tuple[PathChange, ...] = ()

    @property
    def is_flip(self) -> bool:
        """Whether its verdict is another."""
        return self.kind in ("worse", "better", "other")

    @property
    def has_other_answer(self) -> bool:
        """Whether the agent gave back something else."""
        return self.before is not None and self.after is not None and self.before.answer != self.after.answer


class Comparison(msgspec.Struct, frozen=True):
    """What changed from one run to another: flips first, the worse ones before the others."""

    before: Overview
    after: Overview
    cases: tuple[CaseChange, ...]
    same: int
    """How many cases are as they were, but for their answers; they are not listed."""


def compare(before: Mapping[str, Side], after: Mapping[str, Side]) -> Comparison:
    """What changed between two runs, given what each has of its cases."""
    changes = list(_changes(before, after))
    changes.sort(key=_place)
    shared = len(before.keys() & after.keys())
    same = shared - sum(not change.kind.startswith("only") for change in changes)
    return Comparison(overview(before), overview(after), tuple(changes), same)


def _changes(before: Mapping[str, Side], after: Mapping[str, Side]) -> Iterator[CaseChange]:
    for case_id in dict.fromkeys((*before, *after)):
        old, new = before.get(case_id), after.get(case_id)
        if old is None or new is None:
            yield CaseChange(
                case_id=case_id, kind="only_after" if old is None else "only_before", before=old, after=new
            )
        elif (change := _change(case_id, old, new)) is not None:
            yield change


def _change(case_id: str, old: Side, new: Side) -> CaseChange | None:
    scores = tuple(_score_changes(old, new))
    path = path_changes(old.path, new.path) if old.is_recorded and new.is_recorded else ()
    if old.verdict == new.verdict and not scores and not path:
        return None
    kind: Kind = "drifted"
    if old.verdict != new.verdict:
        kind = "worse" if old.passed else "better" if new.passed else "other"
    return CaseChange(case_id=case_id, kind=kind, before=old, after=new, scores=scores, path=path)


def _score_changes(old: Side, new: Side) -> Iterator[ScoreChange]:
    for evaluator in dict.fromkeys((*old.scores, *new.scores)):
        before, after = old.scores.get(evaluator), new.scores.get(evaluator)
        if before != after:
            yield ScoreChange(evaluator, before, after)


def _place(change: CaseChange) -> tuple[int, str, int, int]:
    """By what became of it, then as the cases stand in their file."""
    side = change.after or change.before
    source = side.source if side is not None else None
    return (_RANKS[change.kind], *((source.file, source.line, source.column) if source is not None else ("", 0, 0)))
