"""Labels of people, and how far a judge agrees with them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from rightcall.errors import DocumentError, InputError, nearest, shown
from rightcall.values.decoding import decode_document, decode_json

_CASES = ("case", "case_id", "id")
_LABELS = ("label", "verdict", "passed")
_PASSED = ("passed", "pass", "true", "yes", "good", "1", "1.0")
_FAILED = ("failed", "fail", "false", "no", "bad", "0", "0.0")


def read_labels(path: str | Path) -> dict[str, bool]:
    """Return whether each case passes, by its id, as people see it.

    The file is CSV with a first line of names, JSON Lines, or YAML or JSON: a list of objects, or an object of ids.
    A case is under `case`, `case_id` or `id`; its label, under `label`, `verdict` or `passed`, is passed or failed,
    true or false, yes or no, good or bad, 1 or 0.

    Raises:
        InputError: the file cannot be read, has no labels, a label that is none of these, or two for one case.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror or problem}") from None
    labels: dict[str, bool] = {}
    try:
        for place, case_id, label in _entries(data, Path(path).suffix.lower(), str(path)):
            if case_id in labels:
                raise InputError(f"{place}: the case {shown(case_id)} has a label already")
            labels[case_id] = _label(label, place)
    except DocumentError as problem:
        raise InputError(f"{path}:{problem.line}:{problem.column}: {problem}") from None
    except (csv.Error, UnicodeDecodeError) as problem:
        raise InputError(f"{path}: {problem}") from None
    if not labels:
        raise InputError(f"{path}: no labels in it")
    return labels


def _entries(data: bytes, suffix: str, name: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the place of each label, its case, and the label as it is written."""
    if suffix == ".csv":
        rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
        for row in rows:
            yield f"{name}:{rows.line_num}", *_entry(row, f"{name}:{rows.line_num}")
    elif suffix in (".jsonl", ".ndjson"):
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                yield f"{name}:{number}", *_entry(_decoded(line, f"{name}:{number}"), f"{name}:{number}")
    else:
        document = decode_document(data)
        value = document.value
        if not isinstance(value, (dict, list)):
            raise InputError(f"{name}: a list of labels, or an object of them, is expected, not {shown(value)}")
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            place = f"{name}:{document.position((key,)).line}"
            yield place, *((str(key), item) if isinstance(value, dict) else _entry(item, place))


def _decoded(line: bytes, place: str) -> Any:
    try:
        return decode_json(line)
    except InputError as problem:
        raise InputError(f"{place}: {problem}") from None


def _entry(row: Any, place: str) -> tuple[str, Any]:
    if not isinstance(row, dict):
        raise InputError(f"{place}: an object with a case and its label is expected, not {shown(row)}")
    case_id, label = _one(row, _CASES, place), _one(row, _LABELS, place)
    if not isinstance(case_id, (str, int)) or isinstance(case_id, bool) or case_id == "":
        raise InputError(f"{place}: the id of a case is expected, not {shown(case_id)}")
    return str(case_id), label


def _one(row: dict[Any, Any], names: tuple[str, ...], place: str) -> Any:
    found = [name for name in names if name in row]
    if len(found) != 1:
        given = [str(key) for key in row if key is not None]
        hint = nearest(names[0], given) if not found else f"both {' and '.join(found)} are there"
        raise InputError(f"{place}: {names[0]!r} (or {', '.join(names[1:])}) is expected once; {hint}")
    return row[found[0]]


def _label(value: Any, place: str) -> bool:
    written = str(value).strip().lower() if isinstance(value, (str, bool, int, float)) else ""
    if written in _PASSED or written in _FAILED:
        return written in _PASSED
    raise InputError(f"{place}: a label is passed or failed, not {shown(value)}")


class Compared(msgspec.Struct, frozen=True):
    """The verdicts of people and of a judge on one case."""

    case_id: str
    people: bool
    judge: bool
    score: float | None = None


class Agreement(msgspec.Struct, frozen=True):
    """How many cases two verdicts see in each of four ways: those of people, or of a source, and those of a judge."""

    both_passed: int = 0
    only_people: int = 0
    """Cases that pass for people alone."""
    only_judge: int = 0
    both_failed: int = 0
    differing: tuple[Compared, ...] = ()
    """The cases on which they differ, or some of them."""

    @classmethod
    def of(cls, compared: Iterable[Compared]) -> Agreement:
        """Count cases."""
        held = list(compared)
        counts = Counter([(one.people, one.judge) for one in held])
        differing = tuple([one for one in held if one.people != one.judge])
        return cls(counts[True, True], counts[True, False], counts[False, True], counts[False, False], differing)

    @property
    def total(self) -> int:
        """How many cases are compared."""
        return self.both_passed + self.only_people + self.only_judge + self.both_failed

    @property
    def agreed(self) -> int:
        """On how many they agree."""
        return self.both_passed + self.both_failed

    @property
    def share(self) -> float | None:
        """The share of cases on which they agree; none where there are no cases."""
        return self.agreed / self.total if self.total else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: how much more they agree than by chance, 1.0 if always and 0.0 if no more than that.

        None where chance alone would make them agree always, because both say the same of every case.
        """
        if self.share is None:
            return None
        people = (self.both_passed + self.only_people) / self.total
        judge = (self.both_passed + self.only_judge) / self.total
        chance = people * judge + (1 - people) * (1 - judge)
        return None if chance == 1 else (self.share - chance) / (1 - chance)

    def count(self, people: bool, judge: bool) -> int:
        """Return how many cases people and the judge see in these ways."""
        if people:
            return self.both_passed if judge else self.only_people
        return self.only_judge if judge else self.both_failed
