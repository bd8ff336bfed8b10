"""Demonstrations: episodes of oracles with token ids, as if a model had sampled them.

Each action comes from an oracle or is random. The agent ``transformers`` writes it, with a scripted
model in place of a language model. Prompts are therefore rendered and tokenised by the same code
that samples from a policy later, and the trajectory looks like a sampled one, except that
log-probabilities are unknown.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any

from gem_core.agent import BaseAgent, OracleAgent, Reply
from gem_core.api import make_agent
from gem_core.env import Env, Wrapper
from gem_core.errors import ConfigError, DataError
from gem_core.maybe_async import is_awaitable
from gem_core.mixture import MixtureEnv
from gem_core.observation import Action, Info, Observation, text_of, visible_text, with_text
from gem_core.seeding import child_seed
from gem_core.thoughts import empty_thought
from gem_core.wrappers.history import HistoryWrapper
from gem_rollout import Trajectory, collect
from gem_rollout.episodes.components import Environments
from gem_rollout.models.vision import Vision
from gem_rollout.tokens.sampler import Sampled

__all__ = ["AGENT", "Demonstrator", "demonstrations"]

AGENT = "demonstrator"
"""The name of the agent in trajectories."""

_NO_LIMIT = 2**31
_TAIL = 16
"""Tokens of the end of a prompt in which ``<think>`` would be."""


def demonstrations(
    make_env: Environments,
    tokenizer: Any,
    *,
    episodes: int,
    skill: float | Sequence[float] = 1.0,
    seed: int = 0,
    concurrency: int = 16,
    context: int = _NO_LIMIT,
    vision: Vision | None = None,
    **agent: Any,
) -> Iterator[Trajectory]:
    """Play episodes and yield each trajectory when it ends.

    The start states differ from those of a rollout or evaluation with the same seed.

    Args:
        make_env: A function that makes an environment, or several sources, as in ``collect``.
        tokenizer: The tokenizer of the model to train, with a chat template.
        episodes: Number of episodes.
        skill: Share of the turns in which the oracle's action is played, in [0, 1]; in the others,
            the action is random. From a list, one value is drawn for each episode.
        seed: Seed of all random draws.
        concurrency: Most episodes at the same time.
        context: Context length of the model in tokens.
        vision: How the model reads images; None if it reads text only.
        agent: Parameters of the agent ``transformers`` for prompts (``system``, ``history``,
            ``template``) and for the end of a reply (``max_new_tokens``, ``stop``).

    Raises:
        ConfigError: A parameter is invalid; or, while playing, an environment lacks an oracle or
            random actions that are needed. Any other failure is the ``error`` of its trajectory.
    """

    def make_demonstrator() -> Demonstrator:
        return Demonstrator(tokenizer, skill=skill, context=context, vision=vision, **agent)

    make_demonstrator()  # raises before any episode if the parameters are invalid
    rollout = collect(
        make_env,
        make_demonstrator,
        episodes=episodes,
        seed=child_seed(seed, "demonstrations"),
        concurrency=concurrency,
        agent_name=AGENT,
    )
    return _played(rollout)


def _played(rollout: Any) -> Iterator[Trajectory]:
    for trajectory in rollout:
        if (trajectory.error or {}).get("type") == "ConfigError":
            rollout.close()
            raise ConfigError(f"{trajectory.env_id}: {trajectory.error['message']}")
        yield trajectory


class Demonstrator(BaseAgent):
    """Plays an oracle's or a random action in each turn, written as a model would write it.

    Args:
        tokenizer: The tokenizer; this and the other parameters are those of ``demonstrations``.
        skill: Share of the oracle's actions.
        context: Context length of the model in tokens.
        vision: How the model reads images; None if it reads text only.
        agent: Parameters of the agent ``transformers``.

    Raises:
        ConfigError: A skill is outside [0, 1], the tokenizer has no chat template or no token that
            ends a reply, or the agent refuses a parameter.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        skill: float | Sequence[float] = 1.0,
        context: int = _NO_LIMIT,
        vision: Vision | None = None,
        **agent: Any,
    ) -> None:
        self._skills = [skill] if isinstance(skill, int | float) else list(skill)
        if not self._skills or not all(0 <= one <= 1 for one in self._skills):
            raise ConfigError(f"skill must be a number in [0, 1], or a list; got {skill!r}.")
        for name, value in (
            ("chat template", tokenizer.chat_template or (vision and vision.has_template)),
            ("token that ends a reply (eos_token)", tokenizer.eos_token_id),
        ):
            if value in {None, False}:
                raise ConfigError(f"The tokenizer has no {name}, which demonstrations need.")
        self._model = ScriptedModel(tokenizer, context, vision)
        self._writer: Any = make_agent("transformers", model=self._model, **agent)
        self._oracle = OracleAgent()
        self._rng = random.Random()

    def seed_episode(self, seed: int) -> None:
        self._rng.seed(child_seed(seed, "skill"))
        self._writer.seed_episode(seed)

    def reset(self, env: Env) -> None:
        """Prepare for an episode.

        Raises:
            ConfigError: The environment has no oracle, and ``skill`` is not 0.
        """
        self._env = env
        self._skill = self._rng.choice(self._skills)
        self._unseen: list[str] = []
        self._is_shown_all = _shows_all(env)
        if self._skill > 0:
            self._oracle.reset(_component(env))
        self._writer.reset(env)

    async def act(self, observation: Observation, info: Info) -> Action | Reply:
        """Return a reply with the action of the turn.

        Raises:
            ConfigError: The environment has no random actions, and ``skill`` is below 1.
            DataError: The action is not text, or has too many tokens.
        """
        if self._rng.random() < self._skill:
            action = await self._action_of_oracle(observation, info)
        else:
            action = self._random_action()
            if not self._is_shown_all:
                self._unseen.append(visible_text(observation, info))
        if not isinstance(action, str):
            raise DataError(f"Demonstrations need actions that are text; got {action!r:.200}.")
        self._model.text = action
        reply: Reply = await self._writer.act(observation, info)
        return reply

    async def _action_of_oracle(self, observation: Observation, info: Info) -> Action:
        """Ask the oracle, which is only asked for actions that are then played.

        Some oracles remember their own actions. Observations of turns with random actions are
        prepended to the next observation, as in a history.
        """
        if self._unseen:
            observation = with_text(observation, "\n".join([*self._unseen, text_of(observation)]))
            self._unseen.clear()
        said: Any = self._oracle.act(observation, info)
        said = await said if is_awaitable(said) else said
        return said.action if isinstance(said, Reply) else said

    def _random_action(self) -> Action:
        try:
            return self._env.sample_random_action()
        except NotImplementedError as error:
            raise ConfigError(
                f"A skill below 1 needs random actions. {error} Use skill=1."
            ) from error

    def close(self) -> None:
        self._oracle.close()
        self._writer.close()


