"""Take written expectations apart, and resolve their keys to evaluators and criteria.

`calls: [a]`, `calls: {expected: [a], match: in_order}`, `calls: {criteria: [a], parallel: in_order}` and
`calls: {criteria: {expected: [a], parallel: in_order}, match: in_order}` are one form with more or less in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.errors import CriteriaError, UnknownNameError, nearest, shown
from rightcall.judging import (
    EVALUATORS,
    SHORTHANDS,
    Evaluator,
    Shorthand,
    camel,
    evaluator_type,
    is_code,
    names_file,
    unavailable,
)
from rightcall.limits import Limits
from rightcall.values.decoding import Path

from ._models import SETTINGS, WrittenDefaults

_DEFAULT_CRITERIA = ("default_evaluation_criteria", "defaultEvaluationCriteria")
_WORDS = {"match": "match_type", "args": "args_match"}
"""Settings in short, and the keys that they are short for."""
_NOT_SETTINGS = {"name", "description", "default_evaluation_criteria", "expected_turns"}
"""Keys of criteria and configuration that are not suggested for a misspelt setting."""


class AddedEvaluator(msgspec.Struct, frozen=True):
    """An evaluator that a file adds under `evaluators`: its type, configuration and weight."""

    type_id: str
    config: dict[str, Any] = {}
    weight: float = 1.0


class Expected(msgspec.Struct, frozen=True):
    """One resolved expectation: the evaluator, its configuration and criteria, and where their parts are."""

    type_id: str
    config: dict[str, Any]
    criteria: Any
    inside: Path = ()
    """The keys in the file between the expectation and its criteria."""
    places: Mapping[str, Path] = {}
    """Where keys of criteria and configuration are written, seen from the expectation, if not under `inside`."""
    weight: float = 1.0

    def place(self, steps: Path) -> Path:
        """Return where a part of the criteria, or of the configuration, is written, seen from the expectation."""
        if steps and isinstance(steps[0], str) and steps[0] in self.places:
            return (*self.places[steps[0]], *steps[1:])
        return (*self.inside, *steps)


def resolve_expectation(
    key: str, value: Any, defaults: WrittenDefaults, added: Mapping[str, AddedEvaluator], *, of_turn: bool = False
) -> Expected:
    """Return the expectation for a key and a value in `expect` of a case or, with `of_turn`, of a turn.

    `added` has the evaluators that the file adds, by id. Null means the default criteria of one of these. In a turn,
    type ids take the shorthand of their evaluator, too.

    Raises:
        CriteriaError: the key names no evaluator, or the value is wrong for it.
    """
    shorthand, type_id, config = evaluator_of(key, defaults, added)
    weight = added[key].weight if key in added else float(defaults.weight)
    if type_id not in EVALUATORS:
        return _of_code(key, type_id, config, value, weight)
    kind = EVALUATORS[type_id]
    form = Form.of(value, kind)
    split = split_settings(form, key, kind) if form.settings else Split()
    weight = weight if split.weight is None else _weight(split.weight, key)
    settings, config = {**default_settings(defaults, kind), **split.criteria}, {**config, **split.config}
    if form.value is None and key in added:
        return Expected(type_id, _with_default_settings(config, settings), None, form.inside, split.places, weight)
    takes_short = shorthand is not None or of_turn or bool(form.inside)
    is_read = form.is_short and takes_short and kind.shorthand is not None
    criteria = _read(form, kind) if is_read or not form.is_short else form.value
    places = {**split.places, kind.shorthand.criteria_key: form.inside} if is_read and kind.shorthand else split.places
    whole = {**settings, **criteria} if isinstance(criteria, dict) else criteria
    return Expected(type_id, config, whole, form.inside, places, weight)


def _of_code(key: str, type_id: str, config: dict[str, Any], value: Any, weight: float) -> Expected:
    """Return the expectation for custom code, or for an unavailable evaluator; neither is checked here."""
    if not isinstance(value, dict) or "criteria" not in value:
        return Expected(type_id, config, value, weight=weight)
    settings = {name: item for name, item in value.items() if name != "criteria"}
    weight = _weight(settings.pop("weight", weight), key)
    return Expected(type_id, {**config, **settings}, value["criteria"], ("criteria",), weight=weight)


def default_settings(defaults: WrittenDefaults, kind: type[Evaluator[Any, Any, Any]]) -> dict[str, Any]:
    """Return the keys of criteria that follow from the defaults for an evaluator: which calls it selects, and how."""
    fields = kind.criteria_type.model_fields
    given = {name: getattr(defaults, name) for name in SETTINGS if name in fields} if kind.reads_calls else {}
    if not kind.orders_calls:
        given.pop("parallel", None)
    # Settings that equal the default are left out: criteria without settings are the fastest to judge by.
    return {name: value for name, value in given.items() if value is not None and value != fields[name].default}


def _default_config(defaults: WrittenDefaults, kind: type[Evaluator[Any, Any, Any]]) -> dict[str, Any]:
    """Return the keys of the configuration that follow from the defaults for an evaluator."""
    names = [name for name in SETTINGS if name in kind.config_type.model_fields]
    given = {name: getattr(defaults, name) for name in names if name not in kind.criteria_type.model_fields}
    return {name: value for name, value in given.items() if value is not None}


def _with_default_settings(config: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Add settings to the default criteria of a configuration, unless these have them."""
    criteria = default_criteria(config)
    if not settings or not isinstance(criteria, dict):
        return config
    others = {name: value for name, value in config.items() if name not in _DEFAULT_CRITERIA}
    return {**others, _DEFAULT_CRITERIA[0]: {**settings, **criteria}}


