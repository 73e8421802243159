"""Queries of addresses: which cases, which page. Any query is valid: wrong values mean the default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from rightcall.reporting.pages import Choice
from rightcall.values.results import Verdict

_LONGEST = 200
_MOST_DIGITS = 6


def choice_of(query: Mapping[str, str]) -> Choice:
    """Return which cases an address asks for; an unknown verdict means all."""
    verdict = query.get("verdict", "")
    return Choice(
        verdict=verdict if verdict in get_args(Verdict) else "",
        rule=query.get("rule", "")[:_LONGEST],
        tool=query.get("tool", "")[:_LONGEST],
        q=query.get("q", "").strip()[:_LONGEST],
    )


def number_of(query: Mapping[str, str], key: str) -> int:
    """Return the number under a key; 1 if there is none."""
    text = query.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 1


def page_of(query: Mapping[str, str], count: int, size: int) -> tuple[int, int]:
    """Return the page that an address asks for, or the nearest one that exists, and the number of pages."""
    last = max(1, -(-count // size))
    return min(max(1, number_of(query, "page")), last), last
