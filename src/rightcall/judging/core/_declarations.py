"""What an evaluator declares about itself: its short form in eval sets, and what of a run it looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import msgspec

from rightcall.errors import CriteriaError, shown

if TYPE_CHECKING:
    from rightcall.matching.matchers import Pattern


class Shorthand(msgspec.Struct, frozen=True):
    """How `expect` in an eval set may write an evaluator and its criteria in short: `order: [search, book]`."""

    key: str
    """The key of `expect`."""
    criteria_key: str
    """The key of the criteria that the value goes to."""
    read: Callable[[Any], Any] = lambda value: value
    """Turns the short value into that of the criteria. Raises `CriteriaError`."""
    schema: Mapping[str, Any] = {}
    """The JSON Schema of the short value, for editors; empty for any value."""
    config: Callable[[Any, Any], dict[str, Any]] = lambda match, args: {}
    """The configuration that follows from `match` and `args` under `defaults`."""

    @property
    def has_data_keys(self) -> bool:
        """Whether the short value may be an object whose keys are data: names of tools, or parts of an answer."""
        kinds = self.schema.get("type", "object")
        return "object" in ([kinds] if isinstance(kinds, str) else kinds)


class CallScope(msgspec.Struct, frozen=True):
    """A verdict that depends on nothing but calls of some tools and on which of some patterns they satisfy.

    Two runs with the same calls, as far as the scope goes, get the same verdict and score.
    """

    names: frozenset[str]
    patterns: tuple[Pattern, ...] = ()
    """What calls are compared with; none where names are enough."""
    others: bool = False
    """Whether calls of other tools count, by their number and their names."""
    order: bool = False
    """Whether the order of calls counts."""
    finds_calls: bool = False
    """Whether findings are about single calls rather than about expectations, so that their number grows with calls."""

    @property
    def reads(self) -> str | None:
        """The field of calls that is read beside their names."""
        return next((pattern.part for pattern in self.patterns if not pattern.accepts_all), None)


Scoring: TypeAlias = Literal["share", "equal", "in order", "in common"]


class NameScope(msgspec.Struct, frozen=True):
    """A verdict that follows from the names of calls alone, by one of four formulas.

    Scores: `share` is the part of the expected names that is in order, `in common` the part that was called at all;
    `equal` is 1.0 where the calls are the expected ones, `in order` where these are among them in order; else 0.0.
    """

    expected: tuple[str, ...]
    scoring: Scoring
    order: bool = True
    """Whether a call at another place than expected is a finding."""
    extras: bool = False
    """Whether a call that is not expected is a finding."""

    reads: ClassVar[None] = None
    """No field of calls is read beside their names."""

    @property
    def names(self) -> frozenset[str]:
        """The tools that the verdict depends on."""
        return frozenset(self.expected)

    @property
    def others(self) -> bool:
        """Whether calls of other tools count."""
        return self.extras


Scope: TypeAlias = CallScope | NameScope

CALLS: Mapping[str, Any] = {"type": "array", "items": {"$ref": "#/$defs/step"}}
"""The JSON Schema of the steps of a path in short."""
SOME_CALLS: Mapping[str, Any] = {"type": "array", "items": {"$ref": "#/$defs/call"}, "minItems": 1}
"""The JSON Schema of single calls in short."""
TEXT: Mapping[str, Any] = {"type": "string"}
WHOLE: Mapping[str, Any] = {"type": "integer", "minimum": 0}
NUMBER: Mapping[str, Any] = {"type": "number", "minimum": 0}


STEP_WORDS = ("any_order", "at_once", "optional", "one_of", "repeat", "steps")
"""The words that begin a step of a list of calls which is not a call."""


def is_word(name: str) -> bool:
    """Return whether a tool of this name has to be written as `{name: …}`: as a key, it would mean something else."""
    return name in ("name", *STEP_WORDS) or name.startswith("$")


def read_calls(value: Any) -> Any:
    """Return expected calls that are written as `name`, `{name: args}` or `{name: …, args: …}`.

    Raises:
        CriteriaError: the value is not a list of those; the path leads to the one that is wrong.
    """
    if not isinstance(value, (list, tuple)):
        raise CriteriaError(f"a list of calls is expected, not {shown(value)}")
    return [_call(item, index) for index, item in enumerate(value)]


def _call(item: Any, index: int) -> Any:
    if not isinstance(item, dict):
        return item
    if problem := misplaced_word(item):
        raise CriteriaError(problem, (index,))
    if isinstance(item.get("name"), str):
        return item
    if len(item) != 1:
        raise CriteriaError(f"a call is a name or an object with one key, its name, not {shown(item)}")
    [(name, args)] = item.items()
    return {"name": name, "args": args}


def misplaced_word(call: dict[Any, Any]) -> str | None:
    """Return what would be right where a call is written with a word in the wrong place; nothing where it is not."""
    if matcher := next((key for key in call if isinstance(key, str) and key.startswith("$")), ""):
        return f"{shown(matcher)} is a matcher, and a call begins with the name of its tool; {_SEVERAL}"
    # With an object behind it, a word is a tool of that name, and the object its arguments.
    word = next((key for key in call if key in STEP_WORDS and not isinstance(call[key], dict)), "")
    if word == "one_of":
        return f"'one_of' is a word for steps of 'calls', and here are single calls; {_SEVERAL}"
    if word:
        return f"{word!r} is a word for steps of 'calls', around a call; here are single calls, without order"
    said = call.get("name", "")
    # `{name: {query: laptop}}` is a call of a tool that is called `name`.
    if isinstance(said, str) or (len(call) == 1 and isinstance(said, dict) and not _is_matcher(said)):
        return None
    return f"'name' is the name of a tool, a text, not {shown(said)}; {_SEVERAL}"


_SEVERAL = "* in a name stands for any characters, and 'one_of' in 'calls' for one of several"


def _is_matcher(value: dict[Any, Any]) -> bool:
    return any([isinstance(key, str) and key.startswith("$") for key in value])


def read_outputs(value: Any) -> Any:
    """Return expected outputs that are written as `{name: output}`, alone or in a list.

    Raises:
        CriteriaError: the value is neither.
    """
    if isinstance(value, dict):
        return [{"name": name, "output": output} for name, output in value.items()]
    if not isinstance(value, (list, tuple)):
        raise CriteriaError(f"a list of outputs is expected, not {shown(value)}")
    return [_output(item) for item in value]


def _output(item: Any) -> Any:
    if not isinstance(item, dict) or {"name", "output"} <= item.keys():
        return item
    if len(item) != 1:
        raise CriteriaError(f"an expected output is an object with one key, the tool's name, not {shown(item)}")
    [(name, output)] = item.items()
    return {"name": name, "output": output}
