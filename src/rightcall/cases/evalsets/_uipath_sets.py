"""Translate UiPath's eval sets, and the evaluators in the folder beside them, to the native format."""

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

from ._eval_set_file import AS_RECORDED, EvalSetDocument, SourceFile, SourceObject

_KNOWN_OF_SET = ("version", "id", "model_settings", "agent_memory_enabled", "agent_memory_settings", "batch_size")
_KNOWN_OF_CASE = ("eval_set_id",)
_KEPT_OF_CASE = ("expected_output", "mocking_strategy", "input_mocking_strategy")
_CODE = "file://"
_DEFAULT = "default_evaluation_criteria"


def translate_uipath(file: SourceFile, limits: Limits) -> EvalSetDocument:
    """Translate an eval set of UiPath, with the evaluators in the folder `evaluators` beside its own.

    Keys that the native format does not have are kept under `metadata`, in `uipath`.

    Raises:
        DocumentError: the first mistake, with file, line and column, and what would be right.
        InputError: an evaluator's file cannot be read.
    """
    return _Translation(file, limits).document()


class _Translation:
    """Translates one eval set."""

    def __init__(self, file: SourceFile, limits: Limits) -> None:
        self._whole = SourceObject(file, file.value)
        self._limits = limits
        self._document = EvalSetDocument(file, {})
        self._evaluators: dict[str, UiPathEvaluator] = {}
        self._classifiers: dict[str, Classifier] = {}
        self._classes: dict[str, list[str]] = {}

    def document(self) -> EvalSetDocument:
        whole = self._whole
        self._check_version()
        name, description = whole.text("name", ""), whole.text("description", "")
        self._evaluators = self._referenced()
        evaluations = whole.objects("evaluations", required=True)
        rest = whole.rest(_KNOWN_OF_SET)
        if whole.items("evaluator_configs") and whole.items("evaluator_refs"):
            rest["evaluatorRefs"] = whole.items("evaluator_refs")  # UiPath ignores them then
        written: dict[str, Any] = {"name": name} if name else {}
        written |= {"description": description} if description else {}
        written["defaults"] = AS_RECORDED
        written["evaluators"] = {each.id: each.written() for each in self._evaluators.values()}
        rest["evaluators"] = {each.id: each.rest for each in self._evaluators.values()}
        written["metadata"] = {"uipath": {key: value for key, value in rest.items() if value != {}}}
        extra: dict[str, Any] = {}
        written["cases"] = [self._case(each, number, extra) for number, each in enumerate(evaluations)]
        written["evaluators"] |= extra
        written["overall"] = {key: self._classifiers[key].written(found) for key, found in self._classes.items()}
        self._document.record_origin(("cases",), whole.file, whole.place("evaluations"))
        self._document.value = {key: value for key, value in written.items() if value not in ({}, "")}
        return self._document

    def _check_version(self) -> None:
        version = self._whole.value.get("version")
        if version is None:
            raise self._whole.problem('UiPath\'s older eval sets, without "version": "1.0", are not supported')
        if str(version) not in ("1", "1.0"):
            raise self._whole.problem(f'the version is {shown(version)}; only "1.0" is supported', "version")

    def _referenced(self) -> dict[str, UiPathEvaluator]:
        """Return the evaluators that the eval set refers to, by id, with their weights."""
        configured = self._whole.items("evaluator_configs")
        plain = self._whole.items("evaluator_refs")
        key, references = ("evaluator_configs", configured) if configured else ("evaluator_refs", plain)
        if not references:
            return {}
        # UiPath's layout: `evals/eval-sets/*.json` beside `evals/evaluators/*.json`.
        folder = FilePath(self._whole.file.name).parent.parent / "evaluators"
        if not folder.is_dir():
            raise self._whole.problem(f"the folder of the evaluators is missing: {folder}", key)
        found = read_evaluators(folder, self._limits)
        referenced: dict[str, UiPathEvaluator] = {}
        for number, reference in enumerate(references):
            evaluator = self._evaluator(reference, (key, number), found, folder)
            if evaluator.id in referenced:
                raise self._whole.problem(f"the evaluator {evaluator.id!r} is referred to twice", key, number)
            referenced[evaluator.id] = self._for_each_case(evaluator)
            evaluator.record_origin(self._document)
        return referenced

    def _for_each_case(self, evaluator: UiPathEvaluator) -> UiPathEvaluator:
        """Return the evaluator of each case. If it is a classifier, keep its figure over all cases for later."""
        found = classifier_of(evaluator)
        if found is None:
            return evaluator
        self._classifiers[evaluator.id] = found
        self._document.record_origin(("overall", evaluator.id), evaluator.file, ())
        self._document.record_origin(("overall", evaluator.id, "config"), evaluator.file, ("evaluatorConfig",))
        return found.scoring(evaluator)

    def _evaluator(
        self, reference: Any, place: tuple[str, int], found: dict[str, UiPathEvaluator], folder: FilePath
    ) -> UiPathEvaluator:
        weight: Any = 1.0
        if isinstance(reference, dict):
            part = SourceObject(self._whole.file, reference, self._whole.place(*place))
            reference, weight = part.text("ref"), part.get("weight")
            part.rest()
        if not isinstance(reference, str):
            raise self._whole.problem(f"the id of an evaluator is expected, not {shown(reference)}", *place)
        if reference not in found:
            message = f"no evaluator in {folder} has the id {shown(reference)}; {nearest(reference, list(found))}"
            raise self._whole.problem(message, *place)
        weight = 1.0 if weight is None else weight
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < float("inf"):
            raise self._whole.problem(f"a weight is a number of 0 or more, not {shown(weight)}", *place)
        return found[reference].weighing(float(weight))

    def _case(self, case: SourceObject, number: int, extra: dict[str, Any]) -> dict[str, Any]:
        place: Path = ("cases", number)
        written: dict[str, Any] = {"id": case.text("id"), "name": case.text("name", "")}
        written["description"] = case.text("description", "")
        written["input"] = case.get("inputs")
        self._document.record_origin((*place, "input"), case.file, case.place("inputs"))
        written["expected_behavior"] = case.text("expected_agent_behavior", "")
        self._document.record_origin((*place, "expected_behavior"), case.file, case.place("expected_agent_behavior"))
        classes: dict[str, str] = {}
        written["expect"] = self._expect(case, place, classes)
        mocks = translate_mocks(case, place, self._document)
        written["mocks"] = mocks.written
        for name in mocks.unavailable:
            extra[name] = {"type": name}
            written["expect"][name] = None
        rest = case.rest(_KNOWN_OF_CASE)
        rest |= {camel(key): case.get(key) for key in _KEPT_OF_CASE if case.has(key)}
        written["metadata"] = ({"uipath": rest} if rest else {}) | ({EXPECTED_CLASS: classes} if classes else {})
        return {key: value for key, value in written.items() if key in ("id", "input") or value not in ("", {})}

    def _expect(self, case: SourceObject, place: Path, classes: dict[str, str]) -> dict[str, Any]:
        """Return what is expected of a case. `classes` is filled with the class that each classifier expects."""
        criterias = case.object("evaluation_criterias")
        if criterias is None:
            case.rest(_KNOWN_OF_CASE)
            raise case.problem("'evaluationCriterias' is missing")
        expected_output = case.get("expected_output")
        expect: dict[str, Any] = {}
        for key, criteria in criterias.value.items():
            evaluator = self._named(key, criterias)
            if evaluator.id in expect:
                raise criterias.problem(f"{key!r} already has criteria, by its id or its name", key)
            if (of_classes := self._classifiers.get(evaluator.id)) is not None:
                found = classes[evaluator.id] = of_classes.expected(criteria, criterias, key)
                self._classes.setdefault(evaluator.id, []).append(found)
                criteria = of_classes.criteria(found)
            expect[evaluator.id] = _criteria(evaluator, criteria, expected_output, criterias, key)
            self._document.record_origin((*place, "expect", evaluator.id), case.file, criterias.place(key))
        return expect

    def _named(self, key: str, criterias: SourceObject) -> UiPathEvaluator:
        if key in self._evaluators:
            return self._evaluators[key]
        named = [each for each in self._evaluators.values() if each.name == key]
        if len(named) == 1:
            return named[0]
        known = [name for each in self._evaluators.values() for name in (each.id, each.name) if name]
        hint = nearest(key, list(dict.fromkeys(known))) if not named else "several evaluators have this name"
        raise criterias.problem(f"{shown(key)} names no evaluator of this eval set; {hint}", key)


