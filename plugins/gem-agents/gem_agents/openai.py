"""The agent ``openai``: asks an endpoint that speaks OpenAI's API."""

import os
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from gem_agents.chat import Chat, Message, history_of, messages_for, resent
from gem_agents.client import Client, Timing
from gem_agents.fast_json import write_json
from gem_agents.replies import Answer, read_chat, read_completion, text_of
from gem_core.agent import BaseAgent, Generation, Reply
from gem_core.content import images_of
from gem_core.env import Env
from gem_core.errors import ConfigError
from gem_core.observation import Action, Info, Observation, visible_text
from gem_core.seeding import child_seed

__all__ = ["OpenAIAgent"]

API_URL = "https://api.openai.com/v1"
_SEED_BITS = 0x7FFFFFFF
_OWN_FIELDS = ("messages", "prompt", "model", "tools", "stream", "n")


class OpenAIAgent(BaseAgent):
    """Asks an endpoint that speaks OpenAI's API: vLLM, SGLang, llama.cpp, OpenAI and many more.

    With the chat API it keeps the episode as a chat: observations are messages of the role
    ``user``, with their images, and replies stay as they came. Where ``reset`` gave
    ``info["tool_schemas"]``, the endpoint is told of the tools, a reply with ``tool_calls`` is the
    action as it is (what the call format ``openai`` reads), and the results are messages of the
    role ``tool``. With the completions API the prompt is text.

    All agents of an endpoint in a process share its connections, and the number of calls in
    flight, which adapts to what the endpoint bears.

    Args:
        model: Name of the model.
        base_url: The endpoint, with its ``/v1``; else the environment's ``OPENAI_BASE_URL``, else
            OpenAI's own.
        api_key: The key; else what the environment variable ``api_key_env`` holds. It gets into
            no trajectory and no message; but configurations are written to run folders, so that
            ``api_key_env`` is the better place to change.
        api_key_env: Name of the environment variable with the key.
        api: ``chat`` or ``completions``.
        system: The system message; for completions, text before everything else.
        temperature: Of the sampling, 0 or more; None leaves it to the endpoint, as everywhere.
        top_p: Of the sampling, above 0 and up to 1.
        max_tokens: Most tokens of a reply. For models that want ``max_completion_tokens``, say so
            in ``extra_body``.
        stop: Texts that end a reply.
        seed: Seed of the sampling. Each turn of each episode is asked with a seed of its own; the
            same in every run of the same seeds, where the endpoint samples reproducibly.
        logprobs: Ask for log-probabilities.
        token_ids: Ask for token ids as vLLM gives them (``return_token_ids``).
        history: ``agent``: the agent keeps the history. ``env``: an observation is all of it, and
            becomes the only message. ``auto``: ``env`` where a wrapper of the environment shows
            the history, such as ``concat``.
        resend_reasoning: Send what the model thought (``reasoning_content``) in the turns before.
        prices: ``{"input": ..., "output": ...}``, per million tokens.
        timeout: Seconds that one attempt may take.
        max_attempts: Most attempts for one reply, 1 for no repetition. Repeated are attempts that
            ended in 408, 409, 429, 5xx, a lost connection, no answer in time, or an answer without
            a reply.
        max_retry_seconds: Seconds after which no attempt is repeated any more.
        max_in_flight: Most calls at once to the endpoint, from all agents of the process.
        extra_body: More fields of the request.

    Raises:
        ConfigError: A parameter that cannot work, or OpenAI's endpoint without a key.
    """

    shared: ClassVar[tuple[str, ...]] = ("_client",)

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        api: Literal["chat", "completions"] = "chat",
        system: str | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        stop: str | Sequence[str] | None = None,
        seed: int | None = None,
        logprobs: bool = False,
        token_ids: bool = False,
        history: Literal["auto", "agent", "env"] = "auto",
        resend_reasoning: bool = False,
        prices: Mapping[str, float] | None = None,
        timeout: float = 600.0,
        max_attempts: int = 8,
        max_retry_seconds: float = 600.0,
        max_in_flight: int = 4096,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        _check_choice("api", api, ("chat", "completions"))
        _check_choice("history", history, ("auto", "agent", "env"))
        _check_prices(prices)
        _check_extra(extra_body)
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or API_URL
        api_key = api_key or os.environ.get(api_key_env)
        if base_url.rstrip("/") == API_URL and not api_key:
            raise ConfigError(
                f"{API_URL} needs a key: set {api_key_env} in the environment, or base_url to "
                f"another endpoint."
            )
        self.model = model
        self._client = Client(
            base_url,
            api_key,
            timeout=timeout,
            max_attempts=max_attempts,
            max_seconds=max_retry_seconds,
            max_in_flight=max_in_flight,
        )
        self._is_chat = api == "chat"
        self._system = system
        self._seed = seed
        self._history = history
        self._resend_reasoning = resend_reasoning
        self._prices = prices
        fields = {
            "model": model,
            "temperature": temperature,
            "top_p": top_p,
            "max_tokens": max_tokens,
            "stop": [stop] if isinstance(stop, str) else None if stop is None else list(stop),
            "return_token_ids": token_ids or None,
            "logprobs": logprobs or None if self._is_chat else 0 if logprobs else None,
        }
        given = {name: value for name, value in fields.items() if value is not None}
        self._fields = write_json({**given, **(extra_body or {})})[:-1]
        self._episode_seed = 0
        self._begin(shows_history=False)

    def seed_episode(self, seed: int) -> None:
        self._episode_seed = seed

    def reset(self, env: Env) -> None:
        """Get ready for an episode.

        Raises:
            ConfigError: A wrapper renders chats, which the chat API would render again.
        """
        wrapper = history_of(env)
        if self._is_chat and getattr(wrapper, "chat_template", "none") != "none":
            raise ConfigError(
                "The environment renders the history with a chat template, and the chat API would "
                "do so again: leave that wrapper out, or take api='completions'."
            )
        is_shown = wrapper is not None if self._history == "auto" else self._history == "env"
        self._begin(shows_history=is_shown)

    def _begin(self, *, shows_history: bool) -> None:
        self._shows_history = shows_history
        self._turn = 0
        self._chat = Chat()
        self._prompt = ""
        self._tools = b""
        self._said: Message | None = None
        self._seen: _Seen = _Seen()
        if self._system is not None and self._is_chat:
            self._chat.add({"role": "system", "content": self._system})

    def act(self, observation: Observation, info: Info) -> Awaitable[Reply]:
        """Return an awaitable of the reply.

        Raises:
            EndpointError: The endpoint refused, or the attempts are used up.
        """
        if self._is_chat:
            return self._act_in_chat(observation, info)
        return self._act_in_text(observation, info)

    async def _act_in_chat(self, observation: Observation, info: Info) -> Reply:
        if self._turn == 0 and info.get("tool_schemas"):
            self._tools = b',"tools":' + write_json(info["tool_schemas"])
        if self._shows_history and self._turn:
            self._chat = Chat()
            if self._system is not None:
                self._chat.add({"role": "system", "content": self._system})
            self._said = None
        known = len(self._chat.messages) if self._turn and not self._shows_history else 0
        self._chat.add(*messages_for(observation, info, self._said))
        parts = (self._fields, self._tools, self._next_seed(), b',"messages":[')
        data = b"".join((*parts, self._chat.encoded, b"]}"))
        answer, timing = await self._client.post("chat/completions", data, read_chat)
        message = answer.message
        said = resent(message, reasoning=self._resend_reasoning)
        generation = self._generation(answer, timing, follows=bool(known))
        messages = self._chat.messages
        generation.messages = messages[known:] if generation.extends else list(messages)
        if not self._shows_history:
            self._chat.add(said)
            self._said = said
        thought = message.get("reasoning_content") or message.get("reasoning")
        self._seen.is_whole = self._seen.is_whole and (self._resend_reasoning or not thought)
        if said.get("tool_calls") and self._tools:
            action: Action = {"role": "assistant", **message, "tool_calls": said["tool_calls"]}
        else:
            action = text_of(message)
        return Reply(action, generation)

    async def _act_in_text(self, observation: Observation, info: Info) -> Reply:
        if images_of(observation):
            raise ConfigError("The completions API takes no images: take api='chat'.")
        text, before = visible_text(observation, info), self._prompt
        if self._shows_history:
            self._prompt = (self._system or "") + text
        elif self._turn:
            self._prompt = f"{before}\n{text}\n"
        else:
            self._prompt = f"{self._system}\n{text}\n" if self._system else f"{text}\n"
        data = b'%b%b,"prompt":%b}' % (self._fields, self._next_seed(), write_json(self._prompt))
        answer, timing = await self._client.post("completions", data, read_completion)
        follows = bool(before) and self._prompt.startswith(before)
        generation = self._generation(answer, timing, follows=follows)
        new = self._prompt[len(before) :] if generation.extends else self._prompt
        generation.messages = [{"role": "prompt", "content": new}]
        said: str = answer.message["content"]
        self._prompt += said
        return Reply(said, generation)

    def _next_seed(self) -> bytes:
        turn, self._turn = self._turn, self._turn + 1
        if self._seed is None:
            return b""
        return b',"seed":%d' % (child_seed(self._seed, self._episode_seed, turn) & _SEED_BITS)

    def _generation(self, answer: Answer, timing: Timing, *, follows: bool) -> Generation:
        """Return what is known of a reply, all but the messages."""
        prompt_ids, extends = self._seen.new_of(answer, follows=follows)
        return Generation(
            reply=dict(answer.message),
            extends=extends,
            model=answer.model or self.model,
            finish_reason=answer.finish_reason,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            prompt_ids=prompt_ids,
            token_ids=answer.token_ids,
            tokens=answer.tokens,
            logprobs=answer.logprobs,
            queue_seconds=timing.queue_seconds,
            model_seconds=timing.model_seconds,
            attempts=timing.attempts,
            cost=self._cost(answer),
        )

    def _cost(self, answer: Answer) -> float | None:
        prices = self._prices
        if prices is None or answer.prompt_tokens is None or answer.completion_tokens is None:
            return None
        given = answer.prompt_tokens * prices["input"]
        return (given + answer.completion_tokens * prices["output"]) / 1e6

    def close(self) -> None:
        """Give the connections back; may be called twice."""
        self._client.close()

    def __repr__(self) -> str:
        return f"OpenAIAgent(model={self.model!r})"


