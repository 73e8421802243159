"""Rightcall inside pytest: eval sets as tests, a mark and a fixture, runs and reports of the session."""

from ._entry import pytest_addoption, pytest_configure

__all__ = ["pytest_addoption", "pytest_configure"]
