"""Models of data that users write, declared like pydantic's and checked without it, with a sentence for each mistake.

Importing pydantic takes longer than reading a trace, compiling an eval set and judging it together: 0.14 of the 0.34 s
of CPU that `rightcall score` took. What these models need is small: plain types, bounds, functions that check a value,
and a sentence for each mistake. A method `check(self)` looks at all values together and raises `ValueError`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from rightcall.errors import ConfigurationError, CriteriaError, kind_of, nearest, shown

ModelT = TypeVar("ModelT", bound="UserModel")
_UNDERSCORE = re.compile(r"_([a-z0-9])")
Path: TypeAlias = tuple[str | int, ...]
Place: TypeAlias = "tuple[Place, str | int] | None"
"""A path as a chain of steps, the last one first: most values are valid, and their paths are never needed."""
Mistakes: TypeAlias = list[tuple[Path, str]]
Read: TypeAlias = Callable[[Any, Place, Mistakes], Any]
"""Returns the value to keep. A mistake is added to the list instead, and what is returned then is not used."""
Check: TypeAlias = tuple[frozenset[type], Read]
"""The classes of values that are valid as they are, which most values are, and what reads all others.

Where `None` stands for it, any value is valid.
"""
_NONE: frozenset[type] = frozenset()
_NULL = frozenset({NoneType})
_UNKNOWN = ("", None, None)


class ModelField(msgspec.Struct, frozen=True):
    """One key of a model."""

    name: str
    alias: str
    """How else users may write the key."""
    annotation: Any
    """Its type, without what `Annotated` adds."""
    check: Check | None
    """`None` if any value is valid."""
    default: Any = msgspec.NODEFAULT
    dumped: bool = True

    def is_required(self) -> bool:
        """Return whether the key has to be given."""
        return self.default is msgspec.NODEFAULT


_MISSING = " is missing"


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
    return [each for each in mistakes if not each[1].endswith(_MISSING) or each[0][:-1] not in misspelt]


def _is_known(mistake: tuple[Path, str]) -> bool:
    return not mistake[1].startswith("unknown key")


class ModelFields(dict[str, ModelField]):
    """The fields of a model by their names, and what else is needed to read one."""

    by_key: dict[str, tuple[str, frozenset[type] | None, Any]]
    """The name of a field and the two parts of its check, by each way to write its key."""
    state: dict[str, Any]
    """The value of every key if it is not given."""
    required: tuple[str, ...]
    dumped: tuple[str, ...]
    has_check: bool


class _FieldsOnFirstUse:
    """`model_fields` of a class, worked out once, on first use: of many models, a program uses a few."""

    def __get__(self, _: Any, model: type[UserModel]) -> ModelFields:
        fields = ModelFields()
        for name, hint in _hints(model).items():
            extras = hint.__metadata__ if get_origin(hint) is Annotated else ()
            kind = hint.__origin__ if extras else hint
            alias = next((extra.written for extra in extras if isinstance(extra, Key)), camel(name))
            is_dumped = not any([isinstance(extra, NotDumped) for extra in extras])
            default = getattr(model, name, msgspec.NODEFAULT)
            fields[name] = ModelField(name, alias, kind, check_of(hint), default, is_dumped)
        found = {name: (name, *(field.check or (None, None))) for name, field in fields.items()}
        fields.by_key = {field.alias: found[name] for name, field in fields.items()} | found
        fields.required = tuple([name for name, field in fields.items() if field.default is msgspec.NODEFAULT])
        fields.state = {name: field.default for name, field in fields.items()} | dict.fromkeys(fields.required)
        fields.dumped = tuple([name for name, field in fields.items() if field.dumped])
        fields.has_check = model.check is not UserModel.check
        model.model_fields = fields  # from now on Python finds it without asking here
        return fields


@dataclass_transform(kw_only_default=True, frozen_default=True)
class UserModel:
    """Data that a user writes: keys in snake_case or camelCase, unknown ones refused, values frozen.

    The methods have the names that pydantic gives them.

    Raises:
        ModelError: the values have mistakes; the error lists all of them.
    """

    model_fields: ClassVar[ModelFields] = _FieldsOnFirstUse()  # type: ignore[assignment]

    def __init__(self, **given: Any) -> None:
        mistakes: Mistakes = []
        # A class may override `check_value` to read other forms of it: these values are of none of them.
        made = UserModel.check_value.__func__(type(self), given, None, mistakes)  # type: ignore[attr-defined]
        if mistakes:
            raise ModelError(mistakes)
        object.__setattr__(self, "__dict__", made.__dict__)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.model_fields = _FieldsOnFirstUse()  # type: ignore[assignment]
        for name, value in cls.__dict__.items():
            # pydantic's validators would never be called here: what they should refuse would be accepted.
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
        # Nearly all values are dicts, which need no `isinstance`.
        if value.__class__ is not dict and isinstance(value, cls):
            return value
        if not isinstance(value, dict):
            return reject(place, mistakes, "an object is expected", value)
        fields = cls.model_fields
        state = fields.state.copy()
        given: list[str] = []
        count = len(mistakes)
        for key, item in value.items():
            name, accepted, read = fields.by_key.get(key, _UNKNOWN)
            if not name or name in given:
                break
            given.append(name)
            if accepted is None or item.__class__ in accepted:
                state[name] = item
            else:
                state[name] = read(item, (place, name), mistakes)
        else:
            if len(mistakes) == count and all([name in given for name in fields.required]):
                state["_given"] = given
                made = object.__new__(cls)
                # One assignment for all fields: models are frozen, and `__setattr__` for each would refuse.
                object.__setattr__(made, "__dict__", state)
                try:
                    if fields.has_check:
                        made.check()
                except ValueError as problem:
                    refuse(place, mistakes, problem)
                return made
        # Mistakes are reported in the order of the fields. Valid objects, which are nearly all, do not pay for that.
        del mistakes[count:]
        mistakes += _mistakes_in_order(fields, value, place)
        return None

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
        """Return the values by the names of their keys, with models inside as they are."""
        held = self.__dict__
        return {name: held[name] for name in self.model_fields.dumped}

    def model_dump_json(self) -> str:
        """Return the values as JSON. Raises `ValueError` if one of them is not JSON."""
        try:
            return _ENCODE(self).decode()
        except TypeError as problem:
            raise ValueError(str(problem)) from None

    def check(self) -> None:
        """Look at all values together. Raises `ValueError` with the sentence for the user."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{kind_of(self)} is frozen; make another with model_copy(update={{{name!r}: …}})")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *self._values()))

    def __repr__(self) -> str:
        shown = [f"{name}={self.__dict__[name]!r}" for name in self.model_fields]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _values(self) -> list[Any]:
        return [self.__dict__[name] for name in self.model_fields]


