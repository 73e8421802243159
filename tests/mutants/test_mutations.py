"""The mistakes that `make mutants` makes, and how it finds out whether tests notice them."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.mutants.__main__ import explanations, sample_of
from tests.mutants.core import CORE, Area, core_files
from tests.mutants.forking import End, forked
from tests.mutants.mutations import mutations
from tests.mutants.running import Copy, Stage
from tests.mutants.swapping import Functions
from tests.mutants.tracing import Map, Tracer, traced

PROJECT = Path(__file__).parents[2]


def made(source: str) -> list[str]:
    return [mutation.after for mutation in mutations("module.py", source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a == b", ["x = a != b"]),
        ("x = (a or b) < (c)", ["x = (a or b) <= (c)", "x = (a or b) >= (c)", "x = (a and b) < (c)"]),
        ("x = a is not b not in c", ["x = a is b not in c", "x = a is not b in c"]),
        ("x = a and b and c", ["x = a or b and c", "x = a and b or c"]),
        ("x = 'é' + y - 1", ["x = 'é' + y + 1", "x = 'é' - y - 1", "x = 'é' + y - 2"]),
        ("x = not a", ["x = (a)"]),
        ("x = True", ["x = False"]),
        ("x = any(y)", ["x = all(y)"]),
        ("if a:\n    del b", ["if not (a):", "pass"]),
        ("x = [a for a in b if a]", ["x = [a for a in b if not (a)]"]),
        ("def f():\n    return a", ["return None"]),
        ("for a in b:\n    c.d(a)\n    a.b = c\n    d += e\n    continue", ["pass"] * 4),
        ("def f():\n    raise ValueError(1 + 1)", ["pass"]),
    ],
)
def test_each_kind_of_mistake_is_made(source: str, expected: list[str]) -> None:
    assert made(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""1 == 1."""',
        "def f(a: 'int | None' = None) -> 'bool | int':\n    '''Say 1.'''\n    x: 'int | str'",
        "@cached(maxsize=1)\nclass A(B, frozen=True):\n    pass",
        "__slots__ = ('a' + 'b',)",
        "if TYPE_CHECKING:\n    from a import b",
        "T = TypeVar('T', bound=A | B)\nX: TypeAlias = A | B",
        "x = f'{a + 1}'",
        "x = zip(a, b, strict=True)",
        "def f():\n    return None",
        "from a import b",
    ],
)
def test_what_does_not_run_or_is_read_by_people_only_is_left_alone(source: str) -> None:
    assert made(source) == []


def test_a_sample_stays_as_it_is_where_modules_move_and_other_lines_change() -> None:
    source = "def f(a, b):\n    return a + b < 3 and a == 4\n"
    before = sample_of(mutations("f.py", source), 12, 3)
    after = sample_of(mutations("moved/g.py", "x = ''\n\n\n" + source), 12, 3)

    assert [each.key[1:] for each in before] == [each.key[1:] for each in after]
    assert [each.key for each in before] != [each.key for each in sample_of(mutations("f.py", source), 13, 3)]


def test_a_mistake_is_told_by_its_text_and_function_wherever_its_line_is() -> None:
    source = "class A:\n    def f(self):\n        return (\n            self.a\n            == 1\n        )\n"

    keys = {mutation.key for mutation in mutations("module.py", source)}

    assert ("module.py", "A.f", "self.a == 1", "self.a != 1") in keys
    assert keys == {mutation.key for mutation in mutations("module.py", "import x\n\n" + source)}
    for mutation in mutations("module.py", source):
        ast.parse(mutation.source)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one module, whose test looks at one of its two functions."""
    for name, text in {
        "pyproject.toml": "[tool.pytest.ini_options]\n",
        "src/rightcall/__init__.py": "",
        "src/rightcall/matching/matchers/__init__.py": "",
        "src/rightcall/matching/matchers/_less.py": "def less(a, b):\n    return a < b\n\ndef same(a):\n    return a\n",
        "tests/matching/matchers/test_less.py": (
            "from rightcall.matching.matchers._less import less\n\n"
            "def test_it():\n    assert [less(1, 2), less(1, 1)] == [True, False]\n"
        ),
        "conftest.py": "from hypothesis import settings\nsettings.register_profile('mutants')\n",
    }.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def test_a_mistake_survives_where_no_test_looks_and_the_project_stays_as_it_is(project: Path, tmp_path: Path) -> None:
    file = "src/rightcall/matching/matchers/_less.py"
    original = (project / file).read_text()
    # Our own plugin of pytest is part of the real project, so the tests of this one must not load it.
    copy = Copy(project, tmp_path / "copy", plugins=False)
    stages = [
        Stage("mirrored", ("tests/matching/matchers/test_less.py",)),
        Stage("package", ("tests/matching/matchers",)),
    ]

    tried = [copy.attempt(each, stages) for each in mutations(file, original)]

    assert {each.mutation.function for each in tried if each.survived} == {"same"}
    assert {(each.mutation.function, each.stage) for each in tried if not each.survived} == {("less", "mirrored")}
    assert (project / file).read_text() == (copy.folder / file).read_text() == original


@pytest.mark.parametrize("area", CORE, ids=lambda area: area.package)
def test_every_module_and_every_folder_of_tests_that_the_core_names_is_there(area: Area) -> None:
    named = [area.tests, *[f"tests/{each}" for each in (*area.wider, *area.processes)]]

    assert area.files(PROJECT)
    assert [each for each in named if not (PROJECT / each).exists()] == []


def test_every_explained_survivor_is_still_in_the_code() -> None:
    found = {each.key for file in core_files(PROJECT) for each in mutations(file, (PROJECT / file).read_text("utf-8"))}

    assert sorted(set(explanations()) - found) == []


def test_a_module_that_has_another_name_now_is_told() -> None:
    with pytest.raises(LookupError, match=r"no module src/rightcall/matching/matchers/_gone\.py"):
        Area("matching/matchers", ("*", "_gone"), "matching/matchers", ()).files(PROJECT)


SHAPES = """
from functools import lru_cache

