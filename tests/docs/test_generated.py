"""The generated parts of the documentation are those that the tools make now."""

from __future__ import annotations

import pytest
from tests.walls import for_each
from tools import api_pages, command_pages, evaluator_pages

import rightcall
from rightcall import EVALUATORS
from rightcall.cli._main import COMMANDS


@pytest.mark.parametrize("type_id", EVALUATORS)
def test_the_page_of_an_evaluator_has_what_its_class_declares_and_says_of_the_shared_run(type_id: str) -> None:
    page = (evaluator_pages.PAGES / f"{type_id}.md").read_text(encoding="utf-8")

    assert evaluator_pages.generated(type_id) in page, "run make reference"


def test_the_overview_lists_every_evaluator() -> None:
    assert evaluator_pages.overview() in evaluator_pages.OVERVIEW.read_text(encoding="utf-8"), "run make reference"


@for_each("command", COMMANDS)
def test_the_page_of_a_command_has_its_usage_and_its_options(command: str) -> None:
    page = (command_pages.PAGES / f"{command}.md").read_text(encoding="utf-8")

    assert command_pages.generated(command) in page, "run make reference"


def test_the_overview_lists_every_command() -> None:
    assert command_pages.overview() in command_pages.OVERVIEW.read_text(encoding="utf-8"), "run make reference"


def test_options_are_in_the_sections_of_the_help_and_marks_of_tables_are_escaped() -> None:
    page = command_pages.generated("run")

    assert "```text\nrightcall run [OPTIONS] [AGENT] [EVALSET]\n```" in page
    assert (
        page.index("**What**")
        < page.index("| `--case GLOB` |")
        < page.index("**How**")
        < page.index("| `--workers N` |")
    )
    assert "| `--live [tools\\|model]` |" in page
    assert "| `--spans` / `--no-spans` |" in page
    assert "--help" not in page


def test_a_page_of_the_python_interface_has_signatures_fields_and_methods() -> None:
    page = api_pages.pages()["reading.md"]

    assert "## read_spans\n\n```py\nread_spans(" in page
    assert "\n| `calls` | `tuple[ToolCall, ...]` |" in page
    assert "\n### Trajectory.of\n\n```py\nof(" in page
    assert "**Raises:**\n\n- `" in page


def test_a_page_of_the_python_interface_leaves_out_what_only_a_parent_class_calls() -> None:
    page = api_pages.pages()["evaluators.md"]

    assert "\n## ToolCallOrderEvaluator\n" in page
    assert "ToolCallOrderEvaluator.measure" not in page


def test_every_name_of_the_package_has_an_entry() -> None:
    listed = [name for _, _, names in api_pages.GROUPS.values() for name in names]

    assert sorted(listed) == sorted(set(dir(rightcall)) - {"__version__"})


def test_a_docstring_becomes_markdown_with_its_sections_as_lists() -> None:
    text = "Do it.\n\nArgs:\n    a: The first\n        thing.\n\nRaises:\n    ValueError: never."

    assert (
        api_pages.described(text)
        == "Do it.\n\n**Args:**\n\n- `a`: The first thing.\n\n**Raises:**\n\n- `ValueError`: never.\n"
    )
