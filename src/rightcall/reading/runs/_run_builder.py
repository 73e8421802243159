"""Build the trajectory of one run from its spans, log records and messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading.conventions import CONVENTIONS, CallShape, Role, reads_like_error
from rightcall.reading.messages import IN_CODE, OPEN, Exchange, Log, Requests, exchanges_of
from rightcall.reading.spans import (
    NOTHING,
    USUAL_LIMITS,
    CallRecord,
    LogRecord,
    Span,
    cut_lengths,
    is_cut,
    is_incomplete,
    is_replaced,
)
from rightcall.values.trajectory import NOT_UNDERSTOOD, NOT_UNDERSTOOD_NOTE, Message, ToolCall, Trajectory
from rightcall.version import SCOPE

from ._calls import (
    group_by_time,
    join,
    may_be_seen_twice,
    ordered,
    part_siblings,
    unsettled,
    without_duplicates,
)
from ._conversations import Conversations, first_in_other_turn, stop_in_log
from ._input_output import GivenLog, Kept, asked_and_answered, asked_and_answered_in, run_metadata
from ._notes import NotUnderstood, Warnings
from ._own_calls import (
    agents_in,
    asked_before,
    is_internal,
    made_and_withheld,
    withheld_call,
    withhold_waiting,
    without_questions,
)
from ._span_calls import NO_MESSAGE, read_span, take_moved, with_torn
from ._span_tree import ReadSpan, Tree, once_each
from ._tokens import usage_of
from ._turns import Turns, turns_in

_SETTINGS = {convention.name: convention.setting for convention in CONVENTIONS}
_NOTHING: frozenset[str] = frozenset()
_NO_LENGTHS: frozenset[int] = frozenset()
_KEPT = Kept()
_PARENT = frozenset({"parent_id"})
_INTERNAL = frozenset({"internal"})
_CUT = "seems to have been cut off; it counts as not recorded"
_UNREADABLE = "are not an object, neither as JSON nor as a Python literal; they count as not recorded"

NO_TOOL_DATA = (
    "no tool data in this trace: neither tool spans nor messages of the model were recorded; "
    "mark the agent's tools with @rightcall.tool, or record the spans of its framework"
)
"""The warning about a trace that cannot show calls, as opposed to one that shows there were none."""


_UNANSWERED = "the answer of a model was not recorded, so it is not known which calls it asked for"
_INCOMPLETE = (
    "the SDK dropped attributes or events of spans, which may have shown calls; "
    "to record them: OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT and OTEL_SPAN_EVENT_COUNT_LIMIT"
)
_DOUBTFUL = (
    "calls in this trace may be of an earlier turn or of this one: they are before the last message of the user, and "
    "what the model answered was not recorded"
)


class RunBuilder:
    """Collects everything recorded about one run, and builds the trajectory."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, kept: Kept = _KEPT, tools_are_seen: bool = False) -> None:
        self.spans: list[ReadSpan] = []
        self.logs: list[LogRecord] = []
        self.log = Log()
        self.given_logs: list[GivenLog] = []
        """Logs of messages that an agent returned."""
        self.beside = ""
        """A description of what else in the source may belong to the run; empty if nothing."""
        self.conventions: dict[str, None] = {}
        """The conventions of spans and formats of messages by which calls were read; set by `trajectory`."""
        self._turns: list[list[ReadSpan]] = []
        self._limits = limits
        self._kept = kept
        self._tools_are_seen = tools_are_seen
        """Whether tools are traced, so that no tool span means no call."""
        self._warnings = Warnings()
        self._requests = Requests()
        self._said_in_log: list[Exchange] = []
        """The exchanges of the log that was read last."""
        self._stops_in_logs: list[tuple[int | None, str]] = []
        """For each log, its turn and a description of the first message that stopped to call a tool but has no call."""
        self._not_understood = NotUnderstood(self._warnings)

    def trajectory(self, extra_warnings: Iterable[str] = ()) -> Trajectory:
        """Build the trajectory of the run."""
        spans = once_each(self.spans)
        self._take_moved(spans)
        self._not_understood.note(self.beside)
        metadata = run_metadata(self.log, spans, self._kept.attributes)
        records, doubtful, roles = _classified(spans)
        tree = Tree(spans, roles, _in_doubt(spans, doubtful))
        records = _placed(records, tree, roles)
        self._not_understood.note_twins(records, spans)
        # Turns come before requests: a request without an id is identified by its turn.
        conversations = Conversations(spans, roles, self.logs)
        at_work = with_torn(spans, roles)
        turns = self._given_turns() or turns_in(spans, at_work, tree, conversations.of)
        records, unseen = self._complete(spans, records, turns, tree, conversations)
        self._not_understood.note_asked(withhold_waiting([*records, *unseen], spans, roles, conversations, tree))
        self._note_continued(records, spans, roles)
        asked = self._asked_and_answered(spans, at_work, turns, tree, conversations)
        are_turns_known = turns.is_known and not self._requests.are_turns_doubtful
        calls, withheld = made_and_withheld(_by_turn(ordered([*records, *unseen]), turns, are_turns_known))
        self._not_understood.note_spans(doubtful, [*calls, *withheld])
        self.conventions = _conventions_of(calls, self.log)
        self._note_stops(bool(records), [*calls, *withheld], turns, conversations)
        if not withheld and all([call.format == IN_CODE for call in calls]):
            self._not_understood.note_silence([said.log for said in self._all_logs()])
        group_by_time(calls)
        calls, asked = self._without_lost(calls, asked, spans)
        self._note_missing(calls)
        tool_data = metadata["tool_data"] = self._tool_data(bool(records), bool(unseen))
        is_recorded = tool_data != "none" and self._shows_all_turns(turns, tool_data, spans)
        self._note_in_metadata(metadata, records)
        return Trajectory(
            calls=self._tool_calls(calls, spans, roles),
            input=asked[0][0],
            output=asked[-1][1],
            trace_id=next((span.trace_id for span in spans if span.trace_id), self.log.id),
            metadata=metadata,
            warnings=(*self._warnings.texts(), *extra_warnings),
            unordered=unsettled(calls, in_log=not spans and self._is_told_in_order()),
            turn_inputs=tuple([given for given, _ in asked]) if len(asked) > 1 else (),
            turn_outputs=tuple([returned for _, returned in asked]) if len(asked) > 1 and are_turns_known else (),
            calls_recorded=is_recorded and not self._not_understood.first,
            withheld=tuple([withheld_call(record) for record in withheld]),
            usage=usage_of(spans, at_work) if self._kept.about_runs else None,
            messages=self._said(spans, roles, tree, turns, conversations, calls) if self._limits.messages_text else (),
        )

    def add(self, span: Span) -> None:
        """Add a span."""
        self.spans.append(read_span(span, self._limits, self._kept.attributes))

    def end_turn(self) -> None:
        """End a turn. All spans added since the end of the last turn belong to it."""
        self._turns.append(self.spans[sum(map(len, self._turns)) :])

    def _note_in_metadata(self, metadata: dict[str, Any], records: list[CallRecord]) -> None:
        """Note in the metadata what was not understood, and which instrumentations recorded calls."""
        if self._not_understood.first:
            metadata[NOT_UNDERSTOOD] = self._not_understood.first
            self._warnings.add("calls", f"{NOT_UNDERSTOOD_NOTE}{self._not_understood.first}")
        if records:
            metadata["instrumentation"] = sorted({layer for record in records for layer in record.layers})

    def _said(
        self,
        spans: list[ReadSpan],
        roles: Mapping[int, Role],
        tree: Tree,
        turns: Turns,
        conversations: Conversations,
        calls: list[CallRecord],
    ) -> tuple[Message, ...]:
        from ._run_messages import Recorded, messages_of  # imported late: most traces are scored, and not shown

        return messages_of(Recorded(spans, roles, tree, turns, conversations, self._all_logs(), calls), self._limits)

    def _tool_calls(
        self, calls: list[CallRecord], spans: list[ReadSpan], roles: Mapping[int, Role]
    ) -> tuple[ToolCall, ...]:
        agents = agents_in(spans, roles, calls, [said.log for said in self._all_logs()])
        return tuple([_tool_call(record, agents) for record in calls])

    def _given_turns(self) -> Turns | None:
        if not self._turns:
            return None
        given = {id(span): turn for turn, spans in enumerate(self._turns) for span in spans}
        return Turns(count=len(self._turns), given=given)

    def _take_moved(self, spans: list[ReadSpan]) -> None:
        """Give calls the content that is in log records of their spans."""
        moved = {(each.trace_id, each.span_id): each.body for each in self.logs if isinstance(each.body, Mapping)}
        for span in spans if moved else ():
            if body := moved.get((span.trace_id, span.span_id)):
                take_moved(span, body, self._limits)

    def _all_logs(self) -> list[GivenLog]:
        return [*self.given_logs, GivenLog(self.log)] if self.log else self.given_logs

    def _is_told_in_order(self) -> bool:
        """Whether no turn has several logs: one log has its calls in order, but two are not ordered."""
        turns = [said.turn for said in self._all_logs()]
        return not self.logs and len(turns) == len(set(turns))

    def _complete(
        self, spans: list[ReadSpan], records: list[CallRecord], turns: Turns, tree: Tree, conversations: Conversations
    ) -> tuple[list[CallRecord], list[CallRecord]]:
        """Assign calls to turns, fill their gaps, and return the calls of spans, and those that are only in messages.

        Messages are read even if calls have no gaps: turns and groups must not depend on what else was recorded.
        """
        # Calls of a run with one turn have no turn number, unless turns were recorded one by one: then it is 0.
        if turns.count > 1 or self._turns:
            for record in records:
                record.turn = turns.of(record.span) if record.span else None
        said = self._all_logs()
        # If only calls were recorded, there are no messages to read.
        if not said and not self.logs and len(records) == len(spans):
            records, unsure = without_questions(records, self._requests)
            self._not_understood.note_asked(unsure)
            return records, []
        conversations.add_to(self._requests, turns, tree, self._not_understood)
        conversations.take_states(self._requests)
        self._requests.withhold_refused()
        for each in said:
            self._read_log(each)
        self._requests.take_edits()
        unasked = self._requests.first_unasked() if not records else None
        self._not_understood.note_strays([unasked] if unasked else [], "trace")
        records, unsure = without_questions(records, self._requests)
        self._not_understood.note_asked(unsure)
        unseen = join(records, self._requests) if self._requests.known else []
        part_siblings(records)
        self._not_understood.note_nameless([record for record in self._requests.made if not record.joined])
        unseen = [record for record in unseen if record.name]
        self._not_understood.note_failed(conversations.withhold_failed(unseen))
        if any([each.log.nested == OPEN for each in said]) and any([record.is_open for record in unseen]):
            self._not_understood.note(OPEN)
        for record in unseen:
            context = self._requests.contexts.get(id(record))
            record.parent = context if isinstance(context, CallRecord) else None
            record.is_parent_known = record.is_parent_known or record.parent is not None
        return records, unseen

    def _asked_and_answered(
        self,
        spans: list[ReadSpan],
        roles: Mapping[int, Role],
        turns: Turns,
        tree: Tree,
        conversations: Conversations,
    ) -> list[tuple[Any, Any]]:
        """Return the question and the answer of each turn."""
        if not self._kept.about_runs:
            return [(None, None)]
        said = self._all_logs()
        if not spans and len(said) == 1:
            return asked_and_answered_in(said[0].log.messages, self._said_in_log)
        if not spans and not said:
            return [conversations.asked_and_answered()]
        if turns.count == 1:
            return [asked_and_answered(spans, roles, tree, self.logs)]
        told = [asked_and_answered(part, roles, tree, self.logs) for part in turns.parted(spans)]
        at_work = [span for span in spans if id(span) in roles and tree.at_work_around(span) is None]
        is_first, is_last = turns.are_ends_sure(at_work)
        told[0] = (told[0][0] if is_first else None, told[0][1])
        told[-1] = (told[-1][0], told[-1][1] if is_last else None)
        return told

    def _read_log(self, said: GivenLog) -> None:
        """Read a log of messages, and its snapshots."""
        log, requests = said.log, self._requests
        self._not_understood.note(log.nested if log.nested != OPEN else "")
        requests.strays.clear()
        exchanges = self._said_in_log = exchanges_of(log.messages)
        self._not_understood.note_messages(exchanges)
        self._stops_in_logs.append((said.turn, stop_in_log(exchanges)))
        requests.add_log(exchanges, said.turn, said.asked)
        told = len(requests.known) if log.messages else None
        for messages in log.snapshots:
            repeated = exchanges_of(messages)
            self._not_understood.note_messages(repeated)
            requests.add_log(repeated, max(requests.heard, default=None) if log.messages else said.turn, said.asked)
        for record in requests.known[told:] if told is not None else ():
            record.order = -1  # its position among the requests of the messages is not known
        self._not_understood.note_strays(requests.strays, said=exchanges)

    def _note_continued(self, records: list[CallRecord], spans: list[ReadSpan], roles: Mapping[int, Role]) -> None:
        """Note a call that was requested before the run began, in traces that record messages of models."""
        if self._requests.saw_messages:
            models = [span.start_ns for span in spans if roles.get(id(span)) == "model"]
            self._not_understood.note_continued(asked_before(records, models))

    def _note_stops(
        self, has_records: bool, known: Iterable[CallRecord], turns: Turns, conversations: Conversations
    ) -> None:
        """Note models that stopped to call a tool, but whose calls were not recorded.

        If calls come from tool spans or a log, it is enough that the turn of such a model has any call: tools that give
        the answer, or that run elsewhere, have no span. If calls come from messages in spans, each such answer must
        have a call of its own.
        """
        told = {turns.of(each.span) if each.span else each.turn or 0 for each in known if each.format != IN_CODE}
        is_told_elsewhere = has_records or bool(self._stops_in_logs)
        stop = first_in_other_turn(conversations.stops, told) if is_told_elsewhere else conversations.unshown
        self._not_understood.note(stop.told if stop else "")
        for turn, what in self._stops_in_logs:
            is_known = has_records and (bool(told) if turn is None else turn in told)
            self._not_understood.note("" if is_known else what)

    def _tool_data(self, has_records: bool, has_unseen: bool) -> str:
        if has_records or self._tools_are_seen:
            return "messages" if has_unseen and not has_records else "spans"
        if self._requests.is_doubtful:
            self._warn_of_gap(_DOUBTFUL)
            return "none"
        if has_unseen or self._requests.saw_messages:
            return "messages"
        self._warn_of_gap(_INCOMPLETE if self._is_incomplete() else NO_TOOL_DATA)
        return "none"

    def _shows_all_turns(self, turns: Turns, tool_data: str, spans: list[ReadSpan]) -> bool:
        """Whether calls of each turn, and of each answer of a model, would have been recorded, in spans or messages."""
        if tool_data == "messages" and self._is_incomplete():
            self._warn_of_gap(_INCOMPLETE)
            return False
        if tool_data == "messages" and self._requests.is_unanswered:
            self._warn_of_gap(_UNANSWERED)
            return False
        if turns.count == 1 or self._tools_are_seen:
            return True
        shown = {turns.of(span) for span in spans} if tool_data == "spans" else set()
        silent = [turn for turn in range(turns.count) if turn not in shown | self._requests.heard]
        if silent:
            self._warn_of_gap(f"turn {silent[0] + 1}: neither tool spans nor messages were recorded")
        return not silent

    def _is_incomplete(self) -> bool:
        """Whether something was dropped of a span."""
        return any([is_incomplete(span.attributes) for span in self.spans])

    def _warn_of_gap(self, text: str) -> None:
        """Warn that calls were not recorded, unless something was not understood: that warning says more."""
        if not self._not_understood.first:
            self._warnings.add("tool data", text)

    def _without_lost(
        self, calls: list[CallRecord], asked: list[tuple[Any, Any]], spans: list[ReadSpan]
    ) -> tuple[list[CallRecord], list[tuple[Any, Any]]]:
        """Return calls, questions and answers without what was cut off or replaced.

        A log of messages holds what a tool returned, whole.
        """
        if not spans and not self.logs:
            return calls, asked
        exported = [record for record in calls if not self._is_own(record)]
        told = [*[record.output for record in exported], *[returned for _, returned in asked]]
        usual = _NO_LENGTHS if self._tools_are_seen else USUAL_LIMITS
        cut_at = [record.cut_at for record in exported if record.cut_at]
        cut = cut_lengths(told, [span.attributes for span in spans], cut_at, usual)
        for record in exported:
            self._forget_lost(record, cut)
        asked = [
            (
                self._unless_cut("a question", given, _ends_at(cut, given) or is_cut(given)),
                self._unless_cut("an answer", returned, _ends_at(cut, returned)),
            )
            for given, returned in asked
        ]
        return self._without_cut_names(calls, cut) if cut else calls, asked

    def _is_own(self, record: CallRecord) -> bool:
        """Whether Rightcall itself recorded a call just now, in a span of its own: nothing cut that off."""
        return self._tools_are_seen and record.span is not None and record.span.scope == SCOPE

    def _forget_lost(self, record: CallRecord, cut: frozenset[int]) -> None:
        """Forget the output, agent and error of a call if they were replaced, or end where texts were cut off."""
        output = record.output
        if _ends_at(cut, output):
            record.output, record.has_lost = NOTHING, True
            self._warnings.add("outputs", f"the output of a call of {record.name[:80]} {_CUT}")
        elif is_replaced(output):
            record.output = NOTHING
        if _ends_at(cut, record.agent):
            record.agent = None
        if record.error is not None and is_cut(record.error):
            record.error = None

    def _unless_cut(self, what: str, told: Any, was_cut: bool) -> Any:
        """Return a question or an answer; None, with a warning, if it was cut off."""
        if not was_cut:
            return told
        self._warnings.add("outputs", f"{what} {_CUT}")
        return None

    def _without_cut_names(self, calls: list[CallRecord], cut: frozenset[int]) -> list[CallRecord]:
        """Return the calls of tools whose names are whole, and note one that may go on."""
        unnamed = [record for record in calls if _ends_at(cut, record.name) and not self._is_own(record)]
        if unnamed:
            self._not_understood.note(f"a call of a tool whose name may go on after {unnamed[0].name!r}")
        return [record for record in calls if record not in unnamed]

    def _note_missing(self, calls: list[CallRecord]) -> None:
        """Warn of times, arguments and outputs that were not recorded."""
        missing: dict[str, int] = {}
        for record in calls:
            if record.span is not None and record.span.start_ns is None:
                self._warnings.add("start times", f"a call of {record.name[:80]} has no start time; it is put last")
            if record.args is NOTHING and (record.unparsable or record.bare is not NOTHING):
                self._warnings.add("arguments", f"the arguments of a call of {record.name[:80]} {_UNREADABLE}")
            elif record.args is NOTHING or (record.output is NOTHING and not (record.failed or record.has_lost)):
                missing[record.convention] = missing.get(record.convention, 0) + 1
        for convention, count in missing.items():
            setting = _SETTINGS.get(convention, "")
            # Content is off by default (OpenTelemetry GenAI, "Capturing instructions, inputs, and outputs").
            hint = f"; to record them: {setting}" if setting else ""
            self._warnings.add(
                "content", f"arguments or outputs of {count} call{'' if count == 1 else 's'} were not recorded{hint}"
            )


