"""One bounded decoder for all data from outside: JSON, Python literals and Python values."""

from ._documents import decode_document
from ._edits import Edit, apply_edits
from ._json import decode_json, decode_json_sequence, dump_json, load_json
from ._literals import decode_text
from ._located import Document, Path, Position
from ._spans import Entry, Node, find_spans, is_json
from ._values import admit

__all__ = [
    "Document",
    "Edit",
    "Entry",
    "Node",
    "Path",
    "Position",
    "admit",
    "apply_edits",
    "decode_document",
    "decode_json",
    "decode_json_sequence",
    "decode_text",
    "dump_json",
    "find_spans",
    "is_json",
    "load_json",
]
