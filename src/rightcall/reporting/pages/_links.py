"""Addresses of pages: in the viewer, or inside one file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import quote, urlencode

import msgspec

_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
_SLUG = 40
# 64 bits: among a million names the chance that two share a digest is one in 37 million.
_DIGEST = 16


class Crumb(msgspec.Struct, frozen=True):
    """A step of the way to a page, from the first one; the page itself has no address here."""

    text: str
    href: str = ""


class Links(msgspec.Struct, frozen=True):
    """The addresses of pages. An empty address means that the page does not exist, and is not linked.

    In one file there are only anchors: cases and calls have them, other runs, tools and comparisons do not.
    """

    is_one_file: bool = False

    def runs(self, **query: str | int) -> str:
        """Return the address of all runs. Empty values are left out of the query."""
        return "" if self.is_one_file else f"/{_query(query)}"

    def run(self, run_id: str, **query: str | int) -> str:
        """Return the address of a run, filtered: `verdict`, `rule`, `tool` (its key), `q` (a text), `page`."""
        return "#cases" if self.is_one_file else f"/runs/{_part(run_id)}{_query(query)}"

    def case(self, run_id: str, key: str, **query: str | int) -> str:
        """Return the address of a case by its key; `calls` is the page of its calls."""
        if self.is_one_file:
            return f"#case-{key}"
        return f"/runs/{_part(run_id)}/cases/{_part(key)}{_query(query)}"

    def tool(self, run_id: str, name: str, **query: str | int) -> str:
        """Return the address of a tool of a run, by its name."""
        return "" if self.is_one_file else f"/runs/{_part(run_id)}/tools/{key_of(name)}{_query(query)}"

    def compare(self, before: str, after: str, **query: str | int) -> str:
        """Return the address of the comparison of two runs."""
        return "" if self.is_one_file else f"/compare{_query({'a': before, 'b': after, **query})}"

    def beside(self, runs: Sequence[str], **query: str | int) -> str:
        """Return the address of the comparison of several runs."""
        more = _query(query).replace("?", "&")
        return "" if self.is_one_file else f"/compare?{urlencode([('run', run) for run in runs])}{more}"


def case_key(case_id: str, repeat: int = 0) -> str:
    """Return the key of a case, such as `laptop_search-1f0c9d2a7be45f10`, with `.1` for its second repeat.

    The beginning is for people; the digest makes the key unique. Ids never appear in a path as they are, because a
    trace may contain anything.
    """
    return key_of(case_id) + (f".{repeat}" if repeat else "")


def key_of(name: str) -> str:
    """Return the key of any name, such as a tool's: its letters, digits, `_` and `-`, and a digest of it all."""
    slug = _OTHER.sub("-", name[: 4 * _SLUG]).strip("-")[:_SLUG]
    digest = sha256(name.encode(errors="surrogatepass")).hexdigest()[:_DIGEST]
    return f"{slug}-{digest}" if slug else digest


def _part(text: str) -> str:
    # An id may hold a lone surrogate, which has no UTF-8 form.
    return quote(text, safe="", errors="backslashreplace")


def _query(query: dict[str, str | int]) -> str:
    given = {key: value for key, value in query.items() if value not in ("", 0)}
    return f"?{urlencode(given, errors='backslashreplace')}" if given else ""
