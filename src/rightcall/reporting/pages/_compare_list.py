"""The page that compares two runs: the gate, regressions, fixes and other paths, and one case in detail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from math import ceil
from typing import Literal

import msgspec

from rightcall.matching.matchers import equal
from rightcall.reporting.changes import (
    CaseChange,
    CaseSide,
    Comparison,
    Gate,
    GatedCase,
    GateSide,
    compared_call,
    varying_arguments,
)
from rightcall.reporting.reports import (
    change_words,
    counts_text,
    gate_notes,
    points_text,
    score_words,
    share_text,
    totals_words,
)
from rightcall.values.results import Verdict, call_text, count_text, value_text
from rightcall.values.trajectory import ToolCall

from ._runs_page import PartOfList, RunLine
from ._templates import Links, Marked, case_key, marked_pair, render

Shown = Literal["regressions", "fixes", "edited", "paths", "same"]
ROWS_A_CHANGE = 6
_MOST_GROUPS = 60
_MOST_CALLS = 400
_CALL = 200
_ANSWER = 400
_MOST_WORDS = 4
_TABS: tuple[tuple[Shown, str, str], ...] = (
    ("regressions", "Regression", "Regressions"),
    ("fixes", "Fix", "Fixes"),
    ("edited", "Edited", "Edited"),
    ("paths", "Other path or score", "Other paths or scores"),
    ("same", "Unchanged", "Unchanged"),
)
"""The kinds of change: their names in addresses, and their labels for one and for several cases."""
_ALWAYS = ("regressions", "fixes", "paths", "same")
_ON_BOTH = {
    "passed": "passes on both",
    "failed": "fails on both",
    "error": "in error on both",
    "not_measured": "not measured on both",
}
_LONGEST_ID = 400
LONGEST_IGNORED = 200
MOST_IGNORED = 20
"""The most arguments to ignore that an address can name."""
_WIDTH = 520.0
"""The width of the scale, in units of the drawing."""
_LEAST_REACH = 0.2
_WORDS = {"not told from chance": "could be chance"}
_SIGNS: dict[str, Verdict] = {
    "worse": "failed",
    "better": "passed",
    "no worse": "passed",
    "inconclusive": "not_measured",
}


class ChangeLine(msgspec.Struct, frozen=True, kw_only=True):
    """The change of one case, in words."""

    case_id: str
    key: str
    before: Verdict | None
    after: Verdict | None
    summary: str = ""
    """If the verdict is the same: the verdict, and whether the path differs."""
    scores: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    """If the verdict is the same and only arguments differ: these arguments, such as `search.key`."""
    change: tuple[str, ...] = ()
    """What it is grouped by, if not by `path`: the same without values that differ from case to case."""


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs, compared: their totals, and their cases by kind of change."""

    totals: tuple[tuple[str, str], ...]
    flips: tuple[ChangeLine, ...]
    edited: tuple[ChangeLine, ...]
    """Cases whose input or expectations changed."""
    drifted: tuple[ChangeLine, ...]
    only_before: tuple[ChangeLine, ...]
    only_after: tuple[ChangeLine, ...]
    same: tuple[ChangeLine, ...]
    weight: int = 0
    gate: GatePanel | None = None
    """The decision of the gate; `None` if no case can be compared."""

    @property
    def changed(self) -> tuple[ChangeLine, ...]:
        """The cases of both runs that changed, those with another verdict first."""
        return self.flips + self.edited + self.drifted


class ChangeRow(msgspec.Struct, frozen=True):
    """One case in the list of changes."""

    line: ChangeLine
    href: str
    trials: str = ""
    """How many trials passed before and after: `20/20 → 0/5`; empty if they were not compared."""
    word: str = ""
    """What the trials say about this case alone."""
    is_chosen: bool = False


class ChangeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Cases whose path changed in the same way."""

    words: tuple[str, ...]
    count: int
    rows: tuple[ChangeRow, ...]
    more: int = 0
    href: str = ""
    arguments: tuple[str, ...] = ()
    """The arguments, if nothing else differs in all of its cases; else empty."""
    ignore_href: str = ""
    is_open: bool = False


class Tab(msgspec.Struct, frozen=True):
    """A kind of change, with its number of cases."""

    name: Shown
    label: str
    count: int
    href: str
    is_chosen: bool


class AlignedCall(msgspec.Struct, frozen=True):
    """A call before and after; a side is empty if the call was not made."""

    kind: Literal["same", "changed", "gone", "new"]
    before: str = ""
    after: str = ""
    expected: str = ""
    """The expected call that it was compared with; empty if there is none."""

    @property
    def marked(self) -> tuple[Marked, Marked]:
        """Both strings, each with the differing part marked."""
        return marked_pair(self.before, self.after)


class ComparedCase(msgspec.Struct, frozen=True, kw_only=True):
    """One case in both runs: its verdicts, a sentence, and both paths aligned."""

    case_id: str
    before: Verdict | None
    after: Verdict | None
    sentence: str
    calls: tuple[AlignedCall, ...]
    title: str = ""
    """The user's request, on one line."""
    left_out: int = 0
    before_href: str = ""
    after_href: str = ""
    scores: tuple[str, ...] = ()
    answers: tuple[Marked, Marked] | None = None
    """The answers of the agent before and after, if they differ."""

    @property
    def rows(self) -> tuple[tuple[AlignedCall, ...], ...]:
        """The calls as rows. Neighbouring calls that are the same in both runs share a collapsed row."""
        found: list[tuple[AlignedCall, ...]] = []
        for is_same, run in groupby(self.calls, lambda call: call.kind == "same"):
            calls = tuple(run)
            found += [calls] if is_same else [(call,) for call in calls]
        return tuple(found)


class ComparePage(PartOfList, frozen=True, kw_only=True):
    """The page that compares two runs."""

    before: RunLine
    after: RunLine
    changes: Changes
    tabs: tuple[Tab, ...]
    groups: tuple[ChangeGroup, ...]
    shown: Shown
    filtered: str = ""
    ignored: tuple[str, ...] = ()
    """Arguments that are not compared."""
    gate: GatePanel | None = None
    """The decision of the gate; `None` if no case can be compared."""
    gate_reasons: tuple[str, ...] = ()
    """The decisions of gates when these runs were run."""
    case: ComparedCase | None = None
    is_case_asked: bool = False
    is_wide: bool = True
    title: str = "Compare"


def compare_html(page: ComparePage, links: Links) -> str:
    """Render the comparison of two runs. Raises `MissingExtraError`."""
    return render("compare.html", page, links)


def changes_of(comparison: Comparison, before: Mapping[str, CaseSide], after: Mapping[str, CaseSide]) -> Changes:
    """Return a comparison in words, without the paths it was computed from."""
    kinds: dict[str, list[ChangeLine]] = {}
    varying = varying_arguments(comparison.cases)
    for change in comparison.cases:
        kinds.setdefault(change.kind, []).append(_change_line(change, varying))
    changed = {change.case_id for change in comparison.cases}
    same = [
        _same_line(case_id, side) for case_id, side in after.items() if case_id in before and case_id not in changed
    ]
    return Changes(
        totals=tuple(totals_words(comparison)),
        flips=tuple([line for kind in ("worse", "better", "other") for line in kinds.get(kind, ())]),
        edited=tuple(kinds.get("edited", ())),
        drifted=tuple(kinds.get("drifted", ())),
        only_before=tuple(kinds.get("only_before", ())),
        only_after=tuple(kinds.get("only_after", ())),
        same=tuple(same),
        weight=1 + len(changed) + len(same),
    )


def _change_line(change: CaseChange, varying: frozenset[tuple[str, str]]) -> ChangeLine:
    before, after = [side.verdict if side is not None else None for side in (change.before, change.after)]
    path = tuple(change_words(change)) if before is not None and after is not None else ()
    summary = ""
    if before == after and after is not None:
        summary = f"{_ON_BOTH[after]}, path differs" if path else f"{_ON_BOTH[after]}, same path"
    return ChangeLine(
        case_id=change.case_id[:_LONGEST_ID],
        key=case_key(change.case_id),
        before=before,
        after=after,
        summary=summary,
        scores=tuple(score_words(change)),
        path=path,
        change=tuple(change_words(change, varying=varying)) if path and varying else (),
        arguments=_ignorable(change.other_arguments) if before == after else (),
    )


