from ._configuration import (
    Configuration as Configuration,
    bytes_of as bytes_of,
    is_configured as is_configured,
    load_configuration as load_configuration,
)
from ._homes import (
    agent_files as agent_files,
    home_of as home_of,
    home_of_recorded as home_of_recorded,
    is_elsewhere as is_elsewhere,
)
