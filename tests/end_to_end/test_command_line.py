"""Whole commands, in a real process."""

import re
import subprocess
import sys

import pytest
from tests.processes import rightcall
from tests.waiting import PATIENCE

from rightcall.values.results import CODES


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
    with subprocess.Popen([sys.executable, "-m", "rightcall", "explain"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        code = process.wait(timeout=PATIENCE)

    assert code in (0, 130)
