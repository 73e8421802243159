from ._counting import A_RULE as A_RULE, Counting as Counting
from ._exemplars import exemplars as exemplars
from ._fragments import Fragment as Fragment, Reading as Reading
from ._job import Job as Job
from ._lines import line_row as line_row
from ._planning import Cut as Cut, find_fragments as find_fragments
from ._reading import batches as batches, table_batches as table_batches, table_schema as table_schema
from ._scoring import score_fragment as score_fragment, score_lines as score_lines
from ._span_buckets import SpanBucket as SpanBucket, bucket_count as bucket_count, span_buckets as span_buckets
from ._span_tables import ParquetSpans as ParquetSpans, SpanTable as SpanTable
from ._summarising import summarise as summarise, write_summary as write_summary
from ._summary import Example as Example, RuleCount as RuleCount, Slow as Slow, Summary as Summary
from ._workers import Scorers as Scorers
