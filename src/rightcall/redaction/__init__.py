"""Secrets taken out of texts, values and results before anybody else sees them."""

from ._names import secret_name
from ._results import redacted, redacted_differences, redacted_document, redacted_overall, redacted_trajectory
from ._shapes import SHAPES
from ._texts import redacted_address, redacted_text
from ._values import redacted_value

__all__ = [
    "SHAPES",
    "redacted",
    "redacted_address",
    "redacted_differences",
    "redacted_document",
    "redacted_overall",
    "redacted_text",
    "redacted_trajectory",
    "redacted_value",
    "secret_name",
]