def _classified(spans: list[ReadSpan]) -> tuple[list[CallRecord], list[CallRecord], dict[int, Role]]:
    """Return the calls of spans in order, what may be calls, and the roles of agents and models by `id()`."""
    records: list[CallRecord] = []
    roles: dict[int, Role] = {}
    for span in spans:
        kind = span.kind
        if isinstance(kind, CallShape):
            if span.call is not None:
                record = copy(span.call)
                record.span = span
                records.append(record)
        elif kind:
            roles[id(span)] = kind
        if not isinstance(kind, CallShape) and span.call is not None:
            records.append(span.call)
    records = ordered(records)
    doubtful = [record for record in records if record.unread]
    return [record for record in records if not record.unread] if doubtful else records, doubtful, roles


def _in_doubt(spans: list[ReadSpan], doubtful: list[CallRecord]) -> frozenset[int]:
    """Return the spans, by `id()`, that may be calls."""
    held = [record.span for record in doubtful if record.span]
    return frozenset(map(id, [*held, *[span for span in spans if span.call and not span.kind]]))


def _ends_at(cut: frozenset[int], text: Any) -> bool:
    """Whether a value is a string that ends where strings were cut off."""
    return text.__class__ is str and len(text) in cut


def _conventions_of(calls: list[CallRecord], log: Log) -> dict[str, None]:
    """Return the conventions of spans and formats of messages by which calls were read; not those of a transcript."""
    told = [record.convention or record.format for record in calls if record.span or not log.format]
    return dict.fromkeys([name for name in told if name])


