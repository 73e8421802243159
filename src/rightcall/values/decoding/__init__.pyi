from ._documents import decode_document as decode_document
from ._edits import Edit as Edit, apply_edits as apply_edits
from ._json import (
    decode_json as decode_json,
    decode_json_sequence as decode_json_sequence,
    dump_json as dump_json,
    load_json as load_json,
)
from ._literals import decode_text as decode_text
from ._located import Document as Document, Path as Path, Position as Position
from ._spans import Entry as Entry, Node as Node, find_spans as find_spans, is_json as is_json
from ._values import admit as admit