def default_criteria(config: Mapping[str, Any]) -> Any:
    """Return the default criteria of a configuration, however their key is spelt; `None` if there are none."""
    return next((config[name] for name in _DEFAULT_CRITERIA if name in config), None)


def _read(form: Form, kind: type[Evaluator[Any, Any, Any]]) -> dict[str, Any]:
    """Return the criteria of a form, with the shorthand in them expanded."""
    shorthand = kind.shorthand
    if shorthand is None:
        return dict(form.value)
    key = shorthand.criteria_key
    criteria = {key: form.value} if form.is_short else dict(form.value)
    if shorthand.read is None:
        return criteria
    places = {key: form.inside} if form.is_short else {name: (*form.inside, name) for name in (key, camel(key))}
    for name, place in places.items():
        try:
            if name in criteria:
                criteria[name] = shorthand.read(criteria[name])
        except CriteriaError as problem:
            raise CriteriaError(str(problem), (*place, *problem.path)) from None
    return criteria


def criteria_path(value: Any, type_id: str) -> Path | None:
    """Return the keys from a written expectation to the part that a shorthand gives, or None if there is none."""
    kind = EVALUATORS[type_id]
    form = Form.of(value, kind)
    if form.value is None:
        return None
    if form.is_short:
        return form.inside
    key = "" if kind.shorthand is None else kind.shorthand.criteria_key
    return next(((*form.inside, name) for name in (key, camel(key)) if name in form.value), None)


def check_defaults(defaults: WrittenDefaults, limits: Limits) -> None:
    """Check defaults by making an evaluator and criteria with them.

    Raises:
        ConfigurationError: a default for how calls are judged is wrong.
        CriteriaError: a default for which calls are selected is wrong; its path leads to it.
    """
    if not defaults.model_fields_set - {"timeout", "weight"}:
        return
    kind = EVALUATORS["tool-trajectory"]  # the one evaluator that has them all
    known = {*kind.criteria_type.model_fields, *kind.config_type.model_fields}
    if missing := next((name for name in SETTINGS if name not in known and getattr(defaults, name) is not None), None):
        raise CriteriaError(f"no expectation has the setting {missing!r}", (missing,))
    config = {
        "match_type": defaults.match,
        "args_match": defaults.args,
        "threshold": defaults.threshold,
        **_default_config(defaults, kind),
    }
    kind("defaults", config, limits=limits).criteria({"expected": [], **default_settings(defaults, kind)})


