from ._mocks import Mocks as Mocks
from ._model_answers import (
    ModelAnswer as ModelAnswer,
    ModelRecorder as ModelRecorder,
    ModelReplay as ModelReplay,
    ModelTap as ModelTap,
    RecordedModelCall as RecordedModelCall,
    model_tap as model_tap,
    tapping_models as tapping_models,
)
from ._model_requests import (
    KEY_VARIABLES as KEY_VARIABLES,
    PROVIDERS as PROVIDERS,
    ModelRequest as ModelRequest,
    Provider as Provider,
    model_request as model_request,
)
from ._recorded_answers import (
    RecordedCall as RecordedCall,
    RecordedError as RecordedError,
    Recorder as Recorder,
    Recording as Recording,
    Replay as Replay,
)
from ._stubs import (
    ToolMock as ToolMock,
    recording_to as recording_to,
    standing_in as standing_in,
    use_mocks as use_mocks,
)
