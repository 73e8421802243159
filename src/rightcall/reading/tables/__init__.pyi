from ._cells import known_columns as known_columns
from ._row_spans import table_spans as table_spans
