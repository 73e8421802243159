"""The mistakes that `make mutants` makes, and how it finds out whether tests notice them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.mutants.mutations import mutations
from tests.mutants.running import Copy, stages_of


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
    stages = [(f"tests/{name}",) for name in ("matchers/test_less.py", "matchers")]

    tried = [copy.attempt(each, stages, dict.fromkeys(stages, 60.0)) for each in mutations(file, original)]

    assert stages_of(file)[:2] == stages
    assert {each.mutation.function for each in tried if each.survived} == {"same"}
    assert {(each.mutation.function, each.stage) for each in tried if not each.survived} == {("less", 0)}
    assert (project / file).read_text() == (copy.folder / file).read_text() == original
