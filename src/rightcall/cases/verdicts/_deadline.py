"""Calls that are made one after the other, each with a time limit, while the caller goes on."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

ValueT = TypeVar("ValueT")


class DeadlineThread:
    """Makes calls in a thread of its own; one that takes longer than the limit is given up, and its thread with it.

    A thread cannot be killed: one that is given up goes on until its call ends, or the process does. The others are
    made in a new one. Nothing watches the clock but `look`, which whoever waits for results calls now and then.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._lock = threading.Condition()
        self._waiting: deque[_Call] = deque()
        self._current: _Call | None = None
        self._thread: threading.Thread | None = None

    def submit(self, call: Callable[[], ValueT], when_late: Callable[[], ValueT]) -> Future[ValueT]:
        """What a call gives back, to be waited for; what `when_late` gives back if it takes too long."""
        made = _Call(call, when_late)
        with self._lock:
            self._waiting.append(made)
            self._ensure_thread()
            self._lock.notify()
        return made.future

    def look(self) -> None:
        """Give up the call that is being made, if it is late."""
        with self._lock:
            late = self._current
            if late is None or monotonic() - late.started <= self.seconds:
                return
            self._current = self._thread = None
            if self._waiting:
                self._ensure_thread()
        late.settle(late.when_late)

    def close(self) -> None:
        """Make no more calls. What has not been given back by now never is: its future is cancelled."""
        from concurrent.futures import CancelledError

        with self._lock:
            given_up = [*self._waiting, *([self._current] if self._current is not None else [])]
            self._waiting.clear()
            self._current = self._thread = None
            self._lock.notify_all()
        for made in given_up:
            made.future.set_exception(CancelledError())

    def _ensure_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="rightcall-verdicts", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while (made := self._next()) is not None:
            made.settle(made.call, self._is_wanted)

    def _next(self) -> _Call | None:
        """The next call; none in a thread that was given up."""
        with self._lock:
            self._lock.wait_for(lambda: bool(self._waiting) or self._thread is not threading.current_thread())
            if self._thread is not threading.current_thread():
                return None
            self._current = self._waiting.popleft()
            self._current.started = monotonic()
            return self._current

    def _is_wanted(self, made: _Call) -> bool:
        """Whether a call that came to its end was not given up meanwhile. From now on it cannot be."""
        with self._lock:
            if self._current is not made:
                return False
            self._current = None
            return True


class _Call:
    """One call, and whoever waits for it."""

    def __init__(self, call: Callable[[], Any], when_late: Callable[[], Any]) -> None:
        from concurrent.futures import Future

        self.call, self.when_late = call, when_late
        self.started = 0.0
        self.future: Future[Any] = Future()
        self.future.set_running_or_notify_cancel()

    def settle(self, call: Callable[[], Any], is_wanted: Callable[[_Call], bool] = lambda made: True) -> None:
        """Make a call, and tell what it gives back, or raises."""
        try:
            value = call()
        except BaseException as problem:  # noqa: BLE001 - it is raised where it is waited for
            if is_wanted(self):
                self.future.set_exception(problem)
        else:
            if is_wanted(self):
                self.future.set_result(value)
