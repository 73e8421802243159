"""One run of an agent: its spans, log records and messages made into a trajectory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.trajectory import ToolCall, Trajectory

from ._answers import answer, asked_and_answered, question
from ._calls import take_call
from ._carriers import Carriers, tells_errors
from ._conventions import CONVENTIONS
from ._duplicates import without_duplicates
from ._joining import join
from ._kinds import CallShape
from ._message_log import exchanges_of
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

_SETTINGS = {convention.name: convention.setting for convention in CONVENTIONS}
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
        self.messages: list[Any] = []
        self._limits = limits
        self._keep = keep
        self._warnings = Warnings()
        self._requests = Requests()

    def trajectory(self, extra_warnings: Iterable[str] = ()) -> Trajectory:
        """The trajectory of the run."""
        spans = once_each(self.spans)
        metadata = _kept(spans, self._keep)
        records, roles = _classified(spans)
        tree = Tree(spans, roles)
        records, unseen = self._complete(spans, records, roles, tree)
        if self.messages and not spans:
            given, returned = question(self.messages), answer(self.messages)
        else:
            given, returned = asked_and_answered(spans, roles, tree, self.logs)
        number_turns(records, spans, roles)
        calls = ordered([*records, *unseen])
        group_by_time(calls)
        self._warn(calls)
        tool_data = metadata["tool_data"] = self._tool_data(bool(records), bool(unseen))
        if records:
            metadata["instrumentation"] = sorted({layer for record in records for layer in record.layers})
        return Trajectory(
            calls=tuple([_tool_call(record) for record in calls]),
            input=given,
            output=returned,
            trace_id=next((span.trace_id for span in spans if span.trace_id), None),
            metadata=metadata,
            warnings=(*self._warnings.texts(), *extra_warnings),
            unordered=unsettled(calls),
            calls_recorded=tool_data != "none",
            usage=usage_of(spans, roles),
        )

    def add(self, span: Span) -> None:
        """Take in a span."""
        take_call(span, self._limits, self._keep)
        self.spans.append(span)

    def _complete(
        self, spans: list[Span], records: list[Record], roles: dict[int, Role], tree: Tree
    ) -> tuple[list[Record], list[Record]]:
        """The calls with parents, without duplicates and with gaps filled; and those only messages show."""
        records = _placed(records, tree, roles)
        others = len(records) < len(spans)
        if not self.messages and not self.logs and not (others and (_has_gaps(records) or _tell_errors(spans, roles))):
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
            self._requests.add(said.input, said.output, contexts.get(said.span_id), said.start_ns, said.end_ns)
        if self.messages:
            self._requests.add(exchanges_of(self.messages), ())

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
