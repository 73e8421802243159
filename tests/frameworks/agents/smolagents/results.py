"""A support agent of smolagents. Its model is scripted here: it sends results of tools as words of the user."""

from typing import Any

from smolagents import Model, ToolCallingAgent, tool
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole
from smolagents.monitoring import TokenUsage

SAID = (
    ("Thanks!", "final_answer", {"answer": "You are welcome!"}),
    ("20 refunded", "final_answer", {"answer": "I refunded 20 for order 7."}),
    ("Then refund it.", "refund", {"order_id": 7, "amount": 20}),
    ("7: shipped", "final_answer", {"answer": "Order 7 was shipped yesterday."}),
    ("Where is order 7?", "lookup_order", {"order_id": 7}),
)
"""What the model does when it has read a text; of several the first counts."""


class Scripted(Model):  # type: ignore[misc]
    """A model that sees whether the conversation is there."""

    def generate(self, messages: Any, **options: Any) -> Any:
        """Return the next call."""
        seen = str(messages)
        name, args = next((name, args) for text, name, args in SAID if text in seen and "Where is order 7?" in seen)
        function = ChatMessageToolCallFunction(name=name, arguments=args)
        call = ChatMessageToolCall(id=f"call_{len(messages)}", type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call], token_usage=TokenUsage(10, 5))


@tool
def lookup_order(order_id: int) -> str:
    """Say where an order is.

    Args:
        order_id: The order.
    """
    return f"order {order_id}: shipped"


@tool
def refund(order_id: int, amount: int) -> str:
    """Pay back an order.

    Args:
        order_id: The order.
        amount: How much.
    """
    return f"order {order_id}: {amount} refunded"


agent = ToolCallingAgent(tools=[lookup_order, refund], model=Scripted(), max_steps=4)


def answer(question: str) -> Any:
    """Answer one question."""
    return agent.run(question, return_full_result=True)
