from ._configuration import (
    Configuration as Configuration,
    bytes_of as bytes_of,
    is_configured as is_configured,
    load_configuration as load_configuration,
)
from ._files import (
    OWN_FILE as OWN_FILE,
    PROJECT_FILE as PROJECT_FILE,
    TrustedProject as TrustedProject,
    agent_files as agent_files,
    agent_folder as agent_folder,
    current_project as current_project,
    eval_sets_in as eval_sets_in,
    is_external as is_external,
    project_of as project_of,
    project_of_eval_set as project_of_eval_set,
    recorded_agent_folder as recorded_agent_folder,
    recording_path as recording_path,
)
