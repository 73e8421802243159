"""Which traces of a source are runs, and which are parts of others or none at all."""

from __future__ import annotations

from collections.abc import Iterable

from rightcall.reading.conventions import CallShape, kind_of
from rightcall.reading.spans import Span, topmost

from ._answers import has_answer
from ._nesting import united_by_calls

_MCP = "mcp"
_CREATION = "create_agent"
_OPERATION = "gen_ai.operation.name"


def without_creations(runs: list[list[Span]]) -> list[list[Span]]:
    """The runs, however they are grouped, but for traces in which an agent was made and nothing else was done."""
    return [run for run in runs if not run or not all([_is_creation(span) for span in run])]


def whole_runs(runs: list[list[Span]]) -> list[list[Span]]:
    """Runs in their own right: with an agent or a model at work in them, or with calls.

    A trace that ran inside a call of another is part of it. Where traces are nothing but calls (MCP servers trace each
    call by itself), the source is one run. Traces with nothing of an agent in them, such as the creation of one or the
    check whether a server lives, are left out beside others that have; unless they begin as one of those does, being a
    run that made no call.
    """
    if len(runs) < 2:
        return runs
    if not any([is_at_work(run) for run in runs]):
        calls = [run for run in runs if _has_calls(run)]
        return [[span for run in calls for span in run]] if calls else runs
    runs = united_by_calls(runs)
    sorting = Sorting()
    kept = {id(run) for run in (*sorting.counted(runs), *sorting.late())}
    return [run for run in runs if id(run) in kept]


class Sorting:
    """Which runs of a large source count, some of them being seen before others."""

    def __init__(self) -> None:
        self.begun: set[tuple[str, str]] = set()
        """How runs with an agent or a model at work begin: the names and scopes of their topmost spans."""
        self.waiting: list[list[Span]] = []
        """Runs with nothing of an agent in them, which count if others turn out to begin as they do."""

    def counted(self, runs: list[list[Span]]) -> list[list[Span]]:
        """Those that count as far as is known; others wait."""
        working = [is_at_work(run) for run in runs]
        for run, is_working in zip(runs, working, strict=True):
            if is_working:
                self.begun |= _tops_of(run)
        counted = []
        for run, is_working in zip(runs, working, strict=True):
            if is_working or _has_calls(run) or not self.begun.isdisjoint(roots_of(run)):
                counted.append(run)
            else:
                self.waiting.append(run)
        return counted

    def count(self, roots: Iterable[tuple[str, str]]) -> bool:
        """Whether a run counts that waited, by how it begins; all do where no agent was seen at work."""
        return not self.begun or not self.begun.isdisjoint(roots)

    def late(self) -> list[list[Span]]:
        """Those that waited and count after all."""
        waiting, self.waiting = self.waiting, []
        return [run for run in waiting if self.count(roots_of(run))]


def roots_of(run: list[Span]) -> set[tuple[str, str]]:
    """How a run begins: the names and scopes of its topmost spans; where all have one around them, of its first.

    What makes an agent is never a run, however it begins.
    """
    if any(_is_creation(span) for span in run):
        return set()
    return _tops_of(run)


def _is_creation(span: Span) -> bool:
    return span.name.startswith(_CREATION) or span.attributes.get(_OPERATION) == _CREATION


def _tops_of(run: list[Span]) -> set[tuple[str, str]]:
    return {(span.name, span.scope) for span in topmost(run) or run[:1]}


def is_at_work(run: list[Span]) -> bool:
    """Whether a trace is a run of something: a model answered in it, an agent ran, or something else made calls.

    An agent's span that gave nothing back, with nothing known inside, is what is left of another run. Calls that MCP
    alone shows were made by an agent somewhere else.
    """
    kinds = [kind_of(span) for span in run]
    calls = [kind for kind in kinds if isinstance(kind, CallShape)]
    agents = [span for span, kind in zip(run, kinds, strict=True) if kind == "agent"]
    if "model" in kinds or len(agents) > 1 or (agents and (calls or has_answer(agents[0]))):
        return True
    made = any(call.convention.name != _MCP for call in calls)
    return made and any(kind_of(span) == "" for span in topmost(run))


def _has_calls(run: list[Span]) -> bool:
    return any(isinstance(kind_of(span), CallShape) for span in run)
