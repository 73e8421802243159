from ._kept_agent import KeptAgent as KeptAgent
from ._run_plan import (
    DEFAULT_MEMORY as DEFAULT_MEMORY,
    DEFAULT_TIMEOUT as DEFAULT_TIMEOUT,
    CaseFinished as CaseFinished,
    CaseJob as CaseJob,
    CaseStarted as CaseStarted,
    Event as Event,
    Quiet as Quiet,
    RunFinished as RunFinished,
    RunOptions as RunOptions,
    RunPlan as RunPlan,
    RunStarted as RunStarted,
    WorkerReplaced as WorkerReplaced,
)
from ._supervisor import run as run
from ._system import hide_memory as hide_memory
