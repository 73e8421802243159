from ._agent import Agent as Agent, AgentOptions as AgentOptions, Answer as Answer, Request as Request
from ._hearing import hearing as hearing
from ._loading import load_agent as load_agent
from ._modules import SearchPath as SearchPath, import_file as import_file
from ._tracebacks import traceback_of as traceback_of
