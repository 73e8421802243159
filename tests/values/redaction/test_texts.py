"""Secrets are found by what they look like and by what they are called, and nothing else is."""

import json
import re
import sys
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from tests.reading import corpus
from tests.values.redaction.secrets import SITUATIONS, TOKENS
from tests.walls import for_each

from rightcall.errors import InputError
from rightcall.values.decoding import load_json
from rightcall.values.redaction import SHAPES, redacted_address, redacted_text, redacted_value, secret_name

AROUND = ["{}", "the key is {}.", "key={}&x=1", '{{"k": "{}"}}', "a\\n{}\\n", "x%3D{}", "é{}é", "({})", "- {}\n- b"]


@pytest.mark.parametrize("name", TOKENS)
@for_each("around", AROUND)
def test_a_secret_is_known_by_its_shape_wherever_it_stands(name: str, around: str) -> None:
    shown = redacted_text(around.format(TOKENS[name]))

    before, after = around.format("\0").split("\0")
    assert re.fullmatch(rf"{re.escape(before)}.*\[redacted: [a-z-]+\](\\n)?{re.escape(after)}", shown)
    assert not any([part in shown for part in re.findall(r"[A-Za-z0-9]{20,}", TOKENS[name])])


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_secret_is_known_by_what_stands_before_it(name: str) -> None:
    around, secret = SITUATIONS[name]
    shown = redacted_text(around.format(secret))

    before, after = around.format("\0").split("\0")
    assert secret not in shown
    assert shown.endswith(f"]{after}")
    assert shown.startswith(before) or name == "a difference"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ('with login.password "hunter2pw", expected "old-pw1"', "with login.password {0}, expected {0}"),
        ("with password 81726354, expected 98765432", "with password {0}, expected {0}"),
        ('without password, expected "old-pw1"', "without password, expected {0}"),
        ('with password "hunter2pw", which is not expected', "with password {0}, which is not expected"),
    ],
)
def test_secrets_in_findings_are_found_on_both_sides(said: str, shown: str) -> None:
    redacted = redacted_text(f"`log_in` was called {said}")

    assert redacted.replace('"', "") == f"`log_in` was called {shown.format('[redacted: password]')}"


def test_a_word_about_passwords_is_not_a_secret() -> None:
    prose = "a new password, expected soon, and a password that is not expected"

    assert redacted_text(prose) == prose


@pytest.mark.parametrize("name", [name for name in TOKENS if not TOKENS[name].startswith(("---", "https"))])
def test_a_token_that_was_cut_in_the_middle_is_a_secret_still(name: str) -> None:
    token = TOKENS[name]
    if name in ("telegram token", "mailchimp key", "azure client secret"):
        return  # they are known by how long they are, and a result knows what it was cut from

    shown = redacted_text(f'login("{token[:20]}…{token[-8:]}")')

    assert token[12:20] not in shown
    assert token[-8:] not in shown


