"""Whole commands, in a real process."""

import re
import subprocess
import sys

import pytest
from tests.processes import rightcall

from rightcall.results import CODES


def test_the_demo_shows_the_path_every_evaluator_and_what_went_wrong() -> None:
    done = rightcall("demo")

    assert done.returncode == 0
    assert done.stderr == ""
    for evaluator in ("tool-call-order", "tool-call-count", "tool-call-args", "tool-call-output", "tool-trajectory"):
        assert evaluator in done.stdout
    assert re.search(r"≠ 2 get_product_details", done.stdout)
    assert "RC101  `reserve_item` was never called" in done.stdout
    assert "not_measured" in done.stdout


def test_the_demo_fits_eighty_columns() -> None:
    assert max(map(len, rightcall("demo").stdout.splitlines())) <= 80


def test_the_demo_needs_no_unicode_and_no_colour() -> None:
    done = rightcall("demo", PYTHONIOENCODING="ascii")

    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout


def test_colour_is_there_when_forced_and_gone_when_refused() -> None:
    assert "\x1b[" in rightcall("demo", FORCE_COLOR="1").stdout
    assert "\x1b[" not in rightcall("demo", FORCE_COLOR="1", NO_COLOR="1", TERM="dumb").stdout


def test_help_lists_every_command_and_version_says_which() -> None:
    done = rightcall("--help")

    assert done.returncode == 0
    assert re.search(r"^  demo ", done.stdout, re.MULTILINE)
    assert re.search(r"^  explain ", done.stdout, re.MULTILINE)
    assert re.fullmatch(r"rightcall \d+\.\d+\.\d+\n", rightcall("--version").stdout)


@pytest.mark.parametrize("code", list(CODES))
def test_every_code_is_explained(code: str) -> None:
    done = rightcall("explain", code)

    assert done.returncode == 0
    assert done.stdout.startswith(f"{code} {CODES[code].name}\n")


def test_explain_alone_lists_the_codes() -> None:
    assert rightcall("explain").stdout.split()[::2] == list(CODES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dmo"], "no command 'dmo'; did you mean 'demo'?"),
        (["explain", "RC999"], "no finding has the code 'RC999'"),
        (["demo", "--fast"], "No such option"),
    ],
)
def test_a_wrong_request_is_told_on_standard_error_and_exits_with_2(arguments: list[str], message: str) -> None:
    done = rightcall(*arguments)

    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_stops_reading_is_no_failure() -> None:
    with subprocess.Popen([sys.executable, "-m", "rightcall", "demo"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        code = process.wait(timeout=60)

    assert code in (0, 130)
