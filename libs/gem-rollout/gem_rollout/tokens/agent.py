"""An agent whose model takes and returns token ids.

It renders the episode as a chat, keeps the tokens of earlier turns, and heeds the limits of tokens.
"""

import copy
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Literal

from gem_core.agent import BaseAgent, Generation, Preflight, Reply
from gem_core.content import Image, images_of
from gem_core.env import Env
from gem_core.errors import ConfigError
from gem_core.observation import Info, Observation, visible_text
from gem_core.seeding import child_seed
from gem_core.thoughts import with_opened_thought
from gem_core.wrappers.history import check_shows_tools
from gem_rollout.episodes.history import history_wrapper
from gem_rollout.tokens.chat_content import TextPart, content_parts, images_of_messages, to_openai
from gem_rollout.tokens.limits import LimitReachedError, Limits, PromptTooLongError
from gem_rollout.tokens.sampler import Request, Sampled, SamplingModel
from gem_rollout.tokens.transcript import PromptTokens, Transcript

__all__ = ["UNLIMITED", "OneSequence", "SequenceError", "TokenAgent"]

OneSequence = Literal["raise", "split", "last"]
"""What to do with an episode whose prompts do not extend each other: raise ``SequenceError``, keep
a sequence for each part, or keep the last sequence only."""

UNLIMITED = 2**31 - 1
"""Tokens of a reply without a limit."""


class SequenceError(ConfigError):
    """The prompt of a turn does not begin with the tokens of the earlier turns."""


