"""Put faults into good trajectories, count those that an eval set notices, and propose lines that notice the rest."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, Literal, TypeAlias

import msgspec

from rightcall.cases.evalsets import Case, DocumentEditor, EvalSet, criteria_path, flow_text, parse_eval_set
from rightcall.cases.verdicts import has_async_evaluators, judge
from rightcall.errors import DocumentError, InputError, RightcallError, nearest
from rightcall.judging import STEP_WORDS, StepGroup
from rightcall.values.decoding import Edit, apply_edits
from rightcall.values.redaction import redacted_text, redacted_value
from rightcall.values.results import WORLD_OPERATORS, MutatedCase, MutationReport, Survivor, call_text, value_text
from rightcall.values.trajectory import ToolCall, Trajectory

from ._operators import (
    OPERATORS,
    UNKNOWN_TOOL,
    Mutant,
    Operator,
    Pool,
    leaves,
    mutants_of,
    renamed,
    repeated,
    replaced,
    value_at,
    with_args,
)

MOST_MUTANTS = 200
"""Most faults to try in one case. Of more, a fixed sample is drawn."""
_SHOWN = 120
_SHOWN_VALUE = 40
Answer: TypeAlias = Literal["noticed", "let pass", "unmeasured"]
_MANY = 60
"""Repeats of a call that any bound on the number of calls would exceed."""
_FREE_ORDER = ("ANY_ORDER", "UNORDERED", "SUBSET")
_MOST_PROPOSED = 30
"""Cases to propose lines for, unless the lines are to be written: loading and judging each line takes time."""
_WORD = re.compile(r"\w[\w'-]{2,}")
_LONGEST_PHRASE = 60


class Golden(msgspec.Struct, frozen=True):
    """A case and its passing trajectories. Faults are put into the first one, which has the most common path."""

    case: Case
    trajectories: tuple[Trajectory, ...]

    @property
    def original(self) -> Trajectory:
        """The trajectory that faults are put into."""
        return self.trajectories[0]


class Tried(msgspec.Struct, frozen=True):
    """The faults of one case, by outcome."""

    golden: Golden
    noticed: tuple[Mutant, ...]
    survived: tuple[Mutant, ...]
    set_aside: tuple[tuple[Mutant, str], ...]
    unmeasured: int
    left_out: int


def operators_named(names: Sequence[str]) -> tuple[Operator, ...]:
    """Return operators by their names, all of them if none is given. Raises `InputError`."""
    wanted = [part for name in names for part in name.split(",") if part]
    for name in wanted:
        if name not in OPERATORS:
            raise InputError(f"no operator {name!r:.40}; {nearest(name, OPERATORS)}")
    return tuple([operator for operator in OPERATORS if not wanted or operator in wanted])


def golden_of(
    cases: Sequence[Case], observed: Mapping[str, Sequence[Trajectory]], *, judges: bool = False
) -> tuple[list[Golden], dict[str, tuple[str, ...]]]:
    """Return the cases that can be tried, each with its passing trajectories, and the ids of the others by reason."""
    found: list[Golden] = []
    others: dict[str, list[str]] = {}
    for case in cases:
        trajectories = observed.get(case.id, ())
        if not trajectories:
            others.setdefault("no trace", []).append(case.id)
        elif not case.checks:
            others.setdefault("nothing is expected", []).append(case.id)
        elif has_async_evaluators(case) and not judges:
            others.setdefault("a model judges it (--judges)", []).append(case.id)
        elif passing := [each for each in trajectories if judge(case, each).passed]:
            found.append(Golden(case, _commonest_first(passing)))
        else:
            others.setdefault("it does not pass", []).append(case.id)
    return found, {reason: tuple(ids) for reason, ids in others.items()}


def _commonest_first(trajectories: Sequence[Trajectory]) -> tuple[Trajectory, ...]:
    paths = [repr([(call.name, call.args) for call in each.calls]) for each in trajectories]
    counted = Counter(paths)
    # The sort is stable: of equally common paths, the one seen first comes first.
    order = sorted(range(len(paths)), key=lambda place: -counted[paths[place]])
    return tuple([trajectories[place] for place in order])


def pool_of(golden: Sequence[Golden]) -> Pool:
    """Return the tools and values seen in all cases."""
    return Pool.of({each.case.id: each.original for each in golden})


def answer_of(case: Case, trajectory: Trajectory) -> Answer:
    """Return whether a case notices what is wrong with a trajectory. Stops at the first expectation that fails."""
    unmeasured = False
    if has_async_evaluators(case):
        verdict = judge(case, trajectory).verdict
        return "noticed" if verdict == "failed" else "let pass" if verdict == "passed" else "unmeasured"
    for check in case.checks:
        verdict = check.evaluator.evaluate(trajectory, check.criteria).verdict
        if verdict == "failed":
            return "noticed"
        unmeasured |= verdict != "passed"
    return "unmeasured" if unmeasured else "let pass"


def try_case(
    golden: Golden, pool: Pool, operators: Sequence[Operator] = OPERATORS, *, count_all: bool = False
) -> Tried:
    """Put every fault into the trajectory of a case, and judge each. With `count_all`, allowed changes count, too."""
    made = mutants_of(golden.original, pool, operators)
    drawn = made
    if len(made) > MOST_MUTANTS:
        chosen = sorted(random.Random(0).sample(range(len(made)), MOST_MUTANTS))  # noqa: S311 - a sample, no secret
        drawn = [made[number] for number in chosen]
    case = golden.case
    asking = Asking(Allowances.of(case), golden.original, lambda trajectory: answer_of(case, trajectory) == "noticed")
    noticed, survived, aside, unmeasured = [], [], [], 0
    for mutant in drawn:
        answer = answer_of(case, mutant.trajectory)
        if answer == "noticed":
            noticed.append(mutant)
        elif answer == "unmeasured":
            unmeasured += 1
        elif reason := "" if count_all else asking.reason(mutant):
            aside.append((mutant, reason))
        else:
            survived.append(mutant)
    return Tried(golden, tuple(noticed), tuple(survived), tuple(aside), unmeasured, len(made) - len(drawn))


def mutated_case(tried: Tried, lines: Mapping[int, str] | None = None) -> MutatedCase:
    """Return the fault counts of a case. `lines` has the line that would notice each survivor, by its number."""
    noticed = Counter([mutant.operator for mutant in tried.noticed])
    survived = Counter([mutant.operator for mutant in tried.survived])
    seen = [operator for operator in OPERATORS if noticed[operator] or survived[operator]]
    texts = _CallTexts()
    return MutatedCase(
        case_id=tried.golden.case.id,
        expected=texts.of(tried.golden.original),
        cells={operator: (noticed[operator], noticed[operator] + survived[operator]) for operator in seen},
        survivors=tuple(
            [
                Survivor(
                    operator=mutant.operator,
                    fault=described(mutant),
                    line=redacted_text((lines or {}).get(number, "")),
                    calls=texts.of(mutant.trajectory),
                )
                for number, mutant in enumerate(tried.survived)
                if mutant.operator not in WORLD_OPERATORS
            ]
        ),
        set_aside=dict(Counter([reason for _, reason in tried.set_aside])),
        unmeasured=tried.unmeasured,
        left_out=tried.left_out,
    )


def described(mutant: Mutant) -> str:
    """Describe a fault in words, with the changed value unless it is a secret."""
    if mutant.operator != "argument" or mutant.position is None:
        return mutant.description
    args = redacted_value(mutant.trajectory.calls[mutant.position].args)
    return f"{mutant.description}: {value_text(value_at(args, mutant.path), _SHOWN_VALUE)}"


class _CallTexts:
    """Calls as text, redacted because the report of faults is saved beside the run."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def of(self, trajectory: Trajectory) -> tuple[str, ...]:
        """Return the calls of a trajectory as text. Strings are cached by id, so the trajectory has to stay alive."""
        return tuple([self._text(call) for call in trajectory.calls if not call.internal])

    def _text(self, call: ToolCall) -> str:
        # Mutants share all calls but one with the original, and redacting one takes longer than judging it.
        if id(call) not in self._known:
            self._known[id(call)] = call_text(call.name, redacted_value(call.args), _SHOWN)
        return self._known[id(call)]


