"""Names that mean a secret, whatever its value looks like."""

from __future__ import annotations

import re
from functools import lru_cache

_ENDINGS = {
    "password": "password",
    "passwd": "password",
    "passphrase": "password",
    "secret": "secret",
    "secretvalue": "secret",
    "apikey": "api-key",
    "accesskey": "secret-key",
    "secretkey": "secret-key",
    "privatekey": "private-key",
    "signingkey": "secret-key",
    "encryptionkey": "secret-key",
    "masterkey": "secret-key",
    "accountkey": "secret-key",
    "subscriptionkey": "api-key",
    "connectionstring": "connection-string",
    "authorization": "authorization",
    "cookie": "cookie",
}
"""The endings of names of secrets, letters and digits only, and what to call the secret."""

_TOKENS = (
    *(
        "auth",
        "access",
        "refresh",
        "session",
        "bearer",
        "id",
        "api",
        "bot",
        "github",
        "gitlab",
        "slack",
        "csrf",
        "xsrf",
    ),
    *("security", "secret", "personalaccess", "npm", "pypi", "deploy", "reset", "app", "oauth", "jwt", "vault", "hf"),
    *("huggingface", "service", "user", "admin", "private", "sas", "verification", "login", "account", "device"),
)
"""Which tokens are secrets: those of a tokenizer, and of the next page, are not."""

_WHOLE = {"pwd": "password", "token": "token", "userpwd": "password", "dbpwd": "password", "pgpassfile": "password"}

_LAST_WORDS = {
    **dict.fromkeys(("passcode", "passcodes", "passwords", "dbpass", "smtppass"), "password"),
    **dict.fromkeys(("apikeys",), "api-key"),
    **dict.fromkeys(("cookies",), "cookie"),
    **dict.fromkeys(("seedphrase", "recoveryphrase"), "secret"),
    **dict.fromkeys(("pin",), "pin"),
    **dict.fromkeys(("cvv", "cvc"), "card-code"),
    **dict.fromkeys(("otp", "totp", "otpcode", "totpcode", "mfacode", "2facode", "onetimecode"), "one-time-code"),
    **dict.fromkeys(
        ("verificationcode", "recoverycode", "recoverycodes", "backupcode", "backupcodes"), "one-time-code"
    ),
    **dict.fromkeys(("authcode", "authorizationcode"), "authorization-code"),
    **dict.fromkeys(("sessionid", "jsessionid", "phpsessid", "sessid"), "session-id"),
}
"""The last words of such names, which must be whole words: `spin` and `hotpot` are not secrets."""
_MOST_WORDS = 3
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_LOOKS = {
    "pin": re.compile(r"[0-9]{4,12}"),
    "card-code": re.compile(r"[0-9]{3,4}"),
    "one-time-code": re.compile(r"(?=[^0-9]*[0-9])[A-Za-z0-9-]{4,40}|[0-9]{2,4}(?: [0-9]{2,4}){1,3}"),
    "authorization-code": re.compile(r"\S{8,}"),
    "session-id": re.compile(r"[^\s,;]{16,}"),
    "cookie": re.compile(r"[^=]*=.*", re.DOTALL),
}
"""The form of secrets whose names can mean other things: a pin of a board, a session called `demo`."""

MARKS = (
    *("passw", "passphrase", "pwd", "secret", "authorization", "cookie", "token", "connection", "key"),
    *("passcode", "dbpass", "db_pass", "db-pass", "smtppass", "smtp_pass", "smtp-pass", "seed", "pin", "cvv", "cvc"),
    *("otp", "mfa", "2fa", "onetime", "one_time", "one-time", "verification", "authcode", "auth_code", "auth-code"),
    *("recovery", "backup", "session", "sessid"),
)
"""Substrings of all such names, in lower case; a text without any of them needs no closer look."""

_NO_LETTERS = re.compile(r"[^a-z0-9]+")
_HARMLESS = re.compile(
    r"""(?ix: none | null | nil | true | false | undefined | yes | no | required | optional | missing | invalid | empty
    | str | string | text | bytes | int | integer | number | bool | boolean | any | object | secretstr | hidden
    | incorrect | expired | unknown | \W* | [x*.•]+ | \.\.\.+ | (?: os\.|process\.env|self\.|config\.|settings\.|env\.
    | getenv|environ|secrets\.|vars\. ).* | [\$<%{\[].* | .*\[?redacted.* )"""
)


# Cached: a run has few distinct keys, each in hundreds of calls.
@lru_cache(maxsize=4096)
def secret_name(key: str) -> str | None:
    """Return what to call the value of a key if its name means a secret: `db_password`, `X-Api-Key`, `authToken`."""
    if len(key) > 200:
        return None
    letters = _NO_LETTERS.sub("", key.lower()).rstrip("0123456789")
    if letters in _WHOLE:
        return _WHOLE[letters]
    if letters.endswith("token"):
        return "token" if letters.removesuffix("token").endswith(_TOKENS) else None
    return next((name for ending, name in _ENDINGS.items() if letters.endswith(ending)), None) or _by_last_words(key)


def looks_like(name: str, value: str) -> bool:
    """Return whether a value has the form of the secret that its key names."""
    return name not in _LOOKS or _LOOKS[name].fullmatch(value) is not None


def is_harmless(value: str) -> bool:
    """Return whether a value is a placeholder, a type or a reference, and so not a secret."""
    return len(value) < 3 or _HARMLESS.fullmatch(value[:200]) is not None or _names_itself(value)


def _by_last_words(key: str) -> str | None:
    words = [word.lower() for word in _WORDS.findall(key.rstrip("0123456789"))][-_MOST_WORDS:]
    found = next((name for start in range(len(words)) if (name := _LAST_WORDS.get("".join(words[start:])))), None)
    # Conventions for traces name conversations so, with dots: session.id, gcp.vertex.agent.session_id.
    return None if found == "session-id" and "." in key else found


def _names_itself(value: str) -> bool:
    """Return whether a value is only a name again, as in `password=password`."""
    return value.isidentifier() and secret_name(value) is not None
