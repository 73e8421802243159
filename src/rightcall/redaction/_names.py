"""Which names stand for a secret, whatever its value looks like."""

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
"""What the name of a secret ends with, letters and digits only, and what the secret is then called."""

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

MARKS = ("passw", "passphrase", "pwd", "secret", "authorization", "cookie", "token", "connection", "key")
"""What every such name has in it, in lower case."""

_NO_LETTERS = re.compile(r"[^a-z0-9]+")
_HARMLESS = re.compile(
    r"""(?ix: none | null | nil | true | false | undefined | yes | no | required | optional | missing | invalid | empty
    | str | string | text | bytes | int | integer | number | bool | boolean | any | object | secretstr | hidden
    | incorrect | expired | unknown | \W* | [x*.•]+ | \.\.\.+ | (?: os\.|process\.env|self\.|config\.|settings\.|env\.
    | getenv|environ|secrets\.|vars\. ).* | [\$<%{\[].* | .*\[?redacted.* )"""
)


@lru_cache(maxsize=4096)
def secret_name(key: str) -> str | None:
    """What the value of a key is called if the name says it is a secret: `db_password`, `X-Api-Key`, `authToken`."""
    if len(key) > 200:
        return None
    letters = _NO_LETTERS.sub("", key.lower()).rstrip("0123456789")
    if letters in _WHOLE:
        return _WHOLE[letters]
    if letters.endswith("token"):
        return "token" if letters.removesuffix("token").endswith(_TOKENS) else None
    return next((name for ending, name in _ENDINGS.items() if letters.endswith(ending)), None)


def is_harmless(value: str) -> bool:
    """Whether a value says that there is none, what it should be, or where it comes from, and so is no secret."""
    return len(value) < 3 or _HARMLESS.fullmatch(value[:200]) is not None or _names_itself(value)


def _names_itself(value: str) -> bool:
    """Whether a value is only a name again, as in `password=password`."""
    return value.isidentifier() and secret_name(value) is not None
