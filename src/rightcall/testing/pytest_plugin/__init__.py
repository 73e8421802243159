"""The pytest plugin: eval sets as tests, a mark, a fixture, and the runs and reports of a session."""

from ._entry import pytest_addoption, pytest_configure

__all__ = ["pytest_addoption", "pytest_configure"]
