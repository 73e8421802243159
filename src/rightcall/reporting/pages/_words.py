"""Signs and words of verdicts and steps, the same as on a terminal."""

from __future__ import annotations

SIGNS = {
    "passed": "✓",
    "failed": "✗",
    "error": "✗",
    "not_measured": "?",
    "match": "✓",
    "mismatch": "≠",
    "moved": "⇅",
    "missing": "−",
    "extra": "+",
}
"""The sign of each verdict and of each kind of step."""

WORDS = {
    "passed": "passed",
    "failed": "failed",
    "error": "error",
    "not_measured": "not measured",
    "match": "as expected",
    "mismatch": "differs",
    "moved": "out of order",
    "missing": "missing",
    "extra": "not expected",
}
"""What each sign says, for everybody who does not know it or cannot see it."""
