"""The results of a run, one line each, its spans beside them, and figures computed without decoding everything."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO

import msgspec

from rightcall.errors import InputError, StoreError
from rightcall.limits import DEFAULT_LIMITS
from rightcall.values.decoding import dump_json, dump_line, load_json
from rightcall.values.results import CaseResult, Totals, Verdict, without_details
from rightcall.values.statistics import Interval, cases_like_these, these_cases_again
from rightcall.values.trajectory import KeptSpans, RawSpan, spans_by_id

from ._header import Header, Seal, put_header, read_header
from ._run_files import Lines, SealedLines, os_errors_at
from ._summaries import JOURNAL_FILE

# An fsync takes milliseconds on a disk. A run with hundreds of cases per second would spend all its time waiting.
_SYNC_EVERY = 0.05
_REMOVED = "{}: another program removed this folder while the run lasted; nothing of the run is kept"
_CHANGED = (
    "{}: changed by another program while the run lasted; the results shown here are right, but cannot be read again"
)
FILE = "spans.jsonl"
_HEAD_END = b', "left_out": '
"""The text after the head of a line. No case id contains it, because its quotes would be escaped."""
_P95 = 0.95


class JournalEntry(msgspec.Struct, frozen=True):
    """One line of a journal: a result, and the digest of the case at that time."""

    digest: str
    result: CaseResult


class JournalLine(msgspec.Struct, frozen=True):
    """A line of a journal with its offsets (first byte, one past the last) and its number."""

    begin: int
    end: int
    number: int
    entry: JournalEntry
    mark: int = 0
    """A hash by which this process recognises the line when it reads it again."""


class Journal:
    """A journal that is open for writing, by one process at a time.

    Each line is written at once. `sync` flushes the file to disk and writes its seal, that is its length and its hash,
    to the header: after the writer has ended, only sealed lines count. A sync is due 50 ms after the last one. Sync
    before a result is printed.

    If the folder is removed meanwhile, results are still accepted, and can be read from here.

    Raises:
        StoreError: the file cannot be written, another process writes to it, or another program has changed it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines = Lines(folder / JOURNAL_FILE, alone=True)
        try:
            self.header = read_header(folder)
            """The current header in the folder."""
            self._lines.take_over(self.header.journal, is_final=self.header.finished is not None)
        except StoreError:
            self._lines.close()
            raise
        self._synced = monotonic()
        self._is_synced = False
        self._is_broken = False
        self._is_removed = False
        self.trouble: str | None = None
        """After closing, why the run cannot be read from its folder: another program changed or removed it."""

    def append(self, result: CaseResult, digest: str) -> None:
        """Add a result. If its line does not fit on the disk, nothing of it remains. Raises `StoreError`.

        A result that is too large to be read again is saved without its calls and details, with a warning.
        """
        line = _line(result, digest)
        # `decode_json` refuses longer strings, so a longer line could never be read again.
        if len(line) > DEFAULT_LIMITS.text_bytes:
            line = _line(_without_details(result, len(line)), digest)
        if self.header.finished is not None:  # the run continues: new lines must not look like changes by others
            self._put(msgspec.structs.replace(self.header, finished=None))
        self._lines.append(line)
        self._is_synced = False
        self.sync_if_due()

    def sync_if_due(self) -> bool:
        """Sync if the last sync is long enough ago, and return whether everything is on the disk now.

        Raises:
            StoreError: the disk refused.
        """
        if not self._is_synced and monotonic() - self._synced >= _SYNC_EVERY:
            self.sync()
        return self._is_synced

    def sync(self) -> None:
        """Flush everything so far to the disk, and seal it. Raises `StoreError`."""
        if self._is_synced or self._is_broken:
            return
        # After a failed fsync the next one may succeed although data was lost ("PostgreSQL's fsync() surprise",
        # https://lwn.net/Articles/752063/), so a journal whose sync failed stays broken.
        self._is_broken = True
        self._lines.sync()
        self._is_broken = False
        self._put(msgspec.structs.replace(self.header, journal=self._seal()))
        self._is_synced = True
        self._synced = monotonic()

    def close(self) -> None:
        """Flush everything to the disk, and close the file. Raises `StoreError`."""
        try:
            self._is_synced = False  # write the seal again, in case another program changed the header
            self.sync()
        finally:
            self._close()

    def replace_header(self, header: Header) -> None:
        """Replace the header in the folder, with the seal of this journal. Raises `StoreError`."""
        if not self._is_broken:
            self._put(msgspec.structs.replace(header, journal=self._seal()))

    def entries(self) -> Iterator[JournalEntry]:
        """Yield every line of this journal, even if its folder was removed. Raises `StoreError`."""
        if self.trouble is None:
            return read_journal(self._folder)
        return (_entry(load_json(line)) for line in self._lines.written())

    def _close(self) -> None:
        if self._is_broken or self._lines.is_as_written():
            self._lines.close()
            return
        # Keep the file open: after a removal, the descriptor is the only way to the data.
        is_removed = self._is_removed or not self._folder.exists()
        self.trouble = _REMOVED.format(self._folder) if is_removed else _CHANGED.format(self._lines.path)

    def results(self) -> Iterator[CaseResult]:
        """Yield the last result of every case and repeat. Raises `StoreError`."""
        return last_results(self.entries)

    def _seal(self) -> Seal:
        return Seal(self._lines.length, self._lines.sha256)

    def _put(self, header: Header) -> None:
        self.header = header
        if self._is_removed:
            return
        try:
            put_header(self._folder, header)
        except FileNotFoundError:
            self._is_removed = True
        except OSError:
            with os_errors_at(self._folder):
                raise


