"""The reference page names everything that can be read, and its example runs."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from rightcall.reading import INPUT_FORMATS
from rightcall.reading.conventions._tool_calls import CONVENTIONS
from rightcall.reading.formats._row_columns import SPELLINGS
from rightcall.reading.messages._part_formats import PARTS
from rightcall.reading.runs._grouping import GROUPINGS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "traces.md").read_text()
TABLES = (Path(__file__).parents[2] / "docs" / "reference" / "columns.md").read_text()


@pytest.mark.parametrize("name", [f"`{name}`" for name in (*INPUT_FORMATS, *GROUPINGS)])
def test_the_page_names_the_option(name: str) -> None:
    assert name in PAGE


@pytest.mark.parametrize("name", sorted({convention.name for convention in CONVENTIONS if convention.call}))
def test_the_page_names_the_convention(name: str) -> None:
    assert f"| {name} |" in PAGE


@pytest.mark.parametrize("name", sorted({part.format for part in PARTS}))
def test_the_page_names_the_message_format(name: str) -> None:
    assert f"| {name} |" in PAGE


@pytest.mark.parametrize("name", sorted({name for names in SPELLINGS.values() for name in names}))
def test_the_page_of_tables_names_the_column(name: str) -> None:
    assert f"`{name}`" in TABLES


def test_the_example_prints_what_the_page_says() -> None:
    code, shown = re.findall(r"```(?:python|text)\n(.*?)```", PAGE, re.S)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "traces.md", "exec"), {})

    assert printed.getvalue() == shown
