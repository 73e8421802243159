from ._redactor import (
    redacted as redacted,
    redacted_address as redacted_address,
    redacted_differences as redacted_differences,
    redacted_document as redacted_document,
    redacted_overall as redacted_overall,
    redacted_text as redacted_text,
    redacted_trajectory as redacted_trajectory,
    redacted_value as redacted_value,
)
from ._shapes import SHAPES as SHAPES, secret_name as secret_name
