"""What a run took: time and tokens."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run took, as far as it was recorded; `None` is not known, and not nothing."""

    duration_ns: int | None = None
    """From the beginning of its first span to the end of its last."""
    input_tokens: int | None = None
    """What models were given, all calls of models together."""
    output_tokens: int | None = None
    """What models gave back."""

    @property
    def total_tokens(self) -> int | None:
        """What models were given and gave back."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


def summed_usage(parts: Iterable[Usage | None]) -> Usage | None:
    """What several parts of a run took, one after the other. What one of them does not know, the sum does not."""
    known = [part or Usage() for part in parts]
    summed = Usage(
        duration_ns=_sum([part.duration_ns for part in known]),
        input_tokens=_sum([part.input_tokens for part in known]),
        output_tokens=_sum([part.output_tokens for part in known]),
    )
    return None if summed == Usage() else summed


def _sum(figures: list[int | None]) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known and len(known) == len(figures) else None
