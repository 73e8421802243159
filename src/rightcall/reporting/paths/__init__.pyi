from ._counts import (
    Feature as Feature,
    PathCounts as PathCounts,
    Route as Route,
    ToolFacts as ToolFacts,
    calls_in_order as calls_in_order,
    is_unknown as is_unknown,
    route_steps as route_steps,
    route_text as route_text,
)
from ._drift import Drift as Drift, Shifted as Shifted, SlowerTool as SlowerTool, drift as drift
from ._overview import (
    Edge as Edge,
    Ended as Ended,
    Paths as Paths,
    TakenPath as TakenPath,
    UsedTool as UsedTool,
    feature_words as feature_words,
    overview as overview,
)
from ._partings import (
    Branch as Branch,
    CasePaths as CasePaths,
    Parting as Parting,
    Walk as Walk,
    case_paths as case_paths,
    partings as partings,
)
from ._times import Durations as Durations