def _ignorable(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return arguments if an address can name them all; else nothing."""
    return names if len(names) <= MOST_IGNORED and all([len(name) <= LONGEST_IGNORED for name in names]) else ()


def _same_line(case_id: str, side: CaseSide) -> ChangeLine:
    return ChangeLine(case_id=case_id[:_LONGEST_ID], key=case_key(case_id), before=side.verdict, after=side.verdict)


def lines_of(changes: Changes, shown: Shown) -> tuple[ChangeLine, ...]:
    """Return the cases of a kind of change."""
    if shown == "same":
        return changes.same
    if shown == "paths":
        return changes.drifted
    if shown == "edited":
        return changes.edited
    fixes = tuple([line for line in changes.flips if line.after == "passed"])
    return fixes if shown == "fixes" else tuple([line for line in changes.flips if line.after != "passed"])


def tabs_of(
    changes: Changes, chosen: Shown, names: tuple[str, str], links: Links, ignored: Sequence[str] = ()
) -> tuple[Tab, ...]:
    """Return the kinds of change, each with its number of cases; edited cases only if there are any."""
    found: list[Tab] = []
    for name, one, several in _TABS:
        count = len(lines_of(changes, name))
        if count or name in (chosen, *_ALWAYS):
            href = links.compare(*names, ignored, show=name)
            found.append(Tab(name, one if count == 1 else several, count, href, name == chosen))
    return tuple(found)


def words_of(line: ChangeLine) -> tuple[str, ...]:
    """Return the change that a case is grouped by."""
    words = line.change or line.path
    return words[:_MOST_WORDS] if words else (line.summary,) if line.summary else ("the same calls",)


def groups_of(
    lines: Sequence[ChangeLine],
    chosen: str,
    gate_words: Mapping[str, tuple[str, str]],
    address: Mapping[str, str],
    links: Links,
    only: str = "",
    ignored: Sequence[str] = (),
    *,
    matched: Mapping[tuple[str, ...], int] | None = None,
) -> tuple[ChangeGroup, ...]:
    """Group cases by change, the most common first. `only` is the change whose cases are all listed.

    If `lines` are one page of them, `matched` has the total of each change, and all cases on the page are listed.
    """
    found: dict[tuple[str, ...], list[ChangeLine]] = {}
    for line in lines:
        found.setdefault(words_of(line), []).append(line)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    groups = []
    compared, show = (address["a"], address["b"]), address.get("show", "")
    for place, (words, cases) in enumerate(ordered[:_MOST_GROUPS]):
        key = " ".join(words)
        shown = cases if key == only or matched is not None else cases[:ROWS_A_CHANGE]
        shown = [*shown, *[line for line in cases[len(shown) :] if line.key == chosen]]
        hrefs = [links.compare(*compared, ignored, **{**_rest(address), "case": line.key}) for line in shown[:500]]
        rows = [
            ChangeRow(line, f"{href}#case", *gate_words.get(line.case_id, ("", "")), is_chosen=line.key == chosen)
            for line, href in zip(shown[:500], hrefs, strict=True)
        ]
        arguments = cases[0].arguments if len({line.arguments for line in cases}) == 1 else ()
        arguments = arguments if len(ignored) + len(arguments) <= MOST_IGNORED else ()
        groups.append(
            ChangeGroup(
                words=words if len(cases) > 1 or not cases[0].path else cases[0].path[:_MOST_WORDS],
                count=(matched or {}).get(words, len(cases)),
                rows=tuple(rows),
                more=len(cases) - len(rows),
                href=links.compare(*compared, ignored, show=show, change=key[:300]),
                arguments=arguments,
                ignore_href=links.compare(*compared, (*ignored, *arguments), show=show) if arguments else "",
                is_open=place == 0 or key == only or any([row.is_chosen for row in rows]),
            )
        )
    return tuple(groups)


def aligned(
    before: Sequence[ToolCall],
    after: Sequence[ToolCall],
    expected: tuple[Mapping[int, str], Mapping[int, str]] = ({}, {}),
    ignored: Collection[str] = (),
) -> tuple[tuple[AlignedCall, ...], int]:
    """Align two paths by the names of their calls, and return how many calls at their ends are left out.

    `expected` has the expected calls that those of each path were compared with, by position. Calls that differ only in
    `ignored` arguments are the same.
    """
    old, new = before[:_MOST_CALLS], after[:_MOST_CALLS]
    texts = [[call_text(call.name, call.args or {}, value_width=60)[:_CALL] for call in calls] for calls in (old, new)]
    kept = [[compared_call(call, ignored).compared or {} for call in calls] for calls in (old, new)]
    found: list[AlignedCall] = []
    names = [[call.name for call in calls] for calls in (old, new)]
    for kind, a, b, c, d in SequenceMatcher(None, names[0], names[1], autojunk=False).get_opcodes():
        if kind == "equal":
            for left, right in zip(range(a, b), range(c, d), strict=True):
                texts_of = texts[0][left], texts[1][right]
                wanted = expected[1].get(right) or expected[0].get(left, "")
                is_same = texts_of[0] == texts_of[1] or (ignored and equal(kept[0][left], kept[1][right]))
                found.append(AlignedCall("same" if is_same else "changed", *texts_of, wanted))
            continue
        found += [AlignedCall("gone", texts[0][place], "", expected[0].get(place, "")) for place in range(a, b)]
        found += [AlignedCall("new", "", texts[1][place], expected[1].get(place, "")) for place in range(c, d)]
    return tuple(found), max(0, len(before) - _MOST_CALLS) + max(0, len(after) - _MOST_CALLS)


def other_answers(before: object, after: object) -> tuple[Marked, Marked] | None:
    """Return two answers, each with the differing part marked; `None` if they are equal."""
    texts = [
        "no answer" if value is None else value if isinstance(value, str) else value_text(value, _ANSWER)
        for value in (before, after)
    ]
    return None if texts[0] == texts[1] else marked_pair(texts[0][:_ANSWER], texts[1][:_ANSWER])


def sentence_of_change(calls: Sequence[AlignedCall]) -> str:
    """Describe in one sentence what changed in a path, given the alignment."""
    gone = list(dict.fromkeys([_name(call.before) for call in calls if call.kind == "gone"]))
    new = list(dict.fromkeys([_name(call.after) for call in calls if call.kind == "new"]))
    changed = list(dict.fromkeys([_name(call.after) for call in calls if call.kind == "changed"]))
    parts = [f"{_listed(gone)} {'is' if len(gone) == 1 else 'are'} no longer called"] if gone else []
    parts += [f"{_listed(new)} {'is' if len(new) == 1 else 'are'} new"] if new else []
    parts += [f"{_listed(changed)} {'has' if len(changed) == 1 else 'have'} other arguments"] if changed else []
    return "; ".join(parts) or "The calls are the same."


def _name(text: str) -> str:
    return text.partition("(")[0]


def _listed(names: Sequence[str]) -> str:
    # A backtick in a name would end the code span around it.
    quoted = [f"`{name[:60].replace(chr(96), chr(39))}`" for name in names[:5]]
    more = [f"{len(names) - 5} more"] if len(names) > 5 else []
    texts = [*quoted, *more]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _rest(address: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in address.items() if key not in ("a", "b", "case") and value}


class GatePanel(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of the gate on two runs."""

    word: str
    sign: Verdict
    """The verdict whose sign and colour it is shown with."""
    before: str
    after: str
    points: str
    confidence: str
    compared: int
    reach: int
    """The percentage points at the ends of the scale."""
    low: float
    """The start of the interval on the scale."""
    width: float
    at: float
    """The position of the difference."""
    rule_out: float
    """The position of the drop to rule out."""
    rule_out_points: str
    counts: tuple[tuple[str, int], ...] = ()
    """The number of cases by word, such as `worse`."""
    facts: tuple[tuple[str, str], ...] = ()
    zero: float = _WIDTH / 2
    words: Mapping[str, tuple[str, str]] = {}
    """The trials of each case before and after, and what they say if they differ."""
    notes: tuple[str, ...] = ()


def gate_panel(gate: Gate) -> GatePanel | None:
    """Return the panel of a gate; `None` if there is nothing to compare."""
    if gate.interval is None or gate.difference is None:
        return None
    reach = max(_LEAST_REACH, abs(gate.interval.low), abs(gate.interval.high), gate.rule.rule_out)
    reach = min(1.0, ceil(reach * 10) / 10)

    def place(share: float) -> float:
        return round((share / reach + 1.0) * _WIDTH / 2, 1)

    words = Counter([_WORDS.get(case.told, case.told) for case in gate.cases if _differs(case)])
    left, without = gate.left_out, count_text(gate.open_trials, "trial") if gate.open_trials else ""
    facts = (
        ("Compared", count_text(len(gate.cases), "case")),
        ("Edited since, not compared", count_text(len(left.changed), "case") if left.changed else ""),
        ("Without an answer", f"{without}, which decide" if gate.open_decides else without),
    )
    return GatePanel(
        word=gate.verdict,
        sign=_SIGNS[gate.verdict],
        before=share_text(gate.before),
        after=share_text(gate.after),
        points=points_text(gate),
        confidence=f"{gate.rule.confidence * 100:g} %",
        compared=len(gate.cases),
        reach=round(reach * 100),
        low=place(gate.interval.low),
        width=round(place(gate.interval.high) - place(gate.interval.low), 1),
        at=place(gate.difference),
        rule_out=place(-gate.rule.rule_out),
        rule_out_points=f"−{gate.rule.rule_out * 100:g}",
        counts=tuple([(_alone(word, words[word]), words[word]) for word in _ORDER if words[word]]),
        facts=tuple([(name, text) for name, text in facts if text]),
        words={
            case.case_id: (counts_text(case), _WORDS.get(case.told, case.told) if _differs(case) else "")
            for case in gate.cases
        },
        notes=tuple(gate_notes(gate, lists_changes=True)),
    )


_ORDER = ("worse", "likely worse", "could be chance", "likely better", "better")


def _alone(word: str, count: int) -> str:
    """Return the word for a number of cases, each on its own: together they may well show a change."""
    return "could each be chance" if word == "could be chance" and count > 1 else word


def _differs(case: GatedCase) -> bool:
    before, after = [GateSide(side).measured for side in (case.before, case.after)]
    return before.passed * after.measured != after.passed * before.measured
