"""Results without secrets. Verdicts and scores are those of what the agent really did."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.limits import Limits
from rightcall.values import results
from rightcall.values.decoding import dump_json, load_json
from rightcall.values.trajectory import Trajectory

from ._redactor import Look, Redactor, placeholder, redacted_value
from ._shapes import secret_name

if TYPE_CHECKING:
    from rightcall.values.results import CaseResult, Difference, OverallResult

_FIXED = frozenset(
    {"case_id", "verdict", "kind", "evaluator", "operator", "match_type", "args_match", "mode", "cause", "code"}
)
"""Fields with our own words, and the id of the case."""

_OF_CALLS = frozenset({"args", "output", "error"})
_OF_TRAJECTORIES = frozenset(
    {"input", "output", "turn_inputs", "turn_outputs", "metadata", "warnings", "withheld", "messages"}
)
"""Fields with what was said; names and ids of calls are what others are known by."""

_WORDLESS = frozenset({type(None), bool, int, float})

_SHORTEST = 6
"""A shorter secret is not looked for everywhere: it may be a word."""

# Every text of a result is searched for each of them.
_MOST_KNOWN = 1_000
_WINDOW = 130
"""No more than this is left of a value on either side of a cut."""
_CUT = "…"
_AS_WRITTEN = Limits(text_bytes=2**62, depth=2**62)
"""For what we wrote: its values were within the limits when they came."""
_PATH_END = lazy_pattern(r"[\w-]+(?=[\"'\]]*$)")


def redacted(result: CaseResult) -> CaseResult:
    """Return the result of a case without secrets; the same object if it has none.

    Secrets found in calls, input and output are also removed from findings, details, tracebacks and printed text, even
    if only a part of them is there.
    """
    rest = msgspec.structs.replace(result, trajectory=None).to_plain()
    look = Look([rest, _document_of(result.trajectory) if result.trajectory is not None else None])
    return result if look.is_clear else results.CaseResult.from_plain(_redacted_plain(result.to_plain(), look))


def redacted_document(document: str) -> str:
    """Return the same for a result as `to_json` writes it."""
    plain = load_json(document, _AS_WRITTEN)
    look = Look(plain)
    return document if look.is_clear else dump_json(_redacted_plain(plain, look))


def redacted_overall(result: OverallResult) -> OverallResult:
    """Return an overall result without secrets in its reason, its details and the names of classes."""
    return msgspec.convert(redacted_value(msgspec.to_builtins(result)), results.OverallResult)


def redacted_trajectory(trajectory: Trajectory) -> Trajectory:
    """Return a trajectory without secrets; the same object where there are none."""
    look = Look(_document_of(trajectory))
    if look.is_clear:
        return trajectory
    return msgspec.convert(_recorded(msgspec.to_builtins(trajectory), look)[0], Trajectory)


def redacted_differences(differences: Sequence[Difference], *seen: Any) -> tuple[Difference, ...]:
    """Return differences without secrets. `seen` are the values they come from: a difference may show only a part."""
    redacting = Redactor()
    for value in seen:
        redacting.value(value)
    return msgspec.convert(
        _TextRedactor(redacting).value(msgspec.to_builtins(list(differences))), tuple[results.Difference, ...]
    )


def _document_of(trajectory: Trajectory) -> list[Any]:
    """Return all texts of a trajectory: of its calls field by field, without their names, and fields of numbers.

    These are most words of a long trajectory. Without them a look at 10,000 calls takes half the time.
    """
    rest = msgspec.to_builtins(msgspec.structs.replace(trajectory, calls=()))
    fields = zip(*map(msgspec.structs.astuple, trajectory.calls), strict=True)
    return [rest, [values for values in fields if not _WORDLESS.issuperset(map(type, values))]]


def _redacted_plain(plain: dict[str, Any], look: Look) -> dict[str, Any]:
    """Return a result as plain data without secrets. The trajectory comes first, because it shows what they are."""
    trajectory, telling = _recorded(plain["trajectory"], look)
    rest = {key: value for key, value in plain.items() if key != "trajectory"}
    told_rest = telling.value(rest)
    return {key: trajectory if key == "trajectory" else told_rest[key] for key in plain}


def _recorded(plain: Any, look: Look) -> tuple[Any, _TextRedactor]:
    """Return a trajectory as plain data, and a redactor of its secrets for other texts.

    This takes two passes: a secret known by the name of an argument may occur in an output without a name.
    """
    redacting = Redactor(look)
    trajectory = redacting.value(plain)
    telling = _TextRedactor(redacting)
    if trajectory is None or not telling.knows_any:
        return trajectory, telling
    calls = [_without_known(call, _OF_CALLS, telling) for call in trajectory["calls"]]
    return {**_without_known(trajectory, _OF_TRAJECTORIES, telling), "calls": calls}, telling


def _without_known(fields: dict[str, Any], names: frozenset[str], telling: _TextRedactor) -> dict[str, Any]:
    return {name: telling.known(value) if name in names else value for name, value in fields.items()}


class _TextRedactor:
    """Takes secrets out of what is said about a trajectory."""

    def __init__(self, redacting: Redactor) -> None:
        self._redacting = redacting
        # The longest first: a secret that is part of another would leave the rest of that one in the text.
        known = sorted([secret for secret in redacting.found if len(secret) >= _SHORTEST], key=len, reverse=True)
        self._known = known[:_MOST_KNOWN]
        self._written = _written(self._known)

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            named = _name_of_difference(value)
            if named is not None:
                return {
                    **value,
                    **{key: placeholder(named) for key in ("expected", "actual") if value.get(key) is not None},
                }
            return {key: held if key in _FIXED else self.value(held) for key, held in value.items()}
        return value

    @property
    def knows_any(self) -> bool:
        """Whether any secrets are known that can be looked for everywhere."""
        return bool(self._known)

    def known(self, value: Any) -> Any:
        """Return a value with all known secrets removed from its texts."""
        if isinstance(value, str):
            return self._without_known(value)
        if isinstance(value, (list, tuple)):
            return [self.known(item) for item in value]
        return {key: self.known(held) for key, held in value.items()} if isinstance(value, dict) else value

    def _without_known(self, text: str) -> str:
        for secret in self._written:
            text = text.replace(secret, placeholder("secret"))
        return text

    def _text(self, text: str) -> str:
        text = self._without_known(self._redacting.text(text))
        return self._uncut(text) if self._known and _CUT in text else text

    def _uncut(self, text: str) -> str:
        """Return a text in which no part of a secret is left beside a cut."""
        # A cut text shows the two ends of a secret, neither of which has the shape of one any more.
        first, *others = text.split(_CUT)
        pieces = [first]
        for other in others:
            last = pieces[-1]
            end = self._longest([last[-length:] for length in range(_SHORTEST, min(len(last), _WINDOW) + 1)])
            begin = self._longest([other[:length] for length in range(_SHORTEST, min(len(other), _WINDOW) + 1)])
            if end:
                pieces[-1] = last[:-end] + placeholder("secret")
            pieces.append(placeholder("secret") + other[begin:] if begin else other)
        return _CUT.join(pieces)

    def _longest(self, parts: list[str]) -> int:
        """Return the length of the longest of these growing parts that occurs in a known secret."""
        longest = 0
        for secret in self._known:
            held = takewhile(secret.__contains__, parts)
            longest = max([longest, *[len(part) for part in held]])
        return longest


def _written(secrets: list[str]) -> list[str]:
    """Return each secret as it is, and as it is written in JSON."""
    return list(dict.fromkeys([form for secret in secrets for form in (secret, dump_json(secret)[1:-1])]))


def _name_of_difference(value: dict[str, Any]) -> str | None:
    """Return what to call both sides of a difference, if its path ends in the name of a secret."""
    path = value.get("path")
    if not isinstance(path, str) or not ("expected" in value or "actual" in value) or "message" in value:
        return None
    ending = _PATH_END.search(path)
    return secret_name(ending[0]) if ending is not None else None
