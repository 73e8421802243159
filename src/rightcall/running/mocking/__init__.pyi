from ._mocks import (
    Mocks as Mocks,
    ToolMock as ToolMock,
    recording_to as recording_to,
    standing_in as standing_in,
    use_mocks as use_mocks,
)
from ._model_answers import (
    KEY_VARIABLES as KEY_VARIABLES,
    PROVIDERS as PROVIDERS,
    ModelAnswer as ModelAnswer,
    ModelRecorder as ModelRecorder,
    ModelReplay as ModelReplay,
    ModelRequest as ModelRequest,
    ModelTap as ModelTap,
    Provider as Provider,
    RecordedModelCall as RecordedModelCall,
    model_request as model_request,
    model_tap as model_tap,
    tapping_models as tapping_models,
)
from ._recorded_answers import (
    RecordedCall as RecordedCall,
    RecordedError as RecordedError,
    Recorder as Recorder,
    Recording as Recording,
    Replay as Replay,
)
