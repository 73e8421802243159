from ._app import make_app as make_app
from ._edit_view import Desk as Desk, Editor as Editor, Proposal as Proposal
from ._index import Index as Index
from ._library import Library as Library
from ._server import (
    PORT as PORT,
    Hosts as Hosts,
    Listener as Listener,
    Token as Token,
    is_loopback as is_loopback,
    new_token as new_token,
)
