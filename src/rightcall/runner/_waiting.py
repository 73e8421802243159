"""Where the jobs of an asynchronous agent are done: all on one event loop."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from rightcall.agents import Agent

from ._conversing import ask_waiting, converse
from ._plan import Job
from ._printing import keep_apart, new_page, page
from ._surroundings import Surroundings


class WaitingDesk:
    """Runs each job as a task. Its other methods may be called from any thread."""

    def __init__(self, agent: Agent, channel: Any, record: bool) -> None:
        self._agent = agent
        self._channel = channel
        self._record = record
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._is_ending = False
        keep_apart()
        self._surroundings = Surroundings()

    def run(self, number: int, job: Job) -> None:
        """Have a job done."""
        self._loop.call_soon_threadsafe(self._start, number, job)

    def cancel(self, number: int) -> None:
        """Cancel a job, if it still runs."""
        self._loop.call_soon_threadsafe(self._cancel, number)

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
        self._tasks[number] = self._loop.create_task(self._do(number, job))

    def _cancel(self, number: int) -> None:
        if number in self._tasks:
            self._tasks[number].cancel()

    async def _do(self, number: int, job: Job) -> None:
        tail = new_page()
        page.set(tail)
        done = await ask_waiting(self._agent, converse(number, job, self._record))
        del self._tasks[number]
        altered = self._surroundings.restore()
        self._channel.conclude(msgspec.structs.replace(done, printed=tail.text(), altered=altered))
