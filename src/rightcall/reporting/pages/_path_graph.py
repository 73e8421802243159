"""The layout of a graph of calls: its boxes, and edges whose width shows the number of runs.

Labels with counts are placed last, where they cover no box and no other label, on top of all edges.

The method is Sugiyama's: columns by longest path, dummy nodes where edges pass a column, six barycentre sweeps for the
order within columns. Back edges run below everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import Literal, NamedTuple

import msgspec

from rightcall.reporting.paths import Edge, Ended, Paths, Route

MOST_EDGES = 20
"""Most edges in a drawing: 38 were unreadable."""
_LABEL = 14.0
_GOOD, _FAIR = 0.9, 0.6
Tone = Literal["good", "fair", "bad", "plain"]
START, END = "\x02", "\x03"
"""The keys of start and end: control characters, which are not names of tools."""
_LETTER, _LONGEST = 6.7, 24
_BOX, _PILL, _LOOP, _DUMMY = 40.0, 26.0, 30.0, 12.0
_BETWEEN, _GAP, _EDGE, _LANE = 20.0, 56.0, 4.0, 22.0
_SWEEPS = 6
_PLACES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.22, 0.8)


class GraphBox(msgspec.Struct, frozen=True, kw_only=True):
    """A tool, or the start or end of runs, in the drawing: its position and size, and its number of runs."""

    label: str
    whole: str
    """The full label."""
    x: float
    y: float
    width: float
    height: float
    runs: int | None = None
    is_chosen: bool = False


class GraphLine(msgspec.Struct, frozen=True, kw_only=True):
    """An edge of the drawing: its SVG path, and its count with the position of that."""

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
    """A drawing with its size in pixels."""

    width: int
    height: int
    boxes: tuple[GraphBox, ...] = ()
    lines: tuple[GraphLine, ...] = ()
    hidden: int = 0
    """The number of weaker edges that are not drawn."""


def path_graph(
    paths: Paths,
    chosen: Route = None,
    most: int = MOST_EDGES,
    *,
    marked: Collection[tuple[str, ...]] = (),
) -> Graph | None:
    """Return the drawing of the strongest edges, with one path or some edges marked; `None` if there are no calls."""
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
    """Return the edges to draw: the strongest in and out of the most common tools, then the strongest others.

    A third of them is reserved for the others, which include the loops.
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
        # Skip edges to tools that have no other edge: they would be dead ends.
        if len(kept) < most and {edge.before, edge.after} <= drawn:
            kept.setdefault(edge)
    return [edge for edge in edges if edge in kept]


def _boxes(layout: PathLayout, marked: set[str]) -> Iterator[GraphBox]:
    """Yield the box of each tool, of the start and of the end, with names shortened to fit."""
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
    """Yield the edges, each with its count."""
    taken = list(layout.rects.values())
    most = max([edge.ended.runs for edge in edges])
    drawn = [layout.drawn(edge) for edge in edges]
    # Marked edges come last, so that they are drawn on top.
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
    """Return a free position for a label; if the best ones are taken, the nearest above or below."""
    for step in range(40):
        for shift in (0.0,) if step == 0 else (-4.0 * step, 4.0 * step):
            for spot in spots:
                rect = Rect(spot.x - width / 2, spot.y + shift - _LABEL / 2, width, _LABEL)
                if rect.x >= 0 and rect.y >= 0 and not any([rect.meets(other) for other in taken]):
                    return rect
    return Rect(spots[0].x - width / 2, spots[0].y - _LABEL / 2, width, _LABEL)


class Point(NamedTuple):
    """A place on the drawing."""

    x: float
    y: float


class Rect(NamedTuple):
    """The place of a box."""

    x: float
    y: float
    width: float
    height: float

    def meets(self, other: Rect, room: float = 1.0) -> bool:
        return (
            self.x < other.x + other.width + room
            and other.x < self.x + self.width + room
            and self.y < other.y + other.height + room
            and other.y < self.y + self.height + room
        )


_Item = str | tuple[str, str, int]
"""An item of a column: a box, or the dummy node of an edge that spans several columns."""


