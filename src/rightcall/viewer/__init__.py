"""The local web pages over run folders: it reads them, answers a browser on this machine, and writes nothing."""

from ._access import Hosts, Token, is_loopback, new_token
from ._app import make_app
from ._index import Index
from ._library import Library
from ._serving import PORT, Listener

__all__ = ["PORT", "Hosts", "Index", "Library", "Listener", "Token", "is_loopback", "make_app", "new_token"]
