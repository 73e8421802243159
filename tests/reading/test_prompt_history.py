"""The turn of a message in a prompt, by the prompts before it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.walls import for_each

from rightcall.reading import read, read_messages
from rightcall.reading.messages import Exchange, exchanges_of
from rightcall.reading.messages._requests import (
    BEFORE,
    PromptHistory,
    _KnownPrompt,
    _remember,
    doubtful_places,
    falls_silent,
    turns_in_log,
    words_shared,
)
from rightcall.values.trajectory import Trajectory

from .talks import (
    ANSWERED,
    ASKED,
    MADE,
    agent_span,
    asks_for,
    chat,
    gives,
    of_turn,
    says,
    spans_of_turn,
    tool_span,
)
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
    order, done = says("system", "Look after order 7."), says("assistant", "Done.")
    looked = [order, LOOKUP, gives("ok")]
    first = [agent_span(10), chat(11, [order], LOOKUP, parent=10), chat(13, looked, done, parent=10)]
    second = chat(21, [says("system", "Pay back."), REFUND, gives("ok")], done)

    assert made(in_turns(first, [second])) == MADE


def test_of_prompts_without_words_of_the_user_only_what_they_share_is_of_the_earlier_turn() -> None:
    order, done = says("system", "Look after order 7."), says("assistant", "Done.")
    looked = [order, LOOKUP, gives("ok")]
    first = [agent_span(10), chat(11, [order], LOOKUP, parent=10), chat(13, looked, done, parent=10)]
    second = chat(21, [order, REFUND, gives("ok")], done)

    assert made(in_turns(first, [second])) == MADE


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


def said(letters: str) -> list[Exchange]:
    """Messages, a letter each: what the model asked for, a result, its words; instructions; words of the user."""
    messages = {"C": LOOKUP, "R": gives("ok"), "M": says("assistant", "Done."), "S": says("system", "Be brief.")}
    messages |= {"_": {"role": "user", "content": None}, "?": {"content": "whose?"}}
    return exchanges_of([messages.get(letter) or says("user", letter) for letter in letters])


@for_each(
    ("before", "prompt", "turns"),
    [
        ([], ("a", 0), [0]),
        ([], ("aMb", 1), [0, 0, 1]),
        ([], ("aMb", 0), [BEFORE, BEFORE, 0]),
        ([], ("ab", 1), [1, 1]),
        ([], ("SaM", 0), [BEFORE, 0, 0]),
        ([], ("SaM", 1), [0, 1, 1]),
        ([], ("aMbMc", 1), [BEFORE, BEFORE, 0, 0, 1]),
        ([("a", 0)], ("aMb", 1), [0, 0, 1]),
        ([("a", 0)], ("aMb", 0), [0, 0, 0]),
        ([("a", 0)], ("aMbMc", 2), [0, 0, 1, 1, 2]),
        ([("a", 1)], ("aMbMc", 2), [1, 1, 1, 1, 2]),
        ([("a", 0)], ("xMb", 1), [BEFORE, BEFORE, 1]),
        ([("a", 0)], ("aMa", 1), [0, 0, 1]),
        ([("a", 0)], ("a", 1), [1]),
        ([("a", 0)], ("aM", 1), [0, 0]),
        ([("aMb", 1)], ("bMc", 2), [1, 1, 2]),
        ([("aMb", 1)], ("xMb", 2), [BEFORE, BEFORE, 2]),
        ([("a", 0), ("aMb", 1)], ("aMbMc", 2), [0, 0, 1, 1, 2]),
        ([("SM", 0)], ("SMC", 1), [0, 0, 1]),
        ([("SC", 0)], ("SMC", 1), [0, 1, 1]),
    ],
)
def test_messages_of_a_prompt_are_of_the_turns_in_which_they_were_first_shown(
    before: list[tuple[str, int]], prompt: tuple[str, int], turns: list[int]
) -> None:
    history = PromptHistory()
    for letters, turn in before:
        history.turns_of(said(letters), turn)

    assert history.turns_of(said(prompt[0]), prompt[1]) == turns


def test_what_was_asked_in_a_turn_is_where_it_begins() -> None:
    assert PromptHistory().turns_of(said("aMb"), 1, asked="a") == [1, 1, 1]
    assert PromptHistory().turns_of(said("aMbMc"), 1, asked="b") == [0, 0, 1, 1, 1]
    assert PromptHistory().turns_of(said("aMb"), 1, asked="x") == [0, 0, 1]


def test_the_beginning_of_a_conversation_inside_a_call_is_older_than_the_call() -> None:
    assert PromptHistory().turns_of(said("aMb"), 2, context="call") == [BEFORE, BEFORE, 2]


def test_what_a_model_answered_is_of_its_turn_when_it_is_shown_again() -> None:
    history = PromptHistory()
    history.turns_of(said("S"), 0, answer=said("C"))

    assert history.turns_of(said("SCR"), 1) == [0, 0, 1]


@for_each(
    ("letters", "asked", "turns"),
    [
        ("aMbM", None, [0, 0, 1, 1]),
        ("abM", None, [0, 0, 0]),
        ("aCRb", None, [0, 0, 0, 1]),
        ("SaM", None, [None, 0, 0]),
        ("SM", None, [None, None]),
        ("aMbM", "b", [BEFORE, BEFORE, 0, 0]),
        ("aMbMcM", "c", [BEFORE, BEFORE, BEFORE, BEFORE, 0, 0]),
        ("aMbM", "x", [0, 0, 1, 1]),
    ],
)
def test_words_of_the_user_after_work_of_the_agent_begin_a_turn_of_a_log(
    letters: str, asked: str | None, turns: list[int | None]
) -> None:
    assert turns_in_log(said(letters), asked) == turns


@for_each(
    ("letters", "silent"),
    [("aM_", True), ("aM?", True), ("_aM", False), ("?M", False), ("aMb", False), ("aC_M", True), ("a_M", False)],
)
def test_a_message_after_work_of_the_agent_may_have_been_a_question(letters: str, silent: bool) -> None:
    assert falls_silent(said(letters)) is silent


@for_each(
    ("letters", "turns", "models_tell", "is_first", "places"),
    [
        ("aCRMb", [BEFORE] * 4 + [0], True, False, []),
        ("aCRMb", [BEFORE] * 4 + [0], False, False, [1]),
        ("aCRb", [BEFORE] * 3 + [0], True, False, [1]),
        ("aCRM", [BEFORE] * 4, True, False, []),
        ("aC", [BEFORE] * 2, True, False, [1]),
        ("aCRMbCRc", [BEFORE] * 7 + [0], True, False, [5]),
        ("aCRMbCRc", [BEFORE] * 4 + [0] * 4, True, False, []),
        ("aCRb", [0, 0, 0, 1], True, False, []),
        ("CR", [0, 0], True, True, [0, 1]),
        ("CR", [0, 0], True, False, []),
        ("aCR", [0, 0, 0], True, True, []),
    ],
)
def test_a_call_that_no_answer_followed_may_be_of_this_run(
    letters: str, turns: list[int], models_tell: bool, is_first: bool, places: list[int]
) -> None:
    assert doubtful_places(said(letters), turns, models_tell, is_first) == set(places)


@for_each(
    ("known", "texts", "shared"),
    [
        ("ab", "a", range(1)),
        ("ab", "ab", range(2)),
        ("ab", "abc", range(2)),
        ("ab", "bc", range(1, 2)),
        ("ab", "ac", None),
        ("aab", "ab", range(1, 3)),
        ("ab", "c", None),
        ("", "a", None),
        ("a", "", None),
    ],
)
def test_a_prompt_begins_with_the_end_of_another_or_is_its_beginning(
    known: str, texts: str, shared: range | None
) -> None:
    assert words_shared(tuple(known), tuple(texts)) == shared


def test_a_prompt_whose_time_is_lost_is_of_the_turn_in_which_its_last_words_were_known() -> None:
    history = PromptHistory()
    first, second = [exchanges_of([says("user", text) for text in ASKED[:count]]) for count in (1, 2)]
    history.turns_of(first, 0)
    history.turns_of(second, 1)

    assert [history.turn_of(said, 5) for said in (first, second)] == [0, 1]
    assert history.turn_of(exchanges_of([says("user", text) for text in ASKED]), 5) == 5
    assert history.turn_of(exchanges_of([says("user", "Another.")]), 5) == 5
    assert history.turn_of([], 5) == 5
    assert history.turn_of(first, 5, context="a call") == 5


CHANGED = {"order_id": 8}


@pytest.mark.parametrize("in_spans", [True, False], ids=["with a span of the tool", "in prompts alone"])
def test_a_call_whose_arguments_a_hook_changed_is_one_call(in_spans: bool) -> None:
    """Strands: the history has the changed arguments under the id of the call that the model asked for."""
    asked = says("user", ASKED[0])
    shown = [asked, asks_for("lookup_order", CHANGED, "call_ab12"), gives("ok", "call_ab12")]
    spans = [
        chat(11, [asked], asks_for("lookup_order", {"order_id": 7}, "call_ab12"), parent=10),
        chat(14, shown, says("assistant", ANSWERED[0]), parent=10),
    ]
    spans += [tool_span(12, "lookup_order", CHANGED, "call_ab12", parent=10)] if in_spans else []

    [trajectory] = read(request(agent_span(10), *spans))

    assert [(call.name, call.args, call.output) for call in trajectory.calls] == [("lookup_order", CHANGED, "ok")]


def test_a_history_that_lost_an_argument_changes_no_call() -> None:
    asked, call_id = says("user", ASKED[1]), "call_ab12"
    made = {"order_id": 7, "amount": 20}
    shown = [asked, asks_for("refund", {"order_id": 7}, call_id), gives("ok", call_id)]

    [trajectory] = read(request(chat(11, [asked], asks_for("refund", made, call_id)), chat(14, shown)))

    assert [call.args for call in trajectory.calls] == [made]


def test_a_call_like_one_whose_history_lost_an_argument_is_not_taken_for_it() -> None:
    asked, less = says("user", ASKED[1]), {"order_id": 7}
    first = [asked, asks_for("refund", less, "call_ab12"), gives("no", "call_ab12")]
    again = asks_for("refund", less, "call_cd34")
    spans = [
        chat(11, [asked], asks_for("refund", {"order_id": 7, "amount": 20}, "call_ab12")),
        chat(14, first, again),
        chat(17, [says("system", "Be brief."), *first, again, gives("ok", "call_cd34")]),
    ]

    [trajectory] = read(request(*spans))

    assert [(call.call_id, call.output) for call in trajectory.calls] == [("call_ab12", "no"), ("call_cd34", "ok")]


def test_two_calls_of_one_message_that_share_an_id_are_two() -> None:
    asked, made = says("user", ASKED[0]), asks_for("lookup_order", {"order_id": 7}, "call_ab12")
    made["tool_calls"] += asks_for("lookup_order", CHANGED, "call_ab12")["tool_calls"]

    [trajectory] = read(request(agent_span(10), chat(11, [asked], made, parent=10), chat(14, [asked, made], parent=10)))

    assert [call.args for call in trajectory.calls] == [{"order_id": 7}, CHANGED]
