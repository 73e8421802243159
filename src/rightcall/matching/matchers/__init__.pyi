from ._call_parts import (
    PartName as PartName,
    PartsPattern as PartsPattern,
    Status as Status,
    call_pattern as call_pattern,
)
from ._equality import canonical as canonical, equal as equal, freeze as freeze
from ._expectations import (
    CallMoment as CallMoment,
    Expectation as Expectation,
    MomentOf as MomentOf,
    compile_value as compile_value,
    is_literal as is_literal,
)
from ._names import (
    ArgsPolicy as ArgsPolicy,
    NamePattern as NamePattern,
    NameSet as NameSet,
    named_tools as named_tools,
    tool_names as tool_names,
)
from ._operators import MATCHERS as MATCHERS, bare_matcher as bare_matcher, meant_matcher as meant_matcher
from ._patterns import (
    CallPattern as CallPattern,
    OutputPattern as OutputPattern,
    Pattern as Pattern,
    value_differences as value_differences,
)
from ._relation import (
    NOTHING as NOTHING,
    Assignment as Assignment,
    ExpectedCalls as ExpectedCalls,
    NamesIn as NamesIn,
    Relation as Relation,
    assignments as assignments,
    check_names as check_names,
    close_names as close_names,
    names_in as names_in,
    relate as relate,
)
from ._sources import MadeUp as MadeUp, made_up_values as made_up_values, seen_before as seen_before
