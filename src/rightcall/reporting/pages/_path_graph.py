"""A drawing of what follows what: boxes for tools, lines as wide as runs are many, and a count on each.

Counts are put down last, each where it covers no box and no other count, and on top of every line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from math import sqrt
from typing import Literal

import msgspec

from rightcall.reporting.paths import Edge, Ended, Paths, Route

from ._path_layout import END, START, PathLayout, Point, Rect, ends_of, shortened

MOST_EDGES = 20
"""Lines that a drawing has: with 38 it was a tangle."""
_LABEL = 14.0
_GOOD, _FAIR = 0.9, 0.6
Tone = Literal["good", "fair", "bad", "plain"]


class GraphBox(msgspec.Struct, frozen=True, kw_only=True):
    """A tool, or an end of runs, in the drawing: its corner and size, and how many runs have it."""

    label: str
    whole: str
    """The label without a cut."""
    x: float
    y: float
    width: float
    height: float
    runs: int | None = None
    is_chosen: bool = False


class GraphLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the drawing: its path, its count and where that is."""

    path: str
    width: float
    tone: Tone
    says: str
    count: str
    x: float
    y: float
    label_width: float
    is_back: bool = False
    is_chosen: bool = False


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """A drawing of a size in pixels."""

    width: int
    height: int
    boxes: tuple[GraphBox, ...] = ()
    lines: tuple[GraphLine, ...] = ()
    hidden: int = 0
    """Weaker edges that are not drawn."""


def path_graph(
    paths: Paths,
    chosen: Route = None,
    most: int = MOST_EDGES,
    *,
    marked: Collection[tuple[str, ...]] = (),
) -> Graph | None:
    """Return the drawing of the strongest edges, with one path or some edges marked; `None` without any call."""
    edges = strongest(paths.edges, most)
    if not edges:
        return None
    layout = PathLayout(paths, edges)
    lit = _edges_of(chosen) | {(edge[0], edge[1]) for edge in marked}
    return Graph(
        width=round(layout.width),
        height=round(layout.height),
        boxes=tuple(_boxes(layout, {key for edge in _edges_of(chosen) for key in edge})),
        lines=tuple(_lines(layout, edges, lit)),
        hidden=len(paths.edges) - len(edges),
    )


def strongest(edges: Sequence[Edge], most: int = MOST_EDGES) -> list[Edge]:
    """Return the edges to draw: of the commonest tools the strongest way in and out each, then the strongest others.

    A third of them is kept for the others, among which are the loops.
    """
    by_runs: dict[str, int] = {}
    for edge in edges:
        if edge.after is not None:
            by_runs[edge.after] = by_runs.get(edge.after, 0) + edge.ended.runs
    kept: dict[Edge, None] = {}
    for tool in sorted(by_runs, key=lambda key: (-by_runs[key], key)):
        ways = [
            next((edge for edge in edges if edge.after == tool and edge.before != tool), None),
            next((edge for edge in edges if edge.before == tool and edge.after != tool), None),
        ]
        more = {edge: None for edge in ways if edge is not None and edge not in kept}
        if len(kept) + len(more) <= max(2, most * 2 // 3):
            kept.update(more)
    drawn = {key for edge in kept for key in (edge.before, edge.after)}
    for edge in edges:
        # An edge to a tool that has no other line would leave it hanging in the air.
        if len(kept) < most and {edge.before, edge.after} <= drawn:
            kept.setdefault(edge)
    return [edge for edge in edges if edge in kept]


def _boxes(layout: PathLayout, marked: set[str]) -> Iterator[GraphBox]:
    """Yield the boxes."""
    for key, rect in layout.rects.items():
        whole = layout.names[key]
        yield GraphBox(
            label=shortened(whole),
            whole=whole,
            x=round(rect.x, 1),
            y=round(rect.y, 1),
            width=round(rect.width, 1),
            height=rect.height,
            runs=None if key in (START, END) else layout.runs[key],
            is_chosen=key in marked and key not in (START, END),
        )


def _lines(layout: PathLayout, edges: Sequence[Edge], marked: set[tuple[str, str]]) -> Iterator[GraphLine]:
    """Yield the lines, each with its count."""
    taken = list(layout.rects.values())
    most = max([edge.ended.runs for edge in edges])
    drawn = [layout.drawn(edge) for edge in edges]
    # Chosen lines come last, so that they are on top.
    for edge, (path, spots) in sorted(zip(edges, drawn, strict=True), key=lambda each: ends_of(each[0]) in marked):
        count = f"{edge.ended.runs:,}"
        room = 6.6 * len(count) + 6
        rect = _free(spots, room, taken)
        taken.append(rect)
        before, after = [layout.names[key] for key in ends_of(edge)]
        yield GraphLine(
            path=path,
            width=round(1.2 + 6.8 * sqrt(edge.ended.runs / most), 1),
            tone=_tone(edge.ended),
            says=f"{before} → {after}: {edge.ended.runs:,} runs",
            count=count,
            x=round(rect.x + rect.width / 2, 1),
            y=round(rect.y + rect.height / 2, 1),
            label_width=round(room, 1),
            is_back=edge in layout.back,
            is_chosen=ends_of(edge) in marked,
        )


def _edges_of(route: Route) -> set[tuple[str, str]]:
    return set(pairwise([START, *route, END])) if route else set()


def _tone(ended: Ended) -> Tone:
    if ended.rate is None:
        return "plain"
    return "good" if ended.rate >= _GOOD else "fair" if ended.rate >= _FAIR else "bad"


def _free(spots: Sequence[Point], width: float, taken: Sequence[Rect]) -> Rect:
    """Return a place for a count that covers nothing; where every good one is taken, the nearest above or below."""
    for step in range(40):
        for shift in (0.0,) if step == 0 else (-4.0 * step, 4.0 * step):
            for spot in spots:
                rect = Rect(spot.x - width / 2, spot.y + shift - _LABEL / 2, width, _LABEL)
                if rect.x >= 0 and rect.y >= 0 and not any([rect.meets(other) for other in taken]):
                    return rect
    return Rect(spots[0].x - width / 2, spots[0].y - _LABEL / 2, width, _LABEL)
