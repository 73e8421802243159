"""What is known of a run of a case that came to no end of its own: what it was given, and did until then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import msgspec

from rightcall.errors import InputError, RightcallError
from rightcall.values.trajectory import KeptSpans, RawSpan, Trajectory

from ._plan import Job
from ._replies import Seen

_UNTIL_THEN = "the agent came to no end: what is shown is what was seen of it until then"


def path_so_far(job: Job, seen: Sequence[Seen]) -> Trajectory:
    """The path as far as the worker told of it. It is never judged."""
    count = 1 + max([each.turn for each in seen], default=0)
    turns = [
        _latest(seen, turn if job.is_conversation else None) for turn in range(count if job.is_conversation else 1)
    ]
    path = _path_of(turns, job.is_conversation)
    if not any([len(each.spans.text) > len("[]") for each in seen]):
        path = msgspec.structs.replace(path, calls_recorded=False)
    given = tuple(job.turns[:count]) if job.is_conversation else ()
    return unfinished(msgspec.structs.replace(path, input=job.turns[0], turn_inputs=given))


def unfinished(path: Trajectory) -> Trajectory:
    """A path that says of itself that it may not be all."""
    return msgspec.structs.replace(path, warnings=(*path.warnings, _UNTIL_THEN))


def spans_so_far(seen: Sequence[Seen]) -> KeptSpans:
    """The spans as far as the worker told of them."""
    kept = KeptSpans.of(_latest(seen, None))
    return KeptSpans(kept.text, kept.left_out + sum([each.spans.left_out for each in seen]))


def _path_of(turns: list[list[RawSpan]], is_conversation: bool) -> Trajectory:
    from rightcall.reading import read_raw_spans  # which a run without such a case does not need here

    try:
        return read_raw_spans(turns, is_conversation)
    except RightcallError as problem:
        return Trajectory(calls_recorded=False, warnings=(f"what was seen of it cannot be read: {problem}",))


def _latest(seen: Iterable[Seen], turn: int | None) -> list[RawSpan]:
    """The spans of a turn, or of all, in the order they began, each as it was told of last."""
    found: dict[str, RawSpan] = {}
    for each in seen:
        if turn is None or each.turn == turn:
            with suppress(InputError):  # a worker may send anything; only spans count
                each.spans.check()
                found |= each.spans.by_id()
    return list(found.values())