def read_journal(folder: Path) -> Iterator[JournalEntry]:
    """Yield the sealed results in a run's folder, in the order of writing.

    Without a seal, every complete line counts; an incomplete last line is left out.

    Raises:
        StoreError: the file cannot be read, a line in it is not a result, or another program has changed it, which is
            known only after the last line.
    """
    return (line.entry for line in JournalReader(folder).lines())


class JournalReader:
    """A reader of a run's journal that can continue as it grows."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / JOURNAL_FILE
        self._sealed = SealedLines(self._path)
        self._number = 0

    @property
    def end(self) -> int:
        """The offset behind the last line that was read."""
        return self._sealed.end

    def lines(self) -> Iterator[JournalLine]:
        """Yield the lines that were not read before. Raises `StoreError`, as `read_journal` does."""
        lines = sealed_lines(self._folder, self._sealed)
        for line in lines:
            self._number += 1
            with damage_reported_last(lines):
                found = _line_at(self._path, line, self._sealed.end - len(line), self._number)
            yield found


def sealed_lines(folder: Path, lines: SealedLines | None = None) -> Iterator[bytes]:
    """Yield the lines of a run's journal that count, as bytes. Raises `StoreError`.

    While a run is being written, lines that are not sealed yet count, too. Once its writer has ended they do not: they
    are the tail of a run that was killed, and any program may have written them.
    """
    header = read_header(folder)
    lines = lines or SealedLines(folder / JOURNAL_FILE)
    is_over = header.finished is not None
    return lines.read(header.journal, is_final=is_over, is_growing=not is_over and is_being_written(folder))


@contextmanager
def damage_reported_last(lines: Iterator[bytes]) -> Iterator[None]:
    """Read the remaining lines before reporting a damaged one: a change by another program is the better reason.

    Raises:
        StoreError: another program has changed the lines, or the error of the damaged one.
    """
    try:
        yield
    except StoreError:
        for _ in lines:
            continue
        raise


def read_lines(folder: Path, begin: int = 0, number: int = 0) -> Iterator[JournalLine]:
    """Yield the lines of a run's journal from an offset on, after `number` lines, up to the seal.

    This does not detect changes by other programs: for that, a journal has to be read from its beginning.

    Raises:
        StoreError: the file cannot be read, or a line in it is not a result.
    """
    path = folder / JOURNAL_FILE
    for number, line in enumerate(_lines_from(folder, begin), start=number + 1):  # noqa: B020 - it counts on
        yield _line_at(path, line, begin, number)
        begin += len(line)


def mark_at(folder: Path, begin: int) -> int | None:
    """Return the mark of the line at an offset of a run's journal; `None` if there is none. Raises `StoreError`."""
    line = next(_lines_from(folder, begin), None)
    return hash(line) if line is not None else None


def _lines_from(folder: Path, begin: int) -> Iterator[bytes]:
    path, header = folder / JOURNAL_FILE, read_header(folder)
    seal = None if header.finished is None and is_being_written(folder) else header.journal
    if not path.exists():
        return
    with os_errors_at(path), path.open("rb") as lines:
        lines.seek(begin)
        for line in lines:
            begin += len(line)
            if not line.endswith(b"\n") or (seal is not None and begin > seal.length):
                return
            yield line


def _line_at(path: Path, line: bytes, begin: int, number: int) -> JournalLine:
    try:
        return JournalLine(begin, begin + len(line), number, _entry(load_json(line)), hash(line))
    except InputError as problem:
        raise StoreError(
            f"{path}:{number}: this line is damaged ({problem}); remove it, and its case is run again"
        ) from None


