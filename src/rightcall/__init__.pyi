from .cases.evalsets import Case as Case, EvalSet as EvalSet, load_eval_set as load_eval_set
from .cases.verdicts import judge as judge
from .errors import (
    CheckFailedError as CheckFailedError,
    ConfigurationError as ConfigurationError,
    CriteriaError as CriteriaError,
    DocumentError as DocumentError,
    InputError as InputError,
    NotMeasuredError as NotMeasuredError,
    RightcallError as RightcallError,
)
from .judging import (
    EVALUATORS as EVALUATORS,
    FinalOutput as FinalOutput,
    ForbiddenTools as ForbiddenTools,
    Judgement as Judgement,
    LlmJudgeOutput as LlmJudgeOutput,
    LlmJudgeTrajectory as LlmJudgeTrajectory,
    ToolCallArgsEvaluator as ToolCallArgsEvaluator,
    ToolCallCountEvaluator as ToolCallCountEvaluator,
    ToolCallOrderEvaluator as ToolCallOrderEvaluator,
    ToolCallOutputEvaluator as ToolCallOutputEvaluator,
    ToolF1 as ToolF1,
    ToolPrecision as ToolPrecision,
    ToolRecall as ToolRecall,
    ToolTrajectoryEvaluator as ToolTrajectoryEvaluator,
    evaluator as evaluator,
    evaluator_type as evaluator_type,
)
from .reading import read as read, read_messages as read_messages, read_spans as read_spans
from .running.tracing import capture as capture, tool as tool, traced as traced
from .testing.assertions import calls as calls, check as check, evaluate as evaluate, gate as gate, soft as soft
from .values.results import (
    CaseResult as CaseResult,
    EvaluationResult as EvaluationResult,
    Finding as Finding,
    explain as explain,
)
from .values.trajectory import ToolCall as ToolCall, Trajectory as Trajectory
from .version import __version__ as __version__
