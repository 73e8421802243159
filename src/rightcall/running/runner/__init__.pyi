from ._case_record import (
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
from ._process_state import hide_memory as hide_memory
from ._supervisor import KeptAgent as KeptAgent, run as run
