"""Does one actual value, or one actual call, satisfy one expected one?"""

from ._calls import ArgsPolicy, CallPattern, Pattern
from ._differences import value_differences
from ._equality import equal, freeze
from ._expectations import Expectation, compile_value, is_literal
from ._operators import MATCHERS
from ._outputs import OutputPattern
from ._relation import Relation, relate
from ._sequence import ExpectedCalls

__all__ = [
    "MATCHERS",
    "ArgsPolicy",
    "CallPattern",
    "Expectation",
    "ExpectedCalls",
    "OutputPattern",
    "Pattern",
    "Relation",
    "compile_value",
    "equal",
    "freeze",
    "is_literal",
    "relate",
    "value_differences",
]
