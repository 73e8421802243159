"""Models of data that users write, declared like pydantic's and checked without it.

Importing pydantic takes longer than reading a trace, compiling an eval set and judging it together: 0.14 of the 0.34 s
of CPU that `rightcall score` took. What these models need is small: plain types, bounds, functions that check a value,
and a sentence for each mistake. A method `check(self)` looks at all values together and raises `ValueError`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar, dataclass_transform, get_origin, get_type_hints

import msgspec

from rightcall.errors import ConfigurationError, CriteriaError, nearest, shown

from ._checks import Check, Key, Mistakes, NotDumped, Path, Place, check_of, parts_of, path_of, refuse, reject, text_of

ModelT = TypeVar("ModelT", bound="UserModel")
_UNDERSCORE = re.compile(r"_([a-z0-9])")


class ModelField(msgspec.Struct, frozen=True):
    """One key of a model."""

    name: str
    alias: str
    """How else users may write the key."""
    annotation: Any
    """Its type, without what `Annotated` adds."""
    check: Check | None
    """None where any value is right."""
    default: Any = msgspec.NODEFAULT
    dumped: bool = True

    def is_required(self) -> bool:
        """Return whether the key has to be given."""
        return self.default is msgspec.NODEFAULT


class ModelError(ValueError):
    """What a user wrote does not fit a model: the path of each mistake, and a sentence with what would be right."""

    def __init__(self, mistakes: Mistakes) -> None:
        super().__init__("; ".join([reason for _, reason in mistakes[:5]]))
        self.mistakes = mistakes

    @property
    def first(self) -> tuple[Path, str]:
        """The mistake to report. An unknown key comes before a missing one: it may be the missing one, misspelt."""
        return min(self.mistakes, key=_is_known)


def independent(mistakes: Mistakes) -> Mistakes:
    """Return the mistakes that do not follow from others: a key that is missing may be the unknown one, misspelt."""
    misspelt = {path[:-1] for path, reason in mistakes if not _is_known((path, reason))}
    return [each for each in mistakes if not _is_known(each) or each[0][:-1] not in misspelt]


def _is_known(mistake: tuple[Path, str]) -> bool:
    return not mistake[1].startswith("unknown key")


class _Fields:
    """`model_fields` of a class, made when it is first asked for: of many models, a program uses a few."""

    def __get__(self, _: Any, model: type[UserModel]) -> dict[str, ModelField]:
        return _layout(model).fields


@dataclass_transform(kw_only_default=True, frozen_default=True)
class UserModel:
    """Data that a user writes: keys in snake_case or camelCase, unknown ones refused, values frozen.

    The methods have the names that pydantic gives them.

    Raises:
        ModelError: what is given has mistakes; all of them are in it.
    """

    model_fields: ClassVar[Mapping[str, ModelField]] = _Fields()  # type: ignore[assignment]

    def __init__(self, **given: Any) -> None:
        mistakes: Mistakes = []
        _fill(self, given, None, mistakes)
        if mistakes:
            raise ModelError(mistakes)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, value in cls.__dict__.items():
            # Not one of these would be called: what it should refuse would be accepted.
            if type(value).__module__.partition(".")[0] == "pydantic":
                raise TypeError(
                    f"{cls.__name__}.{name} is pydantic's; a {cls.__mro__[1].__name__} has a method 'check'"
                )

    @classmethod
    def model_validate(cls: type[ModelT], value: Any) -> ModelT:
        """Return the model of an object. Raises `ModelError`."""
        mistakes: Mistakes = []
        made: ModelT = cls.check_value(value, None, mistakes)
        if mistakes:
            raise ModelError(mistakes)
        return made

    @classmethod
    def check_value(cls, value: Any, place: Place, mistakes: Mistakes) -> Any:
        """Return the model of an object that is somewhere inside of what a user wrote."""
        # Nearly all values are dicts. Models are abstract classes, for which `isinstance` takes three times as long.
        if value.__class__ is not dict and isinstance(value, cls):
            return value
        if not isinstance(value, dict):
            return reject(place, mistakes, "an object is expected", value)
        return _fill(object.__new__(cls), value, place, mistakes)

    @property
    def model_fields_set(self) -> set[str]:
        """The names of the keys that were given."""
        return set(self.__dict__["_given"])

    def model_copy(self: ModelT, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> ModelT:
        """Return a copy with other values, which are not checked."""
        import copy

        copied = copy.deepcopy(self) if deep else copy.copy(self)
        copied.__dict__.update(update or {})
        return copied

    def model_dump(self) -> dict[str, Any]:
        """Return the values by the names of their keys, models in them as objects."""
        dumped: dict[str, Any] = _plain(self.dumped())
        return dumped

    def dumped(self) -> Any:
        """Return the same with the models in it as they are."""
        held = self.__dict__
        return {name: held[name] for name in _layout(type(self)).dumped}

    def model_dump_json(self) -> str:
        """Return the values as JSON. Raises `ValueError` where one of them is not JSON."""
        try:
            return _ENCODE(self).decode()
        except TypeError as problem:
            raise ValueError(str(problem)) from None

    def check(self) -> None:
        """Look at all values together. Raises `ValueError` with the sentence for the user."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a {type(self).__name__} is frozen; make another with model_copy(update={{{name!r}: …}})")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *self._values()))

    def __repr__(self) -> str:
        shown = [f"{name}={self.__dict__[name]!r}" for name in _layout(type(self)).fields]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _values(self) -> list[Any]:
        return [self.__dict__[name] for name in _layout(type(self)).fields]


