"""Projects: what their files say, and which agents belong to them."""

from ._configuration import OWN_FILE, PROJECT_FILE, Configuration, is_configured, load_configuration, project_of
from ._homes import agent_files, home_of, home_of_recorded, is_elsewhere

__all__ = [
    "OWN_FILE",
    "PROJECT_FILE",
    "Configuration",
    "agent_files",
    "home_of",
    "home_of_recorded",
    "is_configured",
    "is_elsewhere",
    "load_configuration",
    "project_of",
]