def _placed(records: list[CallRecord], tree: Tree, roles: Mapping[int, Role]) -> list[CallRecord]:
    """Return the calls, each once, with their parents and agents."""
    if not records or not (tree.has_parents or roles or may_be_seen_twice(records)):
        return records
    tree.place(records)
    records = without_duplicates(records, tree)
    if roles:
        tree.adopt(records)
    for record in records:
        tree.look_up(record)
    return records


def _by_turn(records: list[CallRecord], turns: Turns, are_known: bool) -> list[CallRecord]:
    """Sort calls by turn if every call has one, since some have no times. If turns are not known, remove them."""
    if not are_known:
        for record in records:
            record.turn = None
    if turns.count == 1 or any([record.turn is None for record in records]):
        return records
    return sorted(records, key=lambda record: record.turn or 0)


def _tool_call(record: CallRecord, agents: frozenset[str]) -> ToolCall:
    name, span, parent, output, failed = record.name, record.span, record.parent, record.output, record.failed
    if failed and output is NOTHING and not record.has_lost:
        output = None
    internal = is_internal(record, agents)
    unknown = _NOTHING if record.is_parent_known else _PARENT
    return ToolCall(
        name,
        record.args,
        output,
        (record.error or NO_MESSAGE) if failed else None,
        record.turn,
        record.group,
        record.tool_id,
        record.call_id,
        span.span_id if span else record.call_id,
        None if parent is None else parent.span.span_id if parent.span else parent.call_id,
        record.agent,
        span.start_ns if span else None,
        span.end_ns if span else None,
        "span" if span else "message",
        output.__class__ is str and not failed and reads_like_error(output),
        internal,
        unknown if internal is not None else unknown | _INTERNAL,
    )
