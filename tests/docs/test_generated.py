"""The generated parts of the documentation are those that the tools make now."""

from __future__ import annotations

import pytest
from tools import api_pages, evaluator_pages

import rightcall
from rightcall import EVALUATORS


@pytest.mark.parametrize("type_id", EVALUATORS)
def test_the_page_of_an_evaluator_has_what_its_class_declares_and_says_of_the_shared_run(type_id: str) -> None:
    page = (evaluator_pages.PAGES / f"{type_id}.md").read_text(encoding="utf-8")

    assert evaluator_pages.generated(type_id) in page, "run make reference"


def test_the_overview_lists_every_evaluator() -> None:
    assert evaluator_pages.overview() in evaluator_pages.OVERVIEW.read_text(encoding="utf-8"), "run make reference"


def test_a_page_of_the_python_interface_has_signatures_fields_and_methods() -> None:
    page = api_pages.pages()["reading.md"]

    assert "## read_spans\n\n```py\nread_spans(" in page
    assert "\n| `calls` | `tuple[ToolCall, ...]` |" in page
    assert "\n### Trajectory.of\n\n```py\nof(" in page
    assert "**Raises:**\n\n- `" in page


def test_every_name_of_the_package_has_an_entry() -> None:
    listed = [name for _, _, names in api_pages.GROUPS.values() for name in names]

    assert sorted(listed) == sorted(set(dir(rightcall)) - {"__version__"})


def test_a_docstring_becomes_markdown_with_its_sections_as_lists() -> None:
    text = "Do it.\n\nArgs:\n    a: The first\n        thing.\n\nRaises:\n    ValueError: never."

    assert (
        api_pages.described(text)
        == "Do it.\n\n**Args:**\n\n- `a`: The first thing.\n\n**Raises:**\n\n- `ValueError`: never.\n"
    )
