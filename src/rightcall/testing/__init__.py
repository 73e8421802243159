"""Assertions for tests, and the pytest plugin."""
