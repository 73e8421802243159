"""Trajectories and results as text for people: each module reads them, and nothing else."""

from ._characters import cell_count, fit, printable, wrap
from ._paper import Line, Paper, Part
from ._trajectory import trajectory_lines

__all__ = ["Line", "Paper", "Part", "cell_count", "fit", "printable", "trajectory_lines", "wrap"]
