"""Nothing of a secret is left in a result, and nothing else of it is changed."""

import re

import msgspec
import pytest
from tests.values.redaction.secrets import TOKENS

from rightcall import CaseResult, ToolCall, Trajectory
from rightcall.cases.evalsets import load_expectation
from rightcall.cases.verdicts import judge
from rightcall.values.decoding import dump_json
from rightcall.values.redaction import redacted, redacted_document, redacted_trajectory

SECRETS = {name: secret for name, secret in TOKENS.items() if "\n" not in secret and "\\" not in secret}


def judged(expectation: str, *calls: ToolCall, **known: object) -> CaseResult:
    case = load_expectation(expectation.encode(), "--expect")("login")
    return judge(case, Trajectory(calls=calls, **known))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_left_out_of_calls_findings_details_and_what_was_printed(name: str) -> None:
    secret = SECRETS[name]
    call = ToolCall("login", {"account": secret, "way": f"with {secret}, of course"}, {"ok": [secret]})
    result = judged(
        "calls: [{login: {account: nobody, way: none}}]\noutput: {equals: done}",
        call,
        ToolCall("search", {}, None, error=f"refused {secret}"),
        output=f"logged in with {secret}",
        input={secret: 1},
        metadata={"note": secret},
        warnings=(f"odd: {secret}",),
    )
    outcome = {"error": f"Boom: {secret}", "traceback": f"at {secret}", "stdout": f"using {secret}\n"}
    given = CaseResult.from_plain({**result.to_plain(), "outcome": outcome})

    texts = redacted(given).to_json(), redacted_document(given.to_json()), redacted_document(given)
    for text in texts:
        assert not [piece for piece in _pieces(secret) if piece in text]
    assert texts[1] == texts[2]


def _pieces(secret: str) -> list[str]:
    """Parts of a secret that nobody would guess."""
    [word] = re.findall(r"[A-Za-z0-9]{20,}$", secret) or [secret]
    return [word[start : start + 10] for start in range(len(word) - 10)]


def test_verdict_score_codes_and_places_stay() -> None:
    result = judged("calls: [{login: {password: right-one}}]", ToolCall("login", {"password": "wrong-one"}, None))
    shown = redacted(result)

    assert (shown.verdict, shown.score, shown.case_id) == (result.verdict, result.score, result.case_id)
    assert str(shown.source) == str(result.source)
    assert [placed.finding.code for placed in shown.findings] == [placed.finding.code for placed in result.findings]
    assert "right-one" not in shown.to_json()
    assert "wrong-one" not in shown.to_json()
    assert 'password "[redacted: password]", expected "[redacted: password]"' in shown.findings[0].finding.message


def test_a_secret_by_name_is_left_out_where_nothing_names_it() -> None:
    login = ToolCall("login", {"password": "correct horse"}, {"said": ["hello", "correct horse"]})
    result = judged("calls: [search]", login, output="I used correct horse.", input="Say correct horse")
    printed = CaseResult.from_plain({**result.to_plain(), "outcome": {"stdout": "sent: correct horse\n"}})

    shown = redacted(printed)

    assert shown.outcome is not None
    assert shown.outcome.stdout == "sent: [redacted: secret]\n"
    assert shown.trajectory is not None
    assert shown.trajectory.calls[0].output == {"said": ["hello", "[redacted: secret]"]}
    assert "correct horse" not in shown.to_json()
    assert redacted_trajectory(printed.trajectory or Trajectory()) == shown.trajectory


def test_a_word_of_ours_that_is_a_secret_somewhere_stays() -> None:
    result = judged("calls: [login]", ToolCall("login", {"password": "passed"}, "passed"))

    assert redacted(result).verdict == "passed"


def test_a_tool_that_is_named_as_a_secret_is_keeps_its_name() -> None:
    result = judged("calls: [search]", ToolCall("search", {"password": "search"}, "search"))
    shown = redacted(result)

    assert shown.trajectory is not None
    assert (shown.trajectory.names, shown.trajectory.calls[0].output) == (("search",), "[redacted: secret]")


def test_a_tool_that_is_called_like_a_secret_keeps_its_count() -> None:
    result = judged("counts: {reset_password: 1}", ToolCall("reset_password", {"user": "bob"}, None))

    assert redacted(result) == result


def test_a_result_without_secrets_is_the_same_object() -> None:
    result = judged("calls: [search]", ToolCall("search", {"query": "laptop"}, ["P001"]))

    assert redacted(result) is result
    assert redacted_document(result.to_json()) == redacted_document(result) == result.to_json()


@pytest.mark.parametrize("field", ["args", "output", "error", "call_id", "agent"])
def test_a_secret_is_found_in_every_field_of_one_call_of_several(field: str) -> None:
    secret = next(iter(SECRETS.values()))
    held = {"args": {"query": secret}}.get(field, secret)
    calls = [ToolCall("search", {"query": "laptop"}, ["P001"]) for _ in range(3)]
    result = judged("calls: [search]", *calls, msgspec.structs.replace(calls[0], **{field: held}))

    for text in (redacted(result).to_json(), redacted_document(result.to_json()), redacted_document(result)):
        assert not [piece for piece in _pieces(secret) if piece in text]


def test_an_option_of_a_command_names_the_secret_after_it() -> None:
    result = judged("calls: [run]", ToolCall("run", {"argv": ["login", "--password", "hunter2hunter2", "-v"]}, None))

    assert "hunter2" not in redacted_document(result)


def test_a_saved_call_may_have_fewer_fields() -> None:
    result = judged("calls: [search]", ToolCall("search", {}, None), ToolCall("login", {"password": "hunter2hunter2"}))
    plain = result.to_plain()
    del plain["trajectory"]["calls"][0]["agent"]

    assert "hunter2" not in redacted_document(dump_json(plain))


def test_a_trajectory_keeps_what_was_not_recorded() -> None:
    shown = redacted_trajectory(Trajectory(calls=(ToolCall("login", {"password": "hunter2"}), ToolCall("search"))))

    assert shown.calls == (ToolCall("login", {"password": "[redacted: password]"}), ToolCall("search"))


@pytest.mark.parametrize("field", ["args", "output", "error", "agent", "group", "tool_id", "call_id"])
def test_a_secret_is_seen_in_every_field_of_a_call(field: str) -> None:
    secret = TOKENS["github classic token"]
    call = ToolCall(**{"name": "login", field: {"city": secret} if field == "args" else secret})  # type: ignore[arg-type]

    assert secret not in str(redacted_trajectory(Trajectory(calls=(ToolCall("search"), call))))
    assert secret not in redacted(judged("calls: [search]", call)).to_json()


@pytest.mark.parametrize("field", ["input", "output", "turn_inputs", "turn_outputs", "metadata", "warnings"])
def test_a_secret_is_seen_in_every_field_of_a_trajectory(field: str) -> None:
    secret = TOKENS["github classic token"]
    held = {"turn_inputs": (secret,), "turn_outputs": (secret,), "warnings": (secret,), "metadata": {"from": secret}}

    path = Trajectory(**{field: held.get(field, secret)})  # type: ignore[arg-type]

    assert secret not in str(redacted_trajectory(path))
    assert secret not in redacted(judged("calls: [search]", **{field: held.get(field, secret)})).to_json()
