from ._mocks import Mocks as Mocks
from ._recording import (
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
