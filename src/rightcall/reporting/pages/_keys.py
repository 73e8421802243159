"""What cases and tools go by in addresses: data is never part of a path."""

from __future__ import annotations

import re
from hashlib import sha256

_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
_SLUG = 40
_DIGEST = 16


def case_key(case_id: str, repeat: int = 0) -> str:
    """What a case goes by, such as `laptop_search-1f0c9d2a7be45f10`, and `….1` for its second repeat.

    The beginning is for people; the digest tells apart what begins alike.
    """
    return key_of(case_id) + (f".{repeat}" if repeat else "")


def key_of(name: str) -> str:
    """What any name, such as a tool's, goes by: letters, digits, `_` and `-` of it, and a digest of all of it."""
    slug = _OTHER.sub("-", name[: 4 * _SLUG]).strip("-")[:_SLUG]
    digest = sha256(name.encode(errors="surrogatepass")).hexdigest()[:_DIGEST]
    return f"{slug}-{digest}" if slug else digest