class TokenAgent(BaseAgent):
    """Asks a ``SamplingModel`` for the tokens of each reply.

    The prompt is rendered by the tokenizer's chat template, with ``info["tool_schemas"]`` as tools.
    If the prompt extends the earlier turns, sampled tokens are kept and not tokenised again.
    Replies have token ids and log-probabilities.

    Args:
        model: The model.
        name: Its name in messages and in ``Generation.model``.
        limits: Limits of tokens. When no room is left for a later turn, the agent raises
            ``LimitReachedError``, and the rollout ends the episode as truncated.
        temperature: Sampling temperature; 0 for the most likely tokens.
        top_p: Sample from the most likely tokens that together have this probability, in (0, 1].
        stop: Strings that end a reply and stay part of it. The token that completes one may contain
            further text.
        scaled_logprobs: Whether log-probabilities are those of the distribution at the temperature,
            over all tokens regardless of ``top_p``, instead of the model's own. At temperature 0,
            they are the model's own.
        seed: Seed of the sampling; None for a random one.
        system: The system message.
        history: Who shows the earlier turns: ``agent``, ``env``, or ``auto`` for the environment if
            it has a history wrapper.
        template: More variables for the chat template, such as ``{"enable_thinking": False}``.
        one_sequence: ``raise`` to raise ``SequenceError`` if a prompt does not extend the tokens
            before it.

    Raises:
        ConfigError: A parameter is invalid.
    """

    def __init__(
        self,
        model: SamplingModel,
        *,
        name: str,
        limits: Limits | None = None,
        temperature: float = 1.0,
        top_p: float = 1.0,
        stop: Sequence[str] = (),
        scaled_logprobs: bool = False,
        seed: int | None = None,
        system: str | None = None,
        history: Literal["auto", "agent", "env"] = "auto",
        template: Mapping[str, Any] | None = None,
        one_sequence: OneSequence = "split",
    ) -> None:
        if history not in {"auto", "agent", "env"}:
            raise ConfigError(f"history must be one of auto, agent, env; got {history!r}.")
        if one_sequence not in {"raise", "split", "last"}:
            raise ConfigError(
                f"one_sequence must be one of raise, split, last; got {one_sequence!r}."
            )
        if temperature < 0 or not 0 < top_p <= 1:
            raise ConfigError(
                f"Sampling needs temperature >= 0 and 0 < top_p <= 1; got {temperature}, {top_p}."
            )
        if isinstance(stop, str) or not all(stop):
            raise ConfigError(f"stop must be a list of non-empty strings; got {stop!r}.")
        self.model = name
        self.sampler = self._sampler = model
        self._limits = limits or Limits()
        self._temperature = temperature
        self._top_p = top_p
        self._stop = tuple(stop)
        self._scaled_logprobs = scaled_logprobs
        self._seed = seed
        self._system = system
        self._history = history
        self._template = dict(template or {})
        self._one_sequence = one_sequence
        self._episode_seed = 0
        self._shows_tools = False
        """Whether the template is known to render tools."""
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
        if not is_rendered and not self._has_template():
            raise ConfigError(
                f"The tokenizer of {self.model!r} has no chat template. Use another model, or a "
                f"wrapper that renders the chat itself (concat_chat)."
            )
        self._begin(shows_history=is_shown, is_rendered=is_rendered)
        if hasattr(self._sampler, "join"):
            self._sampler.join(self)

    def _has_template(self) -> bool:
        if self._vision is not None:
            return bool(self._vision.has_template)
        return bool(getattr(self._sampler.tokenizer, "chat_template", None))

    def close(self) -> None:
        """Leave the model."""
        if hasattr(self._sampler, "leave"):
            self._sampler.leave(self)

    def _begin(self, *, shows_history: bool, is_rendered: bool) -> None:
        self._shows_history = shows_history
        self._is_rendered = is_rendered
        self._vision = getattr(self._sampler, "vision", None)
        self._transcript = Transcript(self._sampler.tokenizer, self._vision)
        self._messages: list[dict[str, Any]] = []
        self._known = 0
        """Messages of the last prompt."""
        self._left_out: slice | None = None
        """The messages that are not rendered; None if all are."""
        self._checked = 0
        """Messages of the last prompt that was compared with the whole."""
        self._tools: Any = None
        self._turn = 0
        self._start = 0
        """Tokens of the first prompt of the current sequence."""

    def preflight(self, observation: Observation, info: Info) -> Preflight:
        """Return the length of a first prompt and the model's context; nothing is sampled.

        Raises:
            ConfigError: See ``act``.
        """
        context = self._limits.context
        if not (self._is_rendered or self._has_template()):
            return Preflight(context=context)
        first = copy.copy(self)
        first._begin(shows_history=self._shows_history, is_rendered=self._is_rendered)  # noqa: SLF001 - a copy of this agent
        return Preflight(len(first._first_prompt(observation, info).ids), context=context)  # noqa: SLF001 - see above

    def _first_prompt(self, observation: Observation, info: Info) -> PromptTokens:
        self._add(observation, info)
        images = [] if self._vision is None else images_of_messages(self._messages)
        return self._transcript.prompt(self._rendered(), images)

    def act(self, observation: Observation, info: Info) -> Awaitable[Reply]:
        """Return an awaitable of the reply.

        Raises:
            PromptTooLongError: The first prompt leaves no room for a reply.
            LimitReachedError: A later prompt does.
            SequenceError: The prompt does not extend the earlier turns, under ``raise``.
            ConfigError: The observation shows an image, and the model reads text only; or the chat
                template ignores the tools.
        """
        return self._act(observation, info)

    async def _act(self, observation: Observation, info: Info) -> Reply:
        known = self._add(observation, info)
        text = self._rendered()
        if self._tools and not self._shows_tools and not self._is_rendered:
            check_shows_tools(text, lambda: self._render_with(None, self._messages))
            self._shows_tools = True
        if self._one_sequence == "raise" and self._turn and not self._transcript.extends(text):
            raise SequenceError(
                f"The prompt of turn {self._turn + 1} does not begin with the tokens of the "
                f"earlier turns: {self._transcript.difference(text)}. Use a chat template that "
                f"keeps earlier turns as they are (gem-core check-template tells), leave out "
                f"wrappers that change the history, or set one_sequence='split' or 'last'."
            )
        images = [] if self._vision is None else images_of_messages(self._messages)
        prompt = self._transcript.prompt(text, images)
        self._leave_out()
        room = self._room(prompt)
        turn, self._turn = self._turn, self._turn + 1
        request = Request(
            prompt.ids,
            UNLIMITED if room is None else room,
            self._temperature,
            self._top_p,
            None if self._seed is None else child_seed(self._seed, self._episode_seed, turn),
            self._stop,
            self._scaled_logprobs,
            images,
        )
        extends = prompt.extends and known > 0
        given = prompt.new if extends else list(prompt.ids)
        sampled = await self._sample(prompt, request)
        self._transcript.add_reply(sampled.ids)
        said = self._sampler.text_of(sampled)
        action = with_opened_thought(said, text)
        # Templates that keep replies as they are then render the tokens that the model has seen.
        reply = {"role": "assistant", "content": action}
        generation = Generation(
            messages=self._messages[known:] if extends else list(self._messages),
            reply=reply,
            extends=extends,
            model=self.model,
            finish_reason="stop" if sampled.is_complete else "length",
            prompt_tokens=len(prompt.ids),
            completion_tokens=len(sampled.ids),
            prompt_ids=given,
            token_ids=sampled.ids,
            logprobs=list(sampled.logprobs) if sampled.logprobs else None,
            versions=list(sampled.versions) if {*sampled.versions} - {None} else None,
            opens_thought=action != said,
            queue_seconds=sampled.queue_seconds,
            model_seconds=sampled.model_seconds,
        )
        self._messages.append(reply)
        return Reply(action, generation)

    def _sample(self, prompt: PromptTokens, request: Request) -> Awaitable[Sampled]:
        return self._sampler.submit(request)

    def _room(self, prompt: PromptTokens) -> int | None:
        """Return how many tokens the reply may have; None without a limit."""
        length, limits = len(prompt.ids), self._limits
        if not (self._turn and prompt.extends):
            self._start = length
            if limits.prompt_tokens is not None and length > limits.prompt_tokens:
                if self._turn:
                    raise LimitReachedError("prompt_tokens")
                raise PromptTooLongError(length, "prompt_tokens", limits.prompt_tokens)
        room, name = limits.room(length, self._start)
        if room == 0:
            if self._turn:
                raise LimitReachedError(name)
            raise PromptTooLongError(length, name, limits.context or 0)
        return room

    def _add(self, observation: Observation, info: Info) -> int:
        """Add the messages for an observation, and return the number of earlier messages."""
        if images_of(observation) and self._vision is None:
            raise ConfigError(
                f"The observation of turn {self._turn + 1} shows an image, and {self.model!r} is "
                f"given text only. Choose a vision-language model that comes with its processor, "
                f"or an environment whose observations are text."
            )
        if self._turn == 0:
            self._tools = info.get("tool_schemas")
        if self._shows_history and not self._is_rendered:
            self._messages = []
        known = len(self._messages)
        if self._system is not None and not known and not self._is_rendered:
            self._messages.append({"role": "system", "content": self._system})
        results = info.get("tool_messages", ())[1:] if self._tools is not None else ()
        if self._is_rendered:
            known = self._add_rendered(observation, info)
        elif results and not self._shows_history:
            self._messages += results
        else:
            content = to_openai(content_parts(observation, info))
            self._messages.append({"role": "user", "content": content})
        return known

    def _add_rendered(self, observation: Observation, info: Info) -> int:
        """Add a prompt that the environment has rendered, with all images so far if any."""
        text, images = visible_text(observation, info), images_of(observation)
        content: Any = text
        if images:
            self._messages = []
            content = to_openai([TextPart(text), *map(Image.of, images)])
        self._messages.append({"role": "prompt", "content": content})
        return len(self._messages) - 1

    def _rendered(self) -> str:
        """Return the prompt; if it extends the tokens, maybe without the middle of the chat."""
        if self._is_rendered:
            content = self._messages[-1]["content"]
            prompt: str = content if isinstance(content, str) else content[0]["text"]
            return prompt
        if self._left_out is not None:
            text = self._render(_without(self._messages, self._left_out))
            if self._transcript.extends(text):
                self._check(text[len(self._transcript.shown) :])
                return text
            self._left_out = None
            self._transcript.shown = self._render(self._messages[: self._known])
        return self._render(self._messages)

    def _check(self, added: str) -> None:
        """Whenever the chat has doubled, compare the end of a prompt with that of the whole chat.

        Raises:
            RuntimeError: They differ, so the tokens since the last time may be wrong.
        """
        if len(self._messages) < 2 * self._checked:
            return
        self._checked = len(self._messages)
        before = self._render(self._messages[: self._known])
        if self._render(self._messages) != before + added:
            raise RuntimeError(
                f"The chat template of {self.model!r} was taken to render each message by itself "
                f"(gem_rollout.tokens.template_proof), and does not. Please report this."
            )

    def _leave_out(self) -> None:
        """Let the next prompt be rendered without the middle of the chat, if this is proven."""
        tokenizer, self._known = self._sampler.tokenizer, len(self._messages)
        if self._is_rendered or self._vision is not None:
            return
        if tokenizer.apply_chat_template.__module__ != "transformers.tokenization_utils_base":
            return  # of another kind, of which nothing is known
        from gem_rollout.tokens.template_proof import is_local, left_out  # noqa: PLC0415 - optional

        gone = left_out(self._known)
        source = tokenizer.get_chat_template(self._template.get("chat_template"), self._tools)
        if gone in (None, self._left_out) or not is_local(source):
            return
        try:
            self._transcript.shown = self._render(_without(self._messages, gone))
        except Exception:  # noqa: BLE001 - a template that refuses a chat without its middle
            return
        self._left_out = gone

    def _render(self, messages: list[dict[str, Any]]) -> str:
        return self._render_with(self._tools, messages)

    def _render_with(self, tools: Any, messages: list[dict[str, Any]]) -> str:
        shown: str
        if self._vision is not None:
            shown = self._vision.render(messages, tools=tools, template=self._template)
        else:
            shown = self._sampler.tokenizer.apply_chat_template(
                messages,
                tools=tools,
                tokenize=False,
                add_generation_prompt=True,
                **self._template,
            )
        return shown

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r})"


def _without(messages: list[dict[str, Any]], gone: slice) -> list[dict[str, Any]]:
    return messages[: gone.start] + messages[gone.stop :]
