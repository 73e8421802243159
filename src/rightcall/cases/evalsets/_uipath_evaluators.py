"""Read UiPath's evaluators: one file each, in a folder beside that of the eval sets."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path as FilePath
from typing import Any

import msgspec

from rightcall.errors import UnknownNameError, nearest, shown
from rightcall.judging import EVALUATORS, camel, evaluator_type, holding, pointer_of, unavailable
from rightcall.limits import Limits
from rightcall.values.decoding import Path

from ._source import EvalSetDocument, SourceFile, SourceObject

_CODE = "file://"
_DEFAULT = "default_evaluation_criteria"


class UiPathEvaluator(msgspec.Struct, frozen=True):
    """One evaluator: its type by Rightcall's ids, its configuration, and the other keys of its file."""

    id: str
    name: str
    type_id: str
    config: dict[str, Any]
    rest: dict[str, Any]
    file: SourceFile
    type_place: Path
    weight: float = 1.0

    def weighing(self, weight: float) -> UiPathEvaluator:
        """Return the evaluator with another weight."""
        return msgspec.structs.replace(self, weight=weight)

    def written(self) -> dict[str, Any]:
        """Return the evaluator in the native format."""
        written: dict[str, Any] = {"type": self.type_id}
        written |= {"config": self.config} if self.config else {}
        return written | ({"weight": self.weight} if self.weight != 1.0 else {})

    def record_origin(self, document: EvalSetDocument) -> None:
        """Note in a document where the parts of the evaluator are written."""
        document.record_origin(("evaluators", self.id), self.file, ())
        document.record_origin(("evaluators", self.id, "type"), self.file, self.type_place)
        document.record_origin(("evaluators", self.id, "config"), self.file, ("evaluatorConfig",))


def read_evaluators(folder: FilePath, limits: Limits) -> dict[str, UiPathEvaluator]:
    """Read the evaluators in a folder, by id.

    Raises:
        DocumentError: a file is wrong, or has the id of another.
        InputError: a file cannot be read.
    """
    found: dict[str, UiPathEvaluator] = {}
    for path in sorted(folder.glob("*.json")):
        file = SourceFile.read(path, limits)
        evaluator = _evaluator(SourceObject(file, file.value), folder)
        if evaluator.id in found:
            other = found[evaluator.id].file.name
            raise file.problem(f"the id {evaluator.id!r} is already used by the evaluator in {other}", ("id",))
        found[evaluator.id] = evaluator
    return found


def _evaluator(part: SourceObject, folder: FilePath) -> UiPathEvaluator:
    named, given = part.text("id"), part.object("evaluator_config")
    config = dict(given.value) if given is not None else {}
    for key in ("name", "description"):
        if part.has(key):
            config[key] = part.text(key)
    if "version" not in part.value:  # UiPath's format before 1.0, which has other types and no schema
        name = str(config.get("name") or "")
        return UiPathEvaluator(named, name, "legacy-evaluator", {}, dict(part.value), part.file, ())
    type_id, place = _type_of(part, folder)
    config, left_out = _known_config(config, type_id, part)
    rest = part.rest(("version", "evaluator_type_id", "evaluator_schema"))
    rest |= {"evaluatorConfig": left_out} if left_out else {}
    rest |= {"evaluatorSchema": part.text("evaluator_schema")} if part.has("evaluator_schema") else {}
    return UiPathEvaluator(named, str(config.get("name") or ""), type_id, config, rest, part.file, place)


def _type_of(part: SourceObject, folder: FilePath) -> tuple[str, Path]:
    schema = part.text("evaluator_schema", "")
    if schema.startswith(_CODE):
        return _code(schema, part, folder), part.place("evaluator_schema")
    written = part.text("evaluator_type_id")
    if unavailable(written):
        return written.removeprefix("uipath-"), part.place("evaluator_type_id")
    try:
        return evaluator_type(written).type_id, part.place("evaluator_type_id")
    except UnknownNameError as problem:
        raise part.problem(str(problem), "evaluator_type_id") from None


def _code(schema: str, part: SourceObject, folder: FilePath) -> str:
    """Return the file and the class of an evaluator that is code, relative to the folder of eval sets."""
    file, _, name = schema.removeprefix(_CODE).rpartition(":")
    if not file or not name.isidentifier():
        raise part.problem(f"code is named as file://x.py:Class, not {shown(schema)}", "evaluator_schema")
    for candidate in (folder / file, folder / "custom" / file):
        if candidate.is_file():
            return f"{_CODE}{FilePath(os.path.relpath(candidate, folder.parent / 'eval-sets')).as_posix()}:{name}"
    raise part.problem(f"no file {shown(file)} in {folder} or in its folder custom", "evaluator_schema")


def _known_config(config: dict[str, Any], type_id: str, part: SourceObject) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a configuration into known keys, and the rest: keys of other tools, and an empty default."""
    if type_id not in EVALUATORS:
        return config, {}
    fields = EVALUATORS[type_id].config_type.model_fields
    inner = SourceObject(part.file, config, part.place("evaluatorConfig"))
    for name in fields:
        inner.get(name)
    left_out = {**inner.rest(), **_empty_default(config)}
    kept = {key: value for key, value in config.items() if key not in left_out}
    if "tool_names" in fields:
        kept["tool_names"] = "uipath"
    return kept, left_out


def _empty_default(config: dict[str, Any]) -> dict[str, Any]:
    """Return the default criteria if they are only a template to be filled in."""
    for key in (_DEFAULT, camel(_DEFAULT)):
        criteria = config.get(key)
        if isinstance(criteria, dict) and not any(criteria.values()):
            return {key: criteria}
    return {}


EXPECTED_CLASS = "expected_class"
"""The key in the metadata of a case for the class that each classifier expects, by the classifier's id."""
_BINARY, _MULTICLASS = "binary-classification", "multiclass-classification"
_METRICS = {"precision": "precision", "recall": "recall", "f-score": "f1"}
_INHERITED = ("name", "description", "default_evaluation_criteria", "line_by_line_evaluator", "line_delimiter")


