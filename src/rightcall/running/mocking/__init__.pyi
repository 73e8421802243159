from ._mocks import Mocks as Mocks
from ._recording import Entry as Entry, RaisedEntry as RaisedEntry, Recorder as Recorder, Recording as Recording
from ._replaying import Replay as Replay
from ._standing import Answering as Answering, recording_to as recording_to, standing_in as standing_in
