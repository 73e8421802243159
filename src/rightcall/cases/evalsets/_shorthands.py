"""Take written expectations apart, of cases and of their turns, and resolve their keys to evaluators and criteria.

`calls: [a]`, `calls: {expected: [a], match: in_order}`, `calls: {criteria: [a], parallel: in_order}` and
`calls: {criteria: {expected: [a], parallel: in_order}, match: in_order}` are one form with more or less in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import ConfigurationError, CriteriaError, UnknownNameError, nearest, shown
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

from ._eval_set_file import SETTINGS, EvalSetDocument, WrittenCase, WrittenDefaults

_DEFAULT_CRITERIA = ("default_evaluation_criteria", "defaultEvaluationCriteria")
_BEGINS = lazy_pattern(r"(?:(?:criteria|configuration) of '[^']*': )?(unknown key ')?(\w+)(?=[\[.:'])")
"""How a message about criteria or a configuration begins: with the key that is wrong."""
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

    def reworded(self, key: str, message: str) -> str:
        """Return the message of a mistake with the keys that are written, and not those that they are short for."""
        begins = _BEGINS.match(message)
        if begins is None or begins[2] not in self.places:
            return message
        written = ".".join((key, *map(str, self.places[begins[2]]))).lstrip(".")
        return f"{begins[1] or ''}{written}{message[begins.end() :]}"

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
    kind = EVALUATORS.get(type_id)
    if kind is None:
        return _of_code(key, type_id, config, value, weight)
    form = Form.of(value, kind)
    split = split_settings(form, key, kind) if form.settings else Split()
    weight = weight if split.weight is None else _weight(split.weight, key)
    of_criteria, of_config = default_settings(defaults, kind)
    # Only the keys of `expect` that are short for an evaluator take their configuration from `defaults`.
    is_short_key = shorthand is not None and key not in added
    settings = {**of_criteria, **split.criteria}
    config = {**config, **(of_config if is_short_key else {}), **split.config}
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


def default_settings(
    defaults: WrittenDefaults, kind: type[Evaluator[Any, Any, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the keys of criteria, and those of the configuration, that follow from the defaults for an evaluator.

    Those of criteria say which calls it selects, and how.
    """
    fields, of_config = kind.criteria_type.model_fields, kind.config_type.model_fields
    given = {name: value for name in SETTINGS if (value := getattr(defaults, name)) is not None}
    config = {name: value for name, value in given.items() if name in of_config and name not in fields}
    criteria = {name: value for name, value in given.items() if name in fields} if kind.reads_calls else {}
    if not kind.orders_calls:
        criteria.pop("parallel", None)
    # Settings that equal the default are left out: criteria without settings are the fastest to judge by.
    return {name: value for name, value in criteria.items() if value != fields[name].default}, config


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
    of_criteria, of_config = default_settings(defaults, kind)
    config = {
        "match_type": defaults.match,
        "args_match": defaults.args,
        "threshold": defaults.threshold,
        **of_config,
    }
    places = {name: (short,) for short, name in _WORDS.items()} | {name: (name,) for name in (*SETTINGS, "threshold")}
    written = Expected(kind.type_id, config, None, places=places)
    try:
        kind("defaults", config, limits=limits).criteria({"expected": [], **of_criteria})
    except (ConfigurationError, CriteriaError) as problem:
        mistakes = [(written.place(steps), written.reworded("", reason)) for steps, reason in problem.mistakes]
        message = written.reworded("", str(problem))
        raise problem.__class__(message, written.place(problem.path), mistakes) from None


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
        return shorthand, known, {**threshold, **settings}
    if names_file(key):
        return None, key, _explicit_threshold(defaults)
    if reason := unavailable(key):
        raise CriteriaError(f"the evaluator {shown(key)} is not yet available: {reason}")
    try:
        return None, evaluator_type(key).type_id, threshold
    except UnknownNameError:
        if is_code(key):
            return None, key, _explicit_threshold(defaults)
        hint = nearest(key, (*SHORTHANDS, *added, *EVALUATORS))
        if key in _WORDS or key in SETTINGS:
            hint = f"it is a setting: write it beside what is expected, as in calls: {{expected: […], {key}: …}}"
        raise CriteriaError(f"{shown(key)} names no evaluator; {hint}") from None


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


