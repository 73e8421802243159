from ._accepting import Acceptance as Acceptance, CaseOutcome as CaseOutcome, Observed as Observed, accept as accept
from ._collecting import Collected as Collected, collect as collect
