from ._pairing import (
    MarkedRow as MarkedRow,
    Row as Row,
    best_assignment as best_assignment,
    maximum_pairing as maximum_pairing,
    only_pairing as only_pairing,
)
from ._readings import Occurrence as Occurrence, Reader as Reader, StepReading as StepReading
from ._subsequence import (
    COMMON as COMMON,
    UNKNOWN as UNKNOWN,
    ExpectedNames as ExpectedNames,
    arrange as arrange,
    common_length as common_length,
    common_subsequence as common_subsequence,
    fits_every_order as fits_every_order,
    least_common as least_common,
    least_met as least_met,
    left_over as left_over,
    longest_run as longest_run,
    related_subsequence as related_subsequence,
)
from ._tree import (
    AnyOrder as AnyOrder,
    AtOnce as AtOnce,
    InOrder as InOrder,
    OneCall as OneCall,
    OneOf as OneOf,
    Perhaps as Perhaps,
    Repeat as Repeat,
    SearchBudget as SearchBudget,
    StepNode as StepNode,
)