class Allowances(msgspec.Struct, frozen=True):
    """What a case allows for tools: to be left out, repeated, called in any order, or ignored."""

    any_order: bool = False
    together: tuple[frozenset[str], ...] = ()
    optional: frozenset[str] = frozenset()
    repeated: frozenset[str] = frozenset()
    ignored: tuple[Set[str], ...] = ()
    named: Set[str] | None = None
    """The tools that the steps name, if the case allows calls of other tools; else None."""

    @classmethod
    def of(cls, case: Case) -> Allowances:
        """Return what the expected calls of a case allow."""
        found = _Words()
        ignored, any_order = [], False
        named: Set[str] | None = None
        for check in case.checks:
            criteria = check.criteria
            if getattr(criteria, "ignore_tools", ()):
                ignored.append(criteria.ignored)
            if check.evaluator.type_id != "tool-trajectory":
                continue
            config = check.evaluator.config
            any_order |= (criteria.match_type or config.match_type) in _FREE_ORDER
            if (criteria.extra or config.extra) in ("allow", "others"):
                named = check.evaluator.plan(criteria).names
            for steps in criteria.expected_turns or (criteria.expected or (),):
                found.read(steps)
        return cls(
            any_order=any_order,
            together=tuple(found.together),
            optional=frozenset(found.optional),
            repeated=frozenset(found.repeated),
            ignored=tuple(ignored),
            named=named,
        )


