"""What a session of pytest imports, imported as one does: run by the fork server of the sessions.

A first session, over nothing, loads pytest's plugins, and Rightcall with its assertions rewritten.
"""

import importlib
import pkgutil
import tempfile

import pytest


class _Preload:
    def pytest_configure(self) -> None:
        pytest.register_assert_rewrite("rightcall")
        _import("rightcall")


def _import(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError:
        return  # it needs one of those that the server hides
    for found in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}."):
        if not found.name.endswith(".__main__"):
            _import(found.name)


with tempfile.TemporaryDirectory() as empty:
    without = [
        "asyncio",
        "cacheprovider",
        "hypothesispytest",
        "rerunfailures",
        "terminal",
    ]  # the fourth starts a thread
    options = [option for name in without for option in ("-p", f"no:{name}")]
    pytest.main([*options, "-c", "/dev/null", f"--rootdir={empty}", empty], plugins=[_Preload()])
