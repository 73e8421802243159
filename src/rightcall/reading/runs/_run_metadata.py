"""What a source says about a run beside its calls: the case it is of, which repeat, and how it was scored there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from rightcall.reading.messages import Log
from rightcall.reading.spans import CASE, CASES, REPEAT, REPEATS, SCORES, TOLD, topmost

from ._span_tree import ReadSpan

_WITHIN = ("metadata.", "langfuse.trace.metadata.", "langfuse.observation.metadata.", "langsmith.metadata.")
"""Prefixes of attributes with what the author of an agent says about a run."""
_KEYS = {f"{prefix}{name}": name for prefix in ("", *_WITHIN) for name in TOLD}
_MOST_MESSAGES = 1_000
_DEEPEST = 4
_MOST_VALUES = 200
_LONGEST = 1_000


class Kept(msgspec.Struct, frozen=True):
    """What is kept of a run beside its calls."""

    attributes: tuple[str, ...] = ()
    """Attributes of spans, and keys of logs, that are kept in the metadata."""
    about_runs: bool = True
    """Whether what a run was given, returned and took is read; where nothing asks for it, that takes time."""


def metadata_keys(keys: tuple[str, ...]) -> frozenset[str]:
    """Return the attributes that `run_metadata` may look at, given the same keys to keep."""
    return frozenset([*_KEYS, *[f"{prefix}{key}" for prefix in ("", *_WITHIN) for key in keys]])


def run_metadata(log: Log, spans: Sequence[ReadSpan], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return what to keep in the metadata of a run.

    `keys` are attributes to keep as they are. The id of a case is kept under `CASE` if that is one of them.
    """
    found = {key: held for key in keys if (held := _kept(key, log, spans)) is not None}
    places = [place for place in _places(log, spans) if place]
    if not places:
        return found
    if CASE in keys and CASE not in found:
        case = _first(places, (CASE, *CASES), (str, int))
        found |= {} if case is None else {CASE: case}
    repeat = _first(places, (REPEAT, *REPEATS), (int, str))
    found |= {} if repeat is None else {"repeat": repeat}
    for name in SCORES:
        held = _first(places, (name,), (int, float, str, dict))
        if held is not None and _is_small(held):
            found[name] = held
    return found


def _kept(key: str, log: Log, spans: Sequence[ReadSpan]) -> Any:
    """Return what a source says under a key: of the log, of its metadata, of a line, of a span; None if nothing."""
    metadata = log.about.get("metadata")
    lines = log.messages[:_MOST_MESSAGES] if not log.about else []
    for holder in (log.about, metadata, *lines):
        if isinstance(holder, Mapping) and holder.get(key) is not None:
            return holder[key]
    names = (key, *[f"{prefix}{key}" for prefix in _WITHIN])
    wanted = frozenset(names)
    holders = [span.attributes for span in spans if not wanted.isdisjoint(span.attributes.keys())]
    found = [attributes.get(name) for name in names for attributes in holders if name in attributes]
    return found[0] if found else None


def _places(log: Log, spans: Sequence[ReadSpan]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects that may say it, best first: those around messages, lines, topmost spans."""
    if log.about:
        yield log.about
        metadata = log.about.get("metadata")
        if isinstance(metadata, Mapping):
            yield metadata
    elif log.messages:
        names = {CASE, REPEAT, *CASES, *REPEATS}
        lines = [line for line in log.messages[:_MOST_MESSAGES] if isinstance(line, Mapping)]
        yield from ({key: line[key] for key in names & line.keys()} for line in lines if not names.isdisjoint(line))
    for span in topmost(spans):
        hits = [key for key in span.attributes if key in _KEYS]
        # The name alone wins over the same name inside a source's own metadata.
        yield {_KEYS[key]: span.attributes.get(key) for key in sorted(hits, key=len, reverse=True)}


def _first(places: Iterable[Mapping[str, Any]], names: tuple[str, ...], kinds: tuple[type, ...]) -> Any:
    for place in places:
        for name in names:
            held = place.get(name)
            if isinstance(held, kinds) and held != "" and (not isinstance(held, bool) or name in SCORES):
                return held
    return None


def _is_small(held: Any) -> bool:
    """Whether a value is fit to be kept beside each run: a number, a short text, or a few of them."""
    level = [held]
    for _ in range(_DEEPEST):
        if len(level) > _MOST_VALUES or any([isinstance(each, (list, str)) and len(each) > _LONGEST for each in level]):
            return False
        level = [inner for each in level for inner in (each.values() if isinstance(each, Mapping) else ())]
    return not level
