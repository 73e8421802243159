"""Where the jobs of an asynchronous agent are done: all on one event loop."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from rightcall.running.agents import Agent

from ._conversing import ask_waiting, converse
from ._plan import Job, Keeping
from ._printing import keep_apart, new_page, page
from ._replies import Done, Stuck
from ._surroundings import Surroundings
from ._witness import Witness

_PATIENCE = 0.3
"""Seconds in which a loop that works gets round to something."""

_TASKS_LEFT = "tasks of the agent went on when it had answered; what they called after that was not recorded"

_number: ContextVar[int | None] = ContextVar("rightcall_number", default=None)
_numbers: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()
"""Which job each task works for, those among them that the agent has made."""


class WaitingDesk:
    """Runs each job as a task. Its other methods may be called from any thread."""

    def __init__(self, agent: Agent, channel: Any, keeping: Keeping) -> None:
        self._agent = agent
        self._channel = channel
        self._keeping = keeping
        self._loop = asyncio.new_event_loop()
        self._loop.set_task_factory(_marked_task)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._is_ending = False
        keep_apart()
        self._surroundings = Surroundings()

    def run(self, number: int, job: Job) -> None:
        """Have a job done."""
        self._loop.call_soon_threadsafe(self._start, number, job)

    def cancel(self, number: int) -> None:
        """Cancel a job, if it still runs. If the loop does not get round to it, find out which job keeps it."""
        heard = threading.Event()
        self._loop.call_soon_threadsafe(self._cancel, number, heard)
        threading.Thread(target=self._look_who_hangs, args=(heard,), daemon=True).start()

    def end(self) -> None:
        """Have no more jobs done."""
        self._is_ending = True
        self._loop.call_soon_threadsafe(self._loop.stop)

    def work(self) -> None:
        """Do jobs until there are no more."""
        asyncio.set_event_loop(self._loop)
        while not self._is_ending:
            try:
                self._loop.run_forever()
            except (KeyboardInterrupt, SystemExit):
                continue  # raised in a task of the agent's own; whoever awaits that task gets it, too

    def _start(self, number: int, job: Job) -> None:
        self._tasks[number] = task = self._loop.create_task(self._do(number, job))
        _numbers[task] = number

    def _cancel(self, number: int, heard: threading.Event) -> None:
        heard.set()
        if number in self._tasks:
            self._tasks[number].cancel()

    def _look_who_hangs(self, heard: threading.Event) -> None:
        if heard.wait(_PATIENCE):
            return
        task = asyncio.current_task(self._loop)
        number = _numbers.get(task) if task is not None else None
        if number is not None:
            self._channel.say(Stuck(number))

    async def _do(self, number: int, job: Job) -> None:
        _number.set(number)
        tail = new_page()
        page.set(tail)
        witness = Witness(number, self._channel.say)
        done = await ask_waiting(self._agent, converse(number, job, self._keeping, witness))
        del self._tasks[number]
        done = _with_what_is_left(done)
        altered = self._surroundings.restore()
        self._channel.conclude(msgspec.structs.replace(done, printed=tail.text(), altered=altered))


def _with_what_is_left(done: Done) -> Done:
    """How a job ended, with a warning if tasks that it began go on: nobody sees what they call from now on."""
    mine = [task for task, number in list(_numbers.items()) if number == done.number]
    left = [task for task in mine if not task.done() and not task.cancelling() and task is not asyncio.current_task()]
    if not left or done.trajectory is None:
        return done
    path = msgspec.structs.replace(done.trajectory, warnings=(*done.trajectory.warnings, _TASKS_LEFT))
    return msgspec.structs.replace(done, trajectory=path)


def _marked_task(loop: asyncio.AbstractEventLoop, coroutine: Any, **more: Any) -> asyncio.Task[Any]:
    task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, **more)
    number = _number.get()
    if number is not None:
        _numbers[task] = number
    return task