LIMIT = 2
SIZES = [len(each) for each in ("a", "bc") if each]

@lru_cache
def small(number):
    return number < LIMIT

class Shape:
    sides = 3

    @property
    def is_round(self):
        return any(side for side in (0, self.sides - 3))

    def larger(self, by=1):
        def add(number):
            return number + by
        return add(self.sides)
"""


@pytest.fixture
def shapes(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A module that is loaded: its file, and what is in it."""
    path, names = tmp_path / "shapes.py", dict[str, Any]()
    path.write_text(SHAPES)
    exec(compile(SHAPES, str(path), "exec"), names)
    return path, names


@pytest.mark.parametrize(
    ("before", "after", "seen"),
    [
        ("number < LIMIT", "number <= LIMIT", (True, False, 4)),
        ("any(", "all(", (False, False, 4)),
        ("sides - 3", "sides - 2", (False, True, 4)),
        ("number + by", "number - by", (False, False, 2)),
        ("        return add(self.sides)", "        pass", (False, False, None)),
    ],
)
def test_functions_that_are_loaded_take_the_mistake_over(
    shapes: tuple[Path, dict[str, Any]], before: str, after: str, seen: tuple[object, ...]
) -> None:
    path, names = shapes
    shape, small = names["Shape"](), names["small"]

    assert Functions().swap(path, SHAPES.replace(before, after))
    assert (small(2), shape.is_round, shape.larger()) == seen


@pytest.mark.parametrize(
    ("before", "after"),
    [("LIMIT = 2", "LIMIT = 3"), ("sides = 3", "sides = 4"), ("by=1", "by=2"), ("if each", "if not each")],
)
def test_what_has_run_when_the_module_was_loaded_needs_a_new_process(
    shapes: tuple[Path, dict[str, Any]], before: str, after: str
) -> None:
    path, _ = shapes

    assert not Functions().swap(path, SHAPES.replace(before, after))


def test_what_a_test_goes_through_is_kept_until_the_test_or_the_source_changes(
    shapes: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    path, names = shapes
    source, tests = tmp_path / "source", tmp_path / "test_shapes.py"
    source.mkdir()
    source.joinpath("a.py").write_text("")
    tests.write_text("")

    larger, trace = traced(Tracer(tmp_path, [path.name]), names["Shape"]().larger)
    Map(tmp_path / "map", source).keep(tests, {"a": trace})

    assert larger == 4
    assert trace.functions == {(path.name, each) for each in ("Shape.larger", "Shape.larger.add")}
    assert Map(tmp_path / "map", source).of(tests) == {"a": trace}
    tests.write_text("pass")
    assert Map(tmp_path / "map", source).of(tests) is None
    tests.write_text("")
    source.joinpath("a.py").write_text("pass")
    assert Map(tmp_path / "map", source).of(tests) is None


def test_each_job_has_a_process_of_its_own_and_one_that_is_stuck_is_ended() -> None:
    made: list[str] = []

    def passing(say: Callable[[str], None]) -> None:
        made.append("here")
        say("first")
        say("last")

    def failing(say: Callable[[str], None]) -> None:
        say("failed")
        os._exit(1)

    def stuck(say: Callable[[str], None]) -> None:
        say("waits")
        Event().wait()

    limits = {"waits": 0.5}
    ends: dict[int, End] = {
        each.number: each for each in forked([passing, failing, stuck], 2, lambda said: limits.get(said, 60.0))
    }

    assert made == []
    assert [(ends[number].code, ends[number].said) for number in (0, 1)] == [(0, "last"), (1, "failed")]
    assert [(ends[number].timed_out, ends[number].said) for number in (1, 2)] == [(False, "failed"), (True, "waits")]
