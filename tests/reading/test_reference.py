"""The reference page names everything that can be read, and its example runs."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from tests.reading.reference import written

from rightcall.reading import INPUT_FORMATS
from rightcall.reading.formats._rows import SPELLINGS
from rightcall.reading.runs._traces import GROUPINGS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "traces.md").read_text()
TABLES = (Path(__file__).parents[2] / "docs" / "reference" / "columns.md").read_text()


@pytest.mark.parametrize("name", [f"`{name}`" for name in (*INPUT_FORMATS, *GROUPINGS)])
def test_the_page_names_the_option(name: str) -> None:
    assert name in PAGE


@pytest.mark.parametrize("name", sorted({name for names in SPELLINGS.values() for name in names}))
def test_the_page_of_tables_names_the_column(name: str) -> None:
    assert f"`{name}`" in TABLES


def test_the_tables_of_the_page_are_those_of_the_readers() -> None:
    assert written(PAGE) == PAGE, "to write them: .venv/bin/python -m tests.reading.reference"


def test_the_example_prints_what_the_page_says() -> None:
    code, shown = re.findall(r"```(?:python|text)\n(.*?)```", PAGE, re.S)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "traces.md", "exec"), {})

    assert printed.getvalue() == shown
