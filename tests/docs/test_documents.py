"""The documents tell the truth: their code runs, their reference is complete, their links lead somewhere."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rightcall import EvaluationResult, Limits, ToolCall, Trajectory, errors
from rightcall.evaluators import EVALUATORS
from rightcall.matchers import MATCHERS, compile_value
from rightcall.results import CODES, Alignment, Finding, Justification, Step

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DOCUMENTS = sorted({*PAGES, *ROOT.glob("*.md")})
EXIT_CODES = (0, 1, 2, 3, 130)

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block of a page: its language, its text, its line, and the block right below it, if any."""

    language: str
    text: str
    line: int
    output: str | None


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    found = list(_BLOCK.finditer(text))
    for index, block in enumerate(found):
        below = found[index + 1] if index + 1 < len(found) else None
        follows = below is not None and below[1] == "text" and not text[block.end() : below.start()].strip()
        output = below[2] if below is not None and follows else None
        yield Block(block[1], block[2], text.count("\n", 0, block.start()) + 2, output)


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if any(block.language == language for block in blocks_of(page))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def printed_by(block: Block, page: Path, names: dict[str, Any]) -> str:
    """What a block prints; it may wait for something at its top level."""
    source = "\n" * (block.line - 1) + block.text
    code = compile(source, name_of(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        waiting = eval(code, names)
        if inspect.iscoroutine(waiting):
            asyncio.run(waiting)
    return printed.getvalue()


def run_rightcall(arguments: list[str]) -> str:
    """What the command line prints, on either stream."""
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1", "COLUMNS": "80"}
    command = [sys.executable, "-m", "rightcall", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=60
    )
    return done.stdout + done.stderr


def without_trailing_spaces(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def reference(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def sections_of(text: str) -> dict[str, str]:
    """The text below each heading of the second level, by heading."""
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def names_in_code(text: str) -> set[str]:
    """Everything that stands in backticks."""
    return set(re.findall(r"`([^`\n]+)`", text))


def commands() -> list[str]:
    listed = run_rightcall(["--help"]).split("Commands:")[1]
    return re.findall(r"^ {2}(\w[\w-]*)", listed, re.MULTILINE)


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, made the way mkdocs makes them."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    plain = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in _HEADING.findall(text)]
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_every_python_block_runs_and_prints_what_the_page_says(page: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}

    for block in blocks_of(page):
        if block.language == "python":
            printed = printed_by(block, page, names)

            assert printed == (block.output or ""), f"{name_of(page)}:{block.line} prints something else"


@pytest.mark.parametrize("page", pages_with("console"), ids=name_of)
def test_every_command_shown_prints_what_the_page_says(page: Path) -> None:
    for block in blocks_of(page):
        if block.language == "console":
            command, _, shown = block.text.partition("\n")
            assert command.startswith("$ rightcall "), f"{name_of(page)}:{block.line} shows another program"

            printed = run_rightcall(shlex.split(command)[2:])

            assert without_trailing_spaces(printed) == without_trailing_spaces(shown)


@pytest.mark.parametrize("type_id", EVALUATORS)
def test_every_evaluator_has_a_section_that_names_all_its_keys(type_id: str) -> None:
    sections = sections_of(reference("evaluators.md"))
    kind = EVALUATORS[type_id]
    keys = {*kind.config_type.model_fields, *kind.criteria_type.model_fields}

    section = sections.get(type_id, "")
    named = names_in_code(
        section + sections["Configuration of every evaluator"] + sections["Criteria of every evaluator"]
    )

    assert kind.__name__ in names_in_code(section)
    assert keys - named == set()


@pytest.mark.parametrize("matcher", MATCHERS)
def test_every_matcher_has_examples_that_hold(matcher: str) -> None:
    row = re.search(rf"^\| `\{matcher}` \|(.*)\|$", reference("matchers.md"), re.MULTILINE)
    assert row is not None, f"{matcher} has no row in the table"
    cells = row[1].split(" | ")
    expected, accepted, refused = (json.loads(cell.strip().strip("`")) for cell in cells[-3:])
    expectation = compile_value(expected)

    assert matcher in cells[-3]
    assert expectation.matches(accepted)
    assert not expectation.matches(refused)


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_in_the_reference(code: str) -> None:
    assert f"{code} {CODES[code].name}" in sections_of(reference("codes.md"))


@pytest.mark.parametrize("limit", Limits.__struct_fields__)
def test_every_limit_is_in_the_reference_with_its_figure(limit: str) -> None:
    figure = getattr(Limits(), limit)

    rows = [line for line in reference("limits.md").splitlines() if line.startswith(f"| `{limit}` |")]

    assert [f"{figure:,}" in row for row in rows] == [True]


def test_every_exception_is_in_the_reference() -> None:
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}

    assert kinds - names_in_code(reference("errors.md")) == set()


@pytest.mark.parametrize("command", commands())
def test_every_command_and_its_options_are_in_the_reference(command: str) -> None:
    section = sections_of(reference("command-line.md")).get(f"rightcall {command}", "")
    options = set(re.findall(r"(--[\w-]+)", run_rightcall([command, "--help"])))

    assert section
    assert options - set(re.findall(r"(--[\w-]+)", reference("command-line.md"))) == set()


@pytest.mark.parametrize("code", EXIT_CODES)
def test_every_exit_code_is_in_the_reference(code: int) -> None:
    assert re.search(rf"^\| {code} \|", reference("command-line.md"), re.MULTILINE)


@pytest.mark.parametrize("kind", Justification.__subclasses__(), ids=lambda kind: kind.__name__)
def test_the_details_of_every_evaluator_are_in_the_reference(kind: type[Justification]) -> None:
    section = sections_of(reference("results.md")).get("Details", "")

    assert {kind.__name__, *kind.__struct_fields__} - names_in_code(section) == set()


@pytest.mark.parametrize("kind", [EvaluationResult, Finding, Alignment, Step], ids=lambda kind: kind.__name__)
def test_every_field_of_a_result_is_in_the_reference(kind: Any) -> None:
    fields = set(kind.__struct_fields__) - {"explanation"}

    assert fields - names_in_code(reference("results.md")) == set()


@pytest.mark.parametrize("kind", [ToolCall, Trajectory], ids=lambda kind: kind.__name__)
def test_every_field_of_a_trajectory_is_in_the_reference(kind: Any) -> None:
    assert set(kind.__struct_fields__) - names_in_code(reference("trajectory.md")) == set()


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))

    for link in _LINK.findall(text):
        if not link.startswith(("http://", "https://", "mailto:")):
            target, _, anchor = link.partition("#")
            file = (page.parent / target).resolve() if target else page
            assert file.is_file(), f"{link} leads nowhere"
            assert not anchor or anchor in anchors_of(file), f"{link} leads to no heading"


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")

    listed = {ROOT / "docs" / path for path in re.findall(r"[\w./-]+\.md", navigation)}

    assert listed == {page for page in PAGES if page.is_relative_to(ROOT / "docs")}
