from ._cast import Agreement as Agreement, Cast as Cast, Key as Key, Part as Part
from ._judging import Breach as Breach, Form as Form, Ruling as Ruling, judge as judge
from ._timeline import Timeline as Timeline, Times as Times, timeline_of as timeline_of
