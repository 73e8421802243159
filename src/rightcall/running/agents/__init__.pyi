from ._agent import (
    Agent as Agent,
    AgentAnswer as AgentAnswer,
    AgentOptions as AgentOptions,
    AgentRequest as AgentRequest,
    Answer as Answer,
    Request as Request,
    listen_to_documents as listen_to_documents,
    listen_to_errors as listen_to_errors,
)
from ._load_agent import (
    SearchPath as SearchPath,
    import_file as import_file,
    load_agent as load_agent,
    traceback_of as traceback_of,
)
from ._python_agents import object_agent as object_agent
from ._results import RESULT_FORMS as RESULT_FORMS, answer_of as answer_of, form_of as form_of
