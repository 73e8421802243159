from ._table_attributes import UNREADABLE as UNREADABLE
from ._table_columns import known_columns as known_columns
from ._table_spans import table_spans as table_spans