def _criteria(
    evaluator: UiPathEvaluator, criteria: Any, expected_output: Any, criterias: SourceObject, key: str
) -> Any:
    """Return criteria in the native format; None for the default of the evaluator.

    As in UiPath, criteria without an expected output use the expected output of the case.
    """
    if criteria is not None and not isinstance(criteria, dict):
        raise criterias.problem(f"criteria are an object or null, not {shown(criteria)}", key)
    kind = EVALUATORS.get(evaluator.type_id)
    if kind is None:
        return criteria or None
    fields = kind.criteria_type.model_fields
    if expected_output is not None and "expected_output" in fields and not _has_output(criteria):
        criteria = {**(criteria or {}), "expectedOutput": expected_output}
    known = [spelling for name, field in fields.items() for spelling in (name, str(field.alias))]
    for name in criteria or {}:
        if name not in known:
            raise criterias.problem(f"unknown key {shown(name)}; {nearest(name, list(fields))}", key, name)
    return criteria or None


def _has_output(criteria: dict[str, Any] | None) -> bool:
    return bool(criteria) and bool({"expectedOutput", "expected_output"} & (criteria or {}).keys())


_TARGET = "_target_"  # Hydra's key for code to instantiate, which UiPath's mocks use
_ANYTHING = ("mockito.any", "mockito.any_", "mockito.matchers.any", "mockito.matchers.any_", "mockito.ANY")