class TurnsExpected(msgspec.Struct, frozen=True):
    """What the turns of a case expect under one key."""

    key: str
    type_id: str
    turns: Mapping[int, Expected]
    """What each turn that has the key expects; without nulls if the evaluator judges all turns at once."""
    count: int
    """How many turns the case has."""

    @property
    def is_joint(self) -> bool:
        """Whether one check judges all turns: the evaluator can, and all turns have the same settings."""
        beside = [(each.config, each.weight, _beside(each)) for each in self.turns.values()]
        return judges_turns(self.type_id) and all([each == beside[0] for each in beside])

    def together(self) -> Expected:
        """Return the expectation of all turns, in a list with an item for each."""
        first = next(iter(self.turns.values()), Expected(self.type_id, {}, None))
        empty = EVALUATORS[self.type_id].empty_turn if self.type_id in EVALUATORS else None
        values = [_value(self.turns[number]) if number in self.turns else empty for number in range(self.count)]
        return Expected(self.type_id, first.config, {**_beside(first), "expected_turns": values}, weight=first.weight)

    def apart(self, defaults: WrittenDefaults) -> Mapping[int, Expected]:
        """Return the expectation of each turn; if the evaluator judges turns, also of turns without the key."""
        kind = EVALUATORS[self.type_id]
        found = {number: self._narrowed(number, each) for number, each in self.turns.items()}
        if kind.empty_turn is None or kind.shorthand is None or not judges_turns(self.type_id):
            return found
        first = next(iter(self.turns.values()))
        nothing = {kind.shorthand.criteria_key: kind.empty_turn, **default_settings(defaults, kind)[0]}
        silent = msgspec.structs.replace(first, criteria=nothing, inside=(), places={})
        missing = {number: self._narrowed(number, silent) for number in range(self.count) if number not in self.turns}
        return dict(sorted({**found, **missing}.items()))

    def _narrowed(self, number: int, expected: Expected) -> Expected:
        """Return an expectation of one turn; if the conversation has only one turn, of the whole."""
        if self.count == 1:
            return expected
        is_answer = not EVALUATORS[self.type_id].reads_calls
        turn: int | str = "last" if is_answer and number == self.count - 1 else number
        criteria = default_criteria(expected.config) if expected.criteria is None else expected.criteria
        # A value that is not an object is a mistake, which the evaluator reports.
        narrowed = {**criteria, "turn": turn} if isinstance(criteria, dict) else criteria
        return msgspec.structs.replace(expected, criteria=narrowed)

    def place(self, place: Path, steps: Path) -> Path:
        """Return where a part of `expected_turns` is written: under `expect` of a turn."""
        if steps[:1] == ("expected_turns",) and len(steps) > 1 and isinstance(steps[1], int):
            return self.turn_place(place, steps[1], (_key(self.type_id), *steps[2:]))
        # A setting is the same in all turns.
        first = next((number for number, each in self.turns.items() if steps and steps[0] in each.places), None)
        return (*place, "turns") if first is None else self.turn_place(place, first, steps)

    def turn_place(self, place: Path, number: int, steps: Path) -> Path:
        """Return where a part of what a turn expects is written."""
        inside = self.turns[number].place(steps) if number in self.turns else ()
        return (*place, "turns", number, "expect", self.key, *inside)


def turn_expectations(
    written: WrittenCase,
    place: Path,
    document: EvalSetDocument,
    defaults: WrittenDefaults,
    added: Mapping[str, AddedEvaluator],
) -> list[TurnsExpected]:
    """Return what the turns of a case expect, by key.

    A turn without calls, while others have some, expects no calls. A turn without an answer expects any answer.

    Raises:
        DocumentError: a key names no evaluator or one that does not judge turns, a value is wrong, or the case has the
            key as well.
    """
    turns = written.turns or ()
    keys = dict.fromkeys([key for turn in turns for key in turn.expect])
    found = []
    for key in keys:
        numbers = [number for number, turn in enumerate(turns) if key in turn.expect]
        type_id = _type_id(key, written, numbers[0], place, document, defaults, added)
        expected = {}
        for number in numbers:
            value, at = turns[number].expect[key], (*place, "turns", number, "expect", key)
            if value is not None or not judges_turns(type_id):
                with document.locating_errors(at, lambda steps: steps):
                    expected[number] = resolve_expectation(key, value, defaults, added, of_turn=True)
                    _check_turn(expected[number])
        found.append(TurnsExpected(key, type_id, expected, len(turns)))
    return found


def _type_id(
    key: str,
    written: WrittenCase,
    first: int,
    place: Path,
    document: EvalSetDocument,
    defaults: WrittenDefaults,
    added: Mapping[str, AddedEvaluator],
) -> str:
    at: Path = (*place, "turns", first, "expect", key)
    with document.locating_errors(at):
        _, type_id, _ = evaluator_of(key, defaults, added)
    if judges_turns(type_id):
        if key in written.expect:
            raise document.problem(f"{shown(key)} is expected of the case, too; say it in one place", at)
    elif type_id not in EVALUATORS or not EVALUATORS[type_id].reads_calls or EVALUATORS[type_id].waits:
        raise document.problem(f"{shown(key)} belongs to the case: it is about a whole run", at)
    return type_id


def _check_turn(expected: Expected) -> None:
    if isinstance(expected.criteria, dict) and "turn" in expected.criteria:
        message = "'turn' is for expectations of a case; a turn expects something of itself"
        raise CriteriaError(message, expected.place(("turn",)))


def judges_turns(type_id: str) -> bool:
    """Return whether an evaluator judges all turns at once. One that is not available is assumed to."""
    if type_id in EVALUATORS:
        return "expected_turns" in EVALUATORS[type_id].criteria_type.model_fields
    return bool(unavailable(type_id)) and not names_file(type_id)


def _key(type_id: str) -> str:
    shorthand = EVALUATORS[type_id].shorthand if type_id in EVALUATORS else None
    return "" if shorthand is None else shorthand.criteria_key


def _beside(expected: Expected) -> dict[str, Any]:
    """Return the criteria without what is expected: the settings."""
    if not isinstance(expected.criteria, dict):
        return {}
    return {name: value for name, value in expected.criteria.items() if name != _key(expected.type_id)}


def _value(expected: Expected) -> Any:
    key = _key(expected.type_id)
    is_held = isinstance(expected.criteria, dict) and key in expected.criteria
    return expected.criteria[key] if is_held else expected.criteria


def turn_label(key: str, number: int) -> str:
    """Return the name of a check of one turn."""
    return f"{key} (turn {number + 1})"
