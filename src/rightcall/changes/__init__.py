"""What changed between runs: verdicts, scores, and the paths that agents took."""

from ._comparing import CaseChange, Comparison, ScoreChange, compare
from ._paths import Called, PathChange, called, path_changes
from ._redacting import redacted_comparison
from ._sides import Overview, Side, overview, sides_of

__all__ = [
    "Called",
    "CaseChange",
    "Comparison",
    "Overview",
    "PathChange",
    "ScoreChange",
    "Side",
    "called",
    "compare",
    "overview",
    "path_changes",
    "redacted_comparison",
    "sides_of",
]