class Mocks(msgspec.Struct, frozen=True):
    """Mocks in the native format, and features asked for that are not available."""

    written: dict[str, Any]
    unavailable: tuple[str, ...] = ()


def translate_mocks(case: SourceObject, place: Path, document: EvalSetDocument) -> Mocks:
    """Translate the mocks of a case.

    A tool that a language model should simulate is never run: it raises an error that says so.

    Raises:
        DocumentError: a mock is wrong, or cannot be translated.
    """
    unavailable = ("input-mocking",) if case.has("input_mocking_strategy") else ()
    strategy = case.object("mocking_strategy")
    if strategy is None:
        return Mocks({}, unavailable)
    kind = strategy.text("type")
    if kind == "mockito":
        return Mocks(_rules(strategy, place, document), unavailable)
    if kind != "llm":
        raise strategy.problem(f"a mocking strategy is 'mockito' or 'llm', not {shown(kind)}", "type")
    refusal = {"type": "NotImplementedError", "message": "simulating a tool by a language model is not yet available"}
    simulated = {tool.text("name"): {"raises": refusal} for tool in strategy.objects("tools_to_simulate")}
    return Mocks(simulated, ("llm-mocking", *unavailable))


def _rules(strategy: SourceObject, place: Path, document: EvalSetDocument) -> dict[str, Any]:
    key = "config" if strategy.has("config") else "behaviors"
    rules: dict[str, list[tuple[dict[str, Any], SourceObject]]] = {}
    for behavior in strategy.objects(key, required=True):
        # Of several behaviors that match a call, mockito uses the last one; of native rules, the first one is used.
        rules.setdefault(behavior.text("function"), []).insert(0, (_rule(behavior), behavior))
        behavior.rest()
    for tool, written in rules.items():
        for number, (_, behavior) in enumerate(written):
            document.record_origin((*place, "mocks", tool, number), behavior.file, behavior.path)
    return {tool: [rule for rule, _ in written] for tool, written in rules.items()}


def _rule(behavior: SourceObject) -> dict[str, Any]:
    when = _when(behavior)
    answers = behavior.objects("then", required=True)
    for answer in answers:
        if answer.text("type") not in ("return", "raise"):
            raise answer.problem(f"a mock returns or raises, it cannot {shown(answer.text('type'))}", "type")
    if not answers:
        raise behavior.problem("'then' is empty; a mock has an answer", "then")
    written = [_answer(answer) for answer in answers]
    return when | (written[0] if len(written) == 1 else {"then": written})


def _answer(answer: SourceObject) -> dict[str, Any]:
    if answer.text("type") == "raise":
        return {"raises": _error(answer)}
    return {"returns": _plain(answer.get("value"), answer)}


def _when(behavior: SourceObject) -> dict[str, Any]:
    arguments = behavior.object("arguments")
    if arguments is None:
        return {}
    named = arguments.get("kwargs") or {}
    if not isinstance(named, dict):
        raise arguments.problem(f"kwargs: an object is expected, not {shown(named)}", "kwargs")
    written: dict[str, Any] = {}
    if named:
        written["when"] = {key: _matcher(value, arguments) for key, value in named.items()}
    if in_order := arguments.items("args"):
        written["positional"] = [_matcher(value, arguments) for value in in_order]
    return written


def _matcher(value: Any, part: SourceObject) -> Any:
    if isinstance(value, dict) and value.get(_TARGET) in _ANYTHING:
        return {"$any": True}
    return _plain(value, part)


def _plain(value: Any, part: SourceObject) -> Any:
    """Return a value after checking that nothing in it names code to run."""
    if isinstance(value, dict):
        if _TARGET in value:
            named = shown(value[_TARGET])
            raise part.problem(f"{_TARGET!r} names code to run, {named}; a mock may only have plain values")
        return {key: _plain(item, part) for key, item in value.items()}
    return [_plain(item, part) for item in value] if isinstance(value, list) else value


def _error(answer: SourceObject) -> dict[str, Any]:
    value = answer.get("value")
    if isinstance(value, str):
        return {"type": "Exception", "message": value}
    if not isinstance(value, dict) or not isinstance(value.get(_TARGET), str):
        raise answer.problem(f"an exception is named by {_TARGET!r}, not {shown(value)}", "value")
    message = next((str(value[key]) for key in ("message", "msg") if key in value), "")
    name = value[_TARGET].removeprefix("builtins.")
    return {"type": name, "message": message} if message else {"type": name}


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
        file = SourceFile(path, limits)
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