def evaluator_of(
    key: str, defaults: WrittenDefaults, added: Mapping[str, AddedEvaluator]
) -> tuple[Shorthand | None, str, dict[str, Any]]:
    """Return what a key of `expect` names: the shorthand of its value, if any, a type id, and a configuration.

    Raises:
        CriteriaError: it names no evaluator.
    """
    threshold = {"threshold": defaults.threshold}
    if key in added:
        type_id = added[key].type_id
        if type_id not in EVALUATORS and is_code(type_id):
            return None, type_id, {**_explicit_threshold(defaults), **added[key].config}
        shorthand = EVALUATORS[type_id].shorthand if type_id in EVALUATORS else None
        return shorthand, type_id, {**threshold, **added[key].config}
    if (known := SHORTHANDS.get(key)) and (shorthand := EVALUATORS[known].shorthand):
        settings = {} if shorthand.config is None else shorthand.config(defaults.match, defaults.args)
        return shorthand, known, {**threshold, **settings, **_default_config(defaults, EVALUATORS[known])}
    if names_file(key):
        return None, key, _explicit_threshold(defaults)
    if reason := unavailable(key):
        raise CriteriaError(f"the evaluator {shown(key)} is not yet available: {reason}")
    try:
        return None, evaluator_type(key).type_id, threshold
    except UnknownNameError:
        if is_code(key):
            return None, key, _explicit_threshold(defaults)
        raise CriteriaError(
            f"{shown(key)} names no evaluator; {nearest(key, (*SHORTHANDS, *added, *EVALUATORS))}"
        ) from None


def _explicit_threshold(defaults: WrittenDefaults) -> dict[str, Any]:
    """Return the threshold if the file sets one. Otherwise custom code uses its own default."""
    return {"threshold": defaults.threshold} if "threshold" in defaults.model_fields_set else {}


def _weight(weight: Any, key: str) -> float:
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < float("inf"):
        raise CriteriaError(f"the weight of {key!r} is a number of 0 or more, not {shown(weight)}")
    return float(weight)


class Setting(msgspec.Struct, frozen=True):
    """The value of a setting, and where in the expectation it is written."""

    value: Any
    place: Path


class Form(msgspec.Struct, frozen=True):
    """A written expectation, taken apart."""

    value: Any
    """What is expected: in short, or as an object with the keys of the criteria."""
    inside: Path = ()
    """The keys in the file between the expectation and `value`."""
    settings: Mapping[str, Setting] = {}
    """The settings beside it, as they are spelt."""
    is_short: bool = True
    """Whether `value` is what a shorthand reads, rather than an object with the keys of the criteria."""

    @classmethod
    def of(cls, written: Any, kind: type[Evaluator[Any, Any, Any]]) -> Form:
        """Take apart what is written for an evaluator.

        Raises:
            CriteriaError: it has what is expected twice.
        """
        form = cls(written)
        if isinstance(written, dict) and "criteria" in written:
            if "expected" in written and takes_expected(kind):
                raise CriteriaError("'criteria' and 'expected' are the same here; give one of them", ("expected",))
            form = form._opened("criteria")
        if not isinstance(form.value, dict):
            return form
        if "expected" in form.value and takes_expected(kind):
            return form._opened("expected")
        fields = kind.criteria_type.model_fields.items()
        has_keys = any([name in form.value or field.alias in form.value for name, field in fields])
        return form._spelt_out(kind) if has_keys else form

    def _opened(self, key: str) -> Form:
        """Return the form of what is under a key. The keys beside it are settings, which override those further out."""
        beside = {name: Setting(value, (*self.inside, name)) for name, value in self.value.items() if name != key}
        return Form(self.value[key], (*self.inside, key), {**self.settings, **beside})

    def _spelt_out(self, kind: type[Evaluator[Any, Any, Any]]) -> Form:
        """Return the form of an object with keys of the criteria; other keys are settings."""
        known = {key for name, field in kind.criteria_type.model_fields.items() for key in (name, field.alias)}
        criteria = {name: value for name, value in self.value.items() if name in known}
        beside = {name: Setting(value, (*self.inside, name)) for name, value in self.value.items() if name not in known}
        return Form(criteria, self.inside, {**self.settings, **beside}, is_short=False)


