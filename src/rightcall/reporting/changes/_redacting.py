"""A comparison without secrets: it is made of what really happened, and told without them."""

from __future__ import annotations

import msgspec

from rightcall.values.redaction import redacted_differences, redacted_value

from ._comparing import CaseChange, Comparison
from ._paths import Called
from ._sides import Side


def redacted_comparison(comparison: Comparison) -> Comparison:
    """The same changes, without the secrets in arguments. One that is another secret now is still a change."""
    return msgspec.structs.replace(comparison, cases=tuple([_redacted(change) for change in comparison.cases]))


def _redacted(change: CaseChange) -> CaseChange:
    sides = [side for side in (change.before, change.after) if side is not None]
    seen = [call.args for side in sides for call in side.path]
    path = [
        msgspec.structs.replace(step, differences=redacted_differences(step.differences, *seen))
        if step.differences
        else step
        for step in change.path
    ]
    before, after = _redacted_side(change.before), _redacted_side(change.after)
    return msgspec.structs.replace(change, before=before, after=after, path=tuple(path))


def _redacted_side(side: Side | None) -> Side | None:
    if side is None:
        return None
    path = tuple([Called(call.name, redacted_value(call.args)) for call in side.path])
    return msgspec.structs.replace(side, path=path)