class Classifier(msgspec.Struct, frozen=True, kw_only=True):
    """A classifier: where the class is in the answer, and the metric over all cases.

    UiPath scores each case 1.0 or 0.0, and judges one figure over all of them. So a case passes with either score.
    """

    id: str
    target: str
    config: dict[str, Any]
    """The configuration of `classification`, without the places and names of classes."""
    classes: tuple[str, ...]
    """The known classes: all of them, or the positive one."""
    is_closed: bool
    """Whether there are no other classes."""
    default: Any

    def scoring(self, evaluator: UiPathEvaluator) -> UiPathEvaluator:
        """Return the evaluator of each case."""
        kept: dict[str, Any] = {
            key: evaluator.config[key] for key in ("name", "description") if key in evaluator.config
        }
        written: dict[str, Any] = {"evaluatorTypeId": f"uipath-{evaluator.type_id}"}
        rest = evaluator.rest | written | {"evaluatorConfig": evaluator.config}
        # Threshold 0.0: the score of a case counts, but only the figure over all cases is judged.
        config = {**kept, "target_output_key": self.target, "threshold": 0.0}
        return msgspec.structs.replace(evaluator, type_id="exact-match", config=config, rest=rest)

    def expected(self, criteria: Any, part: SourceObject, key: str) -> str:
        """Return the class that a case expects, given its criteria. Raises `DocumentError`."""
        asked = SourceObject(part.file, criteria, part.place(key)) if criteria else None
        found = _expected(criteria) or _expected(self.default)
        unknown = [name for name in asked.value if name not in ("expected_class", "expectedClass")] if asked else []
        if unknown:
            raise part.problem(f"unknown key {shown(unknown[0])}; {nearest(unknown[0], ['expectedClass'])}", key)
        if not isinstance(found, str) or not found.strip():
            raise part.problem(f"'expectedClass' is the name of a class, not {shown(found)}", key)
        if self.is_closed and _folded(found) not in map(_folded, self.classes):
            raise part.problem(f"{shown(found)} is not one of the classes; {nearest(found, list(self.classes))}", key)
        return found

    def criteria(self, expected: str) -> dict[str, Any]:
        """Return the criteria of a case. A class that is a whole number may be a number in the answer."""
        number = expected.strip().removeprefix("-")
        # Below 16 digits every whole number is exact as a float (2**53), so text and number mean the same.
        is_number = number.isascii() and number.isdecimal() and len(number) < 16
        value: Any = {"$in": [expected, int(expected)]} if is_number else expected
        return {"expectedOutput": holding(self.target, value)}

    def written(self, expected: Iterable[str]) -> dict[str, Any]:
        """Return the evaluator of all cases in the native format, given the class that each case expects."""
        classes: dict[str, str] = {}
        for name in (*self.classes, *expected):
            classes.setdefault(_folded(name), name.strip())
        escaped = self.id.replace("~", "~0").replace("/", "~1")  # a JSON Pointer, RFC 6901 section 3
        places = {"output": pointer_of(self.target), "expected": f"/{EXPECTED_CLASS}/{escaped}"}
        config = {**places, "classes": list(classes.values()), "ignore_case": True, **self.config}
        return {"type": "classification", "config": config}


def classifier_of(evaluator: UiPathEvaluator) -> Classifier | None:
    """Return the classifier that an evaluator is, if it looks at one part of the answer and not line by line.

    Raises:
        DocumentError: its configuration is wrong.
    """
    if evaluator.type_id not in (_BINARY, _MULTICLASS):
        return None
    part = SourceObject(evaluator.file, evaluator.config, ("evaluatorConfig",))
    target = part.get("target_output_key")
    if part.get("line_by_line_evaluator") or not isinstance("*" if target is None else target, str):
        return None
    is_binary = evaluator.type_id == _BINARY
    config: dict[str, Any] = {"metric": _chosen(part, "metric_type", _METRICS, "precision" if is_binary else "f-score")}
    if is_binary:
        config["positive_class"] = part.text("positive_class").strip()
    else:
        config["averaging"] = _chosen(part, "averaging", {"macro": "macro", "micro": "micro"}, "macro")
    classes = _classes(part, "positive_class" if is_binary else "classes")
    config |= {ours: part.get(key) for ours, key in (("beta", "f_value"), ("threshold", "threshold")) if part.has(key)}
    default = part.get("default_evaluation_criteria")
    part.rest(_INHERITED)
    return Classifier(
        id=evaluator.id,
        target="*" if target is None else target,
        config=config,
        classes=classes,
        is_closed=not is_binary,
        default=default,
    )


def _classes(part: SourceObject, key: str) -> tuple[str, ...]:
    given = part.get(key)
    classes = given if isinstance(given, list) else [given]
    if not classes or not all([isinstance(each, str) and bool(each.strip()) for each in classes]):
        raise part.problem(f"{key}: names of classes are expected, not {shown(given)}", key)
    return tuple([each.strip() for each in classes])


def _chosen(part: SourceObject, key: str, known: dict[str, str], default: str) -> str:
    given = part.text(key, default)
    if given not in known:
        raise part.problem(f"{key} is one of {', '.join(known)}, not {shown(given)}", key)
    return known[given]


def _expected(criteria: Any) -> Any:
    return criteria.get("expectedClass", criteria.get("expected_class")) if isinstance(criteria, dict) else None


def _folded(name: str) -> str:
    return name.strip().casefold()
