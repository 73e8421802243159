"""The front door of reading: files, bytes, spans or messages in, trajectories out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from rightcall.errors import InputError, UnknownNameError, kind_of, nearest, shown
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values.decoding import admit
from rightcall.values.trajectory import Trajectory

# `messages` and `runs` import what reads messages and builds runs when it is first used: simple runs need neither, and
# both are a fiftieth of the instructions of `rightcall score`.
from . import formats, messages, runs
from .messages._log import Log
from .runs._input_output import GivenLog, Kept
from .runs._notes import Recognised, Warnings
from .runs._simple_runs import live_runs
from .runs._traces import GROUPINGS, Grouping
from .sources._document_reader import DocumentReader, is_large, opened
from .sources._run_collector import RunCollector, checked_messages
from .spans._span import CASE, LogRecord, Span

if TYPE_CHECKING:
    from .sources._large_file import LargeFile

METADATA = (CASE,)
"""Attributes of spans that are copied to a trajectory's metadata by default."""
_KEPT = Kept(METADATA)

Source = str | os.PathLike[str] | bytes | IO[bytes] | Mapping[str, Any] | Sequence[Any]


def read(
    source: Source,
    *,
    input_format: str | None = None,
    grouping: Grouping = "auto",
    max_size: int | None = None,
    metadata_attributes: tuple[str, ...] = METADATA,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[Trajectory]:
    """Read the trajectories in a source: a path, bytes, a file object, or a document already decoded.

    The format is detected from the content, never from a file name: OTLP as JSON or protobuf, spans of the
    OpenTelemetry SDK, Zipkin, Jaeger, Tempo, Phoenix, MLflow, OpenAI Agents, or a log of messages; plain or compressed
    with gzip or zstd. A list of paths or bytes is read as one source, so log records and spans may be in two files.

    Args:
        source: What to read.
        input_format: One of `INPUT_FORMATS`, to override detection.
        grouping: What makes a run: `trace`, `conversation`, `session` or `file`. By default traces of one
            conversation or session are one run.
        max_size: The most bytes to read, decompressed; no limit by default.
        metadata_attributes: Attributes of spans to copy to each trajectory's metadata.
        limits: The budgets for what is decoded.

    Raises:
        InputError: the source is missing, of an unknown format, or exceeds a limit.
        UnknownNameError: `input_format` or `grouping` is unknown.
        MissingExtraError: the format needs a package that is not installed.
    """
    reading = Reading(
        input_format=input_format,
        grouping=grouping,
        max_size=max_size,
        metadata_attributes=metadata_attributes,
        limits=limits,
    )
    return reading.read(source)


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How files are read. A command makes one, and passes it on whole: to readers, to workers, to other machines."""

    input_format: str | None = None
    """One of `INPUT_FORMATS`; by default the content decides."""
    grouping: Grouping = "auto"
    case_attribute: str = CASE
    """The attribute of spans, or key of a log, that has the id of a case; one of those that are kept."""
    metadata_attributes: tuple[str, ...] = METADATA
    """Attributes of spans, and keys of logs, that are kept in the metadata, because something needs them."""
    max_size: int | None = None
    """The most bytes to read of a file, unpacked."""
    calls_alone: bool = False
    """Whether inputs, outputs and usage of runs are left out, because nothing needs them."""
    limits: Limits = DEFAULT_LIMITS
    """The budgets for what is decoded; they say how much is kept of messages, too."""

    def read(self, source: Source, recognised: Recognised | None = None) -> Iterator[Trajectory]:
        """Return the trajectories in a source, and note which formats were recognised. Raises as `read` does."""
        if self.input_format is not None and self.input_format not in formats.INPUT_FORMATS:
            hint = nearest(self.input_format, formats.INPUT_FORMATS)
            raise UnknownNameError(f"no input format {self.input_format!r:.80}; {hint}")
        if self.grouping not in GROUPINGS:
            raise UnknownNameError(f"no grouping {self.grouping!r:.80}; {nearest(str(self.grouping), GROUPINGS)}")
        kept, warnings = Kept(self.metadata_attributes, not self.calls_alone), Warnings(recognised or Recognised())
        # A limit counts bytes as they come; a large file is read twice, and not in order.
        if self.max_size is None and self.input_format in (None, "otlp") and is_large(source):
            from .sources._large_file import large_file

            large = large_file(source, self.grouping, kept, self.limits)
            if large is not None:
                warnings.recognised.formats.setdefault("otlp")
                return large.trajectories()
        gathered = RunCollector(self.grouping, kept, self.limits)
        name = _gather(source, gathered, warnings, self.input_format, self.max_size, self.limits)
        return gathered.trajectories(name, warnings)

    def large_file(self, path: str, parts: int, each: Callable[..., Iterable[Any]]) -> LargeFile | None:
        """Return a large file in blocks that several processes can read; see `large_file`. Raises `InputError`."""
        if self.max_size is not None or self.input_format not in (None, "otlp"):
            return None
        from .sources._large_file import large_file

        kept = Kept(self.metadata_attributes, not self.calls_alone)
        return large_file(path, self.grouping, kept, self.limits, parts=parts, each=each)


def read_spans(
    spans: Iterable[Any],
    *,
    messages: Any = None,
    metadata_attributes: tuple[str, ...] = METADATA,
    limits: Limits = DEFAULT_LIMITS,
) -> Trajectory:
    """Read spans as one trajectory: objects of the OpenTelemetry SDK, or dicts of any container.

    All spans belong to one run. Without spans, or with spans that record no call, the trajectory has no calls. A log of
    `messages` of the same run adds what the spans did not record, and calls that no span shows.

    Raises:
        InputError: an item is not a span, or the messages are of an unknown format.
    """
    if isinstance(spans, (str, bytes)) or not isinstance(spans, Iterable):
        raise InputError(f"spans are a list of spans, not {shown(spans)}")
    if messages is None:
        return _read_alone(spans, Kept(metadata_attributes), limits)
    run = runs.RunBuilder(limits, Kept(metadata_attributes))
    _add_spans(run, spans, limits)
    run.log = _checked_log(messages, limits)
    return run.trajectory()


def _read_alone(spans: Iterable[Any], kept: Kept, limits: Limits, tools_are_seen: bool = False) -> Trajectory:
    """Read spans that are all that was recorded. SDK spans that are all plain calls do not need the builder."""
    given = list(spans)
    direct = live_runs(limits, kept).trajectory_of(given)
    if direct is not None:
        return direct
    run = runs.RunBuilder(limits, kept, tools_are_seen)
    _add_spans(run, given, limits)
    return run.trajectory()


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """The recording of one turn."""

    spans: Iterable[Any] = ()
    """Objects of the OpenTelemetry SDK, or dicts of any container."""
    messages: Any = None
    """A log of messages: those of the turn, or all of the conversation so far."""
    documents: Sequence[bytes] = ()
    """Traces or logs of messages, as bytes."""
    asked: Any = None
    """What the agent was asked."""


def read_turns(
    turns: Sequence[Turn],
    *,
    is_conversation: bool = True,
    tools_are_seen: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Trajectory:
    """Read one run that was recorded turn by turn.

    A call that a later turn repeats, in a prompt or in a log of the conversation so far, is counted in the turn that
    made it, or not at all if it was made before the run.

    Args:
        turns: The recordings, in order.
        is_conversation: Whether each recording is a turn. If not, there is one recording, and its content decides.
        tools_are_seen: Whether tools are traced, so that no tool span means no call.
        limits: The budgets for what is decoded.

    Raises:
        InputError: an item is not a span, or messages or documents are of an unknown format.
    """
    if len(turns) == 1 and not (is_conversation or turns[0].messages is not None or turns[0].documents):
        return _read_alone(turns[0].spans, _KEPT, limits, tools_are_seen)
    run = runs.RunBuilder(limits, _KEPT, tools_are_seen)
    warnings = Warnings()
    for number, turn in enumerate(turns):
        place, asked = number if is_conversation else None, messages.given_in(turn.asked)
        _add_spans(run, turn.spans, limits)
        logs = [] if turn.messages is None else [_checked_log(turn.messages, limits)]
        if turn.documents:
            gathered = RunCollector("file", _KEPT, limits)
            name = _gather(list(turn.documents), gathered, warnings, None, None, limits)
            spans, records, others = gathered.everything(name, warnings)
            run.spans += spans
            run.logs += records
            logs += others
        for log in logs:
            run.given_logs.append(GivenLog(log, place, asked if isinstance(asked, str) else None))
        if is_conversation:
            run.end_turn()
    return run.trajectory(warnings.texts())


def read_messages(messages: Any, *, limits: Limits = DEFAULT_LIMITS) -> Trajectory:
    """Read a log of messages of any known format: OpenAI, Anthropic, Gemini, LangChain and others.

    Messages are plain values, or the objects that SDKs return.

    Raises:
        InputError: these are not messages of a known format.
    """
    run = runs.RunBuilder(limits)
    run.log = _checked_log(messages, limits)
    return run.trajectory()


def _checked_log(messages: Any, limits: Limits) -> Log:
    from .messages._log_splitter import logs_in

    logs, _ = logs_in([admit(messages, limits, where="messages", foreign=True, opened=True)])
    if len(logs) > 1:
        raise InputError(
            f"messages holds {len(logs):,} conversations, and this takes one; read all of them with read(…)"
        )
    if not logs:
        raise InputError("messages holds no conversation")
    if not logs[0].format:
        checked_messages(logs[0].messages, "messages")
    return logs[0]


def _gather(
    source: Any,
    gathered: RunCollector,
    warnings: Warnings,
    input_format: str | None,
    max_size: int | None,
    limits: Limits,
) -> str:
    # OTLP exports logs and traces as two signals, so one run is often in two files.
    if isinstance(source, (list, tuple)) and source and all(isinstance(item, (str, Path, bytes)) for item in source):
        names = [_gather(item, gathered, warnings, input_format, max_size, limits) for item in source]
        return ", ".join(names[:3])
    if isinstance(source, (Mapping, list, tuple)):
        # `opened`: the responses of SDKs are pydantic models and dataclasses.
        document = admit(source, limits, where="the document", foreign=True, opened=True)
        gathered.add(formats.items_of(document, input_format))
        return "the document"
    if not isinstance(source, (str, bytes, bytearray, memoryview, os.PathLike)) and not hasattr(source, "read"):
        raise InputError(f"{kind_of(source)} cannot be read; give a path, bytes, a file or a document")
    with opened(source, max_size) as (name, stream):
        try:
            for batch in DocumentReader(name, limits, warnings, gathered.budget, input_format).batches(stream):
                gathered.add(batch)
        except OSError as problem:
            raise InputError(f"{name}: {problem.strerror or problem}") from None
    return name


def _add_spans(run: runs.RunBuilder, spans: Iterable[Any], limits: Limits) -> None:
    for position, span in enumerate(spans):
        # Spans of the SDK are read as they are: `admit` would copy each attribute.
        if span.__class__ is Span:
            run.add(span)
        elif formats.is_live_span(span):
            run.add(formats.live_span(span))
        else:
            _add_documents(run, admit(span, limits, where=f"spans[{position}]", foreign=True), position)


def _add_documents(run: runs.RunBuilder, document: Any, position: int) -> None:
    for item in formats.items_of(document):
        if isinstance(item, Span):
            run.add(item)
        elif isinstance(item, LogRecord):
            run.logs.append(item)
        else:
            raise InputError(f"spans[{position}] is {kind_of(document)} and not a span of a known container")
