"""The options of a run in words: those that make it other than a run without any."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rightcall.values.results import value_text

_VALUE = 80
_FLAGS = {
    ("fail_fast", True): ("stops", "at the first case that does not pass"),
    ("strict_agent", True): ("agents that read answers", "are in error"),
    ("record", True): ("tools", "real, and what they answer is recorded"),
    ("replay", True): ("tools", "answer what was recorded"),
    ("spans", False): ("spans", "not kept"),
    ("redact", True): ("secrets", "left out of what is kept"),
    ("redact", False): ("secrets", "told as they are"),
    ("pytest", True): ("run by", "pytest"),
}
_USUAL: dict[str, Any] = {"repeat": 1, "min_pass": 1, "spans": True}
"""What is so without being asked for; of every other option, nothing is."""


def told_options(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values, in words, of the options that somebody set to something unusual.

    An option that is not known here is told by its own name; one with a value that it cannot have, as the value is.
    """
    for name, value in options.items():
        if isinstance(value, bool):
            if flag := _FLAGS.get((name, value)):
                yield flag
            elif value and name not in _USUAL:
                yield _plain(name, value)
        elif value not in (None, "", [], {}) and value != _USUAL.get(name):
            yield _WORDS.get(name, lambda value, name=name: _plain(name, value))(value)


def _plain(name: str, value: Any) -> tuple[str, str]:
    return name.replace("_", " "), value_text(value, _VALUE)


def _listed(label: str) -> Callable[[Any], tuple[str, str]]:
    def tell(value: Any) -> tuple[str, str]:
        are_names = isinstance(value, list) and all([isinstance(each, str) for each in value])
        text = ", ".join(value) if are_names else value_text(value, _VALUE)
        return label, text if len(text) <= _VALUE else f"{text[: _VALUE - 1]}…"

    return tell


def _share(value: Any) -> tuple[str, str]:
    is_share = isinstance(value, (int, float)) and 0 <= value <= 1
    return "must pass", f"{value * 100:.4g} % of the cases" if is_share else value_text(value, _VALUE)


def _memory(value: Any) -> tuple[str, str]:
    is_size = isinstance(value, int) and 0 < value < 2**60
    return "memory of a worker", f"at most {value / 2**20:,.4g} MB" if is_size else value_text(value, _VALUE)


def _seconds(value: Any) -> tuple[str, str]:
    return "a case may take", f"{value_text(value, _VALUE).removesuffix('.0')} s"


_WORDS: dict[str, Callable[[Any], tuple[str, str]]] = {
    "cases": _listed("only cases"),
    "tags": _listed("only tags"),
    "timeout": _seconds,
    "max_memory": _memory,
    "repeat": lambda value: ("repeats", value_text(value, _VALUE)),
    "min_repeat_pass": lambda value: ("repeats that must pass", value_text(value, _VALUE)),
    "min_pass": _share,
}
