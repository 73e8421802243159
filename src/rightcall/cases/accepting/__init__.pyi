from ._acceptance import Acceptance as Acceptance, CaseOutcome as CaseOutcome, Observed as Observed, accept as accept
from ._expected_calls import literal as literal
from ._ignored_argument import IgnoredArgument as IgnoredArgument, ignore as ignore
from ._new_eval_set import NewEvalSet as NewEvalSet, cases_to_fill as cases_to_fill, new_eval_set as new_eval_set
