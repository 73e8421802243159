from ._comparison import (
    CaseChange as CaseChange,
    CaseSide as CaseSide,
    Comparison as Comparison,
    Overview as Overview,
    ScoreChange as ScoreChange,
    compare as compare,
    overview as overview,
    redacted_comparison as redacted_comparison,
    sides_in as sides_in,
    sides_of as sides_of,
    varying_arguments as varying_arguments,
)
from ._gate import (
    Base as Base,
    Gate as Gate,
    GatedCase as GatedCase,
    GateRule as GateRule,
    GateSide as GateSide,
    GateVerdict as GateVerdict,
    LeftOut as LeftOut,
    gate as gate,
    gate_base as gate_base,
    gate_sides_in as gate_sides_in,
)
from ._path_changes import (
    ComparedCall as ComparedCall,
    PathChange as PathChange,
    compared_call as compared_call,
    compared_calls as compared_calls,
    path_changes as path_changes,
)
from ._rounds import (
    Decision as Decision,
    Floor as Floor,
    FloorVerdict as FloorVerdict,
    GatePlan as GatePlan,
    Rounds as Rounds,
    one_look as one_look,
)
from ._steadiness import (
    CaseTrials as CaseTrials,
    Steadiness as Steadiness,
    steadiness as steadiness,
    steadiness_by as steadiness_by,
    success as success,
    with_success as with_success,
)
