from ._discovery import (
    adjust_for_many as adjust_for_many,
    association as association,
    difference_of_shares as difference_of_shares,
)
from ._distributions import normal_quantile as normal_quantile, t_quantile as t_quantile
from ._exact import (
    CaseOdds as CaseOdds,
    Odds as Odds,
    Stratum as Stratum,
    adjusted_odds as adjusted_odds,
    exact_odds as exact_odds,
)
from ._intervals import (
    Interval as Interval,
    all_of_k_interval as all_of_k_interval,
    cases_like_these as cases_like_these,
    these_cases_again as these_cases_again,
    wilson as wilson,
)
from ._planning import (
    repeats_needed as repeats_needed,
    repeats_needed_against as repeats_needed_against,
    smallest_drop as smallest_drop,
    trial_variance as trial_variance,
)
from ._repeats import (
    Trials as Trials,
    at_least_j_of_k as at_least_j_of_k,
    mean_of_k as mean_of_k,
    pass_all_k as pass_all_k,
    pass_any_k as pass_any_k,
    rate as rate,
    run_rate as run_rate,
)
from ._sequential import LOOK_SHARES as LOOK_SHARES, Look as Look, looks as looks, mixture_interval as mixture_interval
from ._stratified import difference as difference, difference_interval as difference_interval
