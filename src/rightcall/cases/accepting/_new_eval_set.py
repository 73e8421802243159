"""Write a new eval set from trajectories, one case each."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from rightcall.cases.evalsets import dump_yaml, flow_text, parse_eval_set
from rightcall.cases.verdicts import judge
from rightcall.errors import InputError, RightcallError
from rightcall.values.results import missing_calls
from rightcall.values.trajectory import Trajectory

from ._acceptance import CaseOutcome
from ._expected_calls import new_call

_LONGEST = 60
_NOT_IN_SLUGS = re.compile(r"[^a-z0-9]+")


class NewEvalSet(msgspec.Struct, frozen=True):
    """The text of a new eval set, and the outcome of each case."""

    text: str
    outcomes: Sequence[CaseOutcome]


def new_eval_set(
    trajectories: Sequence[Trajectory], path: str, attribute: str, globs: Sequence[str] = ()
) -> NewEvalSet:
    """Write an eval set whose cases expect the calls of trajectories: JSON if the path ends in `.json`, else YAML.

    The id of a case is the attribute, else the trace id, else a slug of the input. Trajectories with the same attribute
    are one case, if they agree.

    Raises:
        InputError: no trajectory has calls to expect.
        RightcallError: the trajectories would not pass the eval set.
    """
    groups = _grouped(trajectories, attribute, globs)
    cases, outcomes = [], []
    for case_id, group in groups.items():
        outcome = _outcome(case_id, group)
        outcomes.append(outcome)
        if outcome.kind == "updated":
            cases.append(_written(case_id, group[0]))
    if not cases:
        raise InputError("no trace has calls to make a case from")
    text = _text({"cases": cases}, path)
    for case in parse_eval_set(text, path).cases:
        if not all(judge(case, trajectory).passed for trajectory in groups[case.id]):
            raise RightcallError(f"{path}: not written, because this case would not pass: {case.id}")
    return NewEvalSet(text, outcomes)


def cases_to_fill(
    trajectories: Sequence[Trajectory],
    path: str,
    attribute: str,
    globs: Sequence[str] = (),
    *,
    fits_by_input: bool = False,
) -> tuple[str, dict[str, list[Trajectory]]]:
    """Return the text of an eval set whose cases expect nothing yet, and the trajectories of each.

    Trajectories with the same attribute are one case; of those without it, the ones with the same input. If they are to
    be found again by that, `fits_by_input`, the input of a case is the `when` that a trace has to fit.

    Raises:
        InputError: there is no trajectory.
    """
    groups = _grouped(trajectories, attribute, globs, by_input=True)
    if not groups:
        raise InputError("there are no traces to make a case from")
    is_known = [bool(group[0].metadata.get(attribute)) or not fits_by_input for group in groups.values()]
    inputs = [_input(group[0]) for group in groups.values()]
    asked = [each if known or not each else {"when": each} for each, known in zip(inputs, is_known, strict=True)]
    cases = [{"id": case_id, **each} for case_id, each in zip(groups, asked, strict=True)]
    # One key a line, so that what is added to a case gets lines of its own.
    lines = [[f"{key}: {flow_text(value)}" for key, value in case.items()] for case in cases]
    text = "\n".join(["cases:", *["  - " + "\n    ".join(each) for each in lines]]) + "\n"
    return text if not path.endswith(".json") and _is_eval_set(text, path) else _text({"cases": cases}, path), groups


def _grouped(
    trajectories: Sequence[Trajectory], attribute: str, globs: Sequence[str], *, by_input: bool = False
) -> dict[str, list[Trajectory]]:
    groups: dict[str, list[Trajectory]] = {}
    seen: Counter[str] = Counter()
    for number, trajectory in enumerate(trajectories):
        named = trajectory.metadata.get(attribute)
        if not named and by_input:
            named = _slug(trajectory.input)
        case_id = str(named)[:300] if named else trajectory.trace_id or _slug(trajectory.input) or f"case-{number + 1}"
        if not named:
            seen[case_id] += 1
            case_id += f"-{seen[case_id]}" if seen[case_id] > 1 else ""
        if not globs or any(fnmatchcase(case_id, glob) for glob in globs):
            groups.setdefault(case_id, []).append(trajectory)
    return groups


def _slug(given: Any) -> str:
    text = given if isinstance(given, str) else "" if given is None else json.dumps(given)
    return _NOT_IN_SLUGS.sub("-", text.lower())[:_LONGEST].strip("-")


def _outcome(case_id: str, group: Sequence[Trajectory]) -> CaseOutcome:
    incomplete = next((trajectory for trajectory in group if not trajectory.calls_recorded), None)
    if incomplete is not None:
        why = missing_calls(incomplete)
        return CaseOutcome(case_id, "left", why.code, why.message)
    if any(_calls(trajectory) != _calls(group[0]) for trajectory in group):
        return CaseOutcome(case_id, "left", "RC102", f"its {len(group)} traces disagree", is_failed=True)
    unrecorded = sum("args" in call.unrecorded for call in group[0].calls)
    return CaseOutcome(case_id, "updated", unrecorded=unrecorded)


def _calls(trajectory: Trajectory) -> list[Any]:
    return [new_call(call, "subset", spelt_out=False) for call in trajectory.calls if not call.internal]


def _written(case_id: str, trajectory: Trajectory) -> dict[str, Any]:
    return {"id": case_id, **_input(trajectory), "expect": {"calls": _calls(trajectory)}}


def _input(trajectory: Trajectory) -> dict[str, Any]:
    return {} if trajectory.input is None else {"input": trajectory.input}


def _text(value: Any, path: str) -> str:
    text = dump_yaml(value)
    if path.endswith(".json") or not _is_eval_set(text, path):
        return json.dumps(value, indent=2) + "\n"
    return text


def _is_eval_set(text: str, path: str) -> bool:
    """Whether the text loads. YAML cannot express half of a surrogate pair, which JSON can."""
    try:
        parse_eval_set(text, path)
    except (InputError, UnicodeError):
        return False
    return True
