from ._comparison import (
    CaseChange as CaseChange,
    Comparison as Comparison,
    Overview as Overview,
    ScoreChange as ScoreChange,
    Side as Side,
    compare as compare,
    overview as overview,
    redacted_comparison as redacted_comparison,
    sides_of as sides_of,
)
from ._path_changes import Called as Called, PathChange as PathChange, called as called, path_changes as path_changes