class _Words:
    """Tool names below step keywords such as `optional`, collected by keyword."""

    def __init__(self) -> None:
        self.together: list[frozenset[str]] = []
        self.optional: set[str] = set()
        self.repeated: set[str] = set()

    def read(self, steps: Sequence[Any]) -> None:
        for step in steps:
            if not isinstance(step, StepGroup):
                continue
            names = _names(step)
            if step.word in ("any_order", "at_once"):
                self.together.append(names)
            elif step.word in ("optional", "one_of"):
                self.optional |= names
            elif step.word == "repeat":
                self.repeated |= names
            self.read(step.items)


def _names(step: Any) -> frozenset[str]:
    if not isinstance(step, StepGroup):
        return frozenset({step.name})
    return frozenset().union(*[_names(item) for item in step.items])


class Asking:
    """Find out whether a change that passes is allowed by the case, from its text or by judging other trajectories."""

    def __init__(self, allowed: Allowances, original: Trajectory, notices: Callable[[Trajectory], bool]) -> None:
        self._allowed = allowed
        self._original = original
        self._notices = notices
        self._closed: dict[int, bool] = {}
        self._misses: dict[tuple[int, str | int], bool] = {}

    def reason(self, mutant: Mutant) -> str:
        """Return why a change that passes is not a fault; empty if it is one."""
        if mutant.tool and any([mutant.tool in ignored for ignored in self._allowed.ignored]):
            return "the case ignores the tool"
        if self._allowed.named is not None and any([tool not in self._allowed.named for tool in _tools(mutant)]):
            return "the case says that other tools do not matter"
        ask: Callable[[Mutant], str] = getattr(self, f"_{mutant.operator.replace('-', '_')}", lambda _: "")
        return ask(mutant)

    def _drop(self, mutant: Mutant) -> str:
        if mutant.tool in self._allowed.optional | self._allowed.repeated or self._is_closed(mutant):
            return "the case says that it may be left out"
        return ""

    def _repeat(self, mutant: Mutant) -> str:
        if mutant.tool in self._allowed.repeated:
            return "the case says that it may be repeated"
        # A case that would notice many calls bounds their number, and two are within the bounds.
        if mutant.position is not None and self._notices(repeated(self._original, mutant.position, _MANY)):
            return "the case says that it may be repeated"
        return ""

    def _swap(self, mutant: Mutant) -> str:
        calls, position = self._original.calls, mutant.position or 0
        one, two = calls[position], calls[position + 1]
        if one.group is not None and one.group == two.group:
            return "the calls were asked for at once"
        if any([first <= position and position + 1 < end for first, end in self._original.unordered]):
            return "their order was not recorded"
        both = {one.name, two.name}
        if self._allowed.any_order or any([both <= names for names in self._allowed.together]):
            return "the case says that the order is free"
        return ""

    def _other_tool(self, mutant: Mutant) -> str:
        return "the case says that the other tool will do" if self._is_closed(mutant) else ""

    def _other_case(self, mutant: Mutant) -> str:
        # The path is allowed on purpose only if the case would notice an unknown tool in place of its foreign calls.
        own = set(self._original.names)
        calls = mutant.trajectory.calls
        foreign = [position for position, call in enumerate(calls) if call.name not in own] or range(len(calls))
        if all([self._notices(renamed(mutant.trajectory, position, UNKNOWN_TOOL)) for position in foreign]):
            return "the case allows this path, too"
        return ""

    def _argument(self, mutant: Mutant) -> str:
        # Try without the argument: a case that notices its absence checks it, and accepts other values on purpose.
        position, key = mutant.position or 0, mutant.path[0]
        if (position, key) not in self._misses:
            args = self._original.calls[position].args or {}
            left = {other: value for other, value in args.items() if other != key}
            self._misses[position, key] = self._notices(with_args(self._original, position, left))
        return "the case lets the value vary" if self._misses[position, key] else ""

    def _argument_added(self, mutant: Mutant) -> str:
        return "arguments that the case does not name are allowed"

    def _is_closed(self, mutant: Mutant) -> bool:
        """Return whether the case notices an unknown tool at this position: then it names the tools allowed there."""
        if mutant.position is None:
            return False
        if mutant.position not in self._closed:
            asked = renamed(self._original, mutant.position, UNKNOWN_TOOL)
            self._closed[mutant.position] = self._notices(asked)
        return self._closed[mutant.position]


