"""The address of a trace server: `phoenix://localhost:6006/support?since=1d`, or an alias of the configuration.

The scheme names the kind of server, the path the project (Phoenix, LangSmith), experiment (MLflow) or service
(Jaeger), and the query selects traces. An address never contains a key: it is printed, stored in runs and committed.
"""

from __future__ import annotations

import ipaddress
import os
import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError, nearest

_DEFAULT_HOSTS = {
    "phoenix": "localhost:6006",
    "mlflow": "localhost:5000",
    "langfuse": "cloud.langfuse.com",
    "langsmith": "api.smith.langchain.com",
    "tempo": "localhost:3200",
    "jaeger": "localhost:16686",
    "otlp": "localhost:4318",
}
"""The host of each server if the address has none: the default of the server's own client."""
SCHEMES = tuple(_DEFAULT_HOSTS)
_PUSH_ONLY = ("otlp",)
_PARAMETERS = ("since", "until", "limit", "trace", "session", "tag", "filter", "key")
_SPAN = lazy_pattern(r"(\d{1,9})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_VARIABLE = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_BILLION = 10**9
_MOST_TRACES = 10**9


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Which traces of a server to return; all of them by default."""

    since_ns: int | None = None
    """Only traces from this time on, in nanoseconds since 1970."""
    until_ns: int | None = None
    limit: int | None = None
    """The largest number of traces, of which the newest are returned."""
    traces: tuple[str, ...] = ()
    """Only traces with these ids."""
    session: str | None = None
    tag: str | None = None
    filter: str | None = None
    """A condition in the server's own query language, passed on unchanged."""


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """A trace server, a project or the like on it, and a query for traces."""

    scheme: str
    host: str
    """Host and port."""
    prefix: str = ""
    """The path before the place, if a proxy serves the server under a path."""
    place: str = ""
    """The project, experiment or service."""
    is_plain: bool = False
    """Whether `+http` asks for an unencrypted connection."""
    key: str | None = None
    """The environment variable with the key; by default the usual one for the server."""
    query: Query = Query()

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine."""
        return _is_loopback(self.host)

    @property
    def base(self) -> str:
        """The base URL of requests."""
        return f"{'http' if self.is_plain or self.is_local else 'https'}://{self.host}{self.prefix}"

    @property
    def takes_keys(self) -> bool:
        """Whether a key may be sent: over an encrypted connection, or one that does not leave this machine."""
        return not self.is_plain or self.is_local

    def __str__(self) -> str:
        plain = "+http" if self.is_plain else ""
        return f"{self.scheme}{plain}://{self.host}{self.prefix}/{quote(self.place, safe='')}"


def is_address(text: str, aliases: Mapping[str, Any] | None = None) -> bool:
    """Whether a string is the address of a trace server, by its scheme or as `alias:` of the configuration."""
    scheme = text.partition(":")[0]
    named = scheme.removesuffix("+http").removesuffix("+https")
    if text.startswith(f"{scheme}:") and named in SCHEMES:
        return not os.path.exists(text)
    return text.startswith(f"{scheme}:") and scheme in (aliases or {}) and not os.path.exists(text)


def parse_address(
    text: str, aliases: Mapping[str, Any] | None = None, *, now: Callable[[], float] = time.time, pushes: bool = False
) -> Address:
    """Parse an address.

    Args:
        text: The address, or an alias with further parameters: `prod:?since=1h`.
        aliases: The table `[sources]` of the configuration.
        now: Returns the current time; `since=1d` counts back from there.
        pushes: Whether verdicts are to be sent to this address.

    Raises:
        InputError: it is not the address of a trace server.
    """
    alias, _, rest = text.partition(":")
    if alias in (aliases or {}):
        text, key = _expanded(alias, rest, (aliases or {})[alias])
    else:
        key = None
    parts = urlsplit(text)
    named, _, transport = parts.scheme.partition("+")
    if named not in SCHEMES or transport not in ("", "http", "https"):
        raise InputError(f"{_shown(parts)}: {parts.scheme[:40]!r} is not a trace server; {nearest(named, SCHEMES)}")
    if named in _PUSH_ONLY and not pushes:
        raise InputError(f"{_shown(parts)}: with --push-to, verdicts can be sent there; traces cannot be read from it")
    if parts.username is not None or parts.password is not None:
        raise InputError(
            f"{_shown(parts)}: an address is printed and kept, so it must not hold a key; put the key into an "
            "environment variable, and its name into the address: ?key=NAME"
        )
    wanted = _parameters(parts)
    prefix, place = _placed(named, parts.path)
    return Address(
        scheme=named,
        host=_host(parts, named),
        prefix=prefix,
        place=place,
        is_plain=transport == "http",
        key=_variable(wanted.pop("key", key), parts),
        query=_query(wanted, parts, now()),
    )


def _expanded(alias: str, rest: str, written: Any) -> tuple[str, str | None]:
    """Return the address of an alias, with the place and parameters after it, and the variable with its key."""
    settings = {"url": written} if isinstance(written, str) else written
    if not isinstance(settings, dict) or not isinstance(settings.get("url"), str):
        raise InputError(f"[sources] {alias}: give its address: {alias} = {{ url = 'phoenix://…' }}")
    unknown = [name for name in settings if name not in ("url", "key")]
    if unknown:
        raise InputError(f"[sources] {alias} has no {unknown[0]!r:.40}; {nearest(unknown[0], ('url', 'key'))}")
    place, _, question = rest.removeprefix("//").partition("?")
    base, _, before = settings["url"].partition("?")
    questions = "&".join(filter(None, (before, question)))
    whole = f"{base.rstrip('/')}/{place.strip('/')}" if place.strip("/") else base
    return f"{whole}?{questions}" if questions else whole, settings.get("key")


def _host(parts: SplitResult, named: str) -> str:
    try:
        port = parts.port
    except ValueError:
        raise InputError(f"{_shown(parts)}: the port is a number from 0 to 65535") from None
    if not parts.hostname:
        return _DEFAULT_HOSTS[named]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return host if port is None else f"{host}:{port}"


def _placed(named: str, path: str) -> tuple[str, str]:
    """Split a path into the prefix of all requests and the place, which is its last part."""
    if named in ("langfuse", "otlp", "tempo"):  # these have no place: the key or the tenant selects the project
        return path.rstrip("/"), ""
    prefix, _, place = f"/{path.strip('/')}".rpartition("/")
    return prefix, unquote(place)


def _parameters(parts: SplitResult) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name not in _PARAMETERS:
            raise InputError(f"{_shown(parts)}: unknown parameter {name[:40]!r}; {nearest(name, _PARAMETERS)}")
        if not value:
            raise InputError(f"{_shown(parts)}: {name} has no value")
        if name == "trace":
            wanted["trace"] = (*wanted.get("trace", ()), *value.split(","))
        elif name in wanted:
            raise InputError(f"{_shown(parts)}: {name} is given twice")
        else:
            wanted[name] = value
    return wanted


def _query(wanted: Mapping[str, Any], parts: SplitResult, now: float) -> Query:
    since, until = [_moment(wanted.get(name), name, parts, now) for name in ("since", "until")]
    if since is not None and until is not None and since >= until:
        raise InputError(f"{_shown(parts)}: since is not before until, so no trace can match")
    return Query(
        since_ns=since,
        until_ns=until,
        limit=_limit(wanted.get("limit"), parts),
        traces=tuple(dict.fromkeys(wanted.get("trace", ()))),
        session=wanted.get("session"),
        tag=wanted.get("tag"),
        filter=wanted.get("filter"),
    )


def _moment(text: str | None, name: str, parts: SplitResult, now: float) -> int | None:
    """Parse a time (a duration before now, or a date) into nanoseconds since 1970."""
    if text is None:
        return None
    found = _SPAN.fullmatch(text)
    if found is not None:
        return int(now * _BILLION) - int(found[1]) * _SECONDS[found[2]] * _BILLION
    try:
        # A `+` in a query is a space (application/x-www-form-urlencoded), also in `2026-01-01T00:00:00+01:00`.
        moment = datetime.fromisoformat(re.sub(r" (\d\d:?\d\d)$", r"+\1", text))
    except ValueError:
        raise InputError(
            f"{_shown(parts)}: {name}={text[:40]} is not a time; write 30m, 12h, 7d or 2026-05-31"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) * _BILLION + moment.microsecond * 1000


def _limit(text: str | None, parts: SplitResult) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:12]) <= _MOST_TRACES:
        raise InputError(f"{_shown(parts)}: limit={text[:40]} is not a number of traces, such as 500")
    return int(text)


def _variable(name: Any, parts: SplitResult) -> str | None:
    if name is None or (isinstance(name, str) and _VARIABLE.fullmatch(name)):
        return name
    raise InputError(
        f"{_shown(parts)}: key is the name of the environment variable with the key, such as PHOENIX_API_KEY"
    )


def _is_loopback(host: str) -> bool:
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _shown(parts: SplitResult) -> str:
    """Return an address without user, password and query, which may contain keys."""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"[:200]
