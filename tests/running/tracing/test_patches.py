"""What is changed in other code is changed back."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk import trace as sdk

from rightcall import capture, tool

PLACES: list[tuple[Any, str]] = [
    (threading.Thread, "start"),
    (ThreadPoolExecutor, "submit"),
    (sdk.Span, "start"),
    (sdk.Tracer, "sampler"),
    (trace.ProxyTracer, "_tracer"),
]


@tool
def look() -> None:
    return None


def state() -> list[Any]:
    filters = list(logging.getLogger("opentelemetry.trace").filters)
    return [vars(owner).get(name) for owner, name in PLACES] + filters


def test_nothing_stays_changed_after_the_last_capture() -> None:
    before = state()

    with capture():
        with capture():
            pass
        within = state()

    assert state() == before
    assert all(now is not then for now, then in zip(within, before, strict=False))


def test_what_others_put_in_place_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    with capture():
        ours = threading.Thread.start

        def theirs(self: threading.Thread) -> None:
            started.append(self)
            ours(self)

        monkeypatch.setattr(threading.Thread, "start", theirs)

    assert threading.Thread.start is theirs
    with capture() as captured:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(30)

    assert threading.Thread.start is theirs
    assert started == [thread]
    assert captured.trajectory().names == ("look",)


class Wrapping:
    """What `wrapt` puts in the place of a method: it has to be bound before it is called."""

    def __init__(self, wrapped: Any) -> None:
        self.wrapped = wrapped

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.wrapped.__get__(instance, owner)

    def __call__(self, *args: Any) -> Any:
        raise AssertionError("called without being bound")


@pytest.mark.parametrize(("owner", "name"), [PLACES[0], PLACES[1], PLACES[2]])
def test_what_others_put_in_place_before_is_bound_as_python_does(
    owner: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, Wrapping(vars(owner)[name]))

    with capture() as captured, ThreadPoolExecutor(1) as pool:
        pool.submit(look).result(30)
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(30)

    assert captured.trajectory().names == ("look", "look")


def test_a_change_of_others_that_is_undone_during_a_capture_does_not_stop_the_next_one() -> None:
    original = sdk.Span.start
    with capture():
        sdk.Span.start = original  # somebody who had patched it before us undoes that, and ours with it

    with capture() as captured:
        look()

    assert sdk.Span.start is original
    assert captured.trajectory().names == ("look",)


def test_a_span_is_kept_once_even_where_ours_is_in_place_twice() -> None:
    original = sdk.Span.start
    with capture():
        ours = sdk.Span.start
        sdk.Span.start = lambda self, *args, **kwargs: ours(self, *args, **kwargs)

    with capture() as captured:
        look()
    sdk.Span.start = original

    assert len(captured.spans) == 1
