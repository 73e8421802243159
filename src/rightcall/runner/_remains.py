"""What is known of a run of a case that came to no end of its own: what it was given, and did until then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import msgspec

from rightcall.errors import InputError, RightcallError
from rightcall.trajectory import KeptSpans, RawSpan, Trajectory

from ._plan import Job
from ._replies import Seen

_UNTIL_THEN = "the agent came to no end: what is shown is what was seen of it until then"


def path_so_far(job: Job, seen: Sequence[Seen]) -> Trajectory:
    """The path as far as the worker told of it. It is never judged."""
    from ._paths import joined  # the readers, which a run without such a case does not need here

    turns = range(len(job.turns)) if job.is_conversation else (None,)
    path = joined([_path_of(_latest(seen, turn), turn) for turn in turns])
    if not any([len(each.spans.text) > len("[]") for each in seen]):
        path = msgspec.structs.replace(path, calls_recorded=False)
    return unfinished(msgspec.structs.replace(path, input=list(job.turns) if job.is_conversation else job.turns[0]))


def unfinished(path: Trajectory) -> Trajectory:
    """A path that says of itself that it may not be all."""
    return msgspec.structs.replace(path, warnings=(*path.warnings, _UNTIL_THEN))


def spans_so_far(seen: Sequence[Seen]) -> KeptSpans:
    """The spans as far as the worker told of them."""
    kept = KeptSpans.of(_latest(seen, None))
    return KeptSpans(kept.text, kept.left_out + sum([each.spans.left_out for each in seen]))


def _path_of(spans: list[RawSpan], turn: int | None) -> Trajectory:
    from rightcall.readers import read_raw_spans

    try:
        path = read_raw_spans(spans)
    except RightcallError as problem:
        return Trajectory(calls_recorded=False, warnings=(f"what was seen of it cannot be read: {problem}",))
    calls = tuple([msgspec.structs.replace(call, turn=turn) for call in path.calls]) if turn is not None else path.calls
    return msgspec.structs.replace(path, calls=calls)


def _latest(seen: Iterable[Seen], turn: int | None) -> list[RawSpan]:
    """The spans of a turn, or of all, in the order they began, each as it was told of last."""
    found: dict[str, RawSpan] = {}
    for each in seen:
        if turn is None or each.turn == turn:
            with suppress(InputError):  # a worker may send anything; only spans count
                each.spans.check()
                found |= each.spans.by_id()
    return list(found.values())
