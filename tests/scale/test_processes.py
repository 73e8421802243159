"""A pool of processes survives the death of one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall.errors import InputError
from rightcall.scale.processes import Do, Heard, Pool


def _begin(folder: str) -> Do:
    def do(task: Any, tell: Callable[[Any], None]) -> Any:
        if task == "raise":
            raise InputError("not this one")
        if isinstance(task, tuple):
            _die(Path(folder, task[0]), task[1])
        tell(f"begun {task}")
        return os.getpid(), task

    return do


def _die(file: Path, times: int) -> None:
    """Die by SIGKILL, the first so many times."""
    died = len(file.read_text()) if file.exists() else 0
    if died < times:
        file.write_text("x" * (died + 1))
        os.kill(os.getpid(), signal.SIGKILL)


def _all(pool: Pool) -> Iterator[Heard]:
    while pool.is_busy:
        yield from pool.hear(0.5)


def test_every_task_is_done_once_by_as_many_processes_as_there_may_be(tmp_path: Path) -> None:
    with Pool(2, _begin, (str(tmp_path),)) as pool:
        numbers = [pool.submit(task) for task in range(6)]
        heard = list(_all(pool))

    done = {each.number: each.value[1] for each in heard if each.is_done}
    assert done == dict(zip(numbers, range(6), strict=True))
    assert len({each.value[0] for each in heard if each.is_done}) <= 2
    assert sorted(each.value for each in heard if not each.is_done) == [f"begun {task}" for task in range(6)]


@pytest.mark.parametrize(("times", "lost", "is_done"), [(1, 1, True), (2, 2, True), (3, 3, False)])
def test_the_task_of_a_dead_worker_is_given_to_another_one_three_times(
    tmp_path: Path, times: int, lost: int, is_done: bool
) -> None:
    with Pool(2, _begin, (str(tmp_path),)) as pool:
        pool.submit(("a", times))
        other = pool.submit("b")
        heard = list(_all(pool))

    assert [each.attempts for each in heard if each.is_lost] == list(range(1, lost + 1))
    assert {each.death for each in heard if each.is_lost} == {"by SIGKILL"}
    assert any(each.is_done and not each.is_lost for each in heard if each.number != other) is is_done
    assert any(each.is_done and not each.is_lost for each in heard if each.number == other)


def test_what_a_task_raises_is_raised_where_it_came_from(tmp_path: Path) -> None:
    with Pool(1, _begin, (str(tmp_path),)) as pool:
        pool.submit("raise")

        with pytest.raises(InputError, match="not this one") as raised:
            list(_all(pool))

    assert "in a worker process" in raised.value.__notes__[0]
