from ._batches import (
    Cut as Cut,
    batches as batches,
    find_fragments as find_fragments,
    line_row as line_row,
    table_batches as table_batches,
    table_schema as table_schema,
)
from ._counts import (
    A_RULE as A_RULE,
    Counting as Counting,
    ExampleRow as ExampleRow,
    LabelCounts as LabelCounts,
    RuleCount as RuleCount,
    Slow as Slow,
    Summary as Summary,
    count_paths as count_paths,
    lake_trajectories as lake_trajectories,
    packed_paths as packed_paths,
    read_paths as read_paths,
    unpacked_paths as unpacked_paths,
    write_paths as write_paths,
)
from ._fragments import (
    PATHS as PATHS,
    Fragment as Fragment,
    ParquetSpans as ParquetSpans,
    SpanBucket as SpanBucket,
    SpanTable as SpanTable,
    bucket_count as bucket_count,
    span_buckets as span_buckets,
)
from ._job import (
    Job as Job,
    Scorers as Scorers,
    exemplars as exemplars,
    score_fragment as score_fragment,
    score_lines as score_lines,
    summarise as summarise,
    write_summary as write_summary,
)
