"""The suite draws the same values in every run; a search draws others, and more of them."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.sampling import SEED, examples, randomness, sample
from tests.walls import for_each

ROOT = Path(__file__).parents[1]
PLANTED = """
from hypothesis import given, strategies as st

@given(st.integers())
def test_no_number_is_large(number):
    assert number < 1_000_000
"""


@pytest.mark.skipif(bool(SEED), reason="this is a search")
def test_the_suite_has_a_fixed_profile_without_time_limits() -> None:
    profile = settings.default

    assert profile is not None
    assert profile.derandomize
    assert profile.deadline is None
    assert HealthCheck.too_slow in profile.suppress_health_check


@for_each("path", sorted(ROOT.joinpath("tests").rglob("test_*.py")))
def test_no_test_has_a_profile_of_its_own(path: Path) -> None:
    """`examples(40)` is the way to try fewer: a search can multiply it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "settings":
            assert {each.arg for each in node.keywords} <= {"suppress_health_check"}, node.lineno


def in_a_process(code: str, **variables: str) -> str:
    environment = {**os.environ, **variables}
    command = [sys.executable, "-c", f"from tests.sampling import *; load_profile(); {code}"]
    return subprocess.run(command, env=environment, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout


@pytest.mark.skipif(bool(SEED), reason="this is a search")
def test_a_sample_is_the_same_in_every_run_and_other_keys_have_others() -> None:
    chosen = sample(range(1000), "one", 5)

    assert chosen == sample(range(1000), "one", 5)
    assert chosen == sorted(chosen)
    assert len(set(chosen)) == 5
    assert chosen != sample(range(1000), "two", 5)
    assert sample("abc", "one", 5) == ["a", "b", "c"]
    assert examples(40).max_examples == 40
    assert in_a_process("print(randomness('x').random())") == f"{randomness('x').random()}\n"


def test_a_search_takes_everything_and_multiplies_examples() -> None:
    code = "print(sample('abcd', 'one', 1), examples(40).max_examples, settings.default.derandomize)"

    assert in_a_process(code, RIGHTCALL_FUZZ="7", FUZZ_EXAMPLES="500") == "['a', 'b', 'c', 'd'] 200 False\n"


def test_a_search_finds_what_is_wrong_and_says_how_to_see_it_again(tmp_path: Path) -> None:
    planted = tmp_path / "test_planted.py"
    planted.write_text(PLANTED)
    environment = {**os.environ, "FUZZ_SECONDS": "60", "FUZZ_WORKERS": "0"}
    command = [sys.executable, "-m", "tests.fuzzing", str(planted), "-c", str(ROOT / "pyproject.toml")]

    done = subprocess.run(command, env=environment, cwd=ROOT, check=False, text=True, capture_output=True)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "number=1000000" in done.stdout
    seed = done.stdout.partition("seed ")[2].split()[0]
    assert f"RIGHTCALL_FUZZ={seed}" in done.stdout
    assert f"--hypothesis-seed={seed}" in done.stdout
    assert "::test_no_number_is_large'" in done.stdout
