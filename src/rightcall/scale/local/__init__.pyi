from ._scorer import Scored as Scored
from ._scoring import Observing as Observing, Scoring as Scoring
from ._sources import Sources as Sources
