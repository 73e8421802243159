"""The options of commands say what the rooms below can do, though they do not load them."""

from __future__ import annotations

import re
from importlib import import_module
from typing import get_args

import click
import pytest
from click.testing import CliRunner

from rightcall.cases.verdicts import CASE_ATTRIBUTE, JOINS
from rightcall.cli import _options
from rightcall.cli._main import COMMANDS, EXAMPLES, LazyCommands
from rightcall.cli._options import GroupedCommand, Number, Whole, configurable, option
from rightcall.judging.models import PREFIX
from rightcall.limits import KEEPING_MESSAGES
from rightcall.reading import INPUT_FORMATS, Grouping, Reading
from rightcall.scale.request import Choice


def test_the_choices_are_those_of_readers_and_eval_sets() -> None:
    assert _options.INPUT_FORMATS == INPUT_FORMATS
    assert get_args(Grouping) == _options.GROUPINGS
    assert tuple([way for way in JOINS if "=" not in way]) == _options.JOINS
    assert _options.CASE_ATTRIBUTE == CASE_ATTRIBUTE


def test_answers_of_judges_are_ignored_by_the_variable_that_judges_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(f"{PREFIX}CACHE", raising=False)

    @click.command()
    @_options.no_cache_option
    def command() -> None:
        import os

        click.echo(os.environ.get(f"{PREFIX}CACHE"))

    assert CliRunner(env={f"{PREFIX}CACHE": None}).invoke(command, ["--no-cache"]).output == "off\n"


def test_every_field_of_a_reading_comes_from_an_option() -> None:
    given = {"input_format": "otlp", "grouping": "trace", "case_attribute": "case", "max_size": 9}

    # What a request looks at is kept, and messages where a page will show them. The command knows if that is all.
    assert {*given, "metadata_attributes", "limits", "calls_alone"} == set(Reading.__struct_fields__)
    assert _options.reading_of({**given, "other": 1}) == Reading(**given, metadata_attributes=("case",))  # type: ignore[arg-type]
    assert _options.reading_of({"keep": True}) == Reading(limits=KEEPING_MESSAGES)


def test_every_field_of_a_request_comes_from_an_option() -> None:
    given = {"evalset": "a.yaml", "cases": ("a*",), "tags": ("slow",), "join": "trace", "trust": True}
    given |= {"compare_with": "reward", "only": [["order"]], "skipped": [["judges"]]}

    made = _options.request_of(given, case_ids=frozenset("a"))

    defaults = Choice()
    assert [field for field in Choice.__struct_fields__ if getattr(made, field) == getattr(defaults, field)] == []
    assert made.evalset == "a.yaml"


def test_a_key_to_join_by_is_what_files_are_read_for() -> None:
    made = _options.reading_of({"join": "key=ticket", "case_attribute": "rightcall.case.id"})

    assert (made.case_attribute, made.metadata_attributes) == ("ticket", ("ticket",))


def test_help_lists_options_in_sections_in_the_same_order_always() -> None:
    @click.command(cls=GroupedCommand)
    @option("Output", "--keep", is_flag=True)
    @option("What", "--evalset")
    def command() -> None: ...

    shown = CliRunner().invoke(command, ["--help"]).output

    assert [line for line in shown.splitlines() if line.endswith(":")] == ["What:", "Output:", "Other:"]


def test_a_project_configures_what_run_and_score_have_in_common_with_their_options() -> None:
    known = configurable()

    assert {"agent", "evalset", "case", "format", "group_by", "max_size", "no_cache", "timeout"} <= known
    assert known.isdisjoint({"traces", "names", "out", "engine", "failed", "resume", "watch", "help"})


@pytest.mark.parametrize(
    ("kind", "right", "wrong", "message"),
    [
        (Whole(1), "1", "0", "0 is not a whole number of at least 1"),
        (Whole(0, 2), "2", "3", "3 is not a whole number from 0 to 2"),
        (Whole(0), "7", "1.5", "'1.5' is not a whole number of at least 0"),
        (Number(0, 1), "1", "nan", "nan is not a number from 0 to 1"),
        (Number(0, above=True), "0.1", "0", "0 is not a number above 0"),
        (Number(0), "1e9", "much", "'much' is not a number of at least 0"),
    ],
    ids=["least", "most", "fraction", "nan", "above", "words"],
)
def test_a_number_out_of_bounds_is_refused_in_words(kind: Number, right: str, wrong: str, message: str) -> None:
    assert kind.convert(right, None, None) == float(right)
    with pytest.raises(click.BadParameter, match=re.escape(message)):
        kind.convert(wrong, None, None)


def test_no_help_has_the_words_of_a_program() -> None:
    main = import_module("rightcall.cli._main")
    for name in ["", *main.COMMANDS]:
        shown = CliRunner().invoke(main._rightcall, [*([name] if name else []), "--help"]).output

        assert "Usage:" in shown
        assert not re.search(r"RANGE|INTEGER|FLOAT|\bTEXT\b|x>|<=x", shown), name


def test_a_command_without_its_arguments_says_what_to_write() -> None:
    for name in COMMANDS:
        command = LazyCommands().get_command(click.Context(LazyCommands()), name)
        assert command is not None
        needs = any([isinstance(each, click.Argument) and each.required for each in command.params])
        assert needs == (name in EXAMPLES), name
        assert f"rightcall {name} " in EXAMPLES.get(name, f"rightcall {name} ")