def parse_model(
    model: type[ModelT], value: Any, evaluator: str, error: type[ConfigurationError] | type[CriteriaError]
) -> ModelT:
    """Return the criteria or the configuration of an evaluator; which of the two it is follows from `error`.

    Raises:
        ConfigurationError, CriteriaError: the `error`, if the value is neither the model nor an object that fits it.
    """
    if isinstance(value, model):
        return value
    subject = f"{'criteria' if error is CriteriaError else 'configuration'} of {evaluator!r}"
    if not isinstance(value, Mapping):
        raise error(f"{subject}: expected an object or a {model.__name__}, not {shown(value)}")
    mistakes: Mistakes = []
    made: ModelT = model.check_value(dict(value), None, mistakes)
    if mistakes:
        problem = ModelError(mistakes)
        each = [(path, f"{subject}: {reason}") for path, reason in independent(mistakes)]
        raise error(f"{subject}: {problem}", problem.first[0], each)
    return made


def camel(name: str) -> str:
    """Return a snake_case name in camelCase."""
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name) if "_" in name else name


def _hints(model: type[UserModel]) -> dict[str, Any]:
    """Return the annotations of a model and its parents, theirs first, without class variables."""
    # Mistakes are reported in the order of the fields, which is that of the reference: parents first.
    kinds = model.__mro__[::-1]
    names = {name: kind for kind in kinds for name in vars(kind).get("__annotations__", ())}
    if not model.__module__.startswith("rightcall."):
        hints = get_type_hints(model, include_extras=True)
        return {name: hints[name] for name in names if get_origin(hints[name]) is not ClassVar}
    found = {}
    for name, kind in names.items():
        written = kind.__annotations__[name], kind.__module__
        if written not in _MEANINGS:
            holder = type("Holder", (), {"__annotations__": {name: written[0]}, "__module__": written[1]})
            _MEANINGS[written] = get_type_hints(holder, include_extras=True)[name]
        if get_origin(_MEANINGS[written]) is not ClassVar:
            found[name] = _MEANINGS[written]
    return found


