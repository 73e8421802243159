"""One look at a document, and a closer one where it suspects something: the same as a close look at every text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from tests.values.redaction.secrets import SITUATIONS, TOKENS

from rightcall.values.redaction import redacted_value
from rightcall.values.redaction._redactor import Look, Redactor

WORDS = [
    *(
        "input_tokens",
        "tokens",
        "keyword",
        "monkey",
        "shipping",
        "design",
        "0012fa34",
        "session.id",
        "p-i-n",
        "pass word",
    ),
    *("password", "api_key", "X-Api-Key", "--token", "pin", "PIN", "2fa_code", "sessionid", "author", "authorization"),
    *("Bearer ", "cookie", "curl -u me:", "sig=", "https://me:pw@host", "://", "@", "sk-ab…cd", "sk-", "…", "AKIA"),
]
GLUE = st.sampled_from(
    ["", " ", "=", ": ", "\n", "\\n", '"', '\\"', "\x00", "é", "\u212a", "İ", "\ud800", "~", "-", "/", "≠"]
)
SECRETS = [*TOKENS.values(), *[text.format(secret) for text, secret in SITUATIONS.values()]]
SAID = st.sampled_from([*WORDS, *SECRETS, "1234", "hunter2hunter2", "abc123def456"])
TEXTS = st.lists(st.tuples(SAID | st.text(max_size=3), GLUE), max_size=5).map(
    lambda parts: "".join([piece for part in parts for piece in part])
)
KEYS = st.sampled_from([*WORDS, "name", "key", "value", "path", "expected", "city"]) | TEXTS
VALUES: st.SearchStrategy[Any] = st.recursive(
    TEXTS | st.integers(0, 99_999) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


def closely(value: Any) -> tuple[Any, set[str]]:
    """A value without secrets, and these, by a close look at every text."""
    redactor = Redactor()
    return redactor.value(value), redactor.found


@given(VALUES)
@example({"p-i-n": "1234"})
@example({"name": "pass word", "value": "hunter2"})
@example(["p-i-n", "1234"])
@example("\npin: 1234")
@example({"a": "sk-ab…cd", "b": "x"})
@example({"input_tokens": 5, "said": "input_tokens: 5 token=abcdef0123456789"})
def test_one_look_finds_what_a_close_look_at_every_text_finds(value: Any) -> None:
    document = {"before": value, "beside": ["keyword", {"input_tokens": 12}]}
    looked = Redactor(Look(document))

    assert (looked.value(document), looked.found) == closely(document)
    assert redacted_value(document) == closely(document)[0]


@given(VALUES)
def test_a_document_is_clear_only_if_nothing_is_hidden_in_it(value: Any) -> None:
    made, found = closely(value)

    assert not Look(value).is_clear or (made == value and not found)


@pytest.mark.parametrize("word", ["input_tokens", "keyword", "monkey", "shipping", "design", "0012fa34", "signature"])
def test_words_that_only_look_like_names_of_secrets_are_not_suspected(word: str) -> None:
    document = {"calls": [{word: 5, "said": f"the {word}: 1234"}]}

    assert Look(document).is_clear


def test_only_texts_with_what_was_suspected_are_looked_at() -> None:
    look = Look({"a": "password=hunter2", "b": "the keyword"})

    assert look.is_suspect("password=hunter2")
    assert not look.is_suspect("the keyword")
    assert json.dumps(redacted_value({"a": "password=hunter2"})) == '{"a": "password=[redacted: password]"}'
