"""One run of an agent: its spans, log records and messages made into a trajectory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.trajectory import NOT_UNDERSTOOD, ToolCall, Trajectory

from ._answers import answer, asked_and_answered, question
from ._calls import take_call
from ._carriers import Carriers, tells_errors
from ._conventions import CONVENTIONS
from ._conversations import Log
from ._duplicates import without_duplicates
from ._joining import join
from ._kinds import CallShape
from ._message_log import Exchange, exchanges_of
from ._order import group_by_time, has_ties, ordered, overlaps_unexplained, unsettled
from ._record import Record
from ._requests import Requests
from ._roles import Role
from ._span import LogRecord, Span, once_each
from ._suspicion import reads_like_error
from ._tree import Tree
from ._turns import number_turns
from ._usage import usage_of
from ._values import NOTHING
from ._warnings import Warnings
from ._withheld import made_and_withheld, withheld_call

_SETTINGS = {convention.name: convention.setting for convention in CONVENTIONS}
CASE = "rightcall.case.id"
_INTERNAL = frozenset({"final_answer", "final_result"})
_HANDOFFS = ("transfer_to_", "transfer_back_to_", "handoff_to_")

_NOTHING: frozenset[str] = frozenset()
_PARENT = frozenset({"parent_id"})
_UNREADABLE = "are no object, as JSON or as Python writes it; they count as not recorded"

NO_TOOL_DATA = "no tool data in this trace: neither tool spans nor messages of the model were recorded"
"""The warning of a trace that cannot show calls, as opposed to one that shows that there were none."""


class Run:
    """Everything recorded about one run, on its way to a trajectory."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, keep: tuple[str, ...] = ()) -> None:
        self.spans: list[Span] = []
        self.logs: list[LogRecord] = []
        self.log = Log()
        self._limits = limits
        self._keep = keep
        self._warnings = Warnings()
        self._requests = Requests()
        self._unread = ""
        """What may be a call and was not understood."""
        self._acts = ""
        """What shows that the agent asks for its calls in words of its own."""

    def trajectory(self, extra_warnings: Iterable[str] = ()) -> Trajectory:
        """The trajectory of the run."""
        spans = once_each(self.spans)
        metadata = {**_kept_of_log(self.log, self._keep), **_kept(spans, self._keep)}
        records, roles = _classified(spans)
        doubtful = [record for record in records if record.unread]
        records = [record for record in records if not record.unread] if doubtful else records
        tree = Tree(spans, roles)
        records, unseen = self._complete(spans, records, roles, tree)
        if self.log and not spans:
            given, returned = question(self.log.messages), answer(self.log.messages)
        else:
            given, returned = asked_and_answered(spans, roles, tree, self.logs)
        number_turns(records, spans, roles)
        calls, withheld = made_and_withheld(ordered([*records, *unseen]))
        self._note_doubtful(doubtful, calls)
        if not calls and not withheld:
            self._unread = self._unread or self._acts or self.log.steps
        group_by_time(calls)
        self._warn(calls)
        tool_data = metadata["tool_data"] = self._tool_data(bool(records), bool(unseen))
        if self._unread:
            metadata[NOT_UNDERSTOOD] = self._unread
            self._warnings.add("calls", f"calls that were not understood: {self._unread}")
        if records:
            metadata["instrumentation"] = sorted({layer for record in records for layer in record.layers})
        return Trajectory(
            calls=tuple([_tool_call(record) for record in calls]),
            input=given,
            output=returned,
            trace_id=next((span.trace_id for span in spans if span.trace_id), self.log.id),
            metadata=metadata,
            warnings=(*self._warnings.texts(), *extra_warnings),
            unordered=unsettled(calls),
            calls_recorded=tool_data != "none" and not self._unread,
            withheld=tuple([withheld_call(record) for record in withheld]),
            usage=usage_of(spans, roles),
        )

    def add(self, span: Span) -> None:
        """Take in a span."""
        take_call(span, self._limits, self._keep)
        self.spans.append(span)

    def _note_doubtful(self, doubtful: list[Record], calls: list[Record]) -> None:
        """Note spans of tools that are not understood, but for those whose calls are known from elsewhere."""
        names = {call.name for call in calls} if doubtful else set()
        for record in doubtful:
            if record.name not in names:
                self._unread = self._unread or record.unread

    def _complete(
        self, spans: list[Span], records: list[Record], roles: dict[int, Role], tree: Tree
    ) -> tuple[list[Record], list[Record]]:
        """The calls with parents, without duplicates and with gaps filled; and those only messages show."""
        records = _placed(records, tree, roles)
        others = len(records) < len(spans)
        if not self.log and not self.logs and not (others and (_has_gaps(records) or _tell_errors(spans, roles))):
            return records, []
        self._read_messages(spans, roles, tree)
        unseen = join(records, self._requests) if self._requests.known else []
        for record in unseen:
            context = self._requests.contexts.get(id(record))
            record.parent = context if isinstance(context, Record) else None
        return records, unseen

    def _read_messages(self, spans: list[Span], roles: Mapping[int, Role], tree: Tree) -> None:
        carriers = Carriers()
        held = [carriers.carried(span, roles.get(id(span))) for span in spans if span.kind.__class__ is not CallShape]
        found = [conversation for conversation in held if conversation]
        found += carriers.carried_by_logs(self.logs)
        found.sort(key=lambda conversation: (not conversation.of_model, conversation.start_ns or 0))
        contexts = {span.span_id: tree.enclosing(span) for span in spans} if found else {}
        for said in found:
            self._note([*said.input, *said.output], " of a span")
            self._requests.add(said.input, said.output, contexts.get(said.span_id), said.start_ns, said.end_ns)
        self._read_log()

    def _read_log(self) -> None:
        """Read the messages given as a log, and what repeats them."""
        self._unread = self._unread or self.log.nested
        strays = self._requests.strays
        strays.clear()
        for messages in (self.log.messages, *self.log.snapshots):
            exchanges = exchanges_of(messages)
            self._note(exchanges)
            self._requests.add(exchanges, ())
        if strays:
            name = strays[0].name or strays[0].call_id or "a tool"
            self._unread = self._unread or f"a result of {name[:80]}, whose call the log does not show"

    def _note(self, exchanges: list[Exchange], where: str = "") -> None:
        """Keep what in these messages was not understood, unless something else was not before."""
        users = [call.name[:80] for exchange in exchanges for call in exchange.of_user]
        if users:
            self._warnings.add("users", f"calls of the user were left out: {', '.join(users)}")
        for place, exchange in enumerate(exchanges, 1):
            if exchange.unread and not self._unread:
                self._unread = f"message {place}{where}: {exchange.unread}"
            if exchange.acts and not self._acts:
                self._acts = f"message {place}{where} asks for a call in its text, or has the result of one"

    def _tool_data(self, has_records: bool, has_unseen: bool) -> str:
        if has_records:
            return "spans"
        if has_unseen or self._requests.saw_messages:
            return "messages"
        self._warnings.add("tool data", NO_TOOL_DATA)
        return "none"

    def _warn(self, calls: list[Record]) -> None:
        missing: dict[str, int] = {}
        for record in calls:
            if record.span is not None and record.span.start_ns is None:
                self._warnings.add("start times", f"a call of {record.name[:80]} has no start time; it is put last")
            if record.args is NOTHING and (record.unparsable or record.bare is not NOTHING):
                self._warnings.add("arguments", f"the arguments of a call of {record.name[:80]} {_UNREADABLE}")
            elif record.args is NOTHING or (record.output is NOTHING and not record.failed):
                missing[record.convention] = missing.get(record.convention, 0) + 1
        for convention, count in missing.items():
            setting = _SETTINGS.get(convention, "")
            hint = f"; to record them: {setting}" if setting else ""
            self._warnings.add(
                "content", f"arguments or outputs of {count} call{'' if count == 1 else 's'} were not recorded{hint}"
            )