def _tools(mutant: Mutant) -> list[str]:
    """Return the tools that a fault is about."""
    return [tool for tool in (mutant.tool, mutant.after) if tool]


class Strengthened(msgspec.Struct, frozen=True):
    """The report of an eval set, and its text with the proposed lines added."""

    report: MutationReport
    after: str
    edits: Sequence[Edit] = ()
    refused: Mapping[str, str] = {}
    """Cases whose lines cannot be written into the text, with the reason."""


def mutate(
    eval_set: EvalSet,
    observed: Mapping[str, Sequence[Trajectory]],
    *,
    cases: Sequence[Case] | None = None,
    text: str | None = None,
    operators: Sequence[Operator] = OPERATORS,
    count_all: bool = False,
    judges: bool = False,
    edits: bool = False,
) -> Strengthened:
    """Put faults into trajectories that pass, and judge each.

    Args:
        eval_set: The eval set.
        observed: The trajectories of each case; those that pass are used.
        cases: The cases to try; all by default.
        text: The text of the eval set, in the native format; lines are proposed for it.
        operators: The faults.
        count_all: Whether to count changes that the case allows, such as another order where the order is free.
        judges: Whether to try cases that a model judges.
        edits: Whether to write the proposed lines into the text.

    Raises:
        RightcallError: the edited text would be wrong. It must not be written.
    """
    golden, others = golden_of(eval_set.cases if cases is None else cases, observed, judges=judges)
    pool = pool_of(golden)
    tried = [try_case(each, pool, operators, count_all=count_all) for each in golden]
    editing = _Editing(text, eval_set) if text is not None else None
    remedies = editing.remedies(tried, None if edits else _MOST_PROPOSED) if editing is not None else {}
    lines = {case_id: found.lines for case_id, found in remedies.items()}
    counted = [mutated_case(each, lines.get(each.golden.case.id)) for each in tried]
    report = MutationReport(evalset=eval_set.path, operators=tuple(operators), cases=tuple(counted), not_tried=others)
    if editing is None or not edits:
        return Strengthened(report, text or "")
    return editing.written(report, {each.golden.case.id: each for each in tried}, remedies)


