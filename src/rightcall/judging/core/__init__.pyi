from ._async import (
    AsyncConfig as AsyncConfig,
    AsyncEvaluator as AsyncEvaluator,
    Execution as Execution,
    is_score as is_score,
)
from ._checks import (
    After as After,
    Before as Before,
    Bounds as Bounds,
    Key as Key,
    Length as Length,
    Made as Made,
    Mistakes as Mistakes,
    NotDumped as NotDumped,
    Place as Place,
    path_of as path_of,
    refuse as refuse,
    reject as reject,
    text_of as text_of,
)
from ._criteria import (
    Call as Call,
    Config as Config,
    Criteria as Criteria,
    ExpectedCall as ExpectedCall,
    Listed as Listed,
    NotEmpty as NotEmpty,
    Policy as Policy,
    Threshold as Threshold,
    ToolCallConfig as ToolCallConfig,
    ToolName as ToolName,
    number_in_text as number_in_text,
    tool_name as tool_name,
)
from ._declarations import (
    CALLS as CALLS,
    NUMBER as NUMBER,
    SOME_CALLS as SOME_CALLS,
    STEP_WORDS as STEP_WORDS,
    TEXT as TEXT,
    WHOLE as WHOLE,
    CallScope as CallScope,
    NameScope as NameScope,
    Scope as Scope,
    Scoring as Scoring,
    Shorthand as Shorthand,
    is_word as is_word,
    read_calls as read_calls,
    read_outputs as read_outputs,
)
from ._doubts import Doubts as Doubts, Range as Range
from ._evaluator import (
    ConfigT as ConfigT,
    CriteriaT as CriteriaT,
    Evaluator as Evaluator,
    Measurement as Measurement,
    NoPlan as NoPlan,
    spanning as spanning,
)
from ._foreign import CODE_OF_YOURS as CODE_OF_YOURS, split_code as split_code, unavailable as unavailable
from ._loop import in_thread as in_thread
from ._overall import Conclusion as Conclusion, OverallEvaluator as OverallEvaluator, Row as Row
from ._selection import Selection as Selection, may_be_asked_together as may_be_asked_together
from ._uipath import AgentExecution as AgentExecution
from ._user_model import (
    ModelError as ModelError,
    UserModel as UserModel,
    camel as camel,
    parse_model as parse_model,
)
