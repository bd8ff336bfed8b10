"""The agent ``openai``: asks an OpenAI-compatible endpoint."""

import copy
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from gem_agents.advice import with_advice
from gem_agents.chat import Chat, Message, messages_for, to_resend
from gem_agents.client import Client, Timing
from gem_agents.errors import (
    BadRequestError,
    ContextLengthError,
    EndpointError,
    EndpointTimeoutError,
    RateLimitError,
    ServerError,
)
from gem_agents.fast_json import write_json
from gem_agents.replies import Answer, read_chat, read_completion, text_of
from gem_core.agent import BaseAgent, Generation, Preflight, Reply
from gem_core.content import images_of
from gem_core.env import Env
from gem_core.errors import ConfigError
from gem_core.observation import Action, Info, Observation, visible_text
from gem_core.secret import Secret
from gem_core.seeding import child_seed
from gem_core.thoughts import OPENED_THOUGHT, with_opened_thought
from gem_rollout.episodes.history import history_wrapper
from gem_rollout.tokens.limits import LimitReachedError

__all__ = ["OpenAIAgent"]

API_URL = "https://api.openai.com/v1"
_SEED_BITS = 0x7FFFFFFF
_NEWER_LIMIT = "max_completion_tokens"
"""The field for the most tokens of a reply that some models have instead of ``max_tokens``."""
_RESERVED_FIELDS = ("messages", "prompt", "model", "tools", "stream", "n")


