"""How much Rightcall takes on before it says no: every figure, in one place.

Traces, arguments and expectations come from strangers. Each loop over them has a budget here, and going over
it is an error that names the limit, never a hang and never a score.
"""

from __future__ import annotations

import threading

import msgspec

from .errors import LimitError


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The budgets of one evaluation. The defaults suit a 2-core machine; pass your own to change them."""

    text_bytes: int = 64 * 1024 * 1024
    """Size of one JSON text, in bytes."""

    literal_bytes: int = 1024 * 1024
    """Size of one Python literal, in characters. Its parser needs a hundred times that in memory."""

    archive_bytes: int = 4 * 1024 * 1024 * 1024
    """Size of all samples in an archive of Inspect, in bytes, unpacked."""

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

    steps: int = 1_000_000
    """Steps inside expected values in one evaluation: items tried, keywords of a JSON Schema applied, values walked."""

    combinations: int = 1_000
    """Choices of values for the names that expected calls bind."""

    alignment_steps: int = 2_000_000
    """Steps of the search for the best reading of expected calls with groups: calls tried, rests of groups made."""

    paths: int = 1_000_000
    """Different paths of runs that are counted one by one. Beyond that there are tools and edges, and no list."""

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

    messages_text: int = 0
    """Characters of messages of users and models that are kept of one run, to be looked at; none unless asked for."""

    message_text: int = 8_000
    """Characters of one message that is kept. What is longer is cut."""

    explanation_bytes: int = 64 * 1024
    """Size of the explanations in one result. What is left out is counted."""


DEFAULT_LIMITS = Limits()
# Enough for some hundred messages of models; a page shows them beside the calls.
KEEPING_MESSAGES = Limits(messages_text=256 * 1024)
"""The limits for what is read to be kept as a run."""


class Budget:
    """The steps that one evaluation may spend inside expected values; as a context manager, the one of this thread.

    Expectations are compiled once and shared by threads, and Python's `==` and jsonschema's references pass nothing
    along, so what is left is kept by the thread and not handed from matcher to matcher.
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
        """Take steps from what is left. Spend before the work: what is too much is refused at once.

        Raises:
            LimitError: there are not so many left.
        """
        self.left -= steps
        if self.left < 0:
            raise LimitError(f"comparing with what is expected takes more than {self.most:,} steps")


class _Thread(threading.local):
    budget: Budget | None = None


_thread = _Thread()


def current_budget() -> Budget | None:
    """The budget of the evaluation that this thread is at, if it is at one."""
    return _thread.budget


def spend(steps: int, limits: Limits = DEFAULT_LIMITS) -> None:
    """Take steps from the budget of this thread's evaluation; outside of one, from a new budget.

    Raises:
        LimitError: there are not so many left.
    """
    (_thread.budget or Budget(limits.steps)).spend(steps)
