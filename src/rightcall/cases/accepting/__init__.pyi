from ._acceptance import (
    Acceptance as Acceptance,
    CaseOutcome as CaseOutcome,
    IgnoredArgument as IgnoredArgument,
    NewEvalSet as NewEvalSet,
    Observed as Observed,
    accept as accept,
    cases_to_fill as cases_to_fill,
    ignore as ignore,
    new_eval_set as new_eval_set,
)
from ._rewrite import literal as literal