class _Editing:
    """The text of an eval set, while lines are found for it."""

    def __init__(self, text: str, eval_set: EvalSet) -> None:
        self._text = text
        self._path = eval_set.path
        self._editor = DocumentEditor(text)
        self._numbers = {case.id: number for number, case in enumerate(eval_set.cases)}

    def remedies(self, tried: Sequence[Tried], most: int | None) -> dict[str, Remedied]:
        """Return the proposed lines of each case, for at most `most` cases, those with the most survivors first."""
        document = self._editor.value
        found: dict[str, Remedied] = {}
        for each in sorted(tried, key=lambda one: -len(one.survived))[:most]:
            if each.survived:
                case_id = each.golden.case.id
                found[case_id] = remedied(each, document, document["cases"][self._numbers[case_id]])
        return found

    def written(
        self, report: MutationReport, tried: Mapping[str, Tried], remedies: Mapping[str, Remedied]
    ) -> Strengthened:
        """Put the lines into the text. Raises `RightcallError`."""
        refused: dict[str, str] = {}
        for case_id, number in self._numbers.items():
            if case_id not in remedies or not remedies[case_id].lines:
                continue
            before = self._editor.value["cases"][number]
            try:
                self._editor.change(("cases", number), {**before, "expect": remedies[case_id].expect})
            except DocumentError as problem:
                refused[case_id] = str(problem)
        edits = self._editor.edits()
        after = apply_edits(self._text, edits)
        if edits:
            self._verify(after, {key: tried[key] for key in remedies if key not in refused}, remedies)
        return Strengthened(report, after, edits, refused)

    def _verify(self, after: str, tried: Mapping[str, Tried], remedies: Mapping[str, Remedied]) -> None:
        # The file is the user's work: check the text itself, not the values that it was made from.
        try:
            cases = {case.id: case for case in parse_eval_set(after, self._path).cases}
        except DocumentError as problem:
            raise RightcallError(f"{self._path}: not edited, because it would be wrong: {problem}") from None
        for case_id, each in tried.items():
            if not _is_better(cases[case_id], each.golden, each, remedies[case_id]):
                raise RightcallError(f"{self._path}: not edited, because {case_id} would not be judged as intended")


def _is_better(case: Case, golden: Golden, tried: Tried, remedy: Remedied) -> bool:
    """Return whether all golden trajectories still pass, and every fault with a line is noticed."""
    # Custom evaluators are not imported here. They are unmeasured, which is as good as passed: they did not change.
    passes = all([answer_of(case, trajectory) != "noticed" for trajectory in golden.trajectories])
    return passes and all([answer_of(case, tried.survived[number].trajectory) == "noticed" for number in remedy.lines])


class Remedy(msgspec.Struct, frozen=True):
    """A change of one key of `expect`, and how it is shown."""

    key: str
    value: Any
    line: str


class Remedied(msgspec.Struct, frozen=True):
    """The new `expect` of a case, and the line that notices each survivor."""

    expect: dict[str, Any]
    lines: dict[int, str]
    """By the number of the survivor. Survivors that no line notices have no entry."""


