from ._comparing import (
    CaseChange as CaseChange,
    Comparison as Comparison,
    ScoreChange as ScoreChange,
    compare as compare,
)
from ._paths import Called as Called, PathChange as PathChange, called as called, path_changes as path_changes
from ._redacting import redacted_comparison as redacted_comparison
from ._sides import Overview as Overview, Side as Side, overview as overview, sides_of as sides_of