HARMLESS = [
    "Password: must be at least eight characters",
    "def login(user: str, password: str, token: str | None = None)",
    'api_key=os.environ["API_KEY"]',
    "password=password, token=token",
    '{"password": null, "secret": "", "api_key": "${API_KEY}"}',
    '{"type": "object", "properties": {"password": {"type": "string"}}}',
    "Authorization: required",
    "next_page_token=abc123456&total_tokens=512",
    '{"prompt_tokens": 512, "eos_token": "</s>"}',
    "The key takeaways: task-management, disk-usage, risk-assessment-2024",
    "https://shop.example:8080/a/b?c=d#e and bob@shop.example",
    "a chocolate chip cookie: 3 dollars",
    "4bf92f3577b34da6a3ce929d0e0e4736",
    "550e8400-e29b-41d4-a716-446655440000",
    "Bearer authentication-is-not-supported here",
    "the secret of a good soup: patience",
    "ghp_short and sk-learn and npm_config_registry and hf_model",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_reads_like_a_secret_stays(text: str) -> None:
    assert redacted_text(text) == text


@pytest.mark.parametrize(
    "key", ["password", "DB_PASSWORD", "dbPassword2", "X-Api-Key", "apiKey", "client-secret", "authToken", "Set-Cookie"]
)
def test_some_names_stand_for_a_secret(key: str) -> None:
    assert secret_name(key)


@pytest.mark.parametrize(
    "key",
    [
        *("passenger", "key", "max_tokens", "page_token", "secretary", "monkey", "author"),
        *("spinning", "pinned", "pins", "pin_count", "spin", "opinion", "pinterest", "Pinot", "pinCode"),
        *("token_count", "tokens", "tokenizer", "hotpot", "otps_sent", "code", "status_code", "promo_code", "zip_code"),
        *("session", "session.id", "gcp.vertex.agent.session_id", "session_ids", "id", "obsession_idea"),
        *(
            "compass",
            "pass",
            "passed",
            "seed",
            "backup",
            "recovery",
            "verification",
            "cookie_policy",
            "fortune_cookie_id",
        ),
    ],
)
def test_other_names_do_not(key: str) -> None:
    assert secret_name(key) is None


NAMED = [
    *[(key, "4711", "pin") for key in ("pin", "PIN", "card_pin", "userPin", "SIM-PIN", "userPIN", "pin2")],
    *[(key, "492817", "one-time-code") for key in ("otp", "OTP", "smsOtp", "totp", "otp_code", "mfaCode", "2fa-code")],
    *[(key, "492 817", "one-time-code") for key in ("verification_code", "oneTimeCode", "one-time-code")],
    *[(key, "abcd-1f3g-hij4", "one-time-code") for key in ("recovery_code", "backupCode")],
    *[(key, "4/0AX4XfWh-dK_z", "authorization-code") for key in ("auth_code", "authorizationCode")],
    *[(key, "hunter2", "password") for key in ("passcode", "door_passcode", "DB_PASS", "smtpPass")],
    *[(key, "123", "card-code") for key in ("cvv", "card_cvc", "CVV2")],
    *[(key, "550e8400-e29b-41d4", "session-id") for key in ("session_id", "sessionId", "JSESSIONID", "PHPSESSID")],
    *[(key, "sid=abcdef123", "cookie") for key in ("cookie", "cookies", "Set-Cookie")],
    *[(key, "able acid aged also", "secret") for key in ("seed_phrase", "recoveryPhrase")],
]


@pytest.mark.parametrize(("key", "value", "name"), NAMED, ids=[key for key, _, _ in NAMED])
def test_a_value_goes_by_its_name_as_a_key_and_in_a_text(key: str, value: str, name: str) -> None:
    text = json.dumps({"a": 1, key: value})

    assert redacted_value({key: value}) == {key: f"[redacted: {name}]"}
    assert json.loads(redacted_text(text)) == {"a": 1, key: f"[redacted: {name}]"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("pin", 13),
        ("pin", "GPIO17"),
        ("pin", "https://pins.example/1"),
        ("otp", "sent"),
        ("otp", "sent to 5 people"),
        ("verification_code", "required"),
        ("session_id", "demo-session"),
        ("session_id", "s1"),
        ("cvv", "12345"),
        ("cookies", "accepted"),
        ("auth_code", "expired"),
    ],
)
def test_what_a_name_cannot_mean_stays(key: str, value: Any) -> None:
    text = json.dumps({key: value})

    assert redacted_value({key: value}) == {key: value}
    assert redacted_text(text) == text


def test_a_pin_that_is_a_number_is_redacted_in_a_call_and_in_a_list() -> None:
    value = {"pin": 4711, "backup_codes": ["a1b2-c3d4", "e5f6-g7h8"], "command": ["unlock", "--pin", "4711"]}

    assert redacted_value(value) == {
        "pin": "[redacted: pin]",
        "backup_codes": ["[redacted: one-time-code]"] * 2,
        "command": ["unlock", "--pin", "[redacted: pin]"],
    }
    assert redacted_text("unlock(pin=4711, door='b')") == "unlock(pin=[redacted: pin], door='b')"


def test_values_are_redacted_by_their_keys() -> None:
    value = {
        "password": "hunter2",
        "pwd": 123456,
        "credentials": {"apiKey": "abc", "keys": ["a"]},
        "headers": [["Authorization", "Bearer abc"], {"name": "x-api-key", "value": "abc"}],
        "command": ["tool", "--token", "abc", "--verbose"],
        "secrets": False,
        "secret": None,
    }

    assert redacted_value(value) == {
        "password": "[redacted: password]",
        "pwd": "[redacted: password]",
        "credentials": {"apiKey": "[redacted: api-key]", "keys": ["a"]},
        "headers": [
            ["Authorization", "[redacted: authorization]"],
            {"name": "x-api-key", "value": "[redacted: api-key]"},
        ],
        "command": ["tool", "--token", "[redacted: token]", "--verbose"],
        "secrets": False,
        "secret": None,
    }


