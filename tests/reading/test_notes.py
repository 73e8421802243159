"""Warnings, and what is told of a run that was not understood."""

from __future__ import annotations

import pytest

from rightcall.reading import read_messages
from rightcall.reading.messages import Exchange, Log, exchanges_of
from rightcall.reading.runs._notes import NotUnderstood, Warnings
from rightcall.reading.spans import CallRecord


def record(name: str, **more: object) -> CallRecord:
    made = CallRecord(name)
    for key, held in more.items():
        setattr(made, key, held)
    return made


@pytest.mark.parametrize(
    ("count", "more"), [(0, ()), (20, ()), (21, ("and 1 more about lines",)), (1_021, ("and 1,001 more about lines",))]
)
def test_the_first_twenty_warnings_of_a_kind_are_told_and_the_others_are_counted(
    count: int, more: tuple[str, ...]
) -> None:
    warnings = Warnings()
    for number in range(count):
        warnings.add("lines", f"line {number}")

    assert warnings.texts() == (*[f"line {number}" for number in range(min(count, 20))], *more)


def test_a_sentence_is_told_once_and_each_kind_is_counted_for_itself() -> None:
    warnings = Warnings()
    for number in range(22):
        warnings.add("lines", "the same line")
        warnings.add("cells", f"cell {number}")

    assert warnings.texts() == (
        "the same line",
        *[f"cell {number}" for number in range(20)],
        "and 2 more about cells",
    )


def test_the_first_thing_that_was_not_understood_is_told() -> None:
    notes = NotUnderstood(Warnings())
    for what in ("", "one", "two"):
        notes.note(what)

    assert notes.first == "one"


@pytest.mark.parametrize(
    ("strays", "told"),
    [
        ([], ""),
        ([record("look", call_id="1"), record("pay")], "a result of look, whose call the log does not show"),
        ([record("", call_id="1")], "a result of 1, whose call the log does not show"),
        ([record("")], "a result of a tool, whose call the log does not show"),
        ([record("look", withheld="refused"), record("pay")], "a result of pay, whose call the log does not show"),
        ([record("look", withheld="refused")], ""),
        ([record("x" * 81)], f"a result of {'x' * 80}, whose call the log does not show"),
    ],
)
def test_a_result_without_its_call_is_told_unless_it_was_withheld(strays: list[CallRecord], told: str) -> None:
    notes = NotUnderstood(Warnings())
    notes.note_strays(strays)

    assert notes.first == told


def test_a_log_that_begins_with_a_result_is_told_to_continue_another_one() -> None:
    given = {"role": "tool", "contents": [{"type": "function_result", "call_id": "c1", "result": "paid"}]}
    done = {"role": "assistant", "contents": [{"type": "text", "text": "Done."}]}

    told = read_messages({"type": "agent_response", "messages": [given, done]}).not_understood

    assert told == (
        "a result of c1, whose call the log does not show: "
        "it begins with this result, as one does that continues another"
    )


def test_spans_that_may_be_one_call_or_several_are_told() -> None:
    notes = NotUnderstood(Warnings())
    notes.note_twins([record("look")], [])
    assert notes.first == ""

    notes.note_twins([record("look"), record("pay", is_doubtful=True)], [])
    assert notes.first == "spans of several instrumentations for pay, which may be one call or several"


def test_a_request_without_a_name_is_told() -> None:
    notes = NotUnderstood(Warnings())
    notes.note_nameless([record("look", unread="not this")])
    assert notes.first == ""

    notes.note_nameless([record("look", unread="not this"), record("", unread="a call without a name")])
    assert notes.first == "a call without a name"


def test_a_span_that_was_not_understood_is_told_unless_its_call_is_known() -> None:
    notes = NotUnderstood(Warnings())
    doubtful = [record("look", unread="a span of look"), record("pay", unread="a span of pay")]
    notes.note_spans(doubtful, [record("look"), record("pay")])
    assert notes.first == ""

    notes.note_spans(doubtful, [record("look")])
    assert notes.first == "a span of pay"


ASKS = {"role": "assistant", "content": "Thought: x\nAction: look\nAction Input: y"}


@pytest.mark.parametrize(
    ("messages", "where", "told"),
    [
        ([{"role": "user", "content": "Hi."}], "", "a log that ends before the first answer of a model"),
        ([{"role": "user", "content": "Hi."}], " of a span", ""),
        ([{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}], "", ""),
        ([{"role": "user", "content": "Hi."}, {"role": "researcher", "content": "Hello."}], "", ""),
        (
            [{"role": "user", "content": "Hi."}, ASKS],
            "",
            "message 2 asks for a call in its text, or has the result of one",
        ),
        ([ASKS, ASKS], " of a span", "message 1 of a span asks for a call in its text, or has the result of one"),
        ([{"type": "system", "subtype": "init"}], "", "a log without a message of a user or a model"),
        ([{"type": "system", "subtype": "init"}], " of a span", ""),
        (
            [{"role": "system", "content": "Help."}, {"role": "user", "content": "Hi."}],
            "",
            "a log that ends before the first answer of a model",
        ),
        (
            [{"type": "system", "subtype": "init"}, {"role": "user", "content": "Hi."}],
            "",
            "a log that ends before the first answer of a model",
        ),
        ([], "", ""),
    ],
)
def test_signs_of_calls_are_told_of_a_run_without_any(messages: list[object], where: str, told: str) -> None:
    notes = NotUnderstood(Warnings())
    notes.note_messages(exchanges_of(messages), where)
    assert notes.first == ""

    notes.note_silence([])
    assert notes.first == told


def test_steps_beside_messages_are_told_after_signs_in_the_text() -> None:
    logs = [Log([]), Log([], steps="steps of a graph")]
    notes = NotUnderstood(Warnings())
    notes.note_silence(logs)
    assert notes.first == "steps of a graph"

    notes = NotUnderstood(Warnings())
    notes.note_messages(exchanges_of([ASKS]))
    notes.note_silence(logs)
    assert notes.first.startswith("message 1 asks")


def test_calls_of_the_user_are_left_out_with_a_warning() -> None:
    warnings, exchange = Warnings(), Exchange()
    exchange.of_user = [record("toggle"), record("x" * 81)]
    NotUnderstood(warnings).note_messages([Exchange(), exchange])

    assert warnings.texts() == (f"calls of the user were left out: toggle, {'x' * 80}",)


def test_what_was_not_understood_is_told_with_the_number_of_its_message() -> None:
    unread, nameless = Exchange(), Exchange()
    unread.unread = "a block of type x"
    nameless.calls = [record("", unread="a call without a name"), record("look", unread="")]
    notes = NotUnderstood(Warnings())
    notes.note_messages([Exchange(), nameless, unread], " of a span")
    # A message is cached, and may be noted again for another run.
    notes.note_messages([nameless], " of a span")

    assert notes.first == "message 3 of a span: a block of type x"
    assert [call.unread for call in nameless.calls] == ["message 2 of a span: a call without a name", ""]
