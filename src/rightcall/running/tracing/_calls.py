"""One call of a decorated function: who answers it, and the span it leaves."""

from __future__ import annotations

from functools import cache
from typing import Any

from rightcall.limits import DEFAULT_LIMITS

from ._flowing import is_traced
from ._marks import Marks
from ._recording import Recorded, arguments_text, decoded_arguments, output_attribute
from ._standing import Answer, observer, stand_in


class Call:
    """One call that somebody is interested in."""

    __slots__ = ("_arguments", "_entered", "_marks", "_misfit", "_observer", "_span")

    def __init__(self, marks: Marks, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._marks = marks
        self._misfit: TypeError | None = None
        try:
            named = marks.binding.named(args, kwargs)
        except TypeError as problem:
            # The function will say so itself, in its own words.
            self._misfit, named = problem, dict(kwargs)
        self._arguments = arguments_text(named)
        self._observer = observer.get() if marks.may_be_mocked else None
        self._span: Any = None
        self._entered: Any = None
        if marks.opens_span and is_traced():
            self._open()

    def answer(self) -> Answer | None:
        """What somebody answers in the place of the function; None where it has to answer itself.

        Raises:
            TypeError: the function would not take these arguments, so nobody answers for it.
        """
        asked = stand_in.get() if self._marks.may_be_mocked else None
        if asked is None:
            return None
        if self._misfit is not None:
            raise self._misfit
        answer = asked(self._marks.tool, self._plain_arguments())
        if answer is not None:
            self._observer = None
        return answer

    def enter(self) -> None:
        """Make the span the current one, so that what begins meanwhile is below it."""
        if self._span is not None:
            self._entered = _spans().enter(self._span)

    def leave(self) -> None:
        """Make what was current before so again."""
        if self._entered is not None:
            _spans().leave(self._entered)
            self._entered = None

    def returned(self, value: Any) -> None:
        """The call is over, with this output."""
        if self._observer is not None:
            self._observer(self._marks.tool, self._plain_arguments(), Answer(value))
        if self._span is not None:
            self._record("output.value", output_attribute(value))
            self._span.end()

    def returned_many(self, values: list[Any], is_cut: bool) -> None:
        """The call is over, and these values were yielded; where they were too many, no output is recorded."""
        if not is_cut or self._observer is not None:
            self.returned(values)
        elif self._span is not None:
            self._leave_out("output.value", f"more than {DEFAULT_LIMITS.recorded_items:,} values were yielded")
            self._span.end()

    def raised(self, error: BaseException) -> None:
        """The call is over, because of this exception. One that was cancelled has no outcome to be told of."""
        if self._observer is not None and self._misfit is None and isinstance(error, Exception):
            self._observer(self._marks.tool, self._plain_arguments(), Answer(error=error))
        if self._span is not None:
            _spans().record_error(self._span, error)
            self._span.end()

    def keeps(self, count: int) -> bool:
        """Whether one more value that a generator yields is kept, after so many."""
        return count < DEFAULT_LIMITS.recorded_items or self._observer is not None

    def _plain_arguments(self) -> dict[str, Any]:
        return decoded_arguments(self._arguments)

    def _open(self) -> None:
        attributes: dict[str, Recorded] = {}
        if self._marks.is_tool:
            attributes["tool.name"] = self._marks.tool
        is_large = _is_too_large(self._arguments)
        if not is_large:
            attributes["input.value"] = self._arguments
        self._span = _spans().open_span(self._marks.span, attributes)
        if is_large and self._span is not None:
            self._leave_out("input.value", f"{len(self._arguments):,} characters")

    def _record(self, key: str, recorded: Recorded) -> None:
        if _is_too_large(recorded):
            self._leave_out(key, f"{len(str(recorded)):,} characters")
        else:
            self._span.set_attribute(key, recorded)

    def _leave_out(self, key: str, why: str) -> None:
        # What is cut short would be compared with what is expected, and differ. What is left out is not measured.
        self._span.set_attribute(f"rightcall.left_out.{key}", why)


def _is_too_large(recorded: Recorded) -> bool:
    return isinstance(recorded, str) and len(recorded) > DEFAULT_LIMITS.recorded_bytes


@cache
def _spans() -> Any:
    # OpenTelemetry may not be installed, and is not imported before somebody wants a span.
    from . import _spans as spans

    return spans
