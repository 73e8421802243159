"""Secrets in a string: two tables, of shapes and of names that mean a secret, and the search for both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

import msgspec

from rightcall._lazy import lazy_pattern

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
"""Endings of names that mean a secret, letters and digits only, with the kind of secret."""

_TOKEN_WORDS = (
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
"""Words before `token` that make it a secret. Tokens of a tokenizer or of a next page are not secrets."""

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
"""Last words of names that mean a secret. They must be whole words: `spin` and `hotpot` are not secrets."""
_MOST_WORDS = 3
_WORDS = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_LOOKS = {
    "pin": lazy_pattern(r"[0-9]{4,12}"),
    "card-code": lazy_pattern(r"[0-9]{3,4}"),
    "one-time-code": lazy_pattern(r"(?=[^0-9]*[0-9])[A-Za-z0-9-]{4,40}|[0-9]{2,4}(?: [0-9]{2,4}){1,3}"),
    "authorization-code": lazy_pattern(r"\S{8,}"),
    "session-id": lazy_pattern(r"[^\s,;]{16,}"),
    "cookie": lazy_pattern(r"[^=]*=.*", re.DOTALL),
}
"""The form of secrets whose names can mean something else: a pin of a board, a session called `demo`."""

MARKS = (
    *("passw", "passphrase", "pwd", "secret", "authorization", "cookie", "token", "connection", "key"),
    *("passcode", "dbpass", "db_pass", "db-pass", "smtppass", "smtp_pass", "smtp-pass", "seed", "pin", "cvv", "cvc"),
    *("otp", "mfa", "2fa", "onetime", "one_time", "one-time", "verification", "authcode", "auth_code", "auth-code"),
    *("recovery", "backup", "session", "sessid"),
)
"""Lower-case substrings, of which every such name contains one. A string without any needs no closer look."""

_NO_LETTERS = lazy_pattern(r"[^a-z0-9]+")
_HARMLESS = lazy_pattern(
    r"""(?ix: none | null | nil | true | false | undefined | yes | no | required | optional | missing | invalid | empty
    | str | string | text | bytes | int | integer | number | bool | boolean | any | object | secretstr | hidden
    | incorrect | expired | unknown | \W* | [x*.•]+ | \.\.\.+ | (?: os\.|process\.env|self\.|config\.|settings\.|env\.
    | getenv|environ|secrets\.|vars\. ).* | [\$<%{\[].* | .*\[?redacted.* )"""
)


# Cached: a run has few distinct keys, each in hundreds of calls.
@lru_cache(maxsize=4096)
def secret_name(key: str) -> str | None:
    """Return the kind of secret that a key names, such as `db_password`, `X-Api-Key` or `authToken`; else None."""
    if len(key) > 200:
        return None
    letters = _NO_LETTERS.sub("", key.lower()).rstrip("0123456789")
    if letters in _WHOLE:
        return _WHOLE[letters]
    if letters.endswith("token"):
        return "token" if letters.removesuffix("token").endswith(_TOKEN_WORDS) else None
    by_ending = next((name for ending, name in _ENDINGS.items() if letters.endswith(ending)), None)
    if by_ending is not None:
        return by_ending
    words = [word.lower() for word in _WORDS.findall(key.rstrip("0123456789"))][-_MOST_WORDS:]
    found = next((name for start in range(len(words)) if (name := _LAST_WORDS.get("".join(words[start:])))), None)
    # Trace conventions have dotted names for conversations: session.id, gcp.vertex.agent.session_id.
    return None if found == "session-id" and "." in key else found


def looks_like(name: str, value: str) -> bool:
    """Return whether a value has the form of the secret that its key names."""
    return name not in _LOOKS or _LOOKS[name].fullmatch(value) is not None


def is_harmless(value: str) -> bool:
    """Return whether a value is a placeholder, a type or a reference, and so not a secret."""
    return len(value) < 3 or _HARMLESS.fullmatch(value[:200]) is not None or _names_itself(value)


def _names_itself(value: str) -> bool:
    """Return whether a value is itself a name of a secret, as in `password=password`."""
    return value.isidentifier() and secret_name(value) is not None


_WORD = "[A-Za-z0-9]"
_NAME = "[A-Za-z0-9_-]"
_HEX = "[0-9a-f]"
# A token begins at the start of a word or, in JSON or a URL, right after an escape.
_BEGIN = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
# A pattern that may scan far before it fails may start only once in a run of its characters: the search stays linear.
_RUN = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
_QUOTES = r"[\"'\\]{0,6}"
_GAP = r"[ \t]{0,8}"
_IN_WORDS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~-") | frozenset(
    range(128, 256)
)
_SPACED = bytes([code if code in _IN_WORDS else 32 for code in range(256)])
_LONG = 16
_CUT = "…".encode()
_WORD_IN_MARK = lazy_pattern(r"[\w.~-]+")


class Shape(msgspec.Struct, frozen=True):
    """One kind of secret, and how to find it.

    A string is searched for the `marks`, which is cheap; the pattern is tried `offset` characters before each. A match
    takes linear time, and a failed one bounded time.
    """

    name: str
    marks: tuple[str, ...]
    pattern: str
    """The group `secret` or `alone` is redacted; without either, the whole match."""
    is_folded: bool = False
    """Whether case is ignored; the marks are in lower case."""
    offset: int = 0
    is_token: bool = False
    """Whether the secret, with its mark, is one long word."""

    def at(self, text: str, place: int) -> re.Match[str] | None:
        """Match the secret whose mark is at `place`."""
        if place < self.offset:
            return None
        return _compiled(self.pattern, self.is_folded).match(text, place - self.offset)


@cache
def _compiled(pattern: str, is_folded: bool) -> re.Pattern[str]:
    """Compile a pattern when its mark is first found: compiling all of them takes longer than most commands."""
    return re.compile(pattern, re.IGNORECASE if is_folded else 0)


def _token(name: str, *marks: str, of: str = _NAME, least: int = 20) -> Shape:
    """Return the shape of a token: one of the marks, followed by at least `least` characters of a set.

    A value that a report has shortened contains an ellipsis; the part after it belongs to the token.
    """
    beginning = "|".join([re.escape(mark) for mark in marks])
    pattern = f"{_BEGIN}(?:{beginning})(?:{of}{{{least},}}(?:…{of}*)?|{of}*…{of}*)"
    return Shape(name, marks, pattern, is_token=True)


def _shape(name: str, *marks: str, pattern: str, offset: int = 0, is_token: bool = False) -> Shape:
    return Shape(name, marks, pattern, offset=offset, is_token=is_token)


def _folded(name: str, *marks: str, pattern: str) -> Shape:
    return Shape(name, marks, pattern, is_folded=True)


def _word_of(mark: str) -> bytes:
    """Return the longest word in a mark."""
    words = _WORD_IN_MARK.findall(mark)
    return max(words, key=len).encode() if words else b""


SHAPES: tuple[Shape, ...] = (
    _shape(
        "private-key",
        # RFC 7468, section 10, and OpenPGP ("PRIVATE KEY BLOCK"); a string may be cut before the end.
        "-----BEGIN ",
        pattern=r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)"
        r"(?:-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    ),
    _token("age-key", "AGE-SECRET-KEY-1", of="[0-9A-Z]", least=50),
    _shape(
        "jwt",
        # RFC 7519: a token begins with an object of JSON in base64url, and `eyJ` is `{"`.
        "eyJ",
        pattern=rf"{_RUN}eyJ{_NAME}{{8,}}+(?:\.{_NAME}{{4,}}+(?:\.{_NAME}++){{1,3}}|\.?{_NAME}*…[A-Za-z0-9_.-]*)",
        is_token=True,
    ),
    # AWS IAM, "Understanding unique ID prefixes": access keys, temporary ones, bearer tokens, context credentials.
    _token("aws-access-key", "AKIA", "ASIA", "ABIA", "ACCA", of="[A-Z0-9]", least=16),
    _token("gcp-api-key", "AIza", least=35),
    _token("google-oauth-token", "ya29."),
    _token("google-client-secret", "GOCSPX-"),
    # GitHub, "About authentication", token formats: the letter after `gh` is the kind of token.
    _token("github-token", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", of=_WORD, least=36),
    _token("github-token", "github_pat_", of="[A-Za-z0-9_]", least=22),
    _token("gitlab-token", "glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glagent-", "gloas-"),
    _token("anthropic-key", "sk-ant-"),
    _token("langfuse-key", "sk-lf-"),
    _token("openrouter-key", "sk-or-"),
    _token("openai-key", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"),
    _token("openai-key", "sk-", of=_WORD),
    _token("groq-key", "gsk_", of=_WORD, least=40),
    _token("xai-key", "xai-", of=_WORD, least=40),
    _token("perplexity-key", "pplx-", of=_WORD, least=40),
    _token("replicate-token", "r8_", of=_WORD, least=30),
    _token("huggingface-token", "hf_", "api_org_", of=_WORD, least=30),
    _token("langsmith-key", "lsv2_pt_", "lsv2_sk_", of="[A-Za-z0-9_]"),
    _token("pinecone-key", "pcsk_", of="[A-Za-z0-9_]"),
    _token("slack-token", "xoxb-", "xoxp-", "xoxa-", "xoxo-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-", least=12),
    _shape(
        "slack-webhook",
        "hooks.slack.com/",
        pattern=r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_…-]{12,})",
    ),
    _shape("discord-webhook", "/api/webhooks/", pattern=r"/api/webhooks/[0-9]{1,24}/(?P<secret>[A-Za-z0-9_…-]{20,})"),
    _shape("teams-webhook", "webhook.office.com/", pattern=r"webhook\.office\.com/(?P<secret>[A-Za-z0-9@/_.…-]{20,})"),
    _shape("telegram-token", "AA", pattern=rf"(?<=[0-9]{{8}}:)AA{_NAME}{{30,40}}", is_token=True),
    _token("stripe-key", "sk_live_", "sk_test_", "rk_live_", "rk_test_", of=_WORD, least=10),
    _token("webhook-secret", "whsec_", of="[A-Za-z0-9+/=]"),
    _token("square-token", "sq0atp-", "sq0csp-"),
    _token("shopify-token", "shpat_", "shpca_", "shppa_", "shpss_", of="[0-9A-Fa-f]", least=32),
    _token("npm-token", "npm_", of=_WORD, least=36),
    _token("pypi-token", "pypi-AgE", least=16),
    _token("rubygems-key", "rubygems_", of=_HEX, least=40),
    _token("docker-token", "dckr_pat_", "dckr_oat_"),
    _shape(
        "sendgrid-key",
        "SG.",
        pattern=rf"{_BEGIN}SG\.(?:{_NAME}{{16,100}}\.{_NAME}{{16,}}|[A-Za-z0-9_.-]{{0,100}}…{_NAME}*)",
        is_token=True,
    ),
    _token("mailgun-key", "key-", of=_HEX, least=32),
    _shape(
        "mailchimp-key", "-us", pattern=rf"(?<![0-9a-f]){_HEX}{{32}}-us[0-9]{{1,2}}(?![0-9])", offset=32, is_token=True
    ),
    _token("twilio-key", "SK", of=_HEX, least=32),
    _token("digitalocean-token", "dop_v1_", "doo_v1_", "dor_v1_", of=_HEX, least=40),
    _token("databricks-token", "dapi", of=_HEX, least=32),
    _token("linear-key", "lin_api_", of=_WORD),
    _token("notion-token", "ntn_", of=_WORD, least=40),
    _token("figma-token", "figd_"),
    _token("postman-key", "PMAK-"),
    _token("atlassian-token", "ATATT3x", of="[A-Za-z0-9_=.-]"),
    _token("vault-token", "hvs.", "hvb."),
    _token("grafana-token", "glsa_", "glc_", of="[A-Za-z0-9_=+/]"),
    _token("newrelic-key", "NRAK-", of="[A-Z0-9]"),
    _token("sentry-token", "sntrys_", "sntryu_", of="[A-Za-z0-9_=+/]"),
    _token("planetscale-token", "pscale_tkn_", "pscale_pw_", of="[A-Za-z0-9_.=-]"),
    _token("supabase-key", "sbp_", "sb_secret_", of="[A-Za-z0-9_]"),
    _folded(
        "azure-key",
        "accountkey=",
        "accesskey=",
        "sharedaccesssignature=",
        pattern=r"(?:accountkey|accesskey|sharedaccesssignature)=(?P<secret>[A-Za-z0-9+/=%&…._~-]{16,})",
    ),
    _folded("azure-sas", "sig=", pattern=r"(?<=[?&;])sig=(?P<secret>[A-Za-z0-9%+/=…_-]{20,})"),
    _shape(
        "azure-client-secret",
        "8Q~",
        pattern=rf"{_RUN}[A-Za-z0-9_~.-]{{3}}8Q~[A-Za-z0-9_~.-]{{31,34}}(?![A-Za-z0-9_~-])",
        offset=3,
        is_token=True,
    ),
    _folded(
        "aws-signature", "x-amz-", pattern=r"x-amz-(?:signature|security-token)=(?P<secret>[A-Za-z0-9%+/=…_-]{16,})"
    ),
    _folded(
        # RFC 3986, section 3.2.1: `user:password@` in front of a host; a user alone is a token if it is long.
        "url-credentials",
        "://",
        pattern=r"://(?:[^\s/@:\"'<>\\]{0,128}:(?P<secret>[^\s/\"'<>\\]{1,512})|(?P<alone>[^\s/@:\"'<>\\?#]{16,512}))@",
    ),
    _folded(
        "authorization",
        "authorization",
        pattern=rf"authorization{_QUOTES}{_GAP}[:=]{_GAP}{_QUOTES}"
        r"(?:(?:bearer|basic|token|bot|apikey|negotiate)[ \t]{1,8}(?P<secret>[^\s\"'\\,;]{4,})"
        r"|(?P<alone>(?:digest|hmac|aws4-hmac-sha256|signature|oauth)[ \t][^\r\n'\\]{4,}))",
    ),
    _folded("bearer-token", "bearer ", pattern=r"\bbearer {1,8}(?P<secret>(?=[a-z._~+/-]{0,64}[0-9])[\w.~+/=-]{16,})"),
    _folded(
        "cookie",
        "cookie",
        pattern=rf"cookie{_QUOTES}{_GAP}:{_GAP}{_QUOTES}(?P<secret>[^\s=;\"'\\]{{1,256}}=[^\r\n\"'\\]{{4,}})",
    ),
    _folded(
        "password",
        "curl ",
        pattern=r"curl [^\r\n]{0,400}?(?<=\s)(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}:(?P<secret>[^\s\"']+)",
    ),
)
"""Every shape. If two match the same text, the first one names it."""
_MARKED = [
    (_word_of(mark), shape if len(shape.marks) == 1 else msgspec.structs.replace(shape, marks=(mark,)))
    for shape in SHAPES
    for mark in shape.marks
]
"""The words to search for, with their shapes. A shape with several marks becomes one shape for each."""
_TOKENS = [(word, shape) for word, shape in _MARKED if shape.is_token]
_EXACT = [(word, shape) for word, shape in _MARKED if word and not shape.is_token and not shape.is_folded]
_FOLDED = [(word, shape) for word, shape in _MARKED if word and shape.is_folded]
_ADDRESSES = [shape for word, shape in _MARKED if not word]
_NAMES = [(mark, mark.encode()) for mark in MARKS]

_BEGINNING = "[redacted: "
_KEY = lazy_pattern(r"(?:--)?[A-Za-z0-9_.-]*\Z")
_KEY_LENGTH = 60
_KEY_END = lazy_pattern(r"[A-Za-z0-9]{0,24}(?:[_-][A-Za-z0-9]{1,24}){0,3}")
# Possessive quantifiers (`++`): nothing is tried twice, so a string without a closing quote takes linear time.
_VALUE = (
    r"(?:\\+\"(?P<inner{0}>(?:[^\"\\\r\n]++|\\+[^\"\\\r\n])++)"
    r"|\"(?P<double{0}>(?:[^\"\\\r\n]++|\\[^\r\n])++)"
    r"|'(?P<single{0}>(?:[^'\\\r\n]++|\\[^\r\n])++)"
    r"|(?P<bare{0}>[^\s\"'&;,<>(){{}}\[\]\\=:|`≠][^\s\"'&;,<>\\]*+))"
)
_WANTED = ", expected"
# Findings say `with password "a", expected "b"`, `without password, expected "b"` and `password "a", which is not …`.
_ASSIGNED = lazy_pattern(
    r"[\"'\\\])`]{0,6}[ \t]{0,8}(?P<sign>=>|:=|==|=|:|"
    + _WANTED
    + r"|(?=[ \t]))[ \t]{0,8}"
    + _VALUE.format(1)
    + r"(?P<compared>[\"']?(?: ≠ | != | does not satisfy |, expected )"
    + _VALUE.format(2)
    + r"|[\"']?, which is not expected)?"
)
_PROSE = lazy_pattern(r"[ \t]+[A-Za-z(]")


class Hidden(NamedTuple):
    """The range of a secret in a string, and the name of its kind."""

    start: int
    end: int
    name: str


def redacted_text(text: str, found: set[str] | None = None) -> str:
    """Return a string with every secret replaced by `[redacted: …]`; the secrets are added to `found`.

    The time is linear in the length of the text, whatever is in it. Placeholders are left as they are.
    """
    shapes, names, _ = shapes_in(text)
    if not shapes and not names:
        return text
    lowered = _lowered(text)
    hidden = [each for shape in shapes for each in _shaped(shape, text, lowered)]
    hidden += [each for mark in names for each in _named(mark, text, lowered)]
    hidden = [each for each in hidden if not text.startswith(_BEGINNING, each.start)]
    # Of several with the same start the longest comes first, so that no part of a secret remains beside it.
    hidden.sort(key=lambda each: (each.start, -each.end))
    pieces, end = [], 0
    for each in _united(hidden):
        pieces += [text[end : each.start], placeholder(each.name)]
        end = each.end
        if found is not None:
            found.add(text[each.start : each.end])
    return "".join([*pieces, text[end:]])


def redacted_address(text: str) -> str:
    """Return a name without secrets. A URL loses its query, fragment, user and password: any may be a key."""
    if not text.startswith(("http://", "https://")):
        return redacted_text(text)
    scheme, _, rest = text.partition("://")
    # RFC 3986, section 3: the query begins at the first `?`, the fragment at the first `#`, and user info ends at `@`.
    place = re.split(r"[?#]", rest, maxsplit=1)[0]
    host, slash, path = place.partition("/")
    return redacted_text(f"{scheme}://{host.rpartition('@')[2]}{slash}{path}")


def shapes_in(text: str) -> tuple[list[Shape], list[str], set[bytes]]:
    """Return the shapes and name marks that a string may contain, never too few, perhaps too many; and its words.

    Documents repeat words, so each distinct word is searched once, and only long words for marks of tokens. Searching
    the whole text for each mark takes eight times as long. The mark of a token, and the name of a secret, is part of
    one word. Numbers are left out: no mark consists of digits alone, and most distinct words of a trace are times.
    """
    words = set(text.encode("utf-8", "surrogatepass").translate(_SPACED).split())
    words = {word for word in words if not word.isdigit()}
    every = b" ".join(words)
    long = every if _CUT in every else b" ".join([word for word in words if len(word) >= _LONG])
    folded = every.lower()
    found = [shape for mark, shape in _TOKENS if mark in long] if long else []
    found += [shape for mark, shape in _EXACT if mark in every]
    found += [shape for mark, shape in _FOLDED if mark in folded]
    if "@" in text and "://" in text:
        found += _ADDRESSES
    return found, [name for name, mark in _NAMES if mark in folded], words


def marks_in(text: str) -> list[str]:
    """Return marks of shapes and of names in a string; every secret in it has one of them."""
    shapes, names, words = shapes_in(text)
    folded = _lowered(text) if any([shape.is_folded for shape in shapes]) else ""
    marks = [mark for shape in shapes for mark in shape.marks if mark in (folded if shape.is_folded else text)]
    if names:
        # Of names, only marks that are part of a secret's name somewhere: `key` in `keyword` is not.
        every = b"\n".join(words).decode("utf-8", "surrogatepass")
        lower = _lowered(every)
        marks += [mark for mark in names if any(secret_name(key) for _, _, key in _keys(mark, every, lower))]
    return marks


def placeholder(name: str) -> str:
    """Return the text that replaces a secret."""
    return f"{_BEGINNING}{name}]"


def _lowered(text: str) -> str:
    """Return a string in lower case with the same length: "İ" is the only character that would become two."""
    return (text if text.isascii() else text.replace("İ", "I")).lower()


def _shaped(shape: Shape, text: str, folded: str) -> Iterator[Hidden]:
    """Yield the secrets of one shape, which has a single mark here."""
    searched, [mark] = folded if shape.is_folded else text, shape.marks
    place = searched.find(mark)
    while place >= 0:
        match = shape.at(text, place)
        if match is not None:
            yield Hidden(*match.span(_group_of(match)), shape.name)
        place = searched.find(mark, max(place + 1, match.end() if match is not None else 0))


def _group_of(match: re.Match[str]) -> str | int:
    """Return the regex group that is the secret; 0 for the whole match."""
    groups = match.groupdict()
    return next((name for name in ("secret", "alone") if groups.get(name)), 0)


def _named(mark: str, text: str, folded: str) -> Iterator[Hidden]:
    """Yield the values of names that mean a secret: `password=…`, `"api_key": "…"`, `--token …`."""
    done = 0
    for place, end, key in _keys(mark, text, folded):
        # A key that begins before the end of the last value is part of that value.
        if place < done:
            continue
        name = secret_name(key) if not text.endswith(_BEGINNING, 0, end - len(key)) else None
        match = _ASSIGNED.match(text, end) if name is not None else None
        if match is not None and name is not None:
            yield from _assigned(match, key, name)
            done = match.end()


def _keys(mark: str, text: str, folded: str) -> Iterator[tuple[int, int, str]]:
    """Yield the keys that contain a mark: the start of the mark, the end of the key, and the key."""
    place = folded.find(mark)
    while place >= 0:
        ending = _KEY_END.match(text, place)
        end = ending.end() if ending is not None else place
        before = _KEY.search(text[max(0, place - _KEY_LENGTH) : place])
        yield place, end, (before[0] if before is not None else "") + text[place:end]
        place = folded.find(mark, max(place + 1, end))


def _assigned(match: re.Match[str], key: str, name: str) -> Iterator[Hidden]:
    groups = [group for group, value in match.groupdict().items() if value is not None]
    for group in groups:
        if group in ("sign", "compared"):
            continue
        start = match.start(group)
        value = match[group].rstrip(")}].") if group.startswith("bare") else match[group]
        if is_harmless(value) or not _is_meant(match, group, key, name):
            continue
        yield Hidden(start, start + len(value), name)


def _is_meant(match: re.Match[str], group: str, key: str, name: str) -> bool:
    """Return whether the matched text is a value: colons are common in prose, and options begin with dashes."""
    value = match[group]
    if name in ("cookie", "authorization"):
        return "=" in value or len(value) >= 16
    if not looks_like(name, value):
        return False
    if match["compared"] is not None:
        return True
    if not group.startswith("bare"):
        return match["sign"] != "" or key.startswith("--")
    if match["sign"] == "":
        return key.startswith("--") and not value.startswith("-")
    is_word = value.isalpha() and (value.islower() or value.istitle())
    if match["sign"] == _WANTED:
        return not is_word  # findings have quotes around strings
    return not (is_word and match["sign"] == ":" and _PROSE.match(match.string, match.end(group)))


def _united(found: list[Hidden]) -> list[Hidden]:
    united: list[Hidden] = []
    for hidden in found:
        if united and hidden.start < united[-1].end:
            last = united[-1]
            united[-1] = Hidden(last.start, max(last.end, hidden.end), last.name)
        else:
            united.append(hidden)
    return united
