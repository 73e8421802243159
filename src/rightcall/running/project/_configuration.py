"""Options that a project keeps in a file: `rightcall.toml`, or `[tool.rightcall]` in `pyproject.toml`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from rightcall._lazy import lazy_pattern, lazy_patterns_of
from rightcall.errors import DocumentError, InputError, nearest

from ._files import OWN_FILE, PROJECT_FILE, project_of

_MOST_BYTES = 1 << 20
_SIZE = lazy_pattern(r"(\d{1,18})\s*([kmgt]?)i?b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class Configuration(NamedTuple):
    """The options of a project, and the file they come from."""

    folder: Path
    values: dict[str, Any]
    path: Path | None = None


def is_configured(folder: Path) -> bool:
    """Whether a folder itself has one of the two files, with options in it. An unreadable file counts as none."""
    if (folder / OWN_FILE).is_file():
        return True
    try:
        return "rightcall" in _decoded(folder / PROJECT_FILE)[1].get("tool", {})
    except InputError:
        return False


def load_configuration(place: Path, known: Callable[[], Iterable[str]] | None = None) -> Configuration:
    """Return the options of the project that a path is in; they may be written with `-` or `_`.

    `known` returns the options that there are, and is asked only where a file has some. Without it, every option is
    accepted.

    Raises:
        InputError: the file cannot be read, or has an unknown option.
    """
    folder = project_of(place)
    if folder is None:
        return Configuration(place, {})
    own = folder / OWN_FILE
    path = own if own.is_file() else folder / PROJECT_FILE
    text, document = _decoded(path)
    values = document if path == own else document.get("tool", {}).get("rightcall", {})
    if not isinstance(values, dict):
        raise InputError(f"{path}: tool.rightcall is a table of options, not {type(values).__name__}")
    options = {name.replace("_", "-") for name in (known() if values and known is not None else values)}
    for key in values:
        if key.replace("_", "-") not in options:
            line = _line_of(key, text)
            raise DocumentError(f"{path}:{line}:1: unknown option {key!r}; {nearest(key, sorted(options))}", line, 1)
    return Configuration(folder, {key.replace("-", "_"): value for key, value in values.items()}, path)


def bytes_of(text: str) -> int:
    """Return the number of bytes in a size such as `1000000`, `500MB` or `2G`; the units are powers of 1024.

    Raises:
        InputError: the text is not a size.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InputError(f"{text!r:.40} is not a size; write 1000000, 500MB or 2GB")
    return int(found[1]) * _UNITS[found[2].lower()]


def _decoded(path: Path) -> tuple[str, dict[str, Any]]:
    with lazy_patterns_of("tomllib", "string"):
        import tomllib  # few folders are projects

    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path}: larger than {_MOST_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror or problem}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise InputError(f"{path}: {problem}") from None


def _line_of(key: str, text: str) -> int:
    found = re.search(rf"^\s*[\"']?{re.escape(key)}[\"']?\s*=", text, re.MULTILINE)
    return text.count("\n", 0, found.end()) + 1 if found else 1
