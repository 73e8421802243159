"""UiPath's evaluators of classes: a figure over all cases, and a score for each of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from rightcall.errors import nearest, shown
from rightcall.judging import holding, pointer_of

from ._foreign import Part
from ._uipath_evaluators import UiPathEvaluator

KEY = "expected_class"
"""Where the metadata of a case has the class that each of these evaluators expects, by their ids."""
_BINARY, _MULTICLASS = "binary-classification", "multiclass-classification"
_METRICS = {"precision": "precision", "recall": "recall", "f-score": "f1"}
_INHERITED = ("name", "description", "default_evaluation_criteria", "line_by_line_evaluator", "line_delimiter")


class Classifying(msgspec.Struct, frozen=True, kw_only=True):
    """An evaluator of classes: where the class is, and what is asked of all cases together.

    UiPath scores each case 1.0 or 0.0, and gives one figure for all: it is the figure that is judged, so a case passes
    with either score.
    """

    id: str
    target: str
    config: dict[str, Any]
    """What the configuration of `classification` says besides where classes are, and which there are."""
    classes: tuple[str, ...]
    """Those that are known: all of them, or the positive one."""
    is_closed: bool
    """Whether there are no other classes."""
    default: Any

    def scoring(self, evaluator: UiPathEvaluator) -> UiPathEvaluator:
        """The evaluator of each case."""
        kept: dict[str, Any] = {
            key: evaluator.config[key] for key in ("name", "description") if key in evaluator.config
        }
        written: dict[str, Any] = {"evaluatorTypeId": f"uipath-{evaluator.type_id}"}
        rest = evaluator.rest | written | {"evaluatorConfig": evaluator.config}
        config = {**kept, "target_output_key": self.target, "threshold": 0.0}
        return msgspec.structs.replace(evaluator, type_id="exact-match", config=config, rest=rest)

    def expected(self, criteria: Any, part: Part, key: str) -> str:
        """The class that a case expects, whose criteria stand under a key of a part. Raises `DocumentError`."""
        asked = Part(part.page, criteria, part.place(key)) if criteria else None
        found = _expected(criteria) or _expected(self.default)
        unknown = [name for name in asked.value if name not in ("expected_class", "expectedClass")] if asked else []
        if unknown:
            raise part.problem(f"unknown key {shown(unknown[0])}; {nearest(unknown[0], ['expectedClass'])}", key)
        if not isinstance(found, str) or not found.strip():
            raise part.problem(f"'expectedClass' is the name of a class, not {shown(found)}", key)
        if self.is_closed and _folded(found) not in map(_folded, self.classes):
            raise part.problem(f"{shown(found)} is none of the classes; {nearest(found, list(self.classes))}", key)
        return found

    def criteria(self, expected: str) -> dict[str, Any]:
        """The criteria of a case. An answer may have a class that is a whole number as a number, too."""
        number = expected.strip().removeprefix("-")
        is_number = number.isascii() and number.isdecimal() and len(number) < 16
        value: Any = {"$in": [expected, int(expected)]} if is_number else expected
        return {"expectedOutput": holding(self.target, value)}

    def written(self, expected: Iterable[str]) -> dict[str, Any]:
        """What is asked of all cases, given the class that each of them expects."""
        classes: dict[str, str] = {}
        for name in (*self.classes, *expected):
            classes.setdefault(_folded(name), name.strip())
        escaped = self.id.replace("~", "~0").replace("/", "~1")
        places = {"output": pointer_of(self.target), "expected": f"/{KEY}/{escaped}"}
        config = {**places, "classes": list(classes.values()), "ignore_case": True, **self.config}
        return {"type": "classification", "config": config}


def classifying(evaluator: UiPathEvaluator) -> Classifying | None:
    """An evaluator of classes, if it is one whose meaning can be kept: of one part of the answer, not line by line.

    Raises:
        DocumentError: its configuration is wrong.
    """
    if evaluator.type_id not in (_BINARY, _MULTICLASS):
        return None
    part = Part(evaluator.page, evaluator.config, ("evaluatorConfig",))
    target = part.any("target_output_key")
    if part.any("line_by_line_evaluator") or not isinstance("*" if target is None else target, str):
        return None
    is_binary = evaluator.type_id == _BINARY
    config: dict[str, Any] = {"metric": _chosen(part, "metric_type", _METRICS, "precision" if is_binary else "f-score")}
    if is_binary:
        config["positive_class"] = part.text("positive_class").strip()
    else:
        config["averaging"] = _chosen(part, "averaging", {"macro": "macro", "micro": "micro"}, "macro")
    classes = _classes(part, "positive_class" if is_binary else "classes")
    config |= {ours: part.any(key) for ours, key in (("beta", "f_value"), ("threshold", "threshold")) if part.has(key)}
    default = part.any("default_evaluation_criteria")
    part.rest(_INHERITED)
    return Classifying(
        id=evaluator.id,
        target="*" if target is None else target,
        config=config,
        classes=classes,
        is_closed=not is_binary,
        default=default,
    )


def _classes(part: Part, key: str) -> tuple[str, ...]:
    given = part.any(key)
    classes = given if isinstance(given, list) else [given]
    if not classes or not all([isinstance(each, str) and bool(each.strip()) for each in classes]):
        raise part.problem(f"{key}: names of classes are expected, not {shown(given)}", key)
    return tuple([each.strip() for each in classes])


def _chosen(part: Part, key: str, known: dict[str, str], default: str) -> str:
    given = part.text(key, default)
    if given not in known:
        raise part.problem(f"{key} is one of {', '.join(known)}, not {shown(given)}", key)
    return known[given]


def _expected(criteria: Any) -> Any:
    return criteria.get("expectedClass", criteria.get("expected_class")) if isinstance(criteria, dict) else None


def _folded(name: str) -> str:
    return name.strip().casefold()
