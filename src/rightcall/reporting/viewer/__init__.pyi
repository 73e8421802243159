from ._access import Hosts as Hosts, Token as Token, is_loopback as is_loopback, new_token as new_token
from ._app import make_app as make_app
from ._index import Index as Index
from ._library import Library as Library
from ._listener import PORT as PORT, Listener as Listener
