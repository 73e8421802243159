"""Files that people write, with the place of everything in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any

from rightcall.errors import DocumentError, InputError, RightcallError
from rightcall.limits import Limits
from rightcall.values.decoding import Document, Path, decode_document
from rightcall.values.results import Source

_LINE_END = re.compile(r"\r\n|\r|\n")
_UNDERSCORE = re.compile(r"_([a-z0-9])")


class Page:
    """One file, decoded.

    Raises:
        DocumentError: it is neither YAML nor JSON, names a key twice, or exceeds the limits.
    """

    def __init__(self, name: str, content: str | bytes, limits: Limits) -> None:
        self.name = name
        try:
            self._document: Document = decode_document(content, limits)
        except DocumentError as problem:
            raise self._placed(str(problem), problem.line, problem.column) from None
        text = content if isinstance(content, str) else content.decode("utf-8", "replace")
        self._lines = _LINE_END.split(text)

    @classmethod
    def read(cls, path: str | FilePath, limits: Limits) -> Page:
        """The file at a path.

        Raises:
            DocumentError: as above.
            InputError: it cannot be read.
        """
        try:
            content = FilePath(path).read_bytes()
        except IsADirectoryError:
            raise InputError(f"{path} is a folder; name the eval set in it") from None
        except OSError as problem:
            raise InputError(f"{path}: {problem.strerror or problem}") from None
        return cls(str(path), content, limits)

    @property
    def value(self) -> Any:
        """What the file says."""
        return self._document.value

    def source(self, path: Path) -> Source:
        """Where a part of it is written or, if it is not, the nearest part around it.

        Of an object in JSON that begins with a brace on a line of its own, that is where its first key stands: the
        brace says nothing.
        """
        position = self._document.position(self._spelt(path))
        number, column, line = position.line, position.column, self._line(position.line)
        if line.strip() == "{" and (below := self._line(number + 1)).lstrip().startswith('"'):
            number, column, line = number + 1, len(below) - len(below.lstrip()) + 1, below
        return Source(self.name, number, column, line[:500])

    def _line(self, number: int) -> str:
        return self._lines[number - 1] if number <= len(self._lines) else ""

    def problem(self, message: str, path: Path = ()) -> DocumentError:
        """The exception that says what is wrong with a part of it."""
        position = self._document.position(self._spelt(path))
        return self._placed(message, position.line, position.column)

    def _placed(self, message: str, line: int, column: int) -> DocumentError:
        return DocumentError(f"{self.name}:{line}:{column}: {message}", line, column)

    def _spelt(self, path: Path) -> Path:
        """A path with its keys as the file spells them, in snake_case or in camelCase."""
        value, spelt = self.value, []
        for step in path:
            if isinstance(value, dict) and step not in value and isinstance(step, str) and camel(step) in value:
                step = camel(step)
            spelt.append(step)
            inside = isinstance(value, dict) and step in value
            inside |= isinstance(value, list) and isinstance(step, int) and step < len(value)
            value = value[step] if inside else None
        return tuple(spelt)


class Draft:
    """An eval set in the native grammar, and where each part of it was written, in whatever format and file."""

    def __init__(self, page: Page, value: Any) -> None:
        self.page = page
        self.value = value
        self._origins: dict[Path, tuple[Page, Path]] = {(): (page, ())}

    def trace(self, path: Path, page: Page, origin: Path) -> None:
        """Remember that the part at `path` was written at `origin`, and so was everything inside it."""
        self._origins[path] = (page, origin)

    def source(self, path: Path) -> Source:
        """Where a part was written."""
        page, origin = self._located(path)
        return page.source(origin)

    def problem(self, message: str, path: Path) -> DocumentError:
        """The exception that says what is wrong with a part."""
        page, origin = self._located(path)
        return page.problem(message, origin)

    @contextmanager
    def placing(self, path: Path) -> Iterator[None]:
        """Give mistakes that are found while this is open the place of a part."""
        try:
            yield
        except DocumentError:
            raise
        except RightcallError as problem:
            raise self.problem(str(problem), path) from None

    def _located(self, path: Path) -> tuple[Page, Path]:
        for length in range(len(path), -1, -1):
            if path[:length] in self._origins:
                page, origin = self._origins[path[:length]]
                return page, (*origin, *path[length:])
        return self.page, ()


def camel(name: str) -> str:
    """A name in snake_case as camelCase."""
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name)
