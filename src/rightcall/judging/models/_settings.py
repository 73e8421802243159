"""Where the judge is, and how it is asked: what the environment says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from rightcall.errors import ConfigurationError, shown

from ._question import JudgeError

PREFIX = "RIGHTCALL_JUDGE_"
CACHE = Path(".rightcall") / "cache"
"""Where answers are kept, seen from the current folder."""
_OFF = ("off", "no", "false", "0")
_MOST_ATTEMPTS = 10


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a judge behind an endpoint is asked. The key comes from the environment, and from nowhere else."""

    base_url: str = ""
    model: str = ""
    api_key: str = ""
    timeout: float = 60.0
    """Seconds that one request may take."""
    concurrency: int = 8
    """How many evaluations are under way at once in this process."""
    attempts: int = 4
    """How often a request is sent, at most, where the endpoint is busy, broken or late."""
    backoff: float = 0.5
    """Seconds before the second attempt, where the endpoint does not say; each time twice as many."""
    input_price: float | None = None
    """What a million tokens cost that are sent; none where that is not known."""
    output_price: float | None = None
    cache: Path | None = CACHE
    """Where answers are kept; none where they are not."""

    def __repr__(self) -> str:
        return f"Settings(base_url={self.base_url!r}, model={self.model!r})"  # not the key

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Return the settings in the variables `RIGHTCALL_JUDGE_…`.

        Raises:
            ConfigurationError: one of them is not what it should be.
        """
        given = os.environ if environment is None else environment
        found: dict[str, object] = {}
        for name in ("base_url", "model", "api_key"):
            found[name] = given.get(PREFIX + name.upper(), "").strip()
        for name in ("timeout", "backoff", "input_price", "output_price"):
            _put(found, name, given, float, 0.0 if name != "timeout" else 0.001, 86_400.0)
        _put(found, "concurrency", given, int, 1, 1_000)
        _put(found, "attempts", given, int, 1, _MOST_ATTEMPTS)
        if cache := given.get(f"{PREFIX}CACHE", "").strip():
            found["cache"] = None if cache.lower() in _OFF else Path(cache)
        return cls(**found)  # type: ignore[arg-type]

    def check(self) -> None:
        """Check that there is an endpoint to ask. Raises `JudgeError`."""
        missing = [name for name in ("base_url", "model", "api_key") if not getattr(self, name)]
        if missing:
            names = " and ".join([PREFIX + name.upper() for name in missing])
            raise JudgeError("RC601", f"the judge is not configured: set {names}")
        if not self.base_url.startswith(("http://", "https://")):
            raise JudgeError("RC601", f"{PREFIX}BASE_URL is not an address: {shown(self.base_url)}")

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return the cost of a number of tokens; `None` where a price is not known."""
        if self.input_price is None or self.output_price is None:
            return None
        return (input_tokens * self.input_price + output_tokens * self.output_price) / 1_000_000


def _put(
    found: dict[str, object],
    name: str,
    given: Mapping[str, str],
    kind: type[int] | type[float],
    least: float,
    most: float,
) -> None:
    text = given.get(PREFIX + name.upper(), "").strip()
    if not text:
        return
    try:
        value = kind(text)
    except ValueError:
        value = kind(-1)
    if not least <= value <= most:
        raise ConfigurationError(f"{PREFIX}{name.upper()} is a number from {least:g} to {most:,g}, not {shown(text)}")
    found[name] = value