_MEANINGS: dict[tuple[str, str], Any] = {}
"""What annotations of ours mean in their modules.

The models of one eval set have 80 annotations, of which 25 differ; asked for a class, `get_type_hints` evaluates every
one of them, which took 3 % of the instructions of `rightcall score`.
"""


def _mistakes_in_order(fields: ModelFields, value: dict[Any, Any], place: Place) -> Mistakes:
    mistakes: Mistakes = []
    used = set()
    for name, field in fields.items():
        key = field.alias if field.alias in value else name
        if key in value:
            used.add(key)
            if field.check is not None:
                _read(field.check, value[key], (place, name), mistakes)
        elif field.is_required():
            mistakes.append((path_of((place, name)), f"{text_of((place, name))!r}{_MISSING}"))
    known = [field.alias if field.alias.startswith("$") else name for name, field in fields.items()]
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
    raise TypeError(f"{kind_of(value)} is not JSON")


# The hook is called for models alone; `_plain` looks at each value in them.
_ENCODE = msgspec.json.Encoder(enc_hook=_dumped).encode


class Before(msgspec.Struct, frozen=True):
    """In `Annotated`: a function that changes or refuses a value before its type is checked."""

    function: Callable[[Any], Any]


class Made(msgspec.Struct, frozen=True):
    """In `Annotated`: a function that makes a value of the right type, or refuses. The type is not checked again."""

    function: Callable[[Any], Any]


class After(msgspec.Struct, frozen=True):
    """In `Annotated`: a function that changes or refuses a value of the right type."""

    function: Callable[[Any], Any]

    def check(self, read: Any, given: Any, place: Place, mistakes: Mistakes) -> Any:
        """Return the changed value."""
        try:
            return self.function(read)
        except ValueError as problem:
            return refuse(place, mistakes, problem)


