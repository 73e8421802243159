"""Which actual call pairs with which expected one? Pure sequence code: it knows positions, not calls."""

from ._arranging import arrange
from ._assigning import best_assignment
from ._bits import related_subsequence
from ._least import fits_every_order, least_common, least_met
from ._pairing import Row, maximum_pairing, only_pairing
from ._runs import longest_run
from ._subsequence import common_length, common_subsequence

__all__ = [
    "Row",
    "arrange",
    "best_assignment",
    "common_length",
    "common_subsequence",
    "fits_every_order",
    "least_common",
    "least_met",
    "longest_run",
    "maximum_pairing",
    "only_pairing",
    "related_subsequence",
]
