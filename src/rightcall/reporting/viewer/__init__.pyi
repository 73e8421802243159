from ._app import (
    PORT as PORT,
    Hosts as Hosts,
    Listener as Listener,
    Token as Token,
    is_loopback as is_loopback,
    make_app as make_app,
    new_token as new_token,
)
from ._edit_view import Editor as Editor, EditSession as EditSession, Proposal as Proposal
from ._library import Index as Index, Library as Library