FINITE = sys.float_info.max
"""The largest number that is finite, as a bound."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """In `Annotated`: the bounds of a number."""

    above: float = -inf
    least: float = -inf
    most: float = inf

    def check(self, read: Any, given: Any, place: Place, mistakes: Mistakes) -> Any:
        """Return the number, if it is within the bounds."""
        # `not read <= most` rather than `read > most`: NaN is within no bounds.
        if self.most == FINITE and not -FINITE <= read <= FINITE:
            wanted = "a finite number"
        elif not read <= self.most:
            wanted = f"a number of at most {self.most:.15g}"
        elif not read >= self.least:
            wanted = f"a number of at least {self.least:.15g}"
        elif not read > self.above:
            wanted = f"a number above {self.above:.15g}"
        else:
            return read
        return reject(place, mistakes, f"{wanted} is expected", given)


class Length(msgspec.Struct, frozen=True):
    """In `Annotated`: the bounds of the length of a string, list or object."""

    least: int = 0
    most: int = sys.maxsize
    told: str = ""
    """The sentence for the user about another length, which stands for `{}` in it."""

    def check(self, read: Any, given: Any, place: Place, mistakes: Mistakes) -> Any:
        """Return the text, list or object, if its length is within the bounds."""
        length = len(read)
        if self.least <= length <= self.most:
            return read
        if self.told:
            return refuse(place, mistakes, self.told.format(length))
        what, unit = ("String", "character") if isinstance(read, str) else ("Tuple", "item")
        after = "" if isinstance(read, str) else f" after validation, not {length}"
        bound, number = ("least", self.least) if length < self.least else ("most", self.most)
        unit += "" if number == 1 and bound == "least" else "s"
        return reject(place, mistakes, f"{what} should have at {bound} {number} {unit}{after}", given)


class Key(msgspec.Struct, frozen=True):
    """In `Annotated`: how users write the key, if that is not the name of the field in snake_case or camelCase."""

    written: str


class NotDumped(msgspec.Struct, frozen=True):
    """In `Annotated`: a value that is left out when a model is written as JSON."""


def path_of(place: Place) -> Path:
    """Return the steps to a place."""
    steps: list[str | int] = []
    while place is not None:
        place, step = place
        steps.append(step)
    return tuple(steps[::-1])


def text_of(place: Place) -> str:
    """Return the steps to a place as a string: `tool_calls[0].name`."""
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path_of(place)]
    return "".join(steps).lstrip(".")[:200]


def reject(place: Place, mistakes: Mistakes, wanted: str, value: Any) -> None:
    """Add the mistake that a value is not what is wanted."""
    found = "null" if value is None else shown(value)
    mistakes.append((path_of(place), f"{text_of(place)}: {wanted}, not {found}"))


def refuse(place: Place, mistakes: Mistakes, problem: Exception | str) -> None:
    """Add a mistake, in words, such as one that a function found."""
    path = text_of(place)
    mistakes.append((path_of(place), f"{path}: {problem}" if path else str(problem)))


def check_of(hint: Any) -> Check | None:
    """Return the check of an annotation; `None` if any value is valid."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        kind, *extras = arguments
        check = None if any([isinstance(extra, Made) for extra in extras]) else check_of(kind)
        # The last one is the outermost.
        changes = tuple([extra.function for extra in extras[::-1] if isinstance(extra, (Before, Made))])
        limits = tuple([extra for extra in extras if isinstance(extra, (Bounds, Length, After))])
        return (_NONE, partial(_read_annotated, check, changes, limits)) if changes or limits else check
    if hint in _CHECKS:
        return _CHECKS[hint]
    if origin in (Union, UnionType):
        checks = [check_of(each) for each in arguments if each is not NoneType]
        some = checks[0] if len(checks) == 1 else (_NONE, partial(_read_any_of, checks))
        if some is None or NoneType not in arguments:
            return some
        return some[0] | _NULL, some[1]
    if origin is Literal:
        return _NONE, partial(_read_choice, arguments)
    if origin is tuple and arguments[1:] == (...,):
        return _NONE, partial(_read_items, check_of(arguments[0]))
    if origin is dict:
        return _NONE, partial(_read_entries, check_of(arguments[0]), check_of(arguments[1]))
    return _NONE, hint.check_value if hasattr(hint, "check_value") else _read_by_pydantic(hint)


def _read(check: Check | None, value: Any, place: Place, mistakes: Mistakes) -> Any:
    return value if check is None or value.__class__ in check[0] else check[1](value, place, mistakes)


def _read_by_pydantic(kind: Any) -> Read:
    """Have pydantic check a type that is not one of ours: criteria of custom evaluators may have any."""
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    adapter = TypeAdapter(kind, config=ConfigDict(arbitrary_types_allowed=True))

    def check(value: Any, place: Place, mistakes: Mistakes) -> Any:
        try:
            return adapter.validate_python(value)
        except ValidationError as problem:
            for each in problem.errors(include_url=False):
                inner = place
                for step in each["loc"]:
                    inner = (inner, step)
                reject(inner, mistakes, each["msg"], each["input"])
            return None

    return check


