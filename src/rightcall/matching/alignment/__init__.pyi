from ._arranging import arrange as arrange
from ._assigning import best_assignment as best_assignment
from ._bits import related_subsequence as related_subsequence
from ._least import fits_every_order as fits_every_order, least_common as least_common, least_met as least_met
from ._pairing import Row as Row, maximum_pairing as maximum_pairing, only_pairing as only_pairing
from ._runs import longest_run as longest_run
from ._subsequence import common_length as common_length, common_subsequence as common_subsequence
