from ._mutation import (
    MOST_MUTANTS as MOST_MUTANTS,
    Allowances as Allowances,
    Asking as Asking,
    Golden as Golden,
    Tried as Tried,
    answer_of as answer_of,
    described as described,
    golden_of as golden_of,
    mutated_case as mutated_case,
    operators_named as operators_named,
    pool_of as pool_of,
    try_case as try_case,
)
from ._operators import (
    OPERATORS as OPERATORS,
    Family as Family,
    Mutant as Mutant,
    Operator as Operator,
    Pool as Pool,
    family_of as family_of,
    mutants_of as mutants_of,
)
from ._suggested_lines import Remedied as Remedied, Strengthened as Strengthened, mutate as mutate, remedied as remedied
