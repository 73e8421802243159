"""All limits on the size of input and on the work it causes, in one place.

Traces, arguments and expectations come from strangers, so each loop over them has a limit here. Exceeding one is never
a hang: it is an error that names the limit, or something is left out, as the limit says.
"""

from __future__ import annotations

import threading

import msgspec

from .errors import LimitError


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one evaluation. The defaults suit a 2-core machine; pass your own to change them."""

    text_bytes: int = 64 * 1024 * 1024
    """Size of one JSON string, in bytes."""

    literal_bytes: int = 1024 * 1024
    """Size of one Python literal, in characters. Parsing it takes a hundred times that in memory."""

    archive_bytes: int = 4 * 1024 * 1024 * 1024
    """Size of all samples in an Inspect archive, in bytes, decompressed."""

    depth: int = 200
    """Nesting of lists and objects inside one value."""

    nodes: int = 5_000_000
    """Number of values inside one value, including itself."""

    aliases: int = 1_000
    """References to other parts of one YAML document."""

    integer_bits: int = 14_284
    """Size of one integer: 4,300 decimal digits, beyond which Python refuses to print it."""

    name_length: int = 10_000
    """Characters in a tool's name."""

    aligned_calls: int = 100_000
    """Calls on either side of a comparison that returns the alignment."""

    compared_calls: int = 1_000_000
    """Calls on either side of a comparison that returns only a score."""

    comparisons: int = 50_000_000
    """Comparisons of an expected with an actual call."""

    steps: int = 1_000_000
    """Steps inside expected values in one evaluation: items tried, keywords of a JSON Schema applied, values walked."""

    combinations: int = 1_000
    """Combinations of values that are tried for the names that expected calls bind (`$bind`)."""

    alignment_steps: int = 2_000_000
    """Steps of the search for the best alignment with groups of expected calls: calls tried, rests of groups made."""

    paths: int = 1_000_000
    """Different paths of runs that are counted one by one. With more, only tools and edges are counted."""

    pattern_length: int = 10_000
    """Characters in a regular expression."""

    recorded_bytes: int = 1024 * 1024
    """Size of the arguments or the output of a call, as text, up to which our decorators record it."""

    recorded_items: int = 10_000
    """Values of a generator up to which our decorators record its output."""

    captured_spans: int = 20_000
    """Spans that one capture keeps."""

    kept_bytes: int = 1024 * 1024
    """Size of the spans that are stored for one run of a case, as JSON. The number of those left out is stored, too."""

    kept_text: int = 64 * 1024
    """Characters of one string in the attributes of a stored span. Longer strings are truncated."""

    messages_text: int = 0
    """Characters of user and model messages of one run that are stored for display; none by default."""

    message_text: int = 8_000
    """Characters of one stored message. Longer ones are truncated."""

    explanation_bytes: int = 64 * 1024
    """Size of the explanations in one result. The number of those left out is reported."""


DEFAULT_LIMITS = Limits()
# Enough for some hundred messages of models, which a page shows beside the calls.
KEEPING_MESSAGES = Limits(messages_text=256 * 1024)
"""The limits for reading what is stored as a run, including messages."""


class Budget:
    """The steps that one evaluation may spend inside expected values. As a context manager, it applies to this thread.

    It is kept per thread and not passed from matcher to matcher, because compiled expectations are shared by threads,
    and Python's `==` and jsonschema's references cannot pass it on.
    """

    __slots__ = ("_outer", "left", "most")

    def __init__(self, most: int = DEFAULT_LIMITS.steps) -> None:
        self.most = self.left = most

    def __enter__(self) -> Budget:
        self._outer = _thread.budget
        _thread.budget = self
        return self

    def __exit__(self, *problem: object) -> None:
        _thread.budget = self._outer

    def spend(self, steps: int) -> None:
        """Subtract steps from the budget. Call it before the work, so that too much work is refused at once.

        Raises:
            LimitError: the budget is exceeded.
        """
        self.left -= steps
        if self.left < 0:
            raise LimitError(f"comparing with what is expected takes more than {self.most:,} steps")


class _Thread(threading.local):
    budget: Budget | None = None


_thread = _Thread()


def current_budget() -> Budget | None:
    """Return the budget of this thread's evaluation; None outside of one."""
    return _thread.budget


def spend(steps: int, limits: Limits = DEFAULT_LIMITS) -> None:
    """Subtract steps from the budget of this thread's evaluation; outside of one, from a new budget.

    Raises:
        LimitError: the budget is exceeded.
    """
    (_thread.budget or Budget(limits.steps)).spend(steps)
