from ._differences import value_differences as value_differences
from ._equality import equal as equal, freeze as freeze
from ._expectations import Expectation as Expectation, compile_value as compile_value, is_literal as is_literal
from ._operators import MATCHERS as MATCHERS
from ._patterns import (
    ArgsPolicy as ArgsPolicy,
    CallPattern as CallPattern,
    OutputPattern as OutputPattern,
    Pattern as Pattern,
)
from ._relation import ExpectedCalls as ExpectedCalls, Relation as Relation, relate as relate
