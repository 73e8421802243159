from ._scorer import (
    Observing as Observing,
    Scored as Scored,
    Scoring as Scoring,
    Sources as Sources,
    read_source as read_source,
)
