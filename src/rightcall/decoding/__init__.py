"""One bounded decoder for all data from outside: JSON, Python literals and Python values."""

from ._json import decode_json, decode_json_sequence, dump_json, load_json
from ._literals import decode_text
from ._values import admit

__all__ = ["admit", "decode_json", "decode_json_sequence", "decode_text", "dump_json", "load_json"]