class PathLayout:
    """The positions of everything, in pixels."""

    def __init__(self, paths: Paths, edges: Sequence[Edge]) -> None:
        self._paths, self._edges = paths, edges
        self.runs = _runs_of(paths)
        keys = dict.fromkeys([key for edge in edges for key in ends_of(edge)])
        self.names = {key: _name(key, paths.labels) for key in keys}
        self._order = _left_to_right(keys, paths.places, edges)
        self._forward = [edge for edge in edges if self._goes_on(edge)]
        self._loops = {edge.before: edge for edge in edges if edge.before == edge.after}
        self.back = [edge for edge in edges if edge.before != edge.after and not self._goes_on(edge)]
        self._rank = self._ranked(keys)
        self._chains = {edge: self._chain(edge) for edge in self._forward}
        self._columns = self._ordered_columns()
        self._y = self._placed()
        self._x, self.width = self._column_places()
        self.rects = {key: self._rect(key) for key in keys}
        lowest = max([rect.y + rect.height for rect in self.rects.values()] + [y + _DUMMY for y in self._y.values()])
        self._lane_top = lowest + _LANE
        self.height = lowest + _EDGE + (_LANE * len(self.back) + 8 if self.back else 0)

    def _goes_on(self, edge: Edge) -> bool:
        before, after = ends_of(edge)
        return self._order[before] < self._order[after]

    def _ranked(self, keys: Iterable[str]) -> dict[str, int]:
        """Return the column of each box: the longest path to it over forward edges. No column is empty."""
        rank = dict.fromkeys(keys, 1) | {START: 0}
        for key in sorted(rank, key=lambda each: self._order.get(each, -1)):
            into = [rank[ends_of(edge)[0]] + 1 for edge in self._forward if ends_of(edge)[1] == key]
            rank[key] = max(into, default=rank[key])
        rank[END] = max([column for key, column in rank.items() if key != END], default=0) + 1
        # The edges from the start, or to the end, may not be drawn, so close gaps.
        columns = sorted({rank[key] for key in keys})
        return {key: columns.index(rank[key]) for key in keys}

    def _chain(self, edge: Edge) -> list[_Item]:
        before, after = ends_of(edge)
        between = range(self._rank[before] + 1, self._rank[after])
        return [before, *[(before, after, column) for column in between], after]

    def _ordered_columns(self) -> list[list[_Item]]:
        """Return the items of each column from top to bottom, by six barycentre sweeps."""
        columns: list[dict[_Item, None]] = [{} for _ in range(max(self._rank.values()) + 1)]
        for edge in sorted(self._forward, key=lambda edge: -edge.ended.runs):
            for item in self._chains[edge]:
                columns[self._column_of(item)].setdefault(item)
        for key in self.names:
            columns[self._rank[key]].setdefault(key)
        ordered = [list(column) for column in columns]
        self._neighbours = _neighbours(self._chains)
        for sweep in range(_SWEEPS):
            forwards = sweep % 2 == 0
            for number in range(1, len(ordered)) if forwards else range(len(ordered) - 2, -1, -1):
                other = ordered[number - 1 if forwards else number + 1]
                place = {item: where for where, item in enumerate(other)}
                ordered[number].sort(key=self._barycentres(ordered[number], place).__getitem__)
        return ordered

    def _barycentres(self, column: Sequence[_Item], place: Mapping[_Item, int]) -> dict[_Item, float]:
        found = {}
        for where, item in enumerate(column):
            near = [(place[other], runs) for other, runs in self._neighbours.get(item, ()) if other in place]
            weight = sum([runs for _, runs in near])
            found[item] = sum([spot * runs for spot, runs in near]) / weight if weight else float(where)
        return found

    def _placed(self) -> dict[_Item, float]:
        """Return the vertical centre of each item: as near to its neighbours as order and spacing allow."""
        y = {item: 60.0 * place for column in self._columns for place, item in enumerate(column)}
        for _ in range(24):
            for column in (*self._columns, *reversed(self._columns)):
                wanted = [self._wanted(item, y) for item in column]
                apart = [self._half(one) + self._half(other) + _BETWEEN for one, other in pairwise(column)]
                y.update(zip(column, _spread(wanted, apart), strict=True))
        top = min([y[item] - self._half(item) for item in y])
        return {item: place - top + _EDGE for item, place in y.items()}

    def _wanted(self, item: _Item, y: Mapping[_Item, float]) -> float:
        near = self._neighbours.get(item, ())
        weight = sum([runs for _, runs in near])
        return sum([y[other] * runs for other, runs in near]) / weight if weight else y[item]

    def _half(self, item: _Item) -> float:
        if not isinstance(item, str):
            return _DUMMY / 2
        return (_PILL if item in (START, END) else _BOX) / 2 + (_LOOP / 2 if item in self._loops else 0)

    def _column_of(self, item: _Item) -> int:
        return self._rank[item] if isinstance(item, str) else item[2]

    def _column_places(self) -> tuple[list[tuple[float, float]], float]:
        """Return the left and right of each column, and the total width."""
        places, left = [], _EDGE
        for column in self._columns:
            width = max([self._box_width(item) for item in column if isinstance(item, str)], default=0.0)
            places.append((left, left + width))
            left += width + _GAP
        return places, left - _GAP + _EDGE

    def _box_width(self, key: str) -> float:
        return len(shortened(self.names[key])) * _LETTER + 22

    def _rect(self, key: str) -> Rect:
        left, right = self._x[self._rank[key]]
        width = self._box_width(key)
        height = _PILL if key in (START, END) else _BOX
        bottom = self._y[key] + self._half(key)
        return Rect((left + right - width) / 2, bottom - height, width, height)

    def _port(self, edge: Edge, *, out: bool) -> Point:
        """Return where an edge leaves a box on its right, or enters on its left: edges are spread by direction."""
        key = ends_of(edge)[0 if out else 1]
        rect = self.rects[key]
        mine = [each for each in self._forward if ends_of(each)[0 if out else 1] == key]
        mine.sort(key=lambda each: self._y[self._chains[each][1 if out else -2]])
        back = [each for each in self.back if ends_of(each)[0 if out else 1] == key]
        place = [*mine, *back].index(edge)
        step = min(9.0, (rect.height - 10) / max(1, len(mine) + len(back)))
        middle = rect.y + rect.height / 2 + (place - (len(mine) + len(back) - 1) / 2) * step
        return Point(rect.x + rect.width if out else rect.x, middle)

    def drawn(self, edge: Edge) -> tuple[str, list[Point]]:
        """Return the SVG path of an edge, and candidate positions for its label, the best first."""
        if edge.before == edge.after:
            return self._loop(self.rects[edge.before or ""])
        if edge in self.back:
            return self._way_back(edge)
        chain = self._chains[edge]
        begin, end = self._port(edge, out=True), self._port(edge, out=False)
        # Straight up to the border of the column: boxes above and below may be wider than this one.
        points = [Point(self._x[self._column_of(chain[0])][1], begin.y)]
        for item in chain[1:-1]:
            left, right = self._x[self._column_of(item)]
            points += [Point(left, self._y[item]), Point(right, self._y[item])]
        points.append(Point(self._x[self._column_of(chain[-1])][0], end.y))
        spots = [
            _bezier(one, other, share)
            for one, other in zip(points[::2], points[1::2], strict=True)
            for share in _PLACES
        ]
        spots += [
            Point((one.x + other.x) / 2, one.y) for one, other in zip(points[1:-1:2], points[2:-1:2], strict=True)
        ]
        return f"M{_at(begin)}{_with_straights(points)}H{end.x:.1f}", spots

    def _loop(self, rect: Rect) -> tuple[str, list[Point]]:
        left, right = rect.x + rect.width * 0.3, rect.x + rect.width * 0.7
        top = rect.y - 22
        path = f"M{left:.1f} {rect.y:.1f}C{left:.1f} {top:.1f} {right:.1f} {top:.1f} {right:.1f} {rect.y:.1f}"
        return path, [Point(rect.x + rect.width / 2, rect.y - 18)]

    def _way_back(self, edge: Edge) -> tuple[str, list[Point]]:
        """Return a back edge: it leaves on the right, runs below everything to the left, and enters from there."""
        number = self.back.index(edge)
        begin, end = self._port(edge, out=True), self._port(edge, out=False)
        right = self._x[self._rank[ends_of(edge)[0]]][1] + 16 + 5 * number
        left = self._x[self._rank[ends_of(edge)[1]]][0] - 16 - 5 * number
        lane = self._lane_top + _LANE * number
        turn = 8.0
        path = (
            f"M{_at(begin)}H{right - turn:.1f}Q{right:.1f} {begin.y:.1f} {right:.1f} {begin.y + turn:.1f}"
            f"V{lane - turn:.1f}Q{right:.1f} {lane:.1f} {right - turn:.1f} {lane:.1f}H{left + turn:.1f}"
            f"Q{left:.1f} {lane:.1f} {left:.1f} {lane - turn:.1f}V{end.y + turn:.1f}"
            f"Q{left:.1f} {end.y:.1f} {left + turn:.1f} {end.y:.1f}H{end.x:.1f}"
        )
        return path, [Point(right - 40, lane), Point((left + right) / 2, lane), Point(left + 40, lane)]


