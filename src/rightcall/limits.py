"""How much Rightcall takes on before it says no: every figure, in one place.

Traces, arguments and expectations come from strangers. Each loop over them has a budget here, and going over
it is an error that names the limit, never a hang and never a score.
"""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The budgets of one evaluation. The defaults suit a 2-core machine; pass your own to change them."""

    text_bytes: int = 64 * 1024 * 1024
    """Size of one JSON text, in bytes."""

    literal_bytes: int = 1024 * 1024
    """Size of one Python literal, in characters. Its parser needs a hundred times that in memory."""

    depth: int = 200
    """Nesting of lists and objects inside one value."""

    nodes: int = 5_000_000
    """Values inside one value, itself included."""

    aliases: int = 1_000
    """References to other parts of one YAML document."""

    integer_bits: int = 14_284
    """Size of one integer: 4,300 decimal digits, beyond which Python refuses to print it."""

    name_length: int = 10_000
    """Characters in a tool's name."""

    aligned_calls: int = 100_000
    """Calls on either side of a comparison that shows its path."""

    compared_calls: int = 1_000_000
    """Calls on either side of a comparison that yields a score only."""

    comparisons: int = 50_000_000
    """Comparisons of one expected with one actual call."""

    pattern_length: int = 10_000
    """Characters in a regular expression."""

    recorded_bytes: int = 1024 * 1024
    """Size of the arguments or the output of one call that our decorators record, as text."""

    recorded_items: int = 10_000
    """Values that a generator yields, in the output that our decorators record."""

    captured_spans: int = 20_000
    """Spans of one run that are kept while it is captured."""

    kept_bytes: int = 1024 * 1024
    """Size of the spans that a run keeps of one run of a case, as JSON. How many are left out is counted."""

    kept_text: int = 64 * 1024
    """Characters of one text in the attributes of a span that is kept. What is longer is cut."""

    explanation_bytes: int = 64 * 1024
    """Size of the explanations in one result. What is left out is counted."""


DEFAULT_LIMITS = Limits()