class _Seen:
    """Tokens that the model was given and gave so far.

    Attributes:
        is_whole: Whether replies were sent again as they came, nothing left out.
    """

    def __init__(self) -> None:
        self.is_whole = True
        self._ids: list[int] | None = None

    def new_of(self, answer: Answer, *, follows: bool) -> tuple[list[int] | None, bool]:
        """Return the new ids of a prompt, and whether it begins with what was there before.

        Args:
            answer: The answer.
            follows: Whether the request began with the messages of the one before. Whether the
                tokens do, only their ids can say, if the endpoint gives any.
        """
        prompt, before = answer.prompt_ids, self._ids
        if prompt is None:
            self._ids = None
            return None, follows and self.is_whole
        self._ids = None if answer.token_ids is None else prompt + answer.token_ids
        if follows and before is not None and prompt[: len(before)] == before:
            return prompt[len(before) :], True
        return prompt, False


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"{name} is one of {', '.join(allowed)}; got {value!r}.")


def _check_prices(prices: Mapping[str, float] | None) -> None:
    if prices is not None and set(prices) != {"input", "output"}:
        raise ConfigError(
            f"prices has 'input' and 'output', each per million tokens; got {dict(prices)!r}."
        )


def _check_extra(extra: Mapping[str, Any] | None) -> None:
    own = [name for name in _OWN_FIELDS if name in (extra or {})]
    if own:
        raise ConfigError(f"extra_body cannot have {', '.join(own)}: the agent decides on them.")
