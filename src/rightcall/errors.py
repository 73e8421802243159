"""Every exception Rightcall raises.

    RightcallError              the request cannot be met; the message says where, what and what would be right
    ├── InputError              data from outside (a trace, a value, a string) cannot be read
    │   └── DocumentError       a file that people write is wrong, at a line and a column
    ├── ConfigurationError      an evaluator's configuration is wrong
    ├── CriteriaError           the criteria given to an evaluator are wrong or missing
    │   └── ExpectationError    one expected value in them is wrong: an unknown `$` matcher, a bad pattern
    ├── MockError               a call of a mocked or replayed tool has no matching mock or recorded answer
    ├── UnknownNameError        no evaluator, code or command has this name
    ├── AgentError              an agent cannot be found, loaded or run
    ├── TraceServerError        a trace server cannot be reached, or its response is not as documented
    ├── StoreError              the folder of a run cannot be found, read or written
    ├── ViewerError             the local web pages cannot be served as requested
    ├── LimitError              the work is larger than a limit allows
    ├── MissingExtraError       an optional dependency is not installed
    └── NotMeasuredError        an assertion cannot be decided: something was not recorded, or judging failed
    AssertionError              Python's own
    └── CheckFailedError        an assertion does not hold: the agent made other calls than expected

An agent that did badly is never an exception, and neither is an error while judging one trajectory: the first is a
finding, the second a result with the verdict `error`. Only assertions in tests raise for them: `CheckFailedError` and
`NotMeasuredError`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, TypeAlias

Steps: TypeAlias = tuple[str | int, ...]
"""The path to a part of an object: keys and indexes."""


class RightcallError(Exception):
    """The request cannot be met. Catch this to catch all exceptions of Rightcall, except `CheckFailedError`."""


class InputError(RightcallError):
    """Data from outside cannot be read: it is malformed, too large, too deep, or does not have the expected form."""


class UnknownFormatError(InputError):
    """Data from outside is in no known format. `brief` says so in short, `hint` what was looked for."""

    def __init__(self, brief: str, hint: str = "") -> None:
        super().__init__(f"{brief}; {hint}" if hint else brief)
        self.brief, self.hint = brief, hint


class DocumentError(InputError):
    """A file that people write, such as an eval set, is wrong; `line` and `column` say where, counted from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.each: tuple[DocumentError, ...] = (self,)
        """All mistakes that the message lists, each with its own position."""


class ConfigurationError(RightcallError):
    """An evaluator's configuration has a misspelt key, an unknown value or a wrong type.

    `path` is the path to the first mistake in the configuration, as far as it is known. If there are several,
    `mistakes` has the path and the message of each.
    """

    def __init__(self, message: str, path: Steps = (), mistakes: Sequence[tuple[Steps, str]] = ()) -> None:
        super().__init__(message)
        self.path = path
        self.mistakes = mistakes


class CriteriaError(RightcallError):
    """Criteria, or mocks, are missing, empty, misspelt or of a wrong type.

    `path` is the path to the first mistake in them, as far as it is known. If there are several, `mistakes` has the
    path and the message of each.
    """

    def __init__(self, message: str, path: Steps = (), mistakes: Sequence[tuple[Steps, str]] = ()) -> None:
        super().__init__(message)
        self.path = path
        self.mistakes = mistakes


class ExpectationError(CriteriaError):
    """An expected value is invalid: it has an unknown `$` matcher or a wrong operand."""


class MockError(RightcallError):
    """A mocked or replayed tool was called, and no mock or recorded answer matches the call.

    The case is an error, even if the agent catches the exception.
    """


class UnknownNameError(RightcallError):
    """Nothing has the given name; the message suggests the nearest known one."""


class AgentError(RightcallError):
    """An agent cannot be found, loaded or run; `traceback` has the frames of the agent's own code, if any."""

    def __init__(self, message: str, traceback: str = "") -> None:
        super().__init__(message)
        self.traceback = traceback


class TraceServerError(RightcallError):
    """A trace server cannot be reached, refuses a request, or its response is not as documented."""


class StoreError(RightcallError):
    """The folder of a run cannot be found, read or written."""


class ViewerError(RightcallError):
    """The local web pages cannot be served as requested: the address is taken, or the token is missing."""


class LimitError(RightcallError):
    """The requested work exceeds a limit. Raised inside an evaluator, it becomes a result with the verdict `error`."""


class MissingExtraError(RightcallError):
    """A feature needs a package that is not installed; the message says how to install it."""


