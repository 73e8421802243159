"""The turn of a message in a prompt, by the prompts before it."""

from __future__ import annotations

from typing import Any

from rightcall.reading import read, read_messages
from rightcall.reading.messages import exchanges_of
from rightcall.reading.messages._prompt_history import PromptHistory, _KnownPrompt, _remember
from rightcall.values.trajectory import Trajectory

from .talks import ANSWERED, ASKED, MADE, asks_for, chat, gives, of_turn, says, spans_of_turn
from .traces import request

LOOKUP, REFUND = asks_for("lookup_order", {"order_id": 7}), asks_for("refund", {"order_id": 7})
CONVERSATION = {"key": "gen_ai.conversation.id", "value": {"stringValue": "c"}}


def in_turns(*turns: list[dict[str, Any]]) -> Trajectory:
    """The spans of each turn, in a trace a turn."""
    for number, spans in enumerate(turns):
        for each in spans:
            each["traceId"] = f"{number + 1}" * 32
            each["attributes"].append(CONVERSATION)
    [found] = read(request(*[each for spans in turns for each in spans]))
    return found


def made(trajectory: Trajectory) -> list[tuple[str, int | None]]:
    return [(call.name, call.turn) for call in trajectory.calls]


def test_a_call_that_only_a_prompt_without_its_beginning_shows_is_of_the_turn_it_was_made_in() -> None:
    first = spans_of_turn(0, tools=False, ids=False)
    second = chat(21, [*of_turn(0, ids=False), says("user", ASKED[1])])
    third = chat(31, [*of_turn(1, ids=False), says("user", ASKED[2])], says("assistant", ANSWERED[2]))

    assert made(in_turns(first, [second], [third])) == MADE


def test_a_prompt_without_words_of_the_user_that_begins_otherwise_has_calls_of_its_own_turn() -> None:
    first = chat(11, [says("system", "Look after order 7.")], LOOKUP)
    second = chat(21, [says("system", "Pay back."), REFUND, gives("ok")], says("assistant", "Done."))

    assert made(in_turns([first], [second])) == MADE


def test_of_prompts_without_words_of_the_user_only_what_they_share_is_of_the_earlier_turn() -> None:
    order = says("system", "Look after order 7.")
    first = chat(11, [order], LOOKUP)
    second = chat(21, [order, REFUND, gives("ok")], says("assistant", "Done."))

    assert made(in_turns([first], [second])) == MADE


def test_what_a_prompt_shows_before_the_first_words_of_the_user_is_of_the_turn_before() -> None:
    shown = [LOOKUP, gives("ok"), says("assistant", ANSWERED[0]), says("user", ASKED[1])]
    before, done = chat(11, [says("user", ASKED[0])]), says("assistant", "Done.")

    assert made(in_turns([before], [chat(21, shown, done)])) == [("lookup_order", 0)]
    assert made(in_turns([chat(21, shown, done)])) == []


def test_a_turn_whose_spans_are_lost_makes_no_call_one_of_a_turn_that_the_run_does_not_have() -> None:
    first = spans_of_turn(0, tools=False, ids=False)
    shown = [*of_turn(0, ids=False), *of_turn(1, ids=False), says("user", ASKED[2])]
    found = in_turns(first, [chat(31, shown, says("assistant", ANSWERED[2]))])

    assert len(found.turn_inputs) == 2
    assert {call.turn for call in found.calls} <= {0, 1}


SILENT = {"role": "user"}
"""A message of the user whose content was not recorded."""


def test_words_of_the_user_that_were_not_recorded_leave_the_turns_of_calls_unknown() -> None:
    said = [says("user", ASKED[0]), LOOKUP, gives("ok"), says("assistant", ANSWERED[0]), SILENT]
    told = [*said[:-1], says("user", "")]

    for end, turns in ((said, [None, None]), (told, [0, 1])):
        log = read_messages([*end, REFUND, gives("ok"), says("assistant", "Done.")])
        assert [call.turn for call in log.calls] == turns, end


def test_words_of_the_user_that_a_prompt_does_not_record_leave_the_turns_of_calls_unknown() -> None:
    said = [says("user", ASKED[0]), LOOKUP, gives("ok"), says("assistant", ANSWERED[0])]
    first = [chat(1, said[:1], LOOKUP), chat(2, said[:3], said[3])]

    def turns(asked: dict[str, Any]) -> list[int | None]:
        [found] = read(request(*first, chat(3, [*said, asked], REFUND)))
        return [call.turn for call in found.calls]

    assert turns(says("user", ASKED[1])) == [0, 1]
    assert turns(SILENT) == [None, None]


def test_a_message_without_content_before_the_agent_has_worked_leaves_nothing_open() -> None:
    found = read_messages([SILENT, says("user", ASKED[0]), LOOKUP, gives("ok"), says("assistant", ANSWERED[0])])

    assert [call.turn for call in found.calls] == [0]


def test_as_many_prompts_are_remembered_as_are_compared() -> None:
    known: list[_KnownPrompt] = []
    for number in range(70):
        _remember(_KnownPrompt((str(number),), (0,)), known)
    assert [prompt.texts for prompt in (known[0], known[-1])] == [("6",), ("69",)]
    _remember(_KnownPrompt(("69", "70"), (0, 1)), known)
    assert [prompt.texts for prompt in known[-2:]] == [("68",), ("69", "70")]
    _remember(_KnownPrompt(("68", "69"), (1, 1)), known)
    assert known[-3].texts == ("68",)


def test_a_context_is_known_once_a_prompt_of_it_was_seen_with_or_without_words() -> None:
    history = PromptHistory()
    for context, message in ((None, says("user", "Go.")), ("inner", says("assistant", "Gone."))):
        assert history.is_known(context) is False
        history.turns_of(exchanges_of([message]), 0, context, answer=[])
        assert history.is_known(context) is True
    assert history.is_known("another") is False
