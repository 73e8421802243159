"""Connections that cannot be held open by requests that never end."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_SECONDS_FOR_A_HEAD = 5.0
_MOST_WAITING = 50


class Connection(H11Protocol):
    """A connection that closes if the head of a request does not arrive in time.

    uvicorn has no timeout for a request's head, and counts the connection towards `limit_concurrency`: a hundred
    half-sent requests ("slow loris") would block everyone else. So a connection without a complete head is closed
    after a while, and the one that has waited longest when there are too many.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def _is_waiting(self) -> bool:
        return self.conn.their_state is h11.IDLE

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request, instead of the connection that has waited longest if there are too many."""
        super().connection_made(transport)
        self._wait()
        waiting = [each for each in self.connections if isinstance(each, Connection) and each._is_waiting]
        if len(waiting) > _MOST_WAITING:
            min(waiting, key=Connection._waits_until)._give_up()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        if self._deadline is not None:
            self._deadline.cancel()

    def _wait(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(_SECONDS_FOR_A_HEAD, self._give_up)

    def _waits_until(self) -> float:
        return self._deadline.when() if self._deadline is not None else 0.0

    def _give_up(self) -> None:
        if self._is_waiting:
            # `connection_lost` runs one turn of the loop later; until then new connections would all abort this one.
            self.connections.discard(self)
            self.transport.abort()
