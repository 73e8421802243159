from ._edit import Golden as Golden, LearnedCase as LearnedCase, Lessons as Lessons, learn_eval_set as learn_eval_set
from ._learner import DraftJudge as DraftJudge, Lesson as Lesson, learn as learn, leave_one_out as leave_one_out
from ._levels import (
    READING as READING,
    Learned as Learned,
    Level as Level,
    is_reading as is_reading,
    learn_at as learn_at,
)