def _read_kind(kind: type, wanted: str, value: Any, place: Place, mistakes: Mistakes) -> Any:
    return value if isinstance(value, kind) else reject(place, mistakes, wanted, value)


def _read_int(value: Any, place: Place, mistakes: Mistakes) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return reject(place, mistakes, "a whole number is expected", value)


def _read_float(value: Any, place: Place, mistakes: Mistakes) -> Any:
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    except OverflowError:  # a whole number of more than 308 digits
        pass
    return reject(place, mistakes, "a number is expected", value)


def _read_number(value: Any, place: Place, mistakes: Mistakes) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    return reject(place, mistakes, "a number is expected", value)


def _read_choice(choices: tuple[Any, ...], value: Any, place: Place, mistakes: Mistakes) -> Any:
    if isinstance(value, str) and value in choices:
        return value
    *others, last = [repr(choice) for choice in choices]
    return reject(place, mistakes, f"{', '.join(others)} or {last} is expected", value)


def _read_items(check: Check | None, value: Any, place: Place, mistakes: Mistakes) -> Any:
    if not isinstance(value, (list, tuple)):
        return reject(place, mistakes, "a list is expected", value)
    if check is None:
        return tuple(value)
    accepted, read = check
    return tuple(
        [
            item if item.__class__ in accepted else read(item, (place, index), mistakes)
            for index, item in enumerate(value)
        ]
    )


def _read_entries(keys: Check | None, items: Check | None, value: Any, place: Place, mistakes: Mistakes) -> Any:
    if not isinstance(value, Mapping):
        return reject(place, mistakes, "an object is expected", value)
    read = {}
    for key, item in value.items():
        if keys is not None and key.__class__ not in keys[0]:
            keys[1](key, ((place, key), "[key]"), mistakes)
        if items is None or item.__class__ in items[0]:
            read[key] = item
        else:
            read[key] = items[1](item, (place, key), mistakes)
    return read


def _read_any_of(checks: list[Check | None], value: Any, place: Place, mistakes: Mistakes) -> Any:
    found: list[Mistakes] = []
    for check in checks:
        wrong: Mistakes = []
        read = _read(check, value, place, wrong)
        if not wrong:
            return read
        found.append(wrong)
    # A value of the right kind has its mistakes deeper inside; those of the other kinds would only confuse.
    deepest = max([len(wrong[0][0]) for wrong in found])
    for wrong in found:
        mistakes += wrong if len(wrong[0][0]) == deepest else ()
    return None


def _read_annotated(
    check: Check | None,
    changes: tuple[Callable[[Any], Any], ...],
    limits: tuple[Bounds | Length | After, ...],
    value: Any,
    place: Place,
    mistakes: Mistakes,
) -> Any:
    """Read a value with what `Annotated` adds to its type: it is changed, checked, and compared with the limits."""
    try:
        for change in changes:
            value = change(value)
    except ValueError as problem:
        return refuse(place, mistakes, problem)
    read, count = value, len(mistakes)
    if check is not None and value.__class__ not in check[0]:
        read = check[1](value, place, mistakes)
    for limit in limits:
        if len(mistakes) > count:
            return None
        # Nearly all names and numbers are within their limits, and are not passed on for that.
        if limit.__class__ is Length and limit.least <= len(read) <= limit.most:
            continue
        if limit.__class__ is Bounds and limit.above < read and limit.least <= read <= limit.most:
            continue
        read = limit.check(read, value, place, mistakes)
    return read


_CHECKS: dict[Any, Check | None] = {
    Any: None,
    object: None,
    str: (frozenset({str}), partial(_read_kind, str, "a string is expected")),
    bool: (frozenset({bool}), partial(_read_kind, bool, "true or false is expected")),
    int: (frozenset({int}), _read_int),
    float: (frozenset({float}), _read_float),
    int | float: (frozenset({int, float}), _read_number),
}