def test_keys_that_are_secrets_are_redacted_and_stay_apart() -> None:
    one, other = TOKENS["github classic token"], TOKENS["github oauth token"]

    assert redacted_value({one: 1, other: 2}) == {"[redacted: github-token]": 1, "[redacted: github-token] (2)": 2}


def test_thirty_thousand_keys_that_are_secrets_come_to_an_end() -> None:
    """What is linear takes a second; what is not takes minutes."""
    shown = redacted_value({f"ghp_{number:036}": number for number in range(30_000)})

    assert list(shown)[-1] == "[redacted: github-token] (30000)"
    assert list(shown.values()) == list(range(30_000))


@example(["AKIAABCDEFGH23456789", ": ", "Password: must be at least eight characters"])
@given(st.lists(st.sampled_from([*TOKENS.values(), *HARMLESS, '"', "\\", "\n", " ", "…", "password=", ": ", "İ", "x"])))
def test_a_text_that_was_redacted_is_not_changed_again(pieces: list[str]) -> None:
    once = redacted_text(" ".join(pieces))

    assert redacted_text(once) == once


def test_every_character_but_one_keeps_its_length_in_lower_case() -> None:
    longer = [chr(code) for code in range(sys.maxunicode + 1) if len(chr(code).lower()) != 1]

    assert longer == ["İ"]


def test_less_than_one_text_in_a_hundred_of_real_traces_is_changed() -> None:
    texts = {text for run in corpus.names() for data in corpus.inputs(run).values() for text in _texts_of(data)}
    changed = [text for text in texts if redacted_text(text) != text]

    assert len(texts) > 10_000
    assert len(changed) <= len(texts) / 100, changed[:10]


MARKS = sorted({mark for shape in SHAPES for mark in shape.marks} | {"password", "token", "api_key", "secret"})
UNITS = [
    "{}",
    "-{}",
    "{}a",
    "{}=",
    '{}="',
    "{}=\\",
    "{}: ",
    " {}a1b2",
    "{}…",
    "{}@",
    "{}:a",
    "--{} ",
    '{}="a" ≠ ',
    '{} "a", expected ',
]
SIZE = 1 << 20


@pytest.mark.parametrize("unit", UNITS)
def test_what_only_begins_like_a_secret_again_and_again_comes_to_an_end(unit: str) -> None:
    """What is linear takes a second; what is not takes hours."""
    text = "".join([unit.format(mark) for mark in MARKS])
    secret = TOKENS["npm token"]

    assert secret not in redacted_text(text * (SIZE // len(text)) + "\n" + secret)


@pytest.mark.parametrize("filler", ["a", "-", "\\", '"', "a "])
@pytest.mark.parametrize(
    "mark", ["password=", 'token="', "ey" + "J", "sk-", "-----BEGIN ", "://a:", "curl ", "cookie: a="]
)
def test_a_secret_without_an_end_comes_to_an_end(mark: str, filler: str) -> None:
    secret = TOKENS["npm token"]

    for text in (mark + filler * SIZE, filler * SIZE + mark):
        assert secret not in redacted_text(f"{text}\n{secret}")


def _texts_of(data: bytes) -> set[str]:
    try:
        lines = data.decode().splitlines() if not data.startswith((b"[", b"{\n")) else [data.decode()]
        return {text for line in lines if line for text in _strings(load_json(line))}
    except (UnicodeDecodeError, InputError):
        return set()


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for each in pair for text in _strings(each)]
    return [text for each in value for text in _strings(each)] if isinstance(value, list) else []


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://127.0.0.1:8000/ask?sig=abc&k=1", "http://127.0.0.1:8000/ask"),
        ("https://bob:hunter2@x.example/ask#k=1", "https://x.example/ask"),
        ("https://x.example?k=1", "https://x.example"),
        ("agent.py:answer", "agent.py:answer"),
        ("cmd:node agent.mjs --what?", "cmd:node agent.mjs --what?"),
    ],
)
def test_an_address_is_shown_without_what_may_be_a_key(address: str, shown: str) -> None:
    assert redacted_address(address) == shown
