"""`rightcall demo`, in a real process."""

import os
import re
import sys
from pathlib import Path

import pytest
from tests.processes import rightcall

from rightcall.errors import install_command


@pytest.fixture(scope="module")
def screen(tmp_path_factory: pytest.TempPathFactory) -> str:
    done = rightcall("demo", TMPDIR=str(tmp_path_factory.mktemp("demo")))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_it_shows_the_path_the_verdicts_and_what_went_wrong(screen: str) -> None:
    assert re.search(r"^3 passed, 1 failed in \d+\.\d\ds  run [0-9a-f]{4}$", screen, re.MULTILINE)
    for expectation in ("calls", "order", "counts", "args", "outputs", "never", "output"):
        assert re.search(rf" 1\.00  passed   {expectation}$", screen, re.MULTILINE)
    assert re.search(r"^  ✗ reserve_two .* 0\.00  failed   calls$", screen, re.MULTILINE)
    assert re.search(r"^  ≠ 3 reserve_item\(.*quantity=2\) +3 reserve_item\(.*quantity=1\)$", screen, re.MULTILINE)
    assert "RC104  `reserve_item` was called with quantity 1, expected 2" in screen
    assert "not_measured" in screen


def test_it_says_where_to_look_and_that_is_a_project_that_runs(screen: str) -> None:
    [place] = re.findall(r"^The project is in\n  (.+)$", screen, re.MULTILINE)

    done = rightcall("run", cwd=Path(place))

    assert done.returncode == 1
    assert len(list(Path(place).glob(".rightcall/runs/*/cases.jsonl"))) == 2


def test_the_place_it_names_in_the_eval_set_is_right(screen: str) -> None:
    [place] = re.findall(r"^The project is in\n  (.+)$", screen, re.MULTILINE)
    [(file, line)] = re.findall(r"^    (evals/\S+?):(\d+):\d+$", screen, re.MULTILINE)

    assert "quantity: 2" in (Path(place) / file).read_text("utf-8").splitlines()[int(line) - 1]


def test_it_says_how_to_find_the_command_where_the_path_lacks_it(tmp_path: Path) -> None:
    folder = Path(sys.prefix) / "bin"
    others = os.pathsep.join([each for each in os.environ["PATH"].split(os.pathsep) if Path(each) != folder])
    with_it = rightcall("demo", PATH=f"{folder}{os.pathsep}{others}", TMPDIR=str(tmp_path)).stdout
    without = rightcall("demo", PATH="/nowhere", TMPDIR=str(tmp_path)).stdout

    assert "/bin/activate" not in with_it
    assert "/bin/activate\n  rightcall init" in without


def test_it_fits_eighty_columns(screen: str) -> None:
    assert max(len(line) for line in screen.splitlines() if "rightcall-demo-" not in line) <= 80


def test_it_needs_no_unicode_and_no_colour(tmp_path: Path) -> None:
    done = rightcall("demo", PYTHONIOENCODING="ascii", TMPDIR=str(tmp_path))

    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout


def test_it_has_colour_when_forced_and_none_when_refused(tmp_path: Path) -> None:
    assert "\x1b[" in rightcall("demo", FORCE_COLOR="1", TMPDIR=str(tmp_path)).stdout
    refused = rightcall("demo", FORCE_COLOR="1", NO_COLOR="1", TERM="dumb", TMPDIR=str(tmp_path))
    assert "\x1b[" not in refused.stdout


def test_it_runs_in_a_folder_that_is_named(tmp_path: Path) -> None:
    done = rightcall("demo", "shop", cwd=tmp_path)

    assert done.returncode == 0
    assert "The project is in\n  shop\n" in done.stdout
    assert (tmp_path / "shop/evals/shop.yaml").is_file()


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()

    done = rightcall("demo", str(tmp_path))

    assert done.returncode == 2
    assert "is not an empty folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_without_the_extra_one_line_names_it(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.modules['opentelemetry'] = None\nsys.modules['opentelemetry.sdk'] = None\n", "utf-8"
    )
    where = ":".join([str(tmp_path), *[path for path in sys.path if path]])

    done = rightcall("demo", PYTHONPATH=where, TMPDIR=str(tmp_path))

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert install_command() in done.stderr
