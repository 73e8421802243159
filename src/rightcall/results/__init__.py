"""What we found: verdicts, scores, findings and alignments, and their JSON form."""

from ._aggregates import Aggregates, EvaluatorTotals, Measure, measures_of
from ._alignment import Alignment, Step
from ._case import CaseResult, PlacedFinding, SavedCase, Source, Totals, Written, gravest
from ._codes import CODES, Code, explain
from ._differences import Difference, text_pair
from ._findings import Finding, NamedCall
from ._justifications import (
    AnswersJustification,
    BudgetCheck,
    BudgetsJustification,
    ComparedAnswer,
    CountCheck,
    CustomJustification,
    ExecutionOrderJustification,
    ExplainedCall,
    FinalOutputJustification,
    ForbiddenToolsJustification,
    Justification,
    PairingJustification,
    ToolCallArgsEvaluatorJustification,
    ToolCallCountEvaluatorJustification,
    ToolCallOrderEvaluatorJustification,
    ToolCallOutputEvaluatorJustification,
    ToolTrajectoryEvaluatorJustification,
    TurnScore,
)
from ._outcome import Cause, Outcome
from ._overall import OTHER, ClassFigures, Classification, OverallResult
from ._repeats import Tally
from ._result import Account, EvaluationResult, Explanation, Told, Verdict, without_details
from ._text import call_text, figure_text, value_text

__all__ = [
    "CODES",
    "OTHER",
    "Account",
    "Aggregates",
    "Alignment",
    "AnswersJustification",
    "BudgetCheck",
    "BudgetsJustification",
    "CaseResult",
    "Cause",
    "ClassFigures",
    "Classification",
    "Code",
    "ComparedAnswer",
    "CountCheck",
    "CustomJustification",
    "Difference",
    "EvaluationResult",
    "EvaluatorTotals",
    "ExecutionOrderJustification",
    "ExplainedCall",
    "Explanation",
    "FinalOutputJustification",
    "Finding",
    "ForbiddenToolsJustification",
    "Justification",
    "Measure",
    "NamedCall",
    "Outcome",
    "OverallResult",
    "PairingJustification",
    "PlacedFinding",
    "SavedCase",
    "Source",
    "Step",
    "Tally",
    "Told",
    "ToolCallArgsEvaluatorJustification",
    "ToolCallCountEvaluatorJustification",
    "ToolCallOrderEvaluatorJustification",
    "ToolCallOutputEvaluatorJustification",
    "ToolTrajectoryEvaluatorJustification",
    "Totals",
    "TurnScore",
    "Verdict",
    "Written",
    "call_text",
    "explain",
    "figure_text",
    "gravest",
    "measures_of",
    "text_pair",
    "value_text",
    "without_details",
]
