"""Rules about the code that no other tool checks."""

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from tests.waiting import PATIENCE
from tests.walls import for_each

import rightcall
from rightcall._moved import _MOVED_NAMES, _RENAMED

SOURCE = Path(rightcall.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_IMPORTS = {
    *("pickle", "marshal", "shelve", "socket", "urllib.request", "http", "httpx", "requests", "sqlite3"),
}
ADMITTED = {
    "http": ["connect/_web.py"],
    "httpx": ["connect/_web.py"],
    "sqlite3": ["cli/score/_servers.py"],
}
"""Where such a module is used after all: for trace servers the user named, and for what a watch has judged."""
NETWORKED = {
    "running/agents/_http.py",
    "running/agents/_commands.py",
    "reporting/viewer/_app.py",
}
"""The only modules that connect, or can be connected to: agents behind an address the user named, and the viewer."""
DOORS = [
    ".".join(["rightcall", *path.parent.relative_to(SOURCE).parts]) for path in sorted(SOURCE.rglob("__init__.pyi"))
]
"""The packages that import what they export when it is first used."""


def is_forbidden(module: str, path: Path) -> bool:
    if path.relative_to(SOURCE).as_posix() in ADMITTED.get(module, ()):
        return False
    if module == "socket" and path.relative_to(SOURCE).as_posix() in NETWORKED:
        return False
    return any(module == name or module.startswith(f"{name}.") for name in FORBIDDEN_IMPORTS)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@for_each("path", MODULES)
def test_a_module_is_one_idea_of_at_most_700_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 700


@for_each("path", MODULES)
def test_a_module_and_everything_public_in_it_has_a_docstring(path: Path) -> None:
    module = tree(path)

    assert ast.get_docstring(module)
    for node in module.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
            is_overload = any(isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list)
            assert is_overload or ast.get_docstring(node), node.name


@for_each("path", MODULES)
def test_functions_are_short(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert (node.end_lineno or 0) - node.lineno <= 45, node.name


@for_each("path", MODULES)
def test_other_packages_are_entered_by_the_front_door(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").startswith("rightcall"):
            assert "._" not in (node.module or "").removeprefix("rightcall._lazy"), node.module


@pytest.mark.parametrize("package", DOORS)
def test_a_front_door_is_a_sentence_and_a_stub_of_what_it_exports(package: str) -> None:
    opened = import_module(package)
    stub = tree(Path(opened.__file__ or "").with_suffix(".pyi"))

    listed = {alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert opened.__doc__
    assert opened.__all__ == dir(opened) == sorted(listed)
    assert [name for name in opened.__all__ if not hasattr(opened, name)] == []


@for_each("path", MODULES)
def test_data_is_never_executed_and_the_network_never_used(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in FORBIDDEN_CALLS
        if isinstance(node, ast.Import):
            assert not any(is_forbidden(alias.name, path) for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            assert not is_forbidden(node.module or "", path)
    text = path.read_text(encoding="utf-8")
    if path.relative_to(SOURCE).as_posix() not in NETWORKED:
        assert not re.search(r"open_connection|start_server|create_connection|create_server", text)
    assert not re.search(r"yaml\.load\(|format_map|shell=True|mktemp\(|verify=False", text)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    return done.stdout.strip()


def test_importing_rightcall_loads_nothing_but_the_standard_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import rightcall; "
        "new = {name.split('.')[0] for name in set(sys.modules) - before} - {'rightcall'}; "
        "print(sorted(name for name in new if name not in sys.stdlib_module_names))"
    )

    assert run(code) == "[]"


def test_help_loads_neither_pydantic_nor_rich_nor_an_evaluator() -> None:
    code = (
        "import sys, rightcall.cli; sys.argv = ['rightcall', '--help']\n"
        "try:\n    rightcall.cli.main()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('pydantic', 'rich', 'rapidfuzz', 'msgspec', 'rightcall.judging') "
        "if name in sys.modules])"
    )

    assert run(code).splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", ["run", "score", "show"])
def test_the_help_of_a_command_does_not_load_its_body(command: str) -> None:
    code = (
        f"import sys, rightcall.cli; sys.argv = ['rightcall', '{command}', '--help']\n"
        "try:\n    rightcall.cli.main()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('pydantic', 'rich', 'msgspec', 'rightcall.reading', 'rightcall.judging', "
        "'rightcall.cases', 'rightcall.scale', 'rightcall.running.runner') if name in sys.modules])"
    )

    assert run(code).splitlines()[-1] == "[]"


def test_scoring_loads_neither_pydantic_nor_what_only_some_eval_sets_need() -> None:
    code = (
        "import sys, rightcall.cli\n"
        "sys.argv = ['rightcall', 'score', 'docs/examples/trip.json', '--evalset', 'docs/examples/trip.yaml']\n"
        "try:\n    rightcall.cli.main()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('pydantic', 'rich', 'concurrent.futures', 'asyncio', "
        "'rightcall.judging.models', 'rightcall.judging.custom', 'rightcall.judging.answers._text_match', "
        "'rightcall.judging.answers._classification') "
        "if name in sys.modules])"
    )

    assert run(code).splitlines()[-1] == "[]"


def test_judging_loads_no_server_database_network_or_terminal_code() -> None:
    code = (
        "import sys, rightcall\n"
        "rightcall.ToolTrajectoryEvaluator().evaluate(['a'], {'expected': ['a']}).to_json()\n"
        "print([name for name in ('asyncio', 'ssl', 'sqlite3', 'http', 'click', 'rich', 'opentelemetry', "
        "'jsonschema', 'yaml') if name in sys.modules])"
    )

    assert run(code) == "[]"


def test_the_first_evaluation_loads_no_other_evaluator_and_no_judge() -> None:
    code = (
        "import sys, rightcall\n"
        "rightcall.ToolCallOrderEvaluator().evaluate(['a'], {'tool_calls_order': ['a']})\n"
        "print([name for name in ('_args', '_base', '_contains', '_judge', '_registry', '_response_match', '_async') "
        "if any(loaded.endswith(f'.{name}') for loaded in sys.modules if 'rightcall.judging' in loaded)], "
        "'rightcall.judging.models' in sys.modules)"
    )

    assert run(code) == "[] False"


@pytest.mark.parametrize("package", DOORS)
def test_a_front_door_has_no_other_name(package: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Trajectry'"):
        import_module(package).Trajectry  # noqa: B018


def test_packages_can_still_be_imported_by_the_names_they_had() -> None:
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from rightcall.matchers import MATCHERS\n"
        "from rightcall.batch.lake import Job\n"
        "import rightcall.matching.matchers, rightcall.scale.lake\n"
        "print(MATCHERS is rightcall.matching.matchers.MATCHERS, Job is rightcall.scale.lake.Job)"
    )

    assert run(code) == "True True"


def test_a_name_that_a_package_had_says_where_it_is_now() -> None:
    code = (
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    import rightcall.results\n"
        "print(*[f'{each.category.__name__}: {each.message}' for each in caught])"
    )

    assert run(code) == "DeprecationWarning: rightcall.results is now rightcall.values.results"


def test_the_top_door_has_what_a_beginner_needs() -> None:
    assert len(dir(rightcall)) <= 45


def test_a_name_that_left_the_top_door_is_still_found_and_says_where_it_is_now() -> None:
    with pytest.warns(DeprecationWarning, match="^rightcall.Usage is now rightcall.values.trajectory.Usage$") as caught:
        old = rightcall.Usage  # type: ignore[attr-defined]

    assert old is import_module("rightcall.values.trajectory").Usage
    assert caught[0].filename == __file__


def test_every_name_that_left_the_top_door_is_where_it_is_said_to_be() -> None:
    names = [(place, name) for place, names in _MOVED_NAMES.items() for name in names.split()]

    lost = [name for place, name in names if not hasattr(import_module(f"rightcall.{place}"), _RENAMED.get(name, name))]
    assert lost == []
    assert {name for _, name in names} & set(dir(rightcall)) == set()
