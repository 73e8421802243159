"""Recordings that a server cannot give back as they were, each with the reason."""

from __future__ import annotations

REASONS: dict[tuple[str, str, str], str] = {}
"""By the server, the form of its export and the recording."""
