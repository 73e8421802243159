"""Custom evaluators of all cases together."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from typing import Any

from rightcall.errors import ConfigurationError
from rightcall.judging.core import (
    CODE_OF_YOURS,
    AsyncConfig,
    Conclusion,
    OverallEvaluator,
    Row,
    is_score,
    parse_config,
)
from rightcall.limits import DEFAULT_LIMITS

from ._judgement import Judgement, plain_details


def function_of_rows(target: Any, name: str) -> Callable[..., Any]:
    """A function of the user's that judges all cases together.

    Raises:
        ConfigurationError: it is not a function, or does not take `rows`.
    """
    if not callable(target) or isinstance(target, type):
        raise ConfigurationError(
            f"{name} is not a function; an evaluator of all cases together is a function of 'rows'"
        )
    parameters = list(inspect.signature(target).parameters.values())
    if not parameters or parameters[0].name != "rows" or any(one.default is one.empty for one in parameters[1:]):
        raise ConfigurationError(f"{name} does not take 'rows', as what judges all cases together does")
    return target  # type: ignore[no-any-return]


class CustomOverall(OverallEvaluator):
    """Judges all cases together by a function of the user's, which is given `rows` and gives back a score.

    Raises:
        ConfigurationError: the configuration is wrong.
    """

    def __init__(self, function: Callable[..., Any], id: str, config: Mapping[str, Any]) -> None:
        self.id = id
        self._function = function
        self._config = parse_config(AsyncConfig, config, id)
        self.threshold = self._config.threshold

    def see(self, row: Row) -> Row:
        """Return all of it: the function may look at anything."""
        return row

    def tally(self) -> _Rows:
        """An empty tally."""
        return _Rows(self._function, self.id, self._config.timeout)


class UnimportedOverall(OverallEvaluator):
    """Takes the place of code that is not imported here: its result is an error."""

    def __init__(self, type_id: str, id: str) -> None:
        self.id, self.type_id, self.threshold = id, type_id, 1.0

    def see(self, row: Row) -> None:
        """Nothing."""

    def tally(self) -> _Nothing:
        """A tally that counts nothing."""
        return _Nothing()


class _Nothing:
    def add(self, seen: Any) -> None:
        return

    def conclude(self) -> Conclusion:
        return Conclusion(reason=CODE_OF_YOURS, is_error=True)


class _Rows:
    def __init__(self, function: Callable[..., Any], id: str, timeout: float) -> None:
        self._function, self._id, self._timeout = function, id, timeout
        self._rows: list[Row] = []

    def add(self, seen: Any) -> None:
        self._rows.append(seen)

    def conclude(self) -> Conclusion:
        given: list[Any] = []
        thread = threading.Thread(target=self._ask, args=(given,), name="rightcall-evaluator", daemon=True)
        thread.start()
        thread.join(self._timeout)
        if not given:
            return Conclusion(reason=f"{self._id!r} gave no answer within {self._timeout:g} s", is_error=True)
        return given[0] if isinstance(given[0], Conclusion) else self._conclusion(given[0])

    def _ask(self, given: list[Any]) -> None:
        try:
            value = self._function(list(self._rows))
            if inspect.iscoroutine(value):
                import asyncio

                value = asyncio.run(value)
            given.append(value)
        except (Exception, SystemExit, KeyboardInterrupt) as problem:  # noqa: BLE001 - a fault costs this result only
            reason = f"{type(problem).__name__} while judging: {problem}"
            given.append(Conclusion(reason=reason, is_error=True))

    def _conclusion(self, value: Any) -> Conclusion:
        judgement = value if isinstance(value, Judgement) else Judgement(value)
        if value is None or (judgement.score is not None and not is_score(judgement.score)):
            wanted = "an evaluator gives back true, false, a number from 0 to 1, or a Judgement"
            return Conclusion(reason=f"{self._id!r} gave back {judgement.score!r:.80}; {wanted}", is_error=True)
        if judgement.score is None:
            return Conclusion(reason=judgement.reason or "the evaluator could not tell")
        details, _ = plain_details(judgement.details, DEFAULT_LIMITS)
        reason = judgement.reason or f"scored {judgement.score:.4g} over {len(self._rows):,} cases"
        return Conclusion(score=float(judgement.score), reason=str(reason)[:1000], details=details)
