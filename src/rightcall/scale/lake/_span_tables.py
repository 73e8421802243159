"""Tables of spans as they lie on disk or in a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rightcall.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 4_096


class SpanTable(Protocol):
    """A table of spans that can be read more than once, some of its columns at a time."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def schema(self) -> pa.Schema:
        """All of its columns."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Its rows, with these of its columns."""


class ParquetSpans:
    """A Parquet file of spans, here or in a file system of Arrow."""

    def __init__(self, path: str, filesystem: Any = None) -> None:
        self.name = path
        self._filesystem = filesystem
        with self._opened() as file:
            self.schema: pa.Schema = file.schema_arrow
            groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
            self.size = sum(group.total_byte_size for group in groups)
            """How many bytes it has unpacked."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Its rows, with these of its columns.

        Raises:
            InputError: the file is damaged, has got other columns, or is gone.
        """
        import pyarrow

        try:
            with self._opened() as file:
                if not file.schema_arrow.equals(self.schema):
                    raise InputError(f"{self.name}: it has changed while it was read")
                yield from file.iter_batches(batch_size=_ROWS, columns=list(columns))
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as problem:
            raise InputError(f"{self.name}: {problem}") from None

    def _opened(self) -> Any:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            message = f"{self.name} is a parquet file; to read it: pip install 'rightcall[arrow]'"
            raise MissingExtraError(message) from None
        try:
            return parquet.ParquetFile(self.name, filesystem=self._filesystem, pre_buffer=False)
        except (pyarrow.ArrowException, OSError) as problem:
            raise InputError(f"{self.name}: {problem}") from None