def _classified(spans: list[Span]) -> tuple[list[Record], dict[int, Role]]:
    """The calls of spans, in order, and the roles of the other spans that have one."""
    records: list[Record] = []
    roles: dict[int, Role] = {}
    for span in spans:
        kind = span.kind
        if kind.__class__ is CallShape:
            record, span.record = span.record, None
            if record is not None:
                record.span = span
                records.append(record)
        elif kind:
            roles[id(span)] = kind
        elif span.record is not None:
            records.append(span.record)
    return ordered(records), roles


def _kept(spans: list[Span], keys: tuple[str, ...]) -> dict[str, Any]:
    """The attributes asked for, each from the first span that has it."""
    found: dict[str, Any] = {}
    for key in keys:
        for span in spans:
            if key in span.attributes:
                found[key] = span.attributes.get(key)
                break
    return found


def _kept_of_log(log: Log, keys: tuple[str, ...]) -> dict[str, Any]:
    """What is asked for of the object that holds the messages."""
    found = {key: log.about[key] for key in keys if key in log.about}
    if CASE in keys and CASE not in found and isinstance(log.about.get("case_id"), (str, int)):
        found[CASE] = log.about["case_id"]
    return found


def _placed(records: list[Record], tree: Tree, roles: Mapping[int, Role]) -> list[Record]:
    """The calls, each once, with the calls they were made in."""
    if not records or not (tree.has_parents or roles or len({record.layers for record in records}) > 1):
        return records
    tree.place(records)
    records = without_duplicates(records, tree)
    if roles:
        tree.adopt(records)
    for record in records:
        tree.look_up(record)
    return records


def _tell_errors(spans: list[Span], roles: Mapping[int, Role]) -> bool:
    return any([tells_errors(span.attributes) for span in spans if roles.get(id(span)) == "model"])


def _has_gaps(records: list[Record]) -> bool:
    if not records or has_ties(records):
        return True
    for record in records:
        if record.args is NOTHING or (record.output is NOTHING and not record.failed):
            return True
        if record.failed and record.error is None:
            return True
    return overlaps_unexplained(records)


def _tool_call(record: Record) -> ToolCall:
    name, span, parent, output, failed = record.name, record.span, record.parent, record.output, record.failed
    if failed and output is NOTHING:
        output = None
    return ToolCall(
        name,
        record.args,
        output,
        (record.error or "the tool failed; no message was recorded") if failed else None,
        record.turn,
        record.group,
        record.tool_id,
        record.call_id,
        span.span_id if span else record.call_id,
        _id_of(parent) if parent else None,
        record.agent,
        span.start_ns if span else None,
        span.end_ns if span else None,
        "span" if span else "message",
        output.__class__ is str and not failed and reads_like_error(output),
        name in _INTERNAL or name.startswith(_HANDOFFS),
        _NOTHING if record.is_parent_known else _PARENT,
    )


def _id_of(record: Record) -> str | None:
    return record.span.span_id if record.span else record.call_id