def ends_of(edge: Edge) -> tuple[str, str]:
    """Return the keys of the boxes at both ends of an edge."""
    return edge.before or START, edge.after or END


def _name(key: str, labels: Mapping[str, str]) -> str:
    return {START: "start", END: "end"}.get(key, labels.get(key, key))


def shortened(name: str) -> str:
    """Shorten a name to fit into a box: its beginning and its end."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 10]}…{name[-9:]}"


def _runs_of(paths: Paths) -> dict[str, int]:
    """Return how many runs make each call; with arguments, each distinct call counts on its own."""
    runs = {tool.name: tool.ended.runs for tool in paths.tools}
    tools = set(runs)
    for path in paths.paths:
        for key in set(path.calls or ()) - tools:
            runs[key] = runs.get(key, 0) + path.ended.runs
    return runs


def _left_to_right(keys: Iterable[str], places: Mapping[str, float], edges: Sequence[Edge]) -> dict[str, int]:
    """Return the order of boxes: by the mean index of first calls, then improved to minimise runs that go back."""
    order = sorted([key for key in keys if key not in (START, END)], key=lambda key: (places.get(key, 0.0), key))
    weights = {(edge.before, edge.after): edge.ended.runs for edge in edges}
    for _ in range(3):
        for key in list(order):
            order.remove(key)
            # The runs that go back if it is inserted at each place: further right, fewer into it, more out of it.
            back, costs = sum([weights.get((other, key), 0) for other in order]), []
            for other in order:
                costs.append(back)
                back += weights.get((key, other), 0) - weights.get((other, key), 0)
            costs.append(back)
            order.insert(costs.index(min(costs)), key)
    return {key: place for place, key in enumerate([START, *order, END])}


def _neighbours(chains: Mapping[Edge, Sequence[_Item]]) -> dict[_Item, list[tuple[_Item, float]]]:
    found: dict[_Item, list[tuple[_Item, float]]] = {}
    for edge, chain in chains.items():
        for one, other in pairwise(chain):
            # Between two dummy nodes an edge should be straight, so they attract each other more.
            pull = edge.ended.runs * (1.0, 2.0, 8.0)[2 - isinstance(one, str) - isinstance(other, str)]
            found.setdefault(one, []).append((other, pull))
            found.setdefault(other, []).append((one, pull))
    return found


def _spread(wanted: Sequence[float], apart: Sequence[float]) -> list[float]:
    """Return positions nearest to those wanted that keep the order and the distances: pooled neighbours, as in PAVA."""
    shifts = [0.0]
    for each in apart:
        shifts.append(shifts[-1] + each)
    pools: list[tuple[float, int]] = []
    for want, shift in zip(wanted, shifts, strict=True):
        pools.append((want - shift, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (one, ones), (other, others) = pools[-2:]
            pools[-2:] = [((one * ones + other * others) / (ones + others), ones + others)]
    flat = [value for value, count in pools for _ in range(count)]
    return [value + shift for value, shift in zip(flat, shifts, strict=True)]


def _bezier(one: Point, other: Point, share: float) -> Point:
    """Return a point of the curve between two points that begins and ends horizontally."""
    left = 1 - share
    middle = (one.x + other.x) / 2
    x = left**3 * one.x + 3 * left * share * middle + share**3 * other.x
    y = (left**3 + 3 * left**2 * share) * one.y + (3 * left * share**2 + share**3) * other.y
    return Point(x, y)


def _with_straights(points: Sequence[Point]) -> str:
    """Return the SVG path through points: curves between columns, straight lines across them."""
    path = f"H{points[0].x:.1f}"
    for number, (one, other) in enumerate(pairwise(points)):
        middle = (one.x + other.x) / 2
        curve = f"C{_at(Point(middle, one.y))} {_at(Point(middle, other.y))} {_at(other)}"
        path += curve if number % 2 == 0 else f"H{other.x:.1f}"
    return path


def _at(point: Point) -> str:
    return f"{point.x:.1f} {point.y:.1f}"
