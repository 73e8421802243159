"""The drawing of paths: every count can be read, and no line runs under a box."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from hypothesis import example, given, strategies as st
from tests.sampling import examples

from rightcall.reporting.pages import Graph, path_graph
from rightcall.reporting.paths import PathCounts, Paths, overview

ROUTES = st.lists(
    st.tuples(
        st.lists(st.sampled_from([f"t{'o' * n}l" for n in range(0, 27, 3)]), min_size=1, max_size=7),
        st.integers(1, 900),
    ),
    min_size=1,
    max_size=14,
)
_STEP = re.compile(r"([MCHVQ])([^MCHVQ]*)")


def paths_of(routes: list[tuple[list[str], int]]) -> Paths:
    counts = PathCounts()
    for route, runs in routes:
        counts.add_route(tuple(route), [runs, runs % 3, 0])
    return overview(counts)


def points(path: str) -> Iterator[tuple[float, float]]:
    """Points along a path of an SVG, the ends of its curves and 20 places between them."""
    x = y = 0.0
    for kind, text in _STEP.findall(path):
        given_ = [float(each) for each in text.split()]
        if kind == "C":
            x1, y1, x2, y2, x3, y3 = given_
            for place in range(21):
                t, u = place / 20, 1 - place / 20
                yield (
                    u**3 * x + 3 * u * u * t * x1 + 3 * u * t * t * x2 + t**3 * x3,
                    u**3 * y + 3 * u * u * t * y1 + 3 * u * t * t * y2 + t**3 * y3,
                )
            x, y = x3, y3
        else:
            begin = x, y
            x, y = given_[0] if kind == "H" else x, given_[0] if kind == "V" else y
            if kind in "MQ":
                x, y = given_[-2:]
            for place in range(21) if kind != "M" else ():
                yield begin[0] + (x - begin[0]) * place / 20, begin[1] + (y - begin[1]) * place / 20


def counts_of(graph: Graph) -> list[tuple[float, float, float, float]]:
    return [(line.x - line.label_width / 2, line.y - 7, line.label_width, 14.0) for line in graph.lines]


def meets(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return (
        one[0] < other[0] + other[2]
        and other[0] < one[0] + one[2]
        and one[1] < other[1] + other[3]
        and other[1] < one[1] + one[3]
    )


@examples(60)
@given(routes=ROUTES)
@example(routes=[(["tl", "toool", "tl", "toool"], 2), (["toool", "tl"], 1)])
def test_no_count_covers_a_box_or_another_count(routes: list[tuple[list[str], int]]) -> None:
    graph = path_graph(paths_of(routes))

    assert graph is not None
    boxes = [(box.x, box.y, box.width, box.height) for box in graph.boxes]
    assert len(graph.lines) <= 20
    assert not any(meets(one, other) for one, other in combinations(counts_of(graph), 2))
    assert not any(meets(count, box) for count in counts_of(graph) for box in boxes)
    assert not any(meets(one, other) for one, other in combinations(boxes, 2))


@examples(60)
@given(routes=ROUTES)
@example(routes=[(["tl", "toool", "tl"], 1), (["toool", "tl", "toool"], 1)])
def test_no_line_runs_under_a_box(routes: list[tuple[list[str], int]]) -> None:
    graph = path_graph(paths_of(routes))

    assert graph is not None
    for line in graph.lines:
        for x, y in points(line.path):
            for box in graph.boxes:
                inside = box.x + 1 < x < box.x + box.width - 1 and box.y + 1 < y < box.y + box.height - 1
                assert not inside, (line.says, box.label)


def test_the_strongest_edges_are_drawn_and_the_others_are_counted() -> None:
    routes = [([f"tool_{n % 9}", f"tool_{n // 9}"], 100 - n) for n in range(60)]

    graph = path_graph(paths_of(routes))

    assert graph is not None
    assert len(graph.lines) == 20
    assert graph.hidden == len(paths_of(routes).edges) - 20


def test_a_chosen_path_is_marked_in_lines_and_boxes() -> None:
    graph = path_graph(paths_of([(["a", "b"], 5), (["a", "c"], 5)]), ("a", "b"))

    assert graph is not None
    marked = {line.says.split(": ")[0] for line in graph.lines if line.is_chosen}
    assert marked == {"start → a", "a → b", "b → end"}
    assert [box.label for box in graph.boxes if box.is_chosen] == ["a", "b"]


def test_the_colour_tells_how_many_passed() -> None:
    counts = PathCounts()
    counts.add_route(("good",), [95, 5, 0])
    counts.add_route(("fair",), [70, 30, 0])
    counts.add_route(("bad",), [10, 90, 0])
    counts.add_route(("unjudged",), [0, 0, 9])

    graph = path_graph(overview(counts))

    assert graph is not None
    tones = {line.says.split(": ")[0]: line.tone for line in graph.lines}
    assert [tones[f"start → {name}"] for name in ("good", "fair", "bad", "unjudged")] == [
        "good",
        "fair",
        "bad",
        "plain",
    ]


def test_runs_without_calls_have_no_drawing() -> None:
    assert path_graph(paths_of([([], 3)])) is None
