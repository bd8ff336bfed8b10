"""One episode as a chat: what is sent next, and what of it is new.

Messages are written as JSON once, when they are added; a request joins what is there.
"""

from collections.abc import Mapping
from typing import Any

from gem_agents.fast_json import write_json
from gem_core.content import content_parts, to_openai
from gem_core.env import Env, Layer, Wrapper
from gem_core.observation import Info, Observation, visible_text

__all__ = ["Chat", "Message", "history_of", "messages_for", "resent"]

Message = dict[str, Any]

NOT_RUN = "This call was not run."
_KEPT_OF_A_CALL = ("id", "type", "function")


class Chat:
    """Messages of an episode.

    Attributes:
        messages: All messages so far.
        encoded: The same as the inside of a JSON array.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.encoded = bytearray()

    def add(self, *messages: Message) -> None:
        """Add messages at the end."""
        for message in messages:
            if self.messages:
                self.encoded += b","
            self.encoded += write_json(message)
            self.messages.append(message)


def history_of(env: Env) -> Any:
    """Return the wrapper that shows an agent the whole history; None without one."""
    layer: Any = env
    while isinstance(layer, Wrapper):
        if layer.layer is Layer.HISTORY:
            return layer
        layer = layer.env
    return None


def messages_for(
    observation: Observation, info: Info, said: Mapping[str, Any] | None
) -> list[Message]:
    """Return the messages that show what came of an action.

    Args:
        observation: The observation.
        info: Its info. With ``tool_messages`` they are the results of the calls.
        said: The assistant's message before, as it is sent again; None at the beginning.

    Raises:
        ContentError: The observation has something that is no image.
    """
    calls = (said or {}).get("tool_calls") or []
    if calls:
        results = list(info.get("tool_messages", ())[1:])
        answered = {message.get("tool_call_id") for message in results}
        # An API refuses a chat in which a call has no result.
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


def resent(message: Mapping[str, Any], *, reasoning: bool) -> Message:
    """Return a reply as the next request has it.

    Args:
        message: The reply.
        reasoning: Send the model's reasoning too.
    """
    again: Message = {"role": "assistant", "content": message.get("content") or ""}
    for name in ("reasoning_content", "reasoning"):
        if reasoning and message.get(name):
            again[name] = message[name]
    given = message.get("tool_calls")
    calls = [
        {"id": f"call_{number}", "type": "function"}
        | {name: call[name] for name in _KEPT_OF_A_CALL if call.get(name)}
        for number, call in enumerate(given if isinstance(given, list) else ())
        if isinstance(call, Mapping)
    ]
    if calls:
        again["tool_calls"] = calls
    return again
