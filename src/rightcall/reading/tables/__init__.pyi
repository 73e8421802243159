from ._row_spans import table_spans as table_spans
from ._span_columns import known_columns as known_columns
