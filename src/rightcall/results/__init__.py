"""What we found: verdicts, scores, findings and alignments, and their JSON form."""

from ._alignment import Alignment, Step
from ._codes import CODES, Code, explain
from ._differences import Difference, text_pair
from ._findings import Finding, NamedCall
from ._justifications import (
    CountCheck,
    ExecutionOrderJustification,
    ExplainedCall,
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
from ._result import Account, EvaluationResult, Explanation, Told, Verdict
from ._text import call_text, value_text

__all__ = [
    "CODES",
    "Account",
    "Alignment",
    "Code",
    "CountCheck",
    "Difference",
    "EvaluationResult",
    "ExecutionOrderJustification",
    "ExplainedCall",
    "Explanation",
    "Finding",
    "ForbiddenToolsJustification",
    "Justification",
    "NamedCall",
    "PairingJustification",
    "Step",
    "Told",
    "ToolCallArgsEvaluatorJustification",
    "ToolCallCountEvaluatorJustification",
    "ToolCallOrderEvaluatorJustification",
    "ToolCallOutputEvaluatorJustification",
    "ToolTrajectoryEvaluatorJustification",
    "TurnScore",
    "Verdict",
    "call_text",
    "explain",
    "text_pair",
    "value_text",
]
