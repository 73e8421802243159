"""Edits from pages: shown as a diff first, written on confirmation, and undone if the file has not changed since."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Protocol

import msgspec

from rightcall.errors import RightcallError
from rightcall.reporting.pages import Crumb, EditPage, EditScope, Links, diff_rows, edit_html
from rightcall.reporting.store import RunFolder
from rightcall.values.redaction import redacted_text
from rightcall.values.results import CaseResult

from ._library import Entry, Index, Library

_MOST_CASES = 200
_LONGEST = 500
ACTIONS = ("accept", "ignore")


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A proposed edit: the content of a file before and after, a unified diff, and notes on what it leaves out."""

    path: str
    before: bytes | None
    after: bytes
    lines: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def stamp(self) -> str:
        """A digest of the content before and after, to detect that the file changed since it was shown."""
        return sha256(b"%d %b%b" % (len(self.before or b""), self.before or b"", self.after)).hexdigest()


class Editor(Protocol):
    """Makes edits of the files of a project. Every method raises `RightcallError` if it cannot."""

    def accept(self, run: RunFolder, results: Sequence[CaseResult]) -> Proposal:
        """Return the edit after which the eval set expects what the cases did."""

    def ignore(self, run: RunFolder, result: CaseResult, expectation: str, position: int, argument: str) -> Proposal:
        """Return the edit after which an argument of a call is no longer compared."""

    def pin(self, run: RunFolder) -> Proposal:
        """Return the edit that makes a run the baseline of its eval set."""

    def write(self, path: str, before: bytes | None, after: bytes | None) -> None:
        """Replace the content `before` of a file with `after`; `None` means no file."""


class Written(msgspec.Struct, frozen=True):
    """An edit that was written."""

    number: int
    path: str
    before: bytes | None
    after: bytes
    lines: int

    @property
    def text(self) -> str:
        """The edit in words."""
        return f"{self.path} written, {self.lines:,} line{'' if self.lines == 1 else 's'}"


class EditSession:
    """The edits that pages offer while they are served, and the last one made.

    Forms have a token that no other site can know.
    """

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self.token = secrets.token_urlsafe(32)
        self.last: Written | None = None
        self._count = 0

    def is_token(self, given: str) -> bool:
        """Return whether this is the token of our forms."""
        return hmac.compare_digest(given.encode(errors="replace"), self.token.encode())

    def proposal(
        self, library: Library, name: str, action: str, key: str, query: Mapping[str, str]
    ) -> tuple[RunFolder, Entry | None, Proposal | str] | None:
        """Return an edit, or why there is none; `None` if the run or the case does not exist. Raises `StoreError`."""
        run = library.run(name)
        index = library.index(name, run) if run is not None else None
        entry = index.entry(key) if index is not None else None
        if run is None or index is None or (action in ACTIONS and entry is None):
            return None
        try:
            return run, entry, self._proposed(run, index, entry, action, query)
        except RightcallError as problem:
            return run, entry, str(problem)

    def _proposed(
        self, run: RunFolder, index: Index, entry: Entry | None, action: str, query: Mapping[str, str]
    ) -> Proposal:
        if entry is None:
            return self._editor.pin(run)
        result = index.recorded(entry)
        if action == "ignore":
            number = query.get("call", "")
            position = int(number) - 1 if number.isascii() and number.isdigit() and len(number) < 7 else -1
            expectation, argument = query.get("of", "")[:_LONGEST], query.get("argument", "")[:_LONGEST]
            return self._editor.ignore(run, result, expectation, position, argument)
        entries = _same_cause(index, entry) if query.get("scope") == "cause" else [entry]
        return self._editor.accept(run, [index.recorded(each) for each in entries])

    def write(self, proposal: Proposal) -> Written:
        """Write an edit, and remember it. Raises `RightcallError`."""
        self._editor.write(proposal.path, proposal.before, proposal.after)
        changed = sum([line[:1] in "+-" for line in proposal.lines[2:]])
        self._count += 1
        self.last = Written(self._count, proposal.path, proposal.before, proposal.after, changed)
        return self.last

    def undo(self) -> str:
        """Undo the last edit, and return its path. Raises `RightcallError`, also if there is none."""
        last = self.last
        if last is None:
            raise RightcallError("there is nothing to undo")
        self._editor.write(last.path, last.after, last.before)
        self.last = None
        return last.path


