"""Secrets in values: in every text of theirs, and by the names of their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._names import is_harmless, looks_like, secret_name
from ._texts import hidden_in, placeholder, without

_NAMING = ("name", "key", "header")


class Redactor:
    """Takes secrets out of values, one after the other, and remembers them."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        """The secrets that were found, whole."""

    def value(self, value: Any) -> Any:
        """A JSON value without secrets. What has none in it comes back as it is."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return self._object(value)
        if isinstance(value, (list, tuple)):
            return self._list(value)
        return value

    def text(self, text: str) -> str:
        """A text without secrets."""
        hidden = hidden_in(text)
        if not hidden:
            return text
        self.found.update([text[one.start : one.end] for one in hidden])
        return without(text, hidden)

    def _object(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        numbers: dict[str, int] = {}
        named = _named_by(value)
        for key, held in value.items():
            name = (named if key == "value" else None) or (secret_name(key) if isinstance(key, str) else None)
            shown = self.text(key) if isinstance(key, str) else key
            made[_apart(shown, made, numbers)] = self._secret(held, name) if name is not None else self.value(held)
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
        """Redact the value under the name of a secret. A list holds secrets; an object has its own names."""
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

    So `{"password": "hunter2"}` becomes `{"password": "[redacted: password]"}`. Values that are not JSON stay.
    """
    return Redactor().value(value)


def _apart(key: Any, made: Mapping[Any, Any], numbers: dict[str, int]) -> Any:
    """Return a key that is not in use: keys that are equal after redaction get a number.

    `numbers` has the last one of each, so that thousands of them take no longer than other keys.
    """
    apart = key
    while apart in made:
        numbers[key] = numbers.get(key, 1) + 1
        apart = f"{key} ({numbers[key]})"
    return apart


def _named_by(value: Mapping[Any, Any]) -> str | None:
    """Return what to call the `value` of an object that has a name next to it: `{"name": "api_key", "value": …}`."""
    if "value" not in value:
        return None
    names = [value[key] for key in _NAMING if isinstance(value.get(key), str)]
    return next((found for name in names if (found := secret_name(name)) is not None), None)
