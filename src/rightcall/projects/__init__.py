"""Projects: what their files say, and which agents belong to them."""

from ._configuration import Configuration, bytes_of, is_configured, load_configuration
from ._homes import agent_files, home_of, home_of_recorded, is_elsewhere

__all__ = [
    "Configuration",
    "agent_files",
    "bytes_of",
    "home_of",
    "home_of_recorded",
    "is_configured",
    "is_elsewhere",
    "load_configuration",
]
