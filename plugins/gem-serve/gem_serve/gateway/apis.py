"""What differs between the APIs of engines: the fields of requests that OpenAI's API does not have.

vLLM (https://docs.vllm.ai/en/latest/serving/openai_compatible_server/) and SGLang
(https://docs.sglang.io) add more sampling parameters to OpenAI's API,
return token ids if they are asked to, and render chats at ``/tokenize``. SGLang does not return the
ids of a chat's reply in the pieces of its stream; it sends all of them at the end, in ``sglext``.
vLLM's ``/tokenize`` leaves ``reasoning_content`` out of the messages, and takes ``reasoning``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gem_core.errors import ConfigError, near_names
from gem_serve.gateway.events import Message

__all__ = ["API_KINDS", "Api", "api_of"]

_PLAIN = {
    "temperature": 1.0,
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
_MORE = {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
_COMPLETION = {"return_token_ids": True, "skip_special_tokens": False}


class Api(NamedTuple):
    """The API of an engine.

    Args:
        neutral: Sampling parameters that change nothing. A server takes missing ones from the
            model's ``generation_config.json``.
        chat: Fields that ask for the token ids of a chat's prompt and reply.
        completion: The same of a completion, whose text must have all special tokens.
        takes_more: Whether it takes sampling parameters that are not in ``neutral``.
        has_context: Whether its list of models says how long their contexts are.
        reasoning: The name of the reasoning in the messages that it is sent.
    """

    neutral: Mapping[str, Any]
    chat: Mapping[str, Any] = {}
    completion: Mapping[str, Any] = {}
    takes_more: bool = True
    has_context: bool = True
    reasoning: str = "reasoning_content"

    def sampling(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all sampling parameters of a request, those of the episode before neutral ones."""
        merged = {**self.neutral, **given}
        if self.takes_more:
            return merged
        return {name: merged[name] for name in (*self.neutral, "seed") if name in merged}

    def messages(self, given: Sequence[Message]) -> list[Message]:
        """Return the messages of a chat with the API's name for reasoning."""
        return [
            {self.reasoning if name == "reasoning_content" else name: one[name] for name in one}
            for one in given
        ]


_APIS = {
    "vllm": Api(
        {**_PLAIN, **_MORE}, {"return_token_ids": True}, _COMPLETION, reasoning="reasoning"
    ),
    "sglang": Api(
        {**_PLAIN, **_MORE},
        {"return_input_ids_in_sglext": True, "return_output_ids_in_sglext": True},
        _COMPLETION,
    ),
    "openai": Api(_PLAIN, takes_more=False, has_context=False),
}
API_KINDS = tuple(_APIS)
"""The kinds of engines."""


def api_of(kind: str) -> Api:
    """Return the API of a kind of engines.

    Raises:
        ConfigError: The kind is unknown.
    """
    if kind not in _APIS:
        raise ConfigError(
            f"The kind of an engine is {', '.join(API_KINDS[:-1])} or {API_KINDS[-1]}; "
            f"got {kind!r}.{near_names(kind, API_KINDS)}"
        )
    return _APIS[kind]
