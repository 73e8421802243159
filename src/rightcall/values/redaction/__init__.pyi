from ._redactor import (
    redacted as redacted,
    redacted_differences as redacted_differences,
    redacted_document as redacted_document,
    redacted_overall as redacted_overall,
    redacted_trajectory as redacted_trajectory,
    redacted_value as redacted_value,
)
from ._texts import (
    SHAPES as SHAPES,
    redacted_address as redacted_address,
    redacted_text as redacted_text,
    secret_name as secret_name,
)