def _same_cause(index: Index, entry: Entry) -> list[Entry]:
    """Return the cases with the same cause in the list, each once, this one first."""
    cause = next((case.cause for case in index.cases() if case.row.case_id == entry.row.case_id), None)
    keys = [case.row.key for case in index.cases() if case.cause == cause and case.row.case_id != entry.row.case_id]
    found = [each for key in keys[: _MOST_CASES - 1] if (each := index.entry(key)) is not None]
    return [entry, *found]


def edit_page(
    session: EditSession,
    library: Library,
    name: str,
    action: str,
    key: str,
    query: Mapping[str, str],
    links: Links,
    note: str = "",
) -> tuple[str, Proposal | None] | None:
    """Render a proposed edit, and return it; `None` if its run or case does not exist."""
    found = session.proposal(library, name, action, key, query)
    if found is None:
        return None
    run, entry, made = found
    proposal = made if isinstance(made, Proposal) else None
    fields = [(field, query[field][:_LONGEST]) for field in ("scope", "of", "call", "argument") if query.get(field)]
    case_id = entry.row.case_id if entry is not None else ""
    title, sentence = _words(action, case_id, run.short_id, query)
    shown, left_out = diff_rows(_shown(proposal, library)) if proposal is not None else ((), 0)
    back = links.case(name, key) if entry is not None else links.run(name)
    page = EditPage(
        title=title,
        sentence=sentence,
        trail=(Crumb("Runs", links.runs()), Crumb(run.short_id, links.run(name)), Crumb(title)),
        path=proposal.path if proposal is not None else "",
        rows=shown,
        left_out=left_out,
        patch=_patch(proposal, library),
        notes=tuple([each for each in (note, *(proposal.notes if proposal is not None else ())) if each]),
        refusal=_refusal(made, note),
        scopes=_scopes(library, name, run, entry, key, query, links)
        if action == "accept" and entry is not None
        else (),
        action=links.act(name, action, key),
        fields=(("token", session.token), ("stamp", proposal.stamp if proposal is not None else ""), *fields),
        back=back,
    )
    return edit_html(page, links), proposal


def _words(action: str, case_id: str, run: str, query: Mapping[str, str]) -> tuple[str, str]:
    if action == "accept":
        return (
            "Accept this path",
            f"Expect from `{case_id}` what it did in this run. Nothing is written until you say so.",
        )
    if action == "ignore":
        argument = query.get("argument", "")[:80].replace("`", "")
        return "Ignore this argument", f"Do not look at `{argument}` of this call in `{case_id}` any more."
    return "Pin as baseline", f"Let gates compare with run `{run}`: `--gate FILE` names the file."


def _refusal(made: Proposal | str, note: str) -> str:
    if isinstance(made, str):
        return made
    return "" if made.lines else " ".join([note, *made.notes]) or "There is nothing to change."


def _shown(proposal: Proposal, library: Library) -> Sequence[str]:
    return [redacted_text(line) for line in proposal.lines] if library.redacts else proposal.lines


def _patch(proposal: Proposal | None, library: Library) -> str:
    """Return the edit to copy; empty if secrets were redacted in it, or it is long."""
    if proposal is None or len(proposal.lines) > 2_000:
        return ""
    lines = list(proposal.lines)
    return "\n".join(lines) + "\n" if lines == list(_shown(proposal, library)) else ""


def _scopes(
    library: Library, name: str, run: RunFolder, entry: Entry, key: str, query: Mapping[str, str], links: Links
) -> tuple[EditScope, ...]:
    count = len(_same_cause(library.index(name, run), entry))
    is_all = query.get("scope") == "cause"
    if count < 2 or entry.row.verdict == "passed":
        return ()
    return (
        EditScope("This case", links.act(name, "accept", key), not is_all),
        EditScope(f"All {count:,} with this cause", links.act(name, "accept", key, scope="cause"), is_all),
    )
