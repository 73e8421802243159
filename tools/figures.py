"""Figures of the source tree: its size, the imports between its packages, its names. `make figures` prints them.

They are figures, not a gate: a number that grows for a good reason is fine, and one that grows unseen is not.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "rightcall"
PACKAGE = "rightcall"


def main() -> None:
    """Print each figure beside what it should be."""
    modules = sorted(SOURCE.rglob("*.py"))
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules)
    edges = set(_edges(modules))
    exported = _exported()
    for name, figure, wanted in (
        ("packages at the top", len({path.parent for path in SOURCE.glob("*/__init__.py")}), "≤ 12"),
        ("modules", len(modules), "≤ 320"),
        ("lines", lines, ""),
        ("edges between packages at the top", len(edges), "≤ 45"),
        ("cycles between them", _cycle(edges), "none"),
        ("file names in several folders", len(_shared(path.name for path in modules if "__" not in path.name)), "≤ 25"),
        ("class names in several doors", ", ".join(_classes_in_several_doors(exported)) or "none", "none"),
        ("names that `rightcall` exports", len(exported[PACKAGE]), "≤ 45"),
        ("comments per 1,000 lines", round(1000 * sum(map(_comments, modules)) / lines, 1), "≥ 12"),
        ("words in README.md", _words("README.md"), "≤ 650"),
        ("words in ARCHITECTURE.md", _words("ARCHITECTURE.md"), "≤ 1,400"),
    ):
        print(f"{name:36} {figure!s:>8}  {wanted}".rstrip())


def _edges(modules: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """The packages at the top that import each other while the program runs."""
    for path in modules:
        here = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for module in _imports(ast.parse(path.read_text(encoding="utf-8"))):
            there = module.split(".")[1]
            if here != there and (SOURCE / here).is_dir() and (SOURCE / there).is_dir():
                yield here, there


def _imports(tree: ast.AST) -> Iterator[str]:
    """Absolute imports of our own modules, without those for type checkers only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith(f"{PACKAGE}."):
            yield node.module or ""
        yield from _imports(node)


def _cycle(edges: Iterable[tuple[str, str]]) -> str:
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for here, there in edges:
        sorter.add(here, there)
    try:
        sorter.prepare()
    except CycleError as error:
        return " → ".join(error.args[1])
    return "none"


def _exported() -> dict[str, list[ast.alias]]:
    """What each package exports, by the name of the package."""
    found = {}
    for stub in SOURCE.rglob("__init__.pyi"):
        package = ".".join([PACKAGE, *stub.parent.relative_to(SOURCE).parts])
        body = ast.parse(stub.read_text(encoding="utf-8")).body
        found[package] = [alias for node in body if isinstance(node, ast.ImportFrom) for alias in node.names]
    return found


def _classes_in_several_doors(exported: dict[str, list[ast.alias]]) -> list[str]:
    """Names of classes that are different classes in different packages."""
    homes: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].add(path.as_posix())
    doors = Counter(alias.name for package, names in exported.items() if package != PACKAGE for alias in names)
    return sorted(name for name, places in homes.items() if len(places) > 1 and doors[name] > 1)


def _shared(names: Iterable[str]) -> list[str]:
    return [name for name, number in Counter(names).items() if number > 1]


def _comments(path: Path) -> int:
    """Lines with a comment that is not an instruction to a tool."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    instructions = ("# noqa", "# type:", "# pragma", "# fmt:", "#!")
    return sum(each.type == tokenize.COMMENT and not each.string.startswith(instructions) for each in tokens)


def _words(name: str) -> int:
    return len((ROOT / name).read_text(encoding="utf-8").split())


if __name__ == "__main__":
    main()