def remedied(tried: Tried, document: Mapping[str, Any], written: Mapping[str, Any]) -> Remedied:
    """Return lines that notice the survivors of a case. Each was tried: good runs still pass, and the fault fails.

    Args:
        tried: The case, and the faults that passed.
        document: The decoded eval set, for its defaults.
        written: The case as it is in the document.
    """
    trial = _Trial(document, tried.golden)
    expect = dict(written.get("expect") or {})
    lines: dict[int, str] = {}
    open_survivors = {
        number: mutant for number, mutant in enumerate(tried.survived) if mutant.operator not in WORLD_OPERATORS
    }
    for number in sorted(open_survivors):
        mutant = open_survivors.get(number)
        if mutant is None:  # already noticed by the line for another fault
            continue
        for remedy in _remedies(mutant, tried.golden.original, expect):
            case = trial.accepted(remedy, mutant)
            if case is None:
                continue
            expect = {**expect, remedy.key: remedy.value}
            caught = [each for each, other in open_survivors.items() if answer_of(case, other.trajectory) == "noticed"]
            lines |= dict.fromkeys(caught, remedy.line)
            open_survivors = {each: other for each, other in open_survivors.items() if each not in caught}
            break
    return Remedied(expect, lines)


class _Trial:
    """Tries changed keys of a case on its trajectories."""

    def __init__(self, document: Mapping[str, Any], golden: Golden) -> None:
        self._around = {key: value for key, value in document.items() if key != "cases"}
        self._golden = golden

    def accepted(self, remedy: Remedy, mutant: Mutant) -> Case | None:
        """Return a case with the changed key alone, if good runs pass it and the fault does not; else None."""
        # The other keys did not change and still pass, so only the changed one has to be judged.
        trial = {**self._around, "cases": [{"id": "trial", "expect": {remedy.key: remedy.value}}]}
        try:
            [case] = parse_eval_set(json.dumps(trial), "trial").cases
        except DocumentError:
            return None
        if any([answer_of(case, golden) != "let pass" for golden in self._golden.trajectories]):
            return None
        return case if answer_of(case, mutant.trajectory) == "noticed" else None


def _remedies(mutant: Mutant, original: Trajectory, expect: Mapping[str, Any]) -> Iterator[Remedy]:
    if mutant.operator.startswith("argument"):
        yield from _of_argument(mutant, original, expect)
    elif mutant.operator == "swap":
        yield from _of_order(mutant, original, expect)
    elif mutant.operator == "extra":
        yield from _appended(expect, "never", "forbidden-tools", mutant.tool)
    elif mutant.operator == "answer":
        yield from _of_answer(original, expect)
    else:
        yield from _of_counts(mutant, original, expect)
        yield from _of_order(mutant, original, expect)


def _of_argument(mutant: Mutant, original: Trajectory, expect: Mapping[str, Any]) -> Iterator[Remedy]:
    if mutant.position is None:
        return
    call, key = original.calls[mutant.position], str(mutant.path[0])
    if key not in (call.args or {}):
        return
    from rightcall.cases.accepting import literal

    value = literal((call.args or {})[key])
    earlier = [each for each in original.calls[: mutant.position] if each.name == call.name]
    named = {call.name: {key: value}}
    for where, type_id in (("calls", "tool-trajectory"), ("args", "tool-call-args")):
        inside = _inside(expect, where, type_id)
        if inside is not None and isinstance(inside[1], list):
            changed = _with_argument(inside[1], call.name, len(earlier), key, value)
            if changed is not None:
                yield Remedy(where, inside[0](changed), f"{where}: [… {flow_text(named)}]")
    yield from _appended(expect, "args", "tool-call-args", named)
    same = [each for each in original.calls if each.name == call.name]
    if all([(each.args or {}).get(key) == (call.args or {})[key] for each in same]):
        yield from _appended(expect, "rules", "call-rules", {"call": call.name, "always": {key: value}})


def _with_argument(steps: list[Any], tool: str, nth: int, key: str, value: Any) -> list[Any] | None:
    """Add an argument to the nth call of a tool in the steps; `None` if there is no such call or it has one."""
    places = list(_calls_of(steps, tool, ()))
    if len(places) <= nth:
        return None
    place = places[nth]
    item = value_at(steps, place)
    if isinstance(item, str):
        changed: Any = {item: {key: value}}
    elif isinstance(item.get("name"), str):
        if key in (item.get("args") or {}):
            return None  # never make stricter what the user wrote
        changed = {**item, "args": {**(item.get("args") or {}), key: value}}
    elif not isinstance(item[tool] or {}, dict) or key in (item[tool] or {}):
        return None
    else:
        changed = {tool: {**(item[tool] or {}), key: value}}
    made: list[Any] = replaced(steps, place, changed)
    return made