def parse_model(
    model: type[ModelT], value: Any, evaluator: str, error: type[ConfigurationError] | type[CriteriaError]
) -> ModelT:
    """Return the criteria or, where a mistake is a `ConfigurationError`, the configuration that an evaluator is given.

    Raises:
        ConfigurationError, CriteriaError: the `error`, if it is neither the model nor an object that fits it.
    """
    if isinstance(value, model):
        return value
    subject = f"{'criteria' if error is CriteriaError else 'configuration'} of {evaluator!r}"
    if not isinstance(value, Mapping):
        raise error(f"{subject}: expected an object or a {model.__name__}, not {shown(value)}")
    try:
        return model.model_validate(dict(value))
    except ModelError as problem:
        each = [(path, f"{subject}: {reason}") for path, reason in independent(problem.mistakes)]
        raise error(f"{subject}: {problem}", problem.first[0], each) from None


def camel(name: str) -> str:
    """Return a snake_case name in camelCase."""
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name)


class _Layout(msgspec.Struct, frozen=True):
    """What is needed to read a model."""

    fields: dict[str, ModelField]
    by_key: dict[str, ModelField]
    state: dict[str, Any]
    """The value of every key where none is given."""
    required: tuple[str, ...]
    dumped: tuple[str, ...]
    has_check: bool


_LAYOUTS: dict[type[UserModel], _Layout] = {}


def _layout(model: type[UserModel]) -> _Layout:
    if model in _LAYOUTS:
        return _LAYOUTS[model]
    fields = {name: _field(model, name, hint) for name, hint in _hints(model).items()}
    by_key = {field.alias: field for field in fields.values()} | fields
    defaults = {name: field.default for name, field in fields.items()}
    required = tuple([name for name, default in defaults.items() if default is msgspec.NODEFAULT])
    state = defaults | dict.fromkeys(required)
    dumped = tuple([name for name, field in fields.items() if field.dumped])
    _LAYOUTS[model] = _Layout(fields, by_key, state, required, dumped, model.check is not UserModel.check)
    return _LAYOUTS[model]


