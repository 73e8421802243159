from ._cells import known_columns as known_columns
from ._row_spans import table_items as table_items, table_spans as table_spans
