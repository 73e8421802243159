"""Values, results and trajectories without secrets: each is replaced by a placeholder that names its kind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, takewhile, zip_longest
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.limits import Limits
from rightcall.values import results
from rightcall.values.decoding import dump_json, load_json
from rightcall.values.trajectory import ToolCall, Trajectory

from ._texts import is_harmless, looks_like, marks_in, placeholder, redacted_text, secret_name

if TYPE_CHECKING:
    from rightcall.values.results import CaseResult, Difference, OverallResult


_NAMING = ("name", "key", "header")
_KEYS_IN_PATH = lazy_pattern(r"[\w-]+")
_quickly_written = msgspec.json.Encoder(enc_hook=repr).encode
_slowly_written = json.JSONEncoder(ensure_ascii=False, default=repr).encode
_ESCAPE = lazy_pattern(r"\\(?:u[0-9a-f]{4}|.)")
_SCALARS = frozenset({str, int, float, bool, type(None)})
_FIXED = frozenset(
    {"case_id", "verdict", "kind", "evaluator", "operator", "match_type", "args_match", "mode", "cause", "code"}
)
"""Fields with values of our own vocabulary, and the id of the case. They are not redacted."""

_OF_CALLS = frozenset({"args", "output", "error"})
_OF_TRAJECTORIES = frozenset(
    {"input", "output", "turn_inputs", "turn_outputs", "metadata", "warnings", "withheld", "messages"}
)
"""Fields with recorded content. Names and ids are not among them: other records refer to them."""

_FIELDS_OF_CALLS = ToolCall.__struct_fields__
_WORDLESS = frozenset({type(None), bool, int, float})

_SHORTEST = 6
"""The fewest characters of a secret that is searched for in other strings. A shorter one may be a common word."""

# A bound on work: every string of a result is searched for each known secret.
_MOST_KNOWN = 1_000
_WINDOW = 130
"""The most characters that remain of a value on either side of an ellipsis."""
_CUT = "…"
_AS_WRITTEN = Limits(text_bytes=2**62, depth=2**62)
"""No limits, for documents that we wrote: their values were within the limits when they were read."""
_PATH_END = lazy_pattern(r"[\w-]+(?=[\"'\]]*$)")


class Look:
    """A quick look at a whole document, which saves a close look at strings without secrets.

    It never misses a secret, but may suspect too much. A string of the document is also in its JSON, and what is
    escaped there is not part of a word. So a shape is suspected if its mark is anywhere in the document, and a name
    if a word of the document contains one. For 10,000 calls this takes 0.1 s; a close look at each string takes 2.8 s.
    """

    def __init__(self, document: Any) -> None:
        try:
            written = _quickly_written(document).decode()
        except UnicodeEncodeError:  # a lone surrogate
            written = _slowly_written(document)
        # Escapes stand for characters between words. The `n` of an escaped newline must not join the next word.
        text = _ESCAPE.sub(" ", written)
        marks = marks_in(text)
        self._search = re.compile("|".join(map(re.escape, marks)), re.IGNORECASE).search if marks else None
        self.is_clear = not marks and not any([secret_name(name) for name in _names_in(document, "--" in text)])
        """Whether the document certainly has no secrets."""

    def is_suspect(self, text: str) -> bool:
        """Return whether there may be a secret in a string of the document."""
        return self._search is not None and self._search(text) is not None


def _names_in(document: Any, has_options: bool) -> set[str]:
    """Return all strings of a document that may name the value next to them, such as options of commands."""
    names: set[Any] = set()
    level = [document]
    # Level by level, so that a few calls into C collect all keys, in half the time of going object by object.
    while level:
        lists = [value for value in level if value and isinstance(value, (list, tuple))]
        # Most values are plain dicts and lists, and `isinstance` with an ABC would take a third of the time.
        objects = [value for value in level if value.__class__ is dict or isinstance(value, Mapping)]
        for value in lists if has_options else [value for value in lists if len(value) == 2]:
            names.update([item for item in value if isinstance(item, str) and (len(value) == 2 or item[:2] == "--")])
        names.update(*objects)
        if "value" in names or "path" in names:
            names.update(*[_given_names(value) for value in objects if "value" in value or "path" in value])
        inner: Iterator[Iterable[Any]] = chain(lists, [value.values() for value in objects])
        level = [item for items in inner for item in items if item.__class__ not in _SCALARS]
    return {name for name in names if isinstance(name, str)}


def _given_names(value: Mapping[Any, Any]) -> list[str]:
    """Return the names that an object has as values: names of the `value` next to them, and the keys in a path."""
    named = [value[key] for key in _NAMING if isinstance(value.get(key), str)] if "value" in value else []
    path = value.get("path")
    return [*named, *_KEYS_IN_PATH.findall(path)] if isinstance(path, str) else named


class Redactor:
    """Remove secrets from values, and remember them for other strings.

    With a `Look` at the document that the values are from, only strings that it suspects are searched.
    """

    def __init__(self, look: Look | None = None) -> None:
        self._look = look
        self.found: set[str] = set()
        """The complete text of every secret found."""

    def value(self, value: Any) -> Any:
        """Return a JSON value without secrets. Scalars without secrets are returned as they are."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return self._object(value)
        if isinstance(value, (list, tuple)):
            return self._list(value)
        return value

    def text(self, text: str) -> str:
        """Return a string without secrets."""
        if self._look is not None and not self._look.is_suspect(text):
            return text
        return redacted_text(text, self.found)

    def _object(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        numbers: dict[str, int] = {}
        named = _named_by(value)
        for key, item in value.items():
            name = (named if key == "value" else None) or (secret_name(key) if isinstance(key, str) else None)
            shown = self.text(key) if isinstance(key, str) else key
            made[_apart(shown, made, numbers)] = self._secret(item, name) if name is not None else self.value(item)
        return made

    def _list(self, value: list[Any] | tuple[Any, ...]) -> list[Any] | tuple[Any, ...]:
        made = [self.value(item) for item in value]
        for place, item in enumerate(value[:-1]):
            # An option of a command, or a header and its value.
            if isinstance(item, str) and (item.startswith("--") or len(value) == 2):
                name = secret_name(item)
                if name is not None:
                    made[place + 1] = self._secret(value[place + 1], name)
        return tuple(made) if isinstance(value, tuple) else made

    def _secret(self, value: Any, name: str) -> Any:
        """Redact the value of a key that names a secret. A list contains secrets; an object has names of its own."""
        if isinstance(value, (list, tuple)):
            return [self._secret(item, name) for item in value]
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            return self.value(value)
        text = str(value)
        if is_harmless(text) or not looks_like(name, text):
            return self.value(value)
        self.found.add(text)
        return placeholder(name)


def redacted_value(value: Any) -> Any:
    """Return a JSON value without secrets, found by their shape or by the name of their key.

    `{"password": "hunter2"}` becomes `{"password": "[redacted: password]"}`. Values that are not JSON are kept.
    """
    look = Look(value)
    return value if look.is_clear else Redactor(look).value(value)


def _apart(key: Any, made: Mapping[Any, Any], numbers: dict[str, int]) -> Any:
    """Return a key that is not in use: keys that become equal by redaction get a number.

    `numbers` has the last number of each key, so that thousands of equal keys take linear time.
    """
    apart = key
    while apart in made:
        numbers[key] = numbers.get(key, 1) + 1
        apart = f"{key} ({numbers[key]})"
    return apart


def _named_by(value: Mapping[Any, Any]) -> str | None:
    """Return the kind of secret that the `value` of an object is: `{"name": "api_key", "value": …}`; else None."""
    if "value" not in value:
        return None
    names = [value[key] for key in _NAMING if isinstance(value.get(key), str)]
    return next((found for name in names if (found := secret_name(name)) is not None), None)


def redacted(result: CaseResult) -> CaseResult:
    """Return the result of a case without secrets; the same object if it has none.

    Secrets found in calls, input and output are also removed from findings, details, tracebacks and printed text, even
    if only a part of one appears there.
    """
    look = _look_at(result)
    return result if look.is_clear else results.CaseResult.from_plain(_redacted_plain(result.to_plain(), look))


def _look_at(result: CaseResult) -> Look:
    rest = msgspec.structs.replace(result, trajectory=None).to_plain()
    return Look([rest, _document_of(result.trajectory) if result.trajectory is not None else None])


def redacted_document(result: CaseResult | str) -> str:
    """Return the JSON of a result, given as an object or as JSON that `to_json` wrote, without secrets."""
    if isinstance(result, str):
        return _redacted_text(result)
    look = _look_at(result)
    return result.to_json() if look.is_clear else dump_json(_redacted_plain(result.to_plain(), look))


def _redacted_text(document: str) -> str:
    plain = load_json(document, _AS_WRITTEN)
    trajectory = plain["trajectory"]
    # A saved call may have fewer fields than another.
    calls = [] if trajectory is None else _with_words(zip_longest(*map(dict.values, trajectory["calls"])))
    look = Look([{**plain, "trajectory": {**(trajectory or {}), "calls": ()}}, calls])
    return document if look.is_clear else dump_json(_redacted_plain(plain, look))


def redacted_overall(result: OverallResult) -> OverallResult:
    """Return an overall result without secrets in its reason, details and class names."""
    return msgspec.convert(redacted_value(msgspec.to_builtins(result)), results.OverallResult)


def redacted_trajectory(trajectory: Trajectory) -> Trajectory:
    """Return a trajectory without secrets; the same object if it has none."""
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
    """Return all strings of a trajectory, those of calls by field, without their names and without numbers.

    Names of fields and numbers are most words of a long trajectory. Without them, looking at 10,000 calls takes half
    the time.
    """
    rest = msgspec.to_builtins(msgspec.structs.replace(trajectory, calls=()))
    return [rest, _with_words([[getattr(call, field) for call in trajectory.calls] for field in _FIELDS_OF_CALLS])]


def _with_words(fields: Iterable[Sequence[Any]]) -> list[Any]:
    """Return those of the fields of all calls in which there may be a string."""
    return [values for values in fields if any(values) and not _WORDLESS.issuperset(map(type, values))]


def _redacted_plain(plain: dict[str, Any], look: Look) -> dict[str, Any]:
    """Redact a result given as plain data. The trajectory comes first, because it shows which secrets there are."""
    trajectory, redactor = _recorded(plain["trajectory"], look)
    rest = {key: value for key, value in plain.items() if key != "trajectory"}
    others = redactor.value(rest)
    return {key: trajectory if key == "trajectory" else others[key] for key in plain}


def _recorded(plain: Any, look: Look) -> tuple[Any, _TextRedactor]:
    """Redact a trajectory given as plain data, and return it with a redactor of its secrets for other strings.

    This takes two passes: a secret found by the name of an argument may occur in an output without a name.
    """
    redacting = Redactor(look)
    trajectory = redacting.value(plain)
    redactor = _TextRedactor(redacting)
    if trajectory is None or not redactor.knows_any:
        return trajectory, redactor
    calls = [_without_known(call, _OF_CALLS, redactor) for call in trajectory["calls"]]
    return {**_without_known(trajectory, _OF_TRAJECTORIES, redactor), "calls": calls}, redactor


def _without_known(fields: dict[str, Any], names: frozenset[str], redactor: _TextRedactor) -> dict[str, Any]:
    return {name: redactor.known(value) if name in names else value for name, value in fields.items()}


class _TextRedactor:
    """Remove secrets from strings about a trajectory, such as findings."""

    def __init__(self, redacting: Redactor) -> None:
        self._redacting = redacting
        # The longest first: replacing a secret inside a longer one would leave the rest of that one in the text.
        known = sorted([secret for secret in redacting.found if len(secret) >= _SHORTEST], key=len, reverse=True)
        self._known = known[:_MOST_KNOWN]
        self._written = _as_written(self._known)

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
            return {key: part if key in _FIXED else self.value(part) for key, part in value.items()}
        return value

    @property
    def knows_any(self) -> bool:
        """Whether there are known secrets to search for."""
        return bool(self._known)

    def known(self, value: Any) -> Any:
        """Return a value with all known secrets removed from its strings."""
        if isinstance(value, str):
            return self._without_known(value)
        if isinstance(value, (list, tuple)):
            return [self.known(item) for item in value]
        return {key: self.known(part) for key, part in value.items()} if isinstance(value, dict) else value

    def _without_known(self, text: str) -> str:
        for secret in self._written:
            text = text.replace(secret, placeholder("secret"))
        return text

    def _text(self, text: str) -> str:
        text = self._without_known(self._redacting.text(text))
        return self._uncut(text) if self._known and _CUT in text else text

    def _uncut(self, text: str) -> str:
        """Remove parts of known secrets on both sides of an ellipsis."""
        # A shortened text shows the two ends of a secret, neither of which has the shape of one.
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
        """Return the length of the longest of these growing parts that is in a known secret."""
        longest = 0
        for secret in self._known:
            hidden = takewhile(secret.__contains__, parts)
            longest = max([longest, *[len(part) for part in hidden]])
        return longest


def _as_written(secrets: list[str]) -> list[str]:
    """Return each secret as it is, and as JSON escapes it."""
    return list(dict.fromkeys([form for secret in secrets for form in (secret, dump_json(secret)[1:-1])]))


def _name_of_difference(value: dict[str, Any]) -> str | None:
    """Return the kind of secret that a difference is about, if its path ends in a secret's name; else None."""
    path = value.get("path")
    if not isinstance(path, str) or not ("expected" in value or "actual" in value) or "message" in value:
        return None
    ending = _PATH_END.search(path)
    return secret_name(ending[0]) if ending is not None else None
