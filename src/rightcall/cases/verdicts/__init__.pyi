from ._joining import CASE_ATTRIBUTE as CASE_ATTRIBUTE, Join as Join, Joining as Joining
from ._judging import (
    broken as broken,
    judge as judge,
    judge_run as judge_run,
    unjudged as unjudged,
    waits as waits,
    weighted as weighted,
)
from ._names import ToolNames as ToolNames
from ._overall import Overall as Overall, exit_code as exit_code
from ._waiting import Judging as Judging
