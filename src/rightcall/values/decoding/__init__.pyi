from ._documents import (
    Document as Document,
    Edit as Edit,
    Member as Member,
    Node as Node,
    Path as Path,
    Position as Position,
    apply_edits as apply_edits,
    decode_document as decode_document,
    decode_yaml as decode_yaml,
    find_spans as find_spans,
    is_json as is_json,
)
from ._json import (
    admit as admit,
    decode_json as decode_json,
    decode_json_sequence as decode_json_sequence,
    decode_text as decode_text,
    dump_json as dump_json,
    dump_line as dump_line,
    load_as as load_as,
    load_json as load_json,
)