def _shows_all(env: Env) -> bool:
    """Return whether each observation is the whole history."""
    while isinstance(env, Wrapper):
        if isinstance(env, HistoryWrapper):
            return env.max_history_length is None
        env = env.env
    return False


def _component(env: Env) -> Env:
    """Return the environment of the episode; in a mixture, this is the chosen component."""
    inner = env.unwrapped
    return _component(inner.env) if isinstance(inner, MixtureEnv) else env


class ScriptedModel:
    """A model for the agent ``transformers`` that replies ``text`` to every prompt.

    Args:
        tokenizer: The tokenizer.
        context: Most tokens of prompt and reply together.
        vision: How the model reads images; None if it reads text only.
    """

    def __init__(self, tokenizer: Any, context: int, vision: Vision | None = None) -> None:
        self.tokenizer = tokenizer
        self.vision = vision
        self.context = context
        self.text = ""

    async def submit(self, request: Any) -> Sampled:
        """Return the tokens of the text and of the end of a reply.

        A text that contains a string of ``stop`` ends there, as a model's reply would. If the
        prompt has opened a thought, the text follows an empty one.

        Raises:
            DataError: There are more tokens than the request allows.
        """
        ends = [at + len(one) for one in request.stop if (at := self.text.find(one)) >= 0]
        text = self.text[: min(ends)] if ends else self.text
        text = empty_thought(self.tokenizer.decode(request.ids[-_TAIL:])) + text
        # Special tokens within the text are encoded as plain text: they would end the reply.
        ids = self.tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
        if not ends:
            ids = [*ids, self.tokenizer.eos_token_id]
        if len(ids) > request.max_new_tokens:
            raise DataError(
                f"The action has {len(ids)} tokens, but only {request.max_new_tokens} are allowed: "
                f"raise sampling.max_new_tokens, or show less of the history. The action begins "
                f"with {text[:80]!r}."
            )
        return Sampled(ids, [], is_complete=True)

    def text_of(self, reply: Sampled) -> str:
        """Return the text of a reply without its end token."""
        ids = reply.ids
        ids = ids[:-1] if ids and ids[-1] == self.tokenizer.eos_token_id else ids
        text: str = self.tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text
