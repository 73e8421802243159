from ._delivery import Soft as Soft, listen_to_results as listen_to_results, problem_of as problem_of, soft as soft
from ._evaluate import evaluate as evaluate, gate as gate
from ._run_assertions import (
    Calls as Calls,
    calls as calls,
    check as check,
    survivors as survivors,
    trajectory_of as trajectory_of,
)
