"""Take a written expectation apart: what is expected, and the settings beside it, wherever they are.

`calls: [a]`, `calls: {expected: [a], match: in_order}`, `calls: {criteria: [a], parallel: in_order}` and
`calls: {criteria: {expected: [a], parallel: in_order}, match: in_order}` are one form with more or less in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.errors import CriteriaError, nearest, shown
from rightcall.judging import Evaluator
from rightcall.values.decoding import Path

_WORDS = {"match": "match_type", "args": "args_match"}
"""Settings in short, and the keys that they are short for."""
_NOT_SETTINGS = {"name", "description", "default_evaluation_criteria", "expected_turns"}
"""Keys of criteria and configuration that are not suggested for a misspelt setting."""


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
            CriteriaError: it says what is expected twice.
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
        """The form of what is under a key; the keys beside it are settings, and go before those further outside."""
        beside = {name: Setting(value, (*self.inside, name)) for name, value in self.value.items() if name != key}
        return Form(self.value[key], (*self.inside, key), {**self.settings, **beside})

    def _spelt_out(self, kind: type[Evaluator[Any, Any, Any]]) -> Form:
        """The form of an object with keys of the criteria; other keys are settings."""
        known = {key for name, field in kind.criteria_type.model_fields.items() for key in (name, field.alias)}
        criteria = {name: value for name, value in self.value.items() if name in known}
        beside = {name: Setting(value, (*self.inside, name)) for name, value in self.value.items() if name not in known}
        return Form(criteria, self.inside, {**self.settings, **beside}, is_short=False)


def takes_expected(kind: type[Evaluator[Any, Any, Any]]) -> bool:
    """Whether `expected` is the word for what an evaluator expects, and not a key of data."""
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
        CriteriaError: a setting is unknown, or is none of this evaluator.
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
    """The names of the fields of a model, by each way to spell them."""
    return {spelling: name for name, field in model.model_fields.items() for spelling in (name, field.alias)}


def _in_short(written: str, setting: Setting, kind: type[Evaluator[Any, Any, Any]]) -> tuple[str, Any] | None:
    """The key of the configuration that a word is short for, and its value; nothing where it is short for none."""
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
