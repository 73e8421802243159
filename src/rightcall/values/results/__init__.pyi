from ._aggregates import (
    Aggregates as Aggregates,
    EvaluatorTotals as EvaluatorTotals,
    Measure as Measure,
    measures_of as measures_of,
)
from ._alignment import Alignment as Alignment, Step as Step
from ._case import (
    CaseResult as CaseResult,
    PlacedFinding as PlacedFinding,
    SavedCase as SavedCase,
    Source as Source,
    Totals as Totals,
    Written as Written,
    gravest as gravest,
    gravity as gravity,
)
from ._codes import (
    CODES as CODES,
    Code as Code,
    explain as explain,
    group_words as group_words,
    tells_unmeasured as tells_unmeasured,
)
from ._differences import Difference as Difference, text_pair as text_pair
from ._findings import Finding as Finding, NamedCall as NamedCall, missing_calls as missing_calls, tool_in as tool_in
from ._justifications import (
    AnswersJustification as AnswersJustification,
    BudgetCheck as BudgetCheck,
    BudgetsJustification as BudgetsJustification,
    ComparedAnswer as ComparedAnswer,
    CountCheck as CountCheck,
    CustomJustification as CustomJustification,
    ExecutionOrderJustification as ExecutionOrderJustification,
    ExplainedCall as ExplainedCall,
    FinalOutputJustification as FinalOutputJustification,
    ForbiddenToolsJustification as ForbiddenToolsJustification,
    JudgedRubric as JudgedRubric,
    JudgedSample as JudgedSample,
    JudgeJustification as JudgeJustification,
    Justification as Justification,
    PairingJustification as PairingJustification,
    ToolCallArgsEvaluatorJustification as ToolCallArgsEvaluatorJustification,
    ToolCallCountEvaluatorJustification as ToolCallCountEvaluatorJustification,
    ToolCallOrderEvaluatorJustification as ToolCallOrderEvaluatorJustification,
    ToolCallOutputEvaluatorJustification as ToolCallOutputEvaluatorJustification,
    ToolTrajectoryEvaluatorJustification as ToolTrajectoryEvaluatorJustification,
    TurnScore as TurnScore,
)
from ._outcome import Cause as Cause, Outcome as Outcome
from ._overall import (
    OTHER as OTHER,
    ClassFigures as ClassFigures,
    Classification as Classification,
    OverallResult as OverallResult,
)
from ._repeats import Tally as Tally
from ._result import (
    Account as Account,
    EvaluationResult as EvaluationResult,
    Explanation as Explanation,
    Told as Told,
    Verdict as Verdict,
    without_details as without_details,
)
from ._text import (
    call_text as call_text,
    figure_text as figure_text,
    ordinal_text as ordinal_text,
    value_text as value_text,
)