def takes_expected(kind: type[Evaluator[Any, Any, Any]]) -> bool:
    """Return whether `expected` is the key for what an evaluator expects, and not a key of data."""
    return kind.shorthand is not None and not kind.shorthand.has_data_keys


class Split(msgspec.Struct, frozen=True):
    """Settings, sorted by what they set."""

    criteria: dict[str, Any] = {}
    config: dict[str, Any] = {}
    weight: Any = None
    places: Mapping[str, Path] = {}
    """Where each key of criteria and configuration is written."""


def split_settings(form: Form, key: str, kind: type[Evaluator[Any, Any, Any]]) -> Split:
    """Sort the settings of a form into criteria, configuration and weight.

    Raises:
        CriteriaError: a setting is unknown, or this evaluator does not have it.
    """
    criteria: dict[str, Any] = {}
    config: dict[str, Any] = {}
    weight, places = None, {}
    of_criteria, of_config = _by_spelling(kind.criteria_type), _by_spelling(kind.config_type)
    for written, setting in form.settings.items():
        if written == "weight":
            weight = setting.value
            continue
        if written in of_criteria:
            name = of_criteria[written]
            criteria[name] = setting.value
        elif written in of_config:
            name = of_config[written]
            config[name] = setting.value
        elif written in _WORDS and (found := _in_short(written, setting, kind)):
            name, config[found[0]] = found
        else:
            raise CriteriaError(
                f"unknown setting {shown(written)} of {key!r}; {nearest(written, settings_of(kind))}", setting.place
            )
        places[name] = setting.place
    return Split(criteria, config, weight, places)


def settings_of(kind: type[Evaluator[Any, Any, Any]]) -> tuple[str, ...]:
    """Return the words for the settings of an evaluator, as people write them."""
    criteria, config = kind.criteria_type.model_fields, kind.config_type.model_fields
    own = {"" if kind.shorthand is None else kind.shorthand.criteria_key, *criteria_without_settings(kind)}
    spelt = {long: short for short, long in _WORDS.items() if long in config}
    names = [spelt.get(name, name) for name in (*criteria, *config) if name not in _NOT_SETTINGS | own]
    if "subset" in config:
        names.append("args")
    return tuple(dict.fromkeys([*names, "weight"]))


def criteria_without_settings(kind: type[Evaluator[Any, Any, Any]]) -> tuple[str, ...]:
    """Return the keys of criteria that say what is expected, and have no other word."""
    return tuple([name for name, field in kind.criteria_type.model_fields.items() if field.is_required()])


def _by_spelling(model: Any) -> dict[str, str]:
    """Return the names of the fields of a model, by each way to spell them."""
    return {spelling: name for name, field in model.model_fields.items() for spelling in (name, field.alias)}


def _in_short(written: str, setting: Setting, kind: type[Evaluator[Any, Any, Any]]) -> tuple[str, Any] | None:
    """Return the key of the configuration that a word is short for, and its value; `None` if there is none."""
    config = kind.config_type.model_fields
    if (name := _WORDS.get(written)) in config:
        return str(name), setting.value
    if written != "args" or "subset" not in config:
        return None
    written = setting.value.lower() if isinstance(setting.value, str) else ""
    if written not in ("subset", "exact"):
        hint = "; 'calls' has all four policies" if written in ("superset", "ignore") else ""
        raise CriteriaError(
            f"arguments are compared as 'subset' or 'exact' here, not {shown(setting.value)}{hint}", setting.place
        )
    return "subset", written == "subset"