def _hints(model: type[UserModel]) -> dict[str, Any]:
    """Return the annotations of a model and its parents, theirs first, without class variables."""
    # Mistakes are reported in the order of the fields, which is that of the reference: parents first.
    kinds = model.__mro__[::-1]
    names = {name: kind for kind in kinds for name in vars(kind).get("__annotations__", ())}
    if model.__module__.startswith("rightcall."):
        hints = {name: _evaluated(kind.__annotations__[name], kind.__module__) for name, kind in names.items()}
    else:
        hints = get_type_hints(model, include_extras=True)
    return {name: hints[name] for name in names if get_origin(hints[name]) is not ClassVar}


@cache
def _evaluated(annotation: str, module: str) -> Any:
    """Return what an annotation of ours means in its module.

    The models of one eval set have 80 annotations, of which 25 differ; asked for a class, `get_type_hints` evaluates
    every one of them, which took 3 % of the instructions of `rightcall score`.
    """
    holder = type("Holder", (), {"__annotations__": {"it": annotation}, "__module__": module})
    return get_type_hints(holder, include_extras=True)["it"]


def _field(model: type[UserModel], name: str, hint: Any) -> ModelField:
    kind, extras = parts_of(hint)
    written = next((extra.written for extra in extras if isinstance(extra, Key)), camel(name))
    dumped = not any([isinstance(extra, NotDumped) for extra in extras])
    return ModelField(name, written, kind, check_of(hint), getattr(model, name, msgspec.NODEFAULT), dumped)


def _fill(made: ModelT, value: dict[Any, Any], place: Place, mistakes: Mistakes) -> ModelT | None:
    """Return a new model with its values, or nothing if one of them is missing or wrong."""
    layout = _layout(type(made))
    state = layout.state.copy()
    given: list[str] = []
    count = len(mistakes)
    for key, item in value.items():
        field = layout.by_key.get(key)
        if field is None or field.name in given:
            break
        given.append(field.name)
        state[field.name] = item if field.check is None else field.check(item, (place, field.name), mistakes)
    else:
        if len(mistakes) == count and all([name in given for name in layout.required]):
            state["_given"] = given
            # One assignment for all fields: models are frozen, and `__setattr__` for each would refuse.
            object.__setattr__(made, "__dict__", state)
            try:
                if layout.has_check:
                    made.check()
            except ValueError as problem:
                refuse(place, mistakes, problem)
            return made
    # Mistakes are reported in the order of the fields. Right objects, which are nearly all, do not pay for that.
    del mistakes[count:]
    mistakes += _mistakes_in_order(layout, value, place)
    return None


def _mistakes_in_order(layout: _Layout, value: dict[Any, Any], place: Place) -> Mistakes:
    mistakes: Mistakes = []
    used = set()
    for name, field in layout.fields.items():
        key = field.alias if field.alias in value else name
        if key in value:
            used.add(key)
            if field.check is not None:
                field.check(value[key], (place, name), mistakes)
        elif field.is_required():
            mistakes.append((path_of((place, name)), f"{text_of((place, name))!r} is missing"))
    known = [field.alias if field.alias.startswith("$") else name for name, field in layout.fields.items()]
    for key in value:
        if key not in used:
            text = text_of((place, key))
            twice = f"{text!r} is given twice, in snake_case and in camelCase"
            reason = twice if key in known else f"unknown key {text!r}; {nearest(str(key), known)}"
            mistakes.append((path_of((place, key)), reason))
    return mistakes


_ATOMS = frozenset({str, int, float, bool, type(None)})


def _plain(value: Any) -> Any:
    if value.__class__ in _ATOMS:
        return value
    if isinstance(value, UserModel):
        return _plain(value.dumped())
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _dumped(value: Any) -> Any:
    if isinstance(value, UserModel):
        return value.dumped()
    raise TypeError(f"a {type(value).__name__} is not JSON")


# Asked about models alone: `_plain` asks about each value in them.
_ENCODE = msgspec.json.Encoder(enc_hook=_dumped).encode