def _calls_of(value: Any, tool: str, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of a tool's calls in written steps, also inside groups."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _calls_of(item, tool, (*path, index))
    elif value == tool or (isinstance(value, dict) and (value.get("name") == tool or list(value) == [tool])):
        yield path
    elif isinstance(value, dict):
        for word in STEP_WORDS:
            if word in value and "name" not in value:
                yield from _calls_of(value[word], tool, (*path, word))


def _of_counts(mutant: Mutant, original: Trajectory, expect: Mapping[str, Any]) -> Iterator[Remedy]:
    inside = _inside(expect, "counts", "tool-call-count")
    written = inside[1] if inside is not None and isinstance(inside[1], dict) else {}
    if "counts" in expect and not isinstance(written, dict):
        return
    changed = [mutant.tool, *[name for name in dict.fromkeys(original.names) if name != mutant.tool]]
    for name in changed:
        count = original.names.count(name)
        if name in written or count == mutant.trajectory.names.count(name):
            continue
        value = {**written, name: count}
        yield Remedy("counts", inside[0](value) if inside is not None else value, f"counts: {flow_text({name: count})}")


def _of_order(mutant: Mutant, original: Trajectory, expect: Mapping[str, Any]) -> Iterator[Remedy]:
    if "order" not in expect and "calls" not in expect:
        names = [call.name for call in original.calls if not call.internal]
        yield Remedy("order", names, f"order: {flow_text(names)}")
    if mutant.after and mutant.after != mutant.tool:
        yield from _appended(expect, "rules", "call-rules", {"call": mutant.after, "only_after": mutant.tool})


def _of_answer(original: Trajectory, expect: Mapping[str, Any]) -> Iterator[Remedy]:
    if "output" in expect:
        return
    phrases = _phrases(original) if isinstance(original.output, str) else []
    for phrase in phrases:
        value = {"$contains": phrase}
        yield Remedy("output", value, f"output: {flow_text(value)}")
    if not isinstance(original.output, str):
        yield Remedy("output", original.output, f"output: {flow_text(original.output)}"[:100])


def _phrases(original: Trajectory) -> list[str]:
    """Return parts of the answer to require: strings from tool outputs and arguments first, then long words."""
    answer = original.output
    quoted = {
        leaf
        for call in original.calls
        for value in (call.output, call.args)
        for path in leaves(value)
        if isinstance(leaf := value_at(value, path), str) and 3 <= len(leaf) <= _LONGEST_PHRASE and leaf in answer
    }
    words = sorted(set(_WORD.findall(answer)), key=lambda word: (-len(word), word))
    return [*sorted(quoted, key=lambda leaf: (-len(leaf), leaf)), *words][:3]


def _appended(expect: Mapping[str, Any], key: str, type_id: str, item: Any) -> Iterator[Remedy]:
    """Yield a remedy that adds an item to the list under a key of `expect`."""
    line = f"{key}: {flow_text([item])}"
    if key not in expect:
        yield Remedy(key, [item], line)
        return
    inside = _inside(expect, key, type_id)
    if inside is not None and isinstance(inside[1], list) and item not in inside[1]:
        yield Remedy(key, inside[0]([*inside[1], item]), line)


def _inside(expect: Mapping[str, Any], key: str, type_id: str) -> tuple[Callable[[Any], Any], Any] | None:
    """Return a function that replaces the criteria under a key of `expect`, and the criteria themselves."""
    if key not in expect:
        return None
    path: Sequence[str | int] | None = criteria_path(expect[key], type_id)
    if path is None:
        return None
    return (lambda new: replaced(expect[key], path, new)), value_at(expect[key], path)