def last_results(entries: Callable[[], Iterator[JournalEntry]]) -> Iterator[CaseResult]:
    """Yield the last result of each case and repeat, in the order of the journal. The entries are read twice.

    A case that was changed and run again in a resumed run has two lines, of which the second counts.
    """
    # Two passes over the file, so that only line numbers stay in memory and not results.
    last = {(entry.result.case_id, entry.result.repeat): number for number, entry in enumerate(entries())}
    for number, entry in enumerate(entries()):
        if last[entry.result.case_id, entry.result.repeat] == number:
            yield entry.result


def is_being_written(folder: Path) -> bool:
    """Return whether a process has the journal of a run open for writing; false if that cannot be found out."""
    import fcntl

    try:
        # O_NONBLOCK, because if the journal is a named pipe, opening it would wait for a writer.
        descriptor = os.open(folder / JOURNAL_FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        # A shared lock is refused only while the writer holds its exclusive one; `close` releases it (flock(2)).
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def _line(result: CaseResult, digest: str) -> bytes:
    return dump_line({"digest": digest, **result.to_plain()}) + b"\n"


def _without_details(result: CaseResult, size: int) -> CaseResult:
    found = f"too large to be kept whole ({size:,} bytes): its calls, its details and what was printed are left out"
    return msgspec.structs.replace(
        result,
        trajectory=None,
        results=tuple([without_details(each) for each in result.results]),
        outcome=msgspec.structs.replace(result.outcome, stdout="", stderr="") if result.outcome is not None else None,
        warnings=(found,),
    )


def _entry(fields: Any) -> JournalEntry:
    if not isinstance(fields, dict) or not isinstance(digest := fields.pop("digest", None), str):
        raise InputError("not a line of a run's journal")
    return JournalEntry(digest, CaseResult.from_plain(fields))


class RunSpans(Mapping[str, RawSpan]):
    """The spans of one run of a case by id, in the order of recording."""

    def __init__(self, spans: Mapping[str, RawSpan], left_out: int = 0) -> None:
        self._spans = spans
        self.left_out = left_out
        """The number of spans that were left out: they did not fit, or could not be encoded."""

    def __getitem__(self, span_id: str) -> RawSpan:
        return self._spans[span_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)


class SpanFile:
    """The file with the spans of a run. Only the process that holds the journal writes to it.

    Each line is written at once, without fsync: no verdict depends on spans.

    Raises:
        StoreError: the file cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._lines = Lines(folder / FILE)
        self._lines.take_over(None)

    def append(self, case_id: str, repeat: int, spans: KeptSpans) -> None:
        """Append the spans of one run of a case; if there are several lines, the last one counts.

        Raises:
            StoreError: they do not fit on the disk. Then nothing of them is written.
            InputError: they cannot be written as one line.
        """
        spans.check()
        rest = f'{spans.left_out}, "spans": {spans.text}}}\n'.encode()
        self._lines.append(_head(case_id, repeat) + _HEAD_END + rest)

    def close(self) -> None:
        """Close the file."""
        self._lines.close()


def has_spans(folder: Path) -> bool:
    """Return whether there are spans in a run's folder."""
    return (folder / FILE).exists()


class SpanIndex:
    """An index of the spans of each case in a run's file, extended when the file has grown.

    A line is decoded when its spans are requested. An incomplete last line is left out. A missing file has no spans,
    and may appear later. Several threads may use one index.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._places: dict[bytes, int] = {}
        self._end = 0

    def spans(self, case_id: str, repeat: int = 0) -> RunSpans:
        """Return the spans of one run of a case; empty if there are none.

        Raises:
            StoreError: the file cannot be read, or the line is damaged.
        """
        if not self._path.exists():
            return RunSpans({})
        with os_errors_at(self._path), self._path.open("rb") as file:
            self._extend(file)
            place = self._places.get(_head(case_id, repeat))
            if place is None:
                return RunSpans({})
            file.seek(place)
            line = file.readline(DEFAULT_LIMITS.text_bytes + 1)
        try:
            return _read(load_json(line), case_id)
        except InputError as problem:
            raise StoreError(f"{self._path}: the line of {case_id!r:.80} is damaged ({problem}); remove it") from None

    def _extend(self, file: BinaryIO) -> None:
        """Index the lines that were added; if a case has several, the last one counts."""
        if os.fstat(file.fileno()).st_size < self._end:  # the file was replaced
            self._places, self._end = {}, 0
        end = self._end
        file.seek(end)
        for line in file:
            if not line.endswith(b"\n"):
                break
            length = line.find(_HEAD_END)
            if length > 0:
                self._places[line[:length]] = end
            end += len(line)
        self._end = end


def _head(case_id: str, repeat: int) -> bytes:
    """Return the beginning of a line, which identifies the case and the repeat."""
    try:
        name = msgspec.json.encode(case_id)
    except UnicodeEncodeError:  # a lone surrogate
        name = dump_json(case_id).encode()
    return b'{"case_id": %b, "repeat": %d' % (name, repeat)


def _read(fields: Any, case_id: str) -> RunSpans:
    fields = fields if isinstance(fields, dict) else {}
    left_out, items = fields.get("left_out"), fields.get("spans")
    if fields.get("case_id") != case_id or not isinstance(left_out, int) or not isinstance(items, list):
        raise InputError("not the spans of a case")
    spans, others = spans_by_id(items)
    return RunSpans(spans, left_out + others)


class RunFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a run: the trials of each case, and means over trials. `None` means not recorded."""

    trials: Mapping[str, Totals]
    interval: Interval | None = None
    """The interval of the pass rate for cases like these; if there is only one case, for that case."""
    failing: tuple[str, ...] = ()
    """The cases that failed in some trial."""
    calls: float | None = None
    """Mean number of calls per trial."""
    errors: float | None = None
    """The share of calls that failed."""
    p95: float | None = None
    """The 95th percentile of the duration of trials, in seconds."""
    tokens: float | None = None
    """Mean input and output tokens per trial."""

    @property
    def weight(self) -> int:
        """The memory it takes, measured in cases."""
        return 1 + len(self.trials)


class _Call(msgspec.Struct):
    error: str | None = None


class _Usage(msgspec.Struct):
    duration_ns: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Path(msgspec.Struct):
    calls: list[_Call] = []
    usage: _Usage | None = None


class _Outcome(msgspec.Struct):
    seconds: float = 0.0


class _Line(msgspec.Struct):
    case_id: str
    repeat: int
    verdict: Verdict
    trajectory: _Path | None = None
    outcome: _Outcome | None = None

    @property
    def seconds(self) -> float | None:
        if self.outcome is not None:
            return self.outcome.seconds
        usage = self.trajectory.usage if self.trajectory is not None else None
        return usage.duration_ns / 1e9 if usage is not None and usage.duration_ns is not None else None

    @property
    def tokens(self) -> int | None:
        usage = self.trajectory.usage if self.trajectory is not None else None
        known = [count for count in (usage.input_tokens, usage.output_tokens) if count is not None] if usage else []
        return sum(known) if known else None


def read_figures(folder: Path, left_out: Mapping[str, object] | None = None) -> RunFigures:
    """Return the figures of a run, without cases in `left_out`.

    Raises:
        StoreError: the journal cannot be read, or another program has changed it.
    """
    # Decode only these fields: with large outputs, that takes a fifth of the time.
    decoder = msgspec.json.Decoder(_Line)
    found: dict[tuple[str, int], _Line] = {}
    lines = sealed_lines(folder)
    for number, line in enumerate(lines, start=1):
        with damage_reported_last(lines):
            try:
                trial = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as problem:
                from rightcall.errors import StoreError

                raise StoreError(f"{folder / JOURNAL_FILE}:{number}: this line is damaged ({problem})") from None
        if trial.case_id not in (left_out or {}):
            found[trial.case_id, trial.repeat] = trial
    return _figures(list(found.values()))


def _figures(trials: list[_Line]) -> RunFigures:
    verdicts: dict[str, list[Verdict]] = {}
    for trial in trials:
        verdicts.setdefault(trial.case_id, []).append(trial.verdict)
    paths = [trial.trajectory.calls for trial in trials if trial.trajectory is not None]
    calls = sum(map(len, paths))
    failed = sum([call.error is not None for path in paths for call in path])
    seconds = sorted([each for each in [trial.seconds for trial in trials] if each is not None])
    tokens = [each for each in [trial.tokens for trial in trials] if each is not None]
    counts = {case_id: Totals.of(found) for case_id, found in verdicts.items()}
    measured = [each.measured for each in counts.values()]
    return RunFigures(
        trials=counts,
        interval=cases_like_these(measured) or these_cases_again(measured),
        failing=tuple([case_id for case_id, each in counts.items() if each.failed]),
        calls=calls / len(paths) if paths else None,
        errors=failed / calls if calls else None,
        p95=seconds[min(len(seconds) - 1, int(_P95 * len(seconds)))] if seconds else None,
        tokens=sum(tokens) / len(tokens) if tokens else None,
    )
