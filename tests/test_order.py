"""What takes long begins first, and what shares something is run by one process."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.order import FIRST, TOGETHER, group_of, in_order

ROOT = Path(__file__).parents[1]


def test_what_needs_a_browser_or_an_engine_is_run_by_one_process() -> None:
    assert group_of("tests/browser/test_live.py::test_a[x]") == group_of("tests/browser/test_policy.py::test_b")
    assert group_of("tests/scale/spark/test_spark.py::test_a") == group_of("tests/scale/ray/test_ray.py::test_b")
    assert group_of("tests/reporting/store/test_runs.py::test_a[::]") == "tests/reporting/store/test_runs.py"


def test_every_test_that_asks_for_an_engine_is_among_them(request: pytest.FixtureRequest) -> None:
    engines = {"spark", "ray_cluster", "browser"}
    asking = [item for item in request.session.items if engines & set(getattr(item, "fixturenames", ()))]

    assert {group_of(item.nodeid) for item in asking} <= set(TOGETHER.values())


def test_there_are_files_that_begin_so() -> None:
    files = [path.relative_to(ROOT).as_posix() for path in ROOT.joinpath("tests").rglob("test_*.py")]

    assert [start for start in FIRST if not any(file.startswith(start) for file in files)] == []


def test_the_order_within_a_file_stays(request: pytest.FixtureRequest) -> None:
    items = request.session.items

    assert in_order(items) == items
    assert [each for each in in_order(items[::-1]) if each.path == request.path] == [
        each for each in items[::-1] if each.path == request.path
    ]
