"""An episode as a chat.

Each message is encoded as JSON once, when it is added; a request reuses the encoded messages.
"""

from collections.abc import Mapping
from typing import Any

from gem_agents.fast_json import write_json
from gem_core.observation import Info, Observation, visible_text
from gem_rollout.tokens.chat_content import content_parts, to_openai

__all__ = ["Chat", "Message", "messages_for", "to_resend"]

Message = dict[str, Any]

NOT_RUN = "This call was not run."
_CALL_FIELDS = ("id", "type", "function")


class Chat:
    """The messages of an episode.

    Attributes:
        messages: All messages so far.
        encoded: The messages as the content of a JSON array.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.encoded = bytearray()

    def add(self, *messages: Message) -> None:
        """Append messages."""
        for message in messages:
            if self.messages:
                self.encoded += b","
            self.encoded += write_json(message)
            self.messages.append(message)


def messages_for(
    observation: Observation, info: Info, last_reply: Mapping[str, Any] | None
) -> list[Message]:
    """Return the messages for an observation.

    Args:
        observation: The observation.
        info: Its info; ``tool_messages`` are the results of tool calls.
        last_reply: The assistant's previous message in the chat; None at the beginning.

    Raises:
        ContentError: The observation has a part that is neither text nor an image.
    """
    calls = (last_reply or {}).get("tool_calls") or []
    if calls:
        results = list(info.get("tool_messages", ())[1:])
        answered = {message.get("tool_call_id") for message in results}
        # Endpoints refuse a chat in which a call has no result.
        results += [
            {"role": "tool", "tool_call_id": call["id"], "content": NOT_RUN}
            for call in calls
            if call["id"] not in answered
        ]
        if "tool_messages" in info:
            return results
        return [*results, _user(observation, info)]
    return [_user(observation, info)]


def _user(observation: Observation, info: Info) -> Message:
    if isinstance(observation, str):
        return {"role": "user", "content": visible_text(observation, info)}
    return {"role": "user", "content": to_openai(content_parts(observation, info))}


def to_resend(message: Mapping[str, Any], *, reasoning: bool) -> Message:
    """Return a reply in the form in which later requests contain it.

    Args:
        message: The reply.
        reasoning: Whether to include the model's reasoning.
    """
    resent: Message = {"role": "assistant", "content": message.get("content") or ""}
    for name in ("reasoning_content", "reasoning"):
        if reasoning and message.get(name):
            resent[name] = message[name]
    given = message.get("tool_calls")
    calls = [
        {"id": f"call_{number}", "type": "function"}
        | {name: call[name] for name in _CALL_FIELDS if call.get(name)}
        for number, call in enumerate(given if isinstance(given, list) else ())
        if isinstance(call, Mapping)
    ]
    if calls:
        resent["tool_calls"] = calls
    return resent
