"""Files that people write, in YAML or JSON, with the line and column of everything in them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from rightcall._lazy import lazy_pattern, lazy_patterns_of
from rightcall.errors import DocumentError
from rightcall.limits import DEFAULT_LIMITS, Limits

from ._located_json import Document, Path, Position, TooDeepError, decode_located_json

_PLAIN = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# YAML 1.2.2, section 10.3.2: how the core schema resolves plain scalars. PyYAML's own rules are those of 1.1.
_INTEGER = lazy_pattern(r"[-+]?[0-9]+")
_BASED = lazy_pattern(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = lazy_pattern(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = lazy_pattern(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_TAGS = {"tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"}


def decode_document(data: str | bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode a text in YAML or JSON, with the line and column of everything in it.

    Raises:
        DocumentError: the text is neither, names a key twice, or exceeds the limits.
    """
    if len(data) > limits.text_bytes:
        raise DocumentError(f"a text of {len(data):,} bytes exceeds the limit of {limits.text_bytes:,}", 1, 1)
    try:
        text = (data if isinstance(data, str) else data.decode("utf-8")).removeprefix("\ufeff")
    except UnicodeDecodeError as problem:
        line = problem.object.count(b"\n", 0, problem.start) + 1
        raise DocumentError("the text is not UTF-8", line, 1) from None
    if not text.lstrip().startswith(("{", "[")):
        return decode_located_yaml(text, limits)
    try:
        return decode_located_json(text, limits)
    except TooDeepError:
        raise  # libyaml's composer recurses for each level, and would overflow the stack of the process
    except DocumentError as problem:
        return _flow_yaml(text, limits, problem)


def decode_located_yaml(text: str, limits: Limits) -> Document:
    """Decode a YAML document with its positions, restricted to values that JSON has.

    `NO`, `12:30` and `2026-01-01` are strings, as in the core schema of YAML 1.2 (section 10.3). Duplicate keys, tags,
    and keys that are not strings are refused.

    Raises:
        DocumentError: the text is not such a document, or exceeds the limits.
    """
    with lazy_patterns_of("yaml"):
        import yaml

    try:
        root = yaml.compose(text, Loader=_bounded_loader(limits.depth))
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise DocumentError(str(problem.problem or problem.context), line, column) from None
    except (yaml.YAMLError, UnicodeError) as problem:
        raise DocumentError(f"not YAML: {str(problem).splitlines()[0]}", 1, 1) from None
    if root is None:
        raise DocumentError("the document is empty", 1, 1)
    made = _Construction(limits)
    return Document(made.value(root, (), root), made.position)


@lru_cache(maxsize=4)
def _bounded_loader(most: int) -> type[Any]:
    """A loader of YAML that stops at a level deeper than `most`."""
    import yaml

    # libyaml's loader is many times faster, but not every build of PyYAML has it.
    base: type[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

    class BoundedLoader(base):  # type: ignore[misc]
        depth = 0

        # libyaml's composer recurses in C for each level, and 100,000 of them would overflow the stack of the process.
        # These two are what it calls before and after each node; those of the base only look for path resolvers.
        def descend_resolver(self, node: Any, index: Any) -> None:
            self.depth += 1
            if self.depth > most + 1:
                raise DocumentError(f"nested deeper than the limit of {most} levels", *_begin_of(node))

        def ascend_resolver(self) -> None:
            self.depth -= 1

    return BoundedLoader


def _begin_of(node: Any) -> tuple[int, int]:
    mark = getattr(node, "start_mark", None)
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


def _flow_yaml(text: str, limits: Limits, problem: DocumentError) -> Document:
    """Try YAML for a text that begins like JSON; if it is not YAML either, report the problem with the JSON."""
    try:
        return decode_located_yaml(text, limits)
    except DocumentError:
        raise problem from None


class _Construction:
    """One walk over the nodes of one document."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._positions: dict[Path, Position] = {}
        self._seen: dict[int, int] = {}
        self._aliases = 0
        self._nodes = 0

    def position(self, path: Path) -> Position:
        while path not in self._positions and path:
            path = path[:-1]
        return self._positions[path]

    def value(self, node: Any, path: Path, begin: Any) -> Any:
        """Return the value of a node, and note that it is written where the node `begin` is."""
        self._positions[path] = Position(begin.start_mark.line + 1, begin.start_mark.column + 1)
        self._check(node, path)
        kind = type(node).__name__
        if kind == "MappingNode":
            return self._object(node, path)
        if kind == "SequenceNode":
            return [self.value(item, (*path, index), item) for index, item in enumerate(node.value)]
        return _scalar(node)

    def _object(self, node: Any, path: Path) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for key_node, item in node.value:
            key = _scalar(key_node) if type(key_node).__name__ == "ScalarNode" else None
            if not isinstance(key, str):
                found = getattr(key_node, "value", "")
                raise _problem(f"a key must be a text; write {str(found)[:40]!r} in quotes", key_node)
            if key in value:
                raise _problem(f"the key {key[:40]!r} occurs twice in one object", key_node)
            value[key] = self.value(item, (*path, key), key_node)
        return value

    def _check(self, node: Any, path: Path) -> None:
        self._nodes += 1
        self._seen[id(node)] = self._seen.get(id(node), 0) + 1
        # An alias is visited once for each use, so a few lines can stand for billions of values ("billion laughs").
        self._aliases += self._seen[id(node)] > 1
        if len(path) > self._limits.depth:
            raise _problem(f"nested deeper than the limit of {self._limits.depth} levels", node)
        if self._nodes > self._limits.nodes or self._aliases > self._limits.aliases:
            raise _problem("more values or aliases than the limits allow", node)
        if node.tag not in _TAGS:
            raise _problem(f"the tag {str(node.tag)[:80]!r} is not allowed; write plain values", node)


def _scalar(node: Any) -> Any:
    text: str = node.value
    if node.style:
        return text
    if text in _PLAIN:
        return _PLAIN[text]
    if text[0] not in "+-.0123456789":  # no number begins otherwise, and most texts are words
        return text
    base = 10 if _INTEGER.fullmatch(text) else 0
    if base or _BASED.fullmatch(text):
        # Python's own limit for parsing integers, which takes quadratic time (CVE-2020-10735).
        if len(text) > 4_300:
            raise _problem(f"an integer of {len(text):,} digits is too large", node)
        return int(text, base)
    if _FLOAT.fullmatch(text) or _SPECIAL.fullmatch(text):
        return float(text if _FLOAT.fullmatch(text) else text.lower().replace(".", ""))
    return text


def _problem(message: str, node: Any) -> DocumentError:
    return DocumentError(message, node.start_mark.line + 1, node.start_mark.column + 1)
