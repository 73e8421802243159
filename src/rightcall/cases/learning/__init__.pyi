from ._edit import Golden as Golden, LearnedCase as LearnedCase, Lessons as Lessons, learn_eval_set as learn_eval_set
from ._learner import (
    READING as READING,
    DraftJudge as DraftJudge,
    Learned as Learned,
    Lesson as Lesson,
    Level as Level,
    is_reading as is_reading,
    learn as learn,
    learn_at as learn_at,
    leave_one_out as leave_one_out,
)
