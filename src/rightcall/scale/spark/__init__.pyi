from ._session import score as score, spark_session as spark_session
from ._spans import trajectories as trajectories
from ._tables import score_tables as score_tables