class OpenAIAgent(BaseAgent):
    """Asks an OpenAI-compatible endpoint: vLLM, SGLang, llama.cpp, OpenAI and many others.

    With the chat API, the episode is a chat: observations, including images, are messages with the
    role ``user``, and replies are sent back unchanged. If ``reset`` returns
    ``info["tool_schemas"]``, the request lists the tools, a reply with ``tool_calls`` becomes the
    action unchanged (in the call format ``openai``), and results are messages with the role
    ``tool``. With the completions API, the prompt is text.

    All agents of an endpoint in a process share its connections and one limit of calls in flight,
    which adapts to the capacity of the endpoint.

    Args:
        model: Name of the model.
        base_url: URL of the endpoint, including ``/v1``; None for the environment variable
            ``OPENAI_BASE_URL``, or else OpenAI's own endpoint.
        api_key: The key; None for the value of the environment variable ``api_key_env``. Run
            folders record neither. Other users of a machine can see the arguments of a command, so
            prefer ``api_key_env`` there.
        api_key_env: Name of the environment variable with the key.
        api: ``chat`` or ``completions``.
        system: The system message; for completions, text before everything else.
        temperature: Sampling temperature, 0 or more. Here and below, None means the endpoint's
            default.
        top_p: Nucleus sampling, above 0 and up to 1.
        max_tokens: Most tokens of a reply. For models that require ``max_completion_tokens``, set
            this field in ``extra_body``.
        stop: Strings that end a reply.
        seed: Seed of the sampling. Each turn of each episode has its own seed, which is the same in
            every run, so results are reproducible if the endpoint's sampling is.
        logprobs: Whether to request log-probabilities.
        token_ids: Whether to request token ids in vLLM's format (``return_token_ids``).
        history: ``agent``: the agent keeps the history. ``env``: an observation contains the whole
            history and becomes the only message. ``auto``: ``env`` if a wrapper such as ``concat``
            shows the history, else ``agent``.
        resend_reasoning: Whether to send the reasoning (``reasoning_content``) of earlier turns.
        opens_thought: For the chat API, whether the model's chat template ends prompts with
            ``<think>`` and the endpoint leaves the reasoning in the reply. Each reply then begins
            in a thought, also one that is cut off in it.
        prices: ``{"input": ..., "output": ...}``, per million tokens.
        timeout: Time limit of an attempt in seconds.
        max_attempts: Most attempts for one reply; 1 to never repeat. An attempt is repeated after
            408, 409, 429, 5xx, a lost connection, a timeout, or an answer without a reply.
        max_retry_seconds: Seconds after which no further attempt begins.
        max_in_flight: Most calls to the endpoint at the same time, from all agents of the process.
        extra_body: Additional fields of the request.

    Raises:
        ConfigError: A parameter is invalid, or OpenAI's endpoint has no key.
    """

    shared: ClassVar[tuple[str, ...]] = ("_client",)

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None = None,
        api_key: Secret | None = None,
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
        opens_thought: bool = False,
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
        self._key_env = api_key_env
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
        self._opened = OPENED_THOUGHT if opens_thought else ""
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
        given: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
        given |= extra_body or {}
        self._fields = write_json(given)[:-1]
        limit = _NEWER_LIMIT if _NEWER_LIMIT in given else "max_tokens"
        self._reply_tokens: int = given.get(limit, 1)
        self._fields_of_one_token = write_json({**given, limit: 1})[:-1]
        self._episode_seed = 0
        self._begin(shows_history=False)

    def seed_episode(self, seed: int) -> None:
        self._episode_seed = seed

    def reset(self, env: Env) -> None:
        """Prepare for an episode.

        Raises:
            ConfigError: A wrapper renders the chat, which the chat API would render again.
        """
        wrapper = history_wrapper(env)
        if self._is_chat and getattr(wrapper, "chat_template", "none") != "none":
            raise ConfigError(
                "The environment renders the history with a chat template, and the chat API would "
                "render it again: remove the wrapper, or use api='completions'."
            )
        is_shown = wrapper is not None if self._history == "auto" else self._history == "env"
        self._begin(shows_history=is_shown)

    def _begin(self, *, shows_history: bool) -> None:
        self._shows_history = shows_history
        self._turn = 0
        self._chat = Chat()
        self._prompt = ""
        self._tools = b""
        self._last_reply: Message | None = None
        self._tokens = _TokenHistory()
        if self._system is not None and self._is_chat:
            self._chat.add({"role": "system", "content": self._system})

    def act(self, observation: Observation, info: Info) -> Awaitable[Reply]:
        """Return an awaitable of the reply.

        Raises:
            EndpointError: The endpoint refused, or all attempts failed; ``ContextLengthError`` if
                the first prompt is too long.
            LimitReachedError: A later prompt is longer than the model's context.
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
            self._last_reply = None
        known = len(self._chat.messages) if self._turn and not self._shows_history else 0
        self._chat.add(*messages_for(observation, info, self._last_reply))
        parts = (self._fields, self._tools, self._next_seed(), b',"messages":[')
        data = b"".join((*parts, self._chat.encoded, b"]}"))
        answer, timing = await self._post("chat/completions", data, read_chat)
        message = answer.message
        reply = to_resend(message, reasoning=self._resend_reasoning)
        generation = self._generation(answer, timing, follows=bool(known))
        messages = self._chat.messages
        generation.messages = messages[known:] if generation.extends else list(messages)
        if not self._shows_history:
            self._chat.add(reply)
            self._last_reply = reply
        has_reasoning = message.get("reasoning_content") or message.get("reasoning")
        if has_reasoning and not self._resend_reasoning:
            self._tokens.is_complete = False
        if reply.get("tool_calls") and self._tools:
            action: Action = {"role": "assistant", **message, "tool_calls": reply["tool_calls"]}
        else:
            said = text_of(message)
            action = with_opened_thought(said, self._opened)
            generation.opens_thought = action != said
        return Reply(action, generation)

    async def _act_in_text(self, observation: Observation, info: Info) -> Reply:
        if images_of(observation):
            raise ConfigError("The completions API does not take images: use api='chat'.")
        text, before = visible_text(observation, info), self._prompt
        if self._shows_history:
            self._prompt = (self._system or "") + text
        elif self._turn:
            self._prompt = f"{before}\n{text}\n"
        else:
            self._prompt = f"{self._system}\n{text}\n" if self._system else f"{text}\n"
        data = b'%b%b,"prompt":%b}' % (self._fields, self._next_seed(), write_json(self._prompt))
        answer, timing = await self._post("completions", data, read_completion)
        follows = bool(before) and self._prompt.startswith(before)
        generation = self._generation(answer, timing, follows=follows)
        new = self._prompt[len(before) :] if generation.extends else self._prompt
        generation.messages = [{"role": "prompt", "content": new}]
        reply: str = answer.message["content"]
        action = with_opened_thought(reply, self._prompt)
        generation.opens_thought = action != reply
        self._prompt += reply
        return Reply(action, generation)

    async def _post(
        self, path: str, data: bytes, read: Callable[[Mapping[str, Any]], Answer]
    ) -> tuple[Answer, Timing]:
        try:
            return await self._client.post(path, data, read)
        except ContextLengthError as error:
            if self._turn == 1:
                raise
            raise LimitReachedError("context") from error

    def _next_seed(self) -> bytes:
        turn, self._turn = self._turn, self._turn + 1
        if self._seed is None:
            return b""
        return b',"seed":%d' % (child_seed(self._seed, self._episode_seed, turn) & _SEED_BITS)

    def _generation(self, answer: Answer, timing: Timing, *, follows: bool) -> Generation:
        """Return the generation of a reply, without its messages."""
        prompt_ids, extends = self._tokens.split_prompt(answer, follows=follows)
        return Generation(
            reply=dict(answer.message),
            extends=extends,
            model=answer.model or self.model,
            system_fingerprint=answer.system_fingerprint,
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

    async def preflight(self, observation: Observation, info: Info) -> Preflight:
        """Ask for one token, with at most three attempts within seconds.

        If the endpoint refuses a limit of one token, the request is that of an episode.

        Raises:
            EndpointError: The endpoint cannot be reached, or refuses the key, the model or the
                request.
        """
        quick = copy.copy(self)
        quick._client = client = self._client.quick()  # noqa: SLF001 - a copy of this agent
        try:
            return await quick._first_reply(observation, info)  # noqa: SLF001 - see above
        except (RateLimitError, ServerError, EndpointTimeoutError) as error:
            return Preflight(problem=str(error))
        except EndpointError as error:
            raise await with_advice(
                error, client, model=self.model, key_env=self._key_env
            ) from error
        finally:
            client.close()

    async def _first_reply(self, observation: Observation, info: Info) -> Preflight:
        is_shown = self._shows_history
        usual, self._fields = self._fields, self._fields_of_one_token
        self._begin(shows_history=is_shown)
        try:
            reply = await self.act(observation, info)
        except BadRequestError as error:
            if isinstance(error, ContextLengthError):
                raise
            self._fields = usual
            self._begin(shows_history=is_shown)
            reply = await self.act(observation, info)
        length = (await self._client.models()).get(self.model, {}).get("max_model_len")
        return Preflight(
            prompt_tokens=reply.generation.prompt_tokens if reply.generation else None,
            reply_tokens=self._reply_tokens,
            context=length if type(length) is int and length > 0 else None,
        )

    def close(self) -> None:
        """Release the connections; may be called twice.

        After it, ``act`` raises ``ClosedError``, and so does one that is in progress.
        """
        self._client.close()

    def __repr__(self) -> str:
        return f"OpenAIAgent(model={self.model!r})"


class _TokenHistory:
    """The tokens of an episode so far, as far as the endpoint returns their ids.

    Attributes:
        is_complete: Whether all replies were sent back without omissions.
    """

    def __init__(self) -> None:
        self.is_complete = True
        self._ids: list[int] | None = None

    def split_prompt(self, answer: Answer, *, follows: bool) -> tuple[list[int] | None, bool]:
        """Return the new token ids of a prompt, and whether it extends the earlier tokens.

        Args:
            answer: The answer.
            follows: Whether the request began with the messages of the previous one. If the
                endpoint returns token ids, these decide whether the tokens were extended too.
        """
        prompt, before = answer.prompt_ids, self._ids
        if prompt is None:
            self._ids = None
            return None, follows and self.is_complete
        self._ids = None if answer.token_ids is None else prompt + answer.token_ids
        if follows and before is not None and prompt[: len(before)] == before:
            return prompt[len(before) :], True
        return prompt, False


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"{name} must be one of {', '.join(allowed)}; got {value!r}.")


def _check_prices(prices: Mapping[str, float] | None) -> None:
    if prices is not None and set(prices) != {"input", "output"}:
        raise ConfigError(
            f"prices must have 'input' and 'output', per million tokens; got {dict(prices)!r}."
        )


def _check_extra(extra: Mapping[str, Any] | None) -> None:
    reserved = [name for name in _RESERVED_FIELDS if name in (extra or {})]
    if reserved:
        raise ConfigError(f"extra_body cannot set {', '.join(reserved)}: the agent sets them.")
