"""The mistakes that `make mutants` makes, and how it finds out whether tests notice them."""

from __future__ import annotations

import ast
import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.mutants.__main__ import explanations, sample_of
from tests.mutants.core import CORE, Area, core_files
from tests.mutants.forking import End, forked
from tests.mutants.mutations import mutations
from tests.mutants.running import BrokenTestsError, Copy, Stage
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
        ("def f():\n    return ''", ['return "-"']),
        ("def f():\n    return []", ["return [None]"]),
        ("def f():\n    return ()", ["return (None,)"]),
        ("def f():\n    return {}", ["return {None: None}"]),
        ("def f():\n    return 0", ["return 1"]),
        ("budget.spend(2 + len(a))", ["pass", "budget.spend(2 - len(a))"]),
        ("spend(1 if a < 3 else 2)", ["pass", "spend(1 if a <= 3 else 2)", "spend(1 if a >= 3 else 2)"]),
        ("x = spender(1)", ["x = spender(2)"]),
        ("_MOST_SHAPES = 3\nx = y > _MOST_SHAPES", ["x = y >= _MOST_SHAPES", "x = y <= _MOST_SHAPES"]),
        ("_MOST_EDITS = 2 * 3", ["_MOST_EDITS = 2 + 3", "_MOST_EDITS = 3 * 3", "_MOST_EDITS = 2 * 4"]),
        (
            "x = y[:19] < z[-400:80]",
            ["x = y[:19] <= z[-400:80]", "x = y[:19] >= z[-400:80]", "x = y[:20] < z[-400:80]"],
        ),
        ("x = span.start_ns or 0", ["x = span.start_ns and 0"]),
        (
            "x = span.start_ns or 0 if span else 0",
            ["x = span.start_ns or 0 if not (span) else 0", "x = span.start_ns and 0 if span else 0"],
        ),
        ("x = span.start_ns or 5", ["x = span.start_ns and 5", "x = span.start_ns or 6"]),
        ("x = span.count or 0", ["x = span.count and 0", "x = span.count or 1"]),
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
        "def f():\n    raise AssertionError('this cannot be')",
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


LESS = "src/rightcall/matching/matchers/_less.py"
TEST_LESS = "tests/matching/matchers/test_less.py"
FILES = {
    "pyproject.toml": "[tool.pytest.ini_options]\n",
    "conftest.py": "from hypothesis import settings\nsettings.register_profile('mutants')\n",
    "src/rightcall/__init__.py": "",
    LESS: (
        "EDGE = 2\n\ndef less(a, b):\n    unused = 1\n    return a < b\n\ndef same(a):\n    return a\n\n"
        "def few(a):\n    return a < EDGE\n"
    ),
    TEST_LESS: (
        "from rightcall.matching.matchers._less import few, less\n\n"
        "def test_it():\n    assert [less(1, 2), less(1, 1), few(1), few(2)] == [True, False, True, False]\n"
    ),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one module with something in it, whose test does not look at all of it; with all of the core's."""
    folder = tmp_path / "project"
    empty = [f"src/rightcall/{area.package}/{each.replace('*', 'x')}.py" for area in CORE for each in area.modules]
    for name, text in {**dict.fromkeys(empty, ""), **FILES}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    shutil.copytree(Path(__file__).parent, folder / "tests" / "mutants", ignore=shutil.ignore_patterns("test_*"))
    (folder / "tests" / "mutants" / "survivors.toml").write_text("")
    # Our own plugin of pytest is part of the real project, so the tests of this one must not load it.
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:rightcall")
    return folder


def tried(project: Path, *options: str) -> tuple[int, str]:
    """The exit code and the output of `make mutants` in another project."""
    command = [sys.executable, "-m", "tests.mutants", "--narrow", *options]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def test_a_mistake_survives_where_it_changes_nothing_or_no_test_looks(project: Path) -> None:
    code, output = tried(project)

    fates = {
        line.split(":", 1)[1].split(" ", 1)[1].split("  [")[0]: line.split()[0]
        for line in output.splitlines()
        if "→" in line
    }
    assert code == 1
    assert fates == {
        "less: unused = 1  →  unused = 2": "SURVIVED",
        "less: return a < b  →  return a <= b": "mirrored",
        "less: return a < b  →  return a >= b": "mirrored",
        "less: return a < b  →  return None": "mirrored",
        "same: return a  →  return None": "SURVIVED",
        "few: return a < EDGE  →  return a <= EDGE": "mirrored",
        "few: return a < EDGE  →  return a >= EDGE": "mirrored",
        "few: return a < EDGE  →  return None": "mirrored",
        ": EDGE = 2  →  EDGE = 3": "mirrored",
    }
    assert {name: (project / name).read_text() for name in FILES} == FILES


def test_a_test_that_fails_without_the_mistake_notices_nothing(project: Path) -> None:
    needed = project.with_name("needed")
    needed.touch()
    (project / TEST_LESS).write_text(f"{FILES[TEST_LESS]}    assert open({str(needed)!r}).read() == ''\n")
    before, _ = tried(project)
    needed.unlink()  # after it was found out which functions the test goes through

    code, output = tried(project)

    assert (before, code) == (1, 2)
    assert f"{TEST_LESS}::test_it fails without any mistake" in output


def test_a_test_that_fails_now_and_then_is_told(project: Path) -> None:
    runs = project.with_name("runs")
    (project / TEST_LESS).write_text(
        "from pathlib import Path\nfrom rightcall.matching.matchers._less import same\n\n"
        f"def test_it():\n    same(1)\n    runs = Path({str(runs)!r})\n"
        "    seen = runs.read_text() if runs.exists() else ''\n    runs.write_text(f'{seen}1')\n"
        "    assert seen != '1'\n"
    )

    code, output = tried(project)

    assert code == 2
    assert f"{TEST_LESS}::test_it failed once, and then passed with the same mistake" in output


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def test_it():\n    assert False\n", id="fails"),
        pytest.param("import gone\n", id="cannot-be-collected"),
        pytest.param("", id="has-no-tests"),
        pytest.param(None, id="is-gone"),
        pytest.param("from threading import Event\ndef test_it():\n    Event().wait()\n", id="does-not-end"),
    ],
)
def test_tests_that_are_broken_notice_nothing_in_a_process_of_their_own(
    project: Path, tmp_path: Path, text: str | None
) -> None:
    test = project / TEST_LESS
    test.unlink() if text is None else test.write_text(text)
    mistake = mutations(LESS, FILES[LESS])[0]
    limit = 1.0 if text and "wait" in text else 600.0

    with pytest.raises(BrokenTestsError, match="they fail without any mistake"):
        Copy(project, tmp_path / "copy").attempt(mistake, [Stage("mirrored", (TEST_LESS,), limit)])


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


def test_functions_that_are_kept_from_the_garbage_collector_take_the_mistake_over(
    shapes: tuple[Path, dict[str, Any]],
) -> None:
    path, names = shapes
    gc.freeze()

    assert Functions().swap(path, SHAPES.replace("number < LIMIT", "number <= LIMIT"))
    assert names["small"](2) is True


def test_a_mistake_in_a_file_that_is_not_loaded_needs_a_new_process(tmp_path: Path) -> None:
    path = tmp_path / "not_loaded.py"
    path.write_text(SHAPES, encoding="utf-8")

    assert not Functions().swap(path, SHAPES.replace("number < LIMIT", "number <= LIMIT"))


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
