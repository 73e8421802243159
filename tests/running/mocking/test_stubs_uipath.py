"""Functions with UiPath's own `@mockable`, of which this is what it does: ask who is in a context variable."""

from __future__ import annotations

import asyncio
import sys
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

import pytest

from rightcall.errors import MockError
from rightcall.running.mocking import Mocks, Recorder, Recording, recording_to, use_mocks

MODULE = "uipath.eval.mocks._mock_context"


class NoMockFoundError(Exception):
    pass


mocker_context: ContextVar[Any] = ContextVar("mocker", default=None)


def mockable(function: Callable[..., Any]) -> Callable[..., Any]:
    async def ask(*args: Any, **kwargs: Any) -> Any:
        mocker = mocker_context.get()
        if mocker is None:
            raise NoMockFoundError
        return await mocker.response(function, {"name": function.__name__}, (args, kwargs))

    def decorated(*args: Any, **kwargs: Any) -> Any:
        try:
            return asyncio.run(ask(*args, **kwargs))
        except NoMockFoundError:
            value = function(*args, **kwargs)
            return asyncio.run(value) if asyncio.iscoroutine(value) else value

    return decorated


@pytest.fixture(autouse=True)
def _uipath() -> Iterator[None]:
    module = types.ModuleType(MODULE)
    module.__dict__.update(mocker_context=mocker_context, UiPathNoMockFoundError=NoMockFoundError)
    sys.modules[MODULE] = module
    yield
    del sys.modules[MODULE]


@mockable
async def get_temperature(city: str, unit: str = "F") -> dict[str, Any]:
    if city == "Atlantis":
        raise LookupError(city)
    return {"city": city, "unit": unit}


@mockable
def search(query: str) -> str:
    return query.upper()


def test_mocks_answer_for_them() -> None:
    mocks = Mocks.of({"get_temperature": {"when": {"city": "Rome", "unit": "F"}, "returns": 25}})

    with use_mocks(mocks):
        assert get_temperature("Rome") == 25
        assert search("laptop") == "LAPTOP"
        with pytest.raises(MockError, match="no mock of 'get_temperature' matches"):
            get_temperature("Oslo")

    assert get_temperature("Rome") == {"city": "Rome", "unit": "F"}


def test_mocks_answer_for_them_in_other_threads() -> None:
    with use_mocks(Mocks.of({"search": {"returns": "mocked"}})), ThreadPoolExecutor(1) as pool:
        assert pool.submit(search, "laptop").result(30) == "mocked"


def test_what_they_give_back_is_recorded_and_replayed() -> None:
    recorder = Recorder("one")
    with recording_to(recorder):
        real = [get_temperature("Rome"), search("laptop")]
        with pytest.raises(LookupError):
            get_temperature("Atlantis")

    with use_mocks(Recording(recorder.entries).replay("one")):
        again = [get_temperature("Rome"), search(query="laptop")]
        with pytest.raises(LookupError, match="Atlantis"):
            get_temperature("Atlantis")

    assert again == real
    assert [entry.tool for entry in recorder.entries] == ["get_temperature", "search", "get_temperature"]


def test_another_version_of_the_package_does_no_harm() -> None:
    sys.modules[MODULE].__dict__.pop("mocker_context")

    with use_mocks(Mocks.of({"search": {"returns": "mocked"}})):
        assert search("laptop") == "LAPTOP"
