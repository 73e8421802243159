from ._checking import check as check
from ._evaluating import evaluate as evaluate
from ._fluent import Calls as Calls, calls as calls
from ._outcomes import listening as listening, problem_of as problem_of
from ._soft import Soft as Soft, soft as soft
from ._subjects import trajectory_of as trajectory_of
