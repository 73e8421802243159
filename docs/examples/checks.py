"""What we ask of every trip."""

from pydantic import BaseModel

from rightcall import Judgement, evaluator


class Budget(BaseModel):
    """What may be spent."""

    most: float


@evaluator
def within_budget(calls, criteria: Budget):
    """No more is charged than may be spent. A card that was declined costs nothing."""
    charged = sum(call.args["amount"] for call in calls if call.name == "charge_card" and call.error is None)
    reason = f"{charged:g} was charged, and {criteria.most:g} may be spent"
    return Judgement(charged <= criteria.most, reason, {"charged": charged})


@evaluator(threshold=0.8)
class FirstTime:
    """The share of calls that did not fail."""

    class Config(BaseModel):
        """Which tools may fail."""

        may_fail: list[str] = []

    def __init__(self, config):
        self.may_fail = config.may_fail

    def evaluate(self, calls):
        """A number from 0 to 1."""
        failed = [call for call in calls if call.error is not None and call.name not in self.may_fail]
        return 1 - len(failed) / max(1, len(calls))


@evaluator
async def short(output):
    """An answer of at most ten words. It may wait for a service, with `await`."""
    return len(str(output).split()) <= 10
