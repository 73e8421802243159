from ._baseline import (
    Baseline as Baseline,
    BaselineCase as BaselineCase,
    pooled as pooled,
    read_baseline as read_baseline,
)
from ._figures import RunFigures as RunFigures, read_figures as read_figures
from ._header import (
    FloorRecord as FloorRecord,
    GatedCaseRecord as GatedCaseRecord,
    GateRecord as GateRecord,
    Header as Header,
    LeftOutRecord as LeftOutRecord,
    Sample as Sample,
    Seal as Seal,
    case_digest as case_digest,
    commit_of as commit_of,
    file_digest as file_digest,
    files_digest as files_digest,
)
from ._journal import (
    Journal as Journal,
    JournalEntry as JournalEntry,
    JournalLine as JournalLine,
    JournalReader as JournalReader,
    last_results as last_results,
)
from ._mutation_file import keep_mutation as keep_mutation, kept_mutation as kept_mutation
from ._runs import (
    RUNS as RUNS,
    RunFolder as RunFolder,
    create_run as create_run,
    list_runs as list_runs,
    open_run as open_run,
    run_folder as run_folder,
)
from ._span_file import RunSpans as RunSpans, SpanFile as SpanFile, SpanIndex as SpanIndex
from ._summaries import (
    CaseProblem as CaseProblem,
    RunSummary as RunSummary,
    Trial as Trial,
    summaries as summaries,
)
