"""Markdown tables of scores, and pages with tables between marks brought up to date."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.environments import ROOT

from .equivalents import EQUIVALENTS
from .inputs import ARGUMENTS, INPUTS, NAMES, Input
from .modes import MATCH_TYPES, MODES, POLICIES, Cell
from .recording import PEERS, recorded

PAGES = tuple(
    ROOT / "docs" / "explanation" / name for name in ("scores-of-the-same-inputs.md", "differences-from-peers.md")
)
_TABLE = re.compile(r"(<!-- table: ([^>]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_SIDES = {"names": NAMES, "arguments": ARGUMENTS}


def filled(page: Path) -> str:
    """The text of a page, with every table in it made anew."""
    return _TABLE.sub(lambda found: f"{found[1]}\n{table(found[2])}\n{found[4]}", page.read_text(encoding="utf-8"))


def table(name: str) -> str:
    """The table of this name: a group of modes of ours or a peer, and which inputs.

    Raises:
        KeyError: there is no such table.
    """
    group, _, side = name.partition(", ")
    inputs = _SIDES[side]
    rows = _peer_rows(group, inputs) if group in PEERS else _our_rows(group, inputs)
    return "".join(_lines(inputs, rows))


def differing(peer: str) -> set[str]:
    """The labels of the inputs that some mode of a peer scores otherwise than ours does."""
    return {given.label for mode in EQUIVALENTS[peer] for given in INPUTS if _differ(*_both(peer, mode, given))}


def _lines(inputs: Sequence[Input], rows: Iterable[tuple[str, list[str]]]) -> Iterator[str]:
    yield "".join(["| mode |", *(f" `{given.label}` |" for given in inputs), "\n"])
    yield "| --- |" + " --- |" * len(inputs) + "\n"
    for name, cells in rows:
        yield "".join([f"| {name} |", *(f" {cell} |" for cell in cells), "\n"])


def _our_rows(group: str, inputs: Sequence[Input]) -> Iterator[tuple[str, list[str]]]:
    for name in _GROUPS[group](inputs is NAMES):
        yield _shortened(name, inputs is NAMES), [_shown(MODES[name].cell(given)) for given in inputs]


def _tool_calls(_names_only: bool) -> list[str]:
    kinds = ("order", "count", "args", "output")
    return [name for kind in kinds for name in MODES if name.startswith(f"tool-call-{kind}")]


def _trajectory(ending: str) -> Callable[[bool], list[str]]:
    """The match types; without arguments the policies do not matter, so one of them stands for all."""

    def names(names_only: bool) -> list[str]:
        policies = POLICIES[:1] if names_only else POLICIES
        return [f"{match_type}, {policy}{ending}" for policy in policies for match_type in MATCH_TYPES]

    return names


def _others(names_only: bool) -> list[str]:
    found = [name for name in MODES if not name.startswith(("tool-call-", *MATCH_TYPES))]
    return [name for name in found if not names_only or _policy(name) in (None, POLICIES[0])]


_GROUPS: dict[str, Callable[[bool], list[str]]] = {
    "tool calls": _tool_calls,
    "trajectory": _trajectory(""),
    "trajectory with partial credit": _trajectory(", partial credit"),
    "others": _others,
}


def _shortened(name: str, names_only: bool) -> str:
    left_out = {"partial credit", _policy(name) if names_only else None}
    kind, *rest = [part for part in name.split(", ") if part not in left_out]
    return ", ".join([f"`{kind}`", *rest])


def _policy(name: str) -> str | None:
    """The policy for arguments that a mode is configured with, if it takes one."""
    policy: str | None = MODES[name].config.get("args_match")
    return policy


def _peer_rows(peer: str, inputs: Sequence[Input]) -> Iterator[tuple[str, list[str]]]:
    for mode, equivalent in EQUIVALENTS[peer].items():
        cells = [_compared(*_both(peer, mode, given)) for given in inputs]
        yield f"{mode} · {equivalent}", cells


def _both(peer: str, mode: str, given: Input) -> tuple[Cell, Cell]:
    theirs: Cell = recorded()[peer]["modes"][mode][INPUTS.index(given)]
    return theirs, MODES[EQUIVALENTS[peer][mode]].cell(given)


def _compared(theirs: Cell, ours: Cell) -> str:
    return f"**{_shown(theirs)}** · {_shown(ours)}" if _differ(theirs, ours) else _shown(theirs)


def _differ(theirs: Cell, ours: Cell) -> bool:
    return _shown(theirs) != _shown(ours)


def _shown(cell: Cell) -> str:
    return cell.partition(":")[0] if isinstance(cell, str) else f"{cell:.2f}".rstrip("0").rstrip(".")