class NotMeasuredError(RightcallError):
    """An assertion can be neither confirmed nor refuted: something was not recorded, or judging failed.

    It is not an `AssertionError`, because it is not known whether the agent did badly. `results` has the results that
    it is about.
    """

    def __init__(self, message: str, results: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.results = results


class CheckFailedError(AssertionError):
    """An assertion about calls does not hold. The first line names the call; `results` has the results."""

    def __init__(self, message: str, results: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.results = results


def missing_package(problem: str, extra: str = "") -> MissingExtraError:
    """Return the error for a package that is not installed.

    Args:
        problem: What needs which package, such as "web pages need jinja2".
        extra: The extra that includes the package; by default it is a dependency of every installation.
    """
    return MissingExtraError(f"{problem}: {install_command(extra)}")


def install_command(extra: str = "") -> str:
    """Return the command that installs Rightcall with an extra, from the same source as this installation."""
    return f"pip install {requirement(extra)}"


def requirement(extra: str = "") -> str:
    """Return the requirement for pip to install Rightcall with an extra, from the same source as this installation.

    An installation from a folder, a file or a repository has `direct_url.json` in its metadata (PEP 610). One from a
    package index does not.
    """
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = json.loads(distribution("rightcall").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:  # run from a folder that was never installed
        origin = {}
    return requirement_of(origin, f"[{extra}]" if extra else "")


def requirement_of(origin: dict[str, Any], extras: str) -> str:
    """Return the requirement for an origin in the format of PEP 610; `extras` are in brackets, or empty."""
    import shlex
    from urllib.parse import unquote, urlsplit

    url = origin.get("url", "")
    if "dir_info" in origin:
        folder = f"{unquote(urlsplit(url).path)}{extras}"
        return f"{'-e ' if origin['dir_info'].get('editable') else ''}{shlex.quote(folder)}"
    if "vcs_info" in origin:
        url = f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
    return shlex.quote(f"rightcall{extras} @ {url}" if url else f"rightcall{extras}")


def kind_of(value: object) -> str:
    """Return the name of the type of a value, with its article: `a str`, `an int`."""
    name = type(value).__name__
    return f"{'an' if name[:1] in 'aeioAEIO' else 'a'} {name}"


def shown(value: object) -> str:
    """Return any value as a short string for a message, even if it is deep, endless or huge, or its `repr` fails."""
    import reprlib

    try:
        text = reprlib.repr(value)
    except Exception:  # noqa: BLE001 - a repr that fails must not hide the error that is being reported
        text = kind_of(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def type_name(error: BaseException) -> str:
    """Return the name of an exception's type, with its module unless that is Python's own."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


# For each of our words, those of other tools (Apple's Evaluations, promptfoo, assay, ToolSandbox, agentevals, veto) and
# of everyday speech. Only letters and digits are compared, so that `tool_name` and `toolName` are one entry.
_OTHER_WORDS = {
    "never": "forbidden must_not_call disallowed blocklist denylist minefields not_called banned prohibited",
    "calls": "tool_calls expected_tools tools trajectory expected_calls sequence milestones expected_trajectory path",
    "rules": "policy policies constraints invariants ltl",
    "any_order": "unordered anyof_order allof all every set shuffle",
    "at_once": "parallel simultaneous concurrent concurrently together same_time batch",
    "optional": "maybe opt perhaps possibly allowed required",
    "one_of": "either or xor choice choose alternatives alternative any_of any switch",
    "repeat": "times count loop while many until_done for_each retry rounds",
    "steps": "ordered sequence seq in_order then chain group do",
    "at_most": "times max maximum max_calls limit count no_more_than up_to upto blocklist denylist",
    "at_least": "min minimum min_calls no_less_than",
    "name": "tool tool_name function function_name toolname method",
    "args": "arguments input params parameters kwargs tool_input inputs arg tool_args_match_mode",
    "output": "path result returns response return tool_output outputs observation",
    "status": "state success error ok failed outcome",
    "only_after": "requires require needs depends_on precondition must_follow preceded_by after_only before_requires",
    "never_after": "blocked_by not_after forbidden_after never_following",
    "followed_by": "then next response eventually leads_to must_be_followed_by",
    "only_with": "with requires_also together_with implies",
    "never_with": "not_with exclusive mutually_exclusive conflicts conflicts_with",
    "directly": "immediately immediately_before immediately_after direct adjacent",
    "why": "reason message because description comment",
    "per": "group_by scope each by",
    "call": "tool name if when on x",
    "since": "unless_since reset_by",
    "before": "until",
    "same": "same_args matching equal same_argument",
    "extra": "allowsadditionaltoolcalls allow_extra strict additional allow_additional superset",
    "match": "mode match_mode trajectory_match_mode order",
    "ignore_tools": "ignore exclude skip_tools",
    "expected": "criteria steps calls list items",
    "$ref": "$var $variable $use",
    "$bind": "$let $set $save $as",
    "$anyOf": "$or",
    "$allOf": "$and",
    "$not": "$ne $neq",
    "$regex": "$matches $match $pattern",
    "$present": "$exists",
    "$in": "$oneof $enum",
    "$from": "$source $output",
}


def meant_word(name: str, known: Collection[str]) -> str:
    """Return the known word with the meaning of a word of another tool; empty if there is none."""
    letters = _letters(name)
    return next((word for word in _meanings().get(letters, ()) if word in known), "")


@cache
def _meanings() -> dict[str, list[str]]:
    meanings: dict[str, list[str]] = {}
    for word, others in _OTHER_WORDS.items():
        for other in others.split():
            meanings.setdefault(_letters(other), []).append(word)
    return meanings


def _letters(name: str) -> str:
    return "".join([letter for letter in name[:100].lower() if letter.isalnum() or letter == "$"])


def nearest(name: str, known: list[str] | tuple[str, ...]) -> str:
    """Return a hint for an unknown name: the synonym or the nearest name, or all known names if none is near."""
    import difflib

    if meant := meant_word(name, known):
        return f"did you mean {meant!r}?"
    close = difflib.get_close_matches(name[:100], known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(dict.fromkeys(known))}" if known else "none are known"


def pattern_problem(name: str) -> str | None:
    """Return why a name with `*` is invalid where an exact tool name is expected; None for a name without `*`."""
    if "*" not in name:
        return None
    return f"{shown(name)} has a '*', but names are exact here and no tool has this one: write the name of each tool"
