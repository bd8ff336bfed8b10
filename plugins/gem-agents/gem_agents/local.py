"""The agent ``transformers``: samples from a transformers model in this process."""

import marshal
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Literal

from gem_agents.chat import Message, history_wrapper
from gem_agents.errors import ContextLengthError
from gem_agents.sampler import Request, SamplingModel
from gem_agents.transcript import Transcript, no_memo
from gem_core.agent import BaseAgent, Generation, Reply
from gem_core.env import Env
from gem_core.errors import ConfigError
from gem_core.observation import Info, Observation, visible_text
from gem_core.seeding import child_seed

__all__ = ["LocalAgent"]


class LocalAgent(BaseAgent):
    """Samples from a causal language model of transformers in this process.

    All agents with the same model share it, and their episodes are decoded in one batch. The prompt
    is rendered by the model's chat template, with ``info["tool_schemas"]`` as tools. If the prompt
    extends the earlier turns, sampled tokens are kept and not tokenised again. Replies have token
    ids and log-probabilities. Observations must be text.

    Args:
        model: Name or folder of a model; or a live model of transformers or peft, which is sampled
            with its current weights; or a ``SamplingModel``.
        tokenizer: The tokenizer of a live model; None otherwise.
        device: ``auto`` (CUDA if available, else the CPU), ``cpu``, ``cuda:1``, ...; a live model
            stays on its device.
        dtype: ``auto`` (as the model was saved), ``float32``, ``bfloat16``, ...; a live model
            keeps its dtype.
        max_new_tokens: Most tokens of a reply.
        temperature: Sampling temperature; 0 for the most likely tokens.
        top_p: Sample from the most likely tokens that together have this probability, in (0, 1].
        stop: Strings that end a reply and stay part of it. The token that completes one may contain
            further text.
        scaled_logprobs: Whether log-probabilities are those of the distribution at the temperature,
            over all tokens regardless of ``top_p``, instead of the model's own. At temperature 0,
            they are the model's own.
        seed: Seed of the sampling; None for a random one.
        system: The system message.
        history: ``agent``, ``env`` or ``auto``, as for the agent ``openai``.
        batch_size: Most episodes that are decoded at the same time.
        template: More variables for the chat template, such as ``{"enable_thinking": False}``.

    Raises:
        ConfigError: A parameter is invalid, torch or transformers are not installed, or the model
            cannot be loaded.
    """

    def __init__(
        self,
        *,
        model: Any,
        tokenizer: Any = None,
        device: str = "auto",
        dtype: str = "auto",
        max_new_tokens: int = 512,
        temperature: float = 1.0,
        top_p: float = 1.0,
        stop: Sequence[str] = (),
        scaled_logprobs: bool = False,
        seed: int | None = None,
        system: str | None = None,
        history: Literal["auto", "agent", "env"] = "auto",
        batch_size: int = 64,
        template: Mapping[str, Any] | None = None,
    ) -> None:
        if history not in {"auto", "agent", "env"}:
            raise ConfigError(f"history must be one of auto, agent, env; got {history!r}.")
        if max_new_tokens < 1 or batch_size < 1:
            raise ConfigError(
                f"A local model needs max_new_tokens >= 1 and batch_size >= 1; got "
                f"{max_new_tokens} and {batch_size}."
            )
        if temperature < 0 or not 0 < top_p <= 1:
            raise ConfigError(
                f"Sampling needs temperature >= 0 and 0 < top_p <= 1; got {temperature}, {top_p}."
            )
        if isinstance(stop, str) or not all(stop):
            raise ConfigError(f"stop must be a list of non-empty strings; got {stop!r}.")
        self.model = model if isinstance(model, str) else type(model).__name__
        self._local = _sampling_model(
            model, tokenizer, device=device, dtype=dtype, batch_size=batch_size
        )
        self._max_new_tokens = max_new_tokens
        self._temperature = temperature
        self._top_p = top_p
        self._stop = tuple(stop)
        self._scaled_logprobs = scaled_logprobs
        self._seed = seed
        self._system = system
        self._history = history
        self._template = dict(template or {})
        self._episode_seed = 0
        self._begin(shows_history=False, is_rendered=False)

    def seed_episode(self, seed: int) -> None:
        self._episode_seed = seed

    def reset(self, env: Env) -> None:
        """Prepare for an episode.

        Raises:
            ConfigError: The tokenizer has no chat template.
        """
        wrapper = history_wrapper(env)
        is_shown = wrapper is not None if self._history == "auto" else self._history == "env"
        is_rendered = is_shown and getattr(wrapper, "chat_template", "none") != "none"
        if not is_rendered and not self._local.tokenizer.chat_template:
            raise ConfigError(
                f"The tokenizer of {self.model!r} has no chat template. Use another model, or a "
                f"wrapper that renders the chat itself (concat_chat)."
            )
        self._begin(shows_history=is_shown, is_rendered=is_rendered)
        if hasattr(self._local, "join"):
            self._local.join(self)

    def close(self) -> None:
        """Leave the model; with its last agent, its cache is dropped."""
        if hasattr(self._local, "leave"):
            self._local.leave(self)

    def _begin(self, *, shows_history: bool, is_rendered: bool) -> None:
        self._shows_history = shows_history
        self._is_rendered = is_rendered
        self._once = getattr(self._local, "once", no_memo)
        self._transcript = Transcript(self._local.tokenizer, self._once)
        self._messages: list[Message] = []
        self._tools: Any = None
        self._turn = 0

    def act(self, observation: Observation, info: Info) -> Awaitable[Reply]:
        """Return an awaitable of the reply.

        Raises:
            ContextLengthError: The prompt fills the model's context.
        """
        return self._act(observation, info)

    async def _act(self, observation: Observation, info: Info) -> Reply:
        known = self._add(observation, info)
        prompt = self._transcript.prompt(self._rendered())
        room = self._local.context - len(prompt.ids)
        if room < 1:
            raise ContextLengthError(
                f"The episode has {len(prompt.ids)} tokens, but the context of {self.model!r} is "
                f"{self._local.context} tokens: play fewer turns, or show less history."
            )
        turn, self._turn = self._turn, self._turn + 1
        request = Request(
            prompt.ids,
            min(self._max_new_tokens, room),
            self._temperature,
            self._top_p,
            None if self._seed is None else child_seed(self._seed, self._episode_seed, turn),
            self._stop,
            self._scaled_logprobs,
        )
        sampled = await self._local.submit(request)
        self._transcript.add_reply(sampled.ids)
        text = self._local.text_of(sampled)
        reply = {"role": "assistant", "content": text}
        extends = prompt.extends and known > 0
        generation = Generation(
            messages=self._messages[known:] if extends else list(self._messages),
            reply=reply,
            extends=extends,
            model=self.model,
            finish_reason="stop" if sampled.is_complete else "length",
            prompt_tokens=len(prompt.ids),
            completion_tokens=len(sampled.ids),
            prompt_ids=prompt.new if extends else prompt.ids,
            token_ids=sampled.ids,
            logprobs=sampled.logprobs,
            queue_seconds=sampled.queue_seconds,
            model_seconds=sampled.model_seconds,
        )
        self._messages.append(reply)
        return Reply(text, generation)

    def _add(self, observation: Observation, info: Info) -> int:
        """Add the messages for an observation, and return the number of earlier messages."""
        if self._turn == 0:
            self._tools = info.get("tool_schemas")
        if self._shows_history and not self._is_rendered:
            self._messages = []
        known = len(self._messages)
        if self._system is not None and not known and not self._is_rendered:
            self._messages.append({"role": "system", "content": self._system})
        results = info.get("tool_messages", ())[1:] if self._tools is not None else ()
        if self._is_rendered:
            self._messages.append({"role": "prompt", "content": visible_text(observation, info)})
        elif results and not self._shows_history:
            self._messages += results
        else:
            self._messages.append({"role": "user", "content": visible_text(observation, info)})
        return known

    def _rendered(self) -> str:
        if self._is_rendered:
            prompt: str = self._messages[-1]["content"]
            return prompt
        chat = self._messages, self._tools, self._template
        try:
            key = marshal.dumps(chat, 2)  # version 2 has no references: equal chats, equal keys
        except ValueError:  # a template variable that is not plain data
            return self._render()
        text: str = self._once(key, self._render)
        return text

    def _render(self) -> str:
        text: str = self._local.tokenizer.apply_chat_template(
            self._messages,
            tools=self._tools,
            tokenize=False,
            add_generation_prompt=True,
            **self._template,
        )
        return text

    def __repr__(self) -> str:
        return f"LocalAgent(model={self.model!r})"


def _sampling_model(
    model: Any, tokenizer: Any, *, device: str, dtype: str, batch_size: int
) -> SamplingModel:
    is_name, is_ready = isinstance(model, str), hasattr(model, "submit")
    if is_name or is_ready:
        if tokenizer is not None:
            raise ConfigError(f"The model {model!r} has its own tokenizer: omit tokenizer=.")
    elif tokenizer is None:
        raise ConfigError(f"A live model needs its tokenizer=; got a {type(model).__name__}.")
    if is_ready:
        ready: SamplingModel = model
        return ready
    try:
        from gem_agents.local_model import load_model, share_model  # noqa: PLC0415 - imports torch
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"The agent 'transformers' needs {error.name}: pip install gem-agents[local]."
        ) from None
    if is_name:
        return load_model(model, device=device, dtype=dtype, batch_size=batch_size)
    if device != "auto" or dtype != "auto":
        raise ConfigError(
            f"A live model stays on its device and keeps its dtype; got {device!r} and {dtype!r}."
        )
    return share_model(model, tokenizer, batch_size=batch_size)
