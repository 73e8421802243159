from ._address import (
    SCHEMES as SCHEMES,
    Address as Address,
    Query as Query,
    is_address as is_address,
    parse_address as parse_address,
)
from ._servers import (
    SEARCHED as SEARCHED,
    Mark as Mark,
    Origin as Origin,
    TraceServer as TraceServer,
    marks_of as marks_of,
    opened_server as opened_server,
    pull as pull,
)
from ._web import LOOKS_BACK as LOOKS_BACK, post_json as post_json, recorded_part as recorded_part
