"""From traces to trajectories."""

from ._spans import read_spans

__all__ = ["read_spans"]
