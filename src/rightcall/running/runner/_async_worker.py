"""Run the jobs of an asynchronous agent, all on one event loop."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from rightcall.running.agents import Agent

from ._case_record import CaptureOptions, CaseJob, Done, Page, Stuck, Witness
from ._process_state import ProcessState, case_output, new_case_output, separate_output
from ._worker import converse, run_async

_PATIENCE = 0.3
"""Seconds after which an event loop counts as blocked. Longer than a slow callback takes on a busy machine."""

_TASKS_LEFT = "tasks of the agent went on after it had answered; what they called after that was not recorded"

_KNOWN = (
    ("LoggingWorker._worker_loop", "litellm"),
    ("AsyncClient.aclose", "genai"),
    ("_stdio_transport_connect_task", "fastmcp"),
)
"""Tasks that frameworks leave running after every answer: name, and part of the path of their file."""
_OF_MCP = ("mcp.client.", "mcp.shared.")
"""Prefixes of the names of tasks that transport the messages of an open MCP session."""

_number: ContextVar[int | None] = ContextVar("rightcall_number", default=None)
_numbers: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()
"""The number of the job that each task belongs to, including tasks that the agent created."""


class AsyncWorker:
    """Runs each job as a task. All methods except `work` may be called from any thread."""

    is_concurrent = True

    def __init__(self, agent: Agent, channel: Any, options: CaptureOptions) -> None:
        self._agent = agent
        self._channel = channel
        self._options = options
        self._loop = asyncio.new_event_loop()
        self._loop.set_task_factory(_marked_task)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._is_ending = False
        separate_output()
        self._state = ProcessState()

    def run(self, number: int, job: CaseJob, page: Page) -> None:
        """Start a job."""
        self._loop.call_soon_threadsafe(self._start, number, job, page)

    def cancel(self, number: int) -> None:
        """Cancel a job, if it is still running. If the event loop does not react, report the job that blocks it."""
        heard = threading.Event()
        self._loop.call_soon_threadsafe(self._cancel, number, heard)
        threading.Thread(target=self._report_blocked, args=(heard,), daemon=True).start()

    def end(self) -> None:
        """Accept no more jobs."""
        self._is_ending = True
        self._loop.call_soon_threadsafe(self._loop.stop)

    def work(self) -> None:
        """Run jobs until there are no more."""
        asyncio.set_event_loop(self._loop)
        while not self._is_ending:
            try:
                self._loop.run_forever()
            except (KeyboardInterrupt, SystemExit):
                continue  # asyncio re-raises these from any task; the code that awaits the task gets them, too

    def _start(self, number: int, job: CaseJob, page: Page) -> None:
        self._tasks[number] = task = self._loop.create_task(self._do(number, job, page))
        _numbers[task] = number

    def _cancel(self, number: int, heard: threading.Event) -> None:
        heard.set()
        if number in self._tasks:
            self._tasks[number].cancel()

    def _report_blocked(self, heard: threading.Event) -> None:
        if heard.wait(_PATIENCE):
            return
        # Called from another thread on purpose: the loop is blocked inside its current task.
        task = asyncio.current_task(self._loop)
        number = _numbers.get(task) if task is not None else None
        if number is not None:
            self._channel.send(Stuck(number))

    async def _do(self, number: int, job: CaseJob, page: Page) -> None:
        _number.set(number)
        output = new_case_output()
        case_output.set(output)
        done = await run_async(self._agent, converse(number, job, self._options, Witness(page)))
        del self._tasks[number]
        done = _with_task_warning(done)
        altered = self._state.restore()
        self._channel.finish(msgspec.structs.replace(done, printed=output.text(), altered=altered))


def _with_task_warning(done: Done) -> Done:
    """Add a warning if tasks of the job are still running: what they call from now on is not captured."""
    mine = [task for task, number in list(_numbers.items()) if number == done.number]
    left = [task for task in mine if not task.done() and not task.cancelling() and task is not asyncio.current_task()]
    left = [task for task in left if not _is_housekeeping(task)]
    if not left or done.trajectory is None:
        return done
    warned = msgspec.structs.replace(done.trajectory, warnings=(*done.trajectory.warnings, _TASKS_LEFT))
    return msgspec.structs.replace(done, trajectory=warned)


def _is_housekeeping(task: asyncio.Task[Any]) -> bool:
    """Whether a framework leaves this task running on purpose, and it calls no tools."""
    if task.get_name().startswith(_OF_MCP):
        return True
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and any([code.co_qualname == name and part in code.co_filename for name, part in _KNOWN])


def _marked_task(loop: asyncio.AbstractEventLoop, coroutine: Any, **more: Any) -> asyncio.Task[Any]:
    task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, **more)
    number = _number.get()
    if number is not None:
        _numbers[task] = number
    return task
