from ._observing import Observing as Observing
from ._request import Request as Request
from ._scorer import Scored as Scored
from ._scoring import Scoring as Scoring
from ._sources import Sources as Sources
