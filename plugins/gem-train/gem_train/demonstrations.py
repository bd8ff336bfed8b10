"""Demonstrations: episodes of oracles with token ids, as if a model had sampled them.

An oracle, or chance, says what to do. The agent ``transformers`` says it, with a model that does
not sample but writes what it is told. So prompts are rendered and made into tokens by the very code
that a policy samples with later, and a trajectory reads like a sampled one, without
log-probabilities.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gem_core.agent import BaseAgent, OracleAgent, Reply
from gem_core.api import make_agent
from gem_core.env import Env, Wrapper
from gem_core.errors import ConfigError, DataError
from gem_core.maybe_async import is_awaitable
from gem_core.mixture import MixtureEnv
from gem_core.observation import Action, Info, Observation, text_of, visible_text, with_text
from gem_core.seeding import child_seed
from gem_core.wrappers.history import HistoryWrapper
from gem_rollout import Trajectory, collect
from gem_rollout.components import Environments

__all__ = ["AGENT", "Demonstrator", "demonstrations"]

AGENT = "demonstrator"
"""Name of the agent in the trajectories."""

_NO_LIMIT = 2**31


def demonstrations(
    make_env: Environments,
    tokenizer: Any,
    *,
    episodes: int,
    skill: float | Sequence[float] = 1.0,
    seed: int = 0,
    concurrency: int = 16,
    context: int = _NO_LIMIT,
    **agent: Any,
) -> Iterator[Trajectory]:
    """Play episodes and yield each trajectory when it ends.

    The start states are others than those of a rollout or evaluation of the same seed.

    Args:
        make_env: What makes an environment, or the sources of several, as ``collect`` takes them.
        tokenizer: The tokenizer of the model that is to learn, with a chat template.
        episodes: How many.
        skill: Share of the turns in which the oracle's action is played, in [0, 1]; in the others
            it is a random action of the environment. Of several, one is drawn for each episode.
        seed: Of all that is drawn.
        concurrency: Most episodes at once.
        context: Tokens that the model can read.
        agent: Parameters of the agent ``transformers`` that say what a prompt looks like
            (``system``, ``history``, ``template``), and how far a reply goes (``max_new_tokens``,
            ``stop``).

    Raises:
        ConfigError: A parameter that cannot work; or, while it plays, an environment that has no
            oracle or no random action, where one is needed. Whatever else fails is the ``error`` of
            its trajectory.
    """

    def make_demonstrator() -> Demonstrator:
        return Demonstrator(tokenizer, skill=skill, context=context, **agent)

    make_demonstrator()  # refuses at once what every episode would refuse
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
    try:
        for trajectory in rollout:
            if (trajectory.error or {}).get("type") == "ConfigError":
                raise ConfigError(f"{trajectory.env_id}: {trajectory.error['message']}")
            yield trajectory
    finally:
        rollout.close()


class Demonstrator(BaseAgent):
    """Plays an oracle's or a random action in each turn, and writes it as a model would.

    Args:
        tokenizer: As in ``demonstrations``, and so are the others.
        skill: Share of the oracle's actions.
        context: Tokens that the model can read.
        agent: Parameters of the agent ``transformers``.

    Raises:
        ConfigError: A skill outside [0, 1], a tokenizer without a chat template or a token that
            ends a reply, or a parameter that the agent refuses.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        skill: float | Sequence[float] = 1.0,
        context: int = _NO_LIMIT,
        **agent: Any,
    ) -> None:
        self._skills = [skill] if isinstance(skill, int | float) else list(skill)
        if not self._skills or not all(0 <= one <= 1 for one in self._skills):
            raise ConfigError(f"skill is a number in [0, 1], or several; got {skill!r}.")
        for name, value in (
            ("chat template", tokenizer.chat_template),
            ("token that ends a reply (eos_token)", tokenizer.eos_token_id),
        ):
            if value is None:
                raise ConfigError(f"The tokenizer has no {name}, which demonstrations need.")
        self._scribe = Scribe(tokenizer, context)
        self._writer: Any = make_agent("transformers", model=self._scribe, **agent)
        self._oracle = OracleAgent()
        self._rng = random.Random()

    def seed_episode(self, seed: int) -> None:
        self._rng.seed(child_seed(seed, "skill"))
        self._writer.seed_episode(seed)

    def reset(self, env: Env) -> None:
        """Get ready for an episode.

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
            ConfigError: The environment has no random action, and ``skill`` is below 1.
            DataError: The action is no text, or has too many tokens.
        """
        if self._rng.random() < self._skill:
            action = await self._action_of_oracle(observation, info)
        else:
            action = self._random_action()
            if not self._is_shown_all:
                self._unseen.append(visible_text(observation, info))
        if not isinstance(action, str):
            raise DataError(f"Demonstrations are of actions that are text; got {action!r:.200}.")
        self._scribe.text = action
        reply: Reply = await self._writer.act(observation, info)
        return reply

    async def _action_of_oracle(self, observation: Observation, info: Info) -> Action:
        """Ask the oracle, which is only asked for what is then played.

        Some oracles take note of what they have said. What they were not shown meanwhile comes
        before the observation, as in a history.
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
    """Tell whether each observation is the whole history."""
    while isinstance(env, Wrapper):
        if isinstance(env, HistoryWrapper):
            return env.max_history_length is None
        env = env.env
    return False


def _component(env: Env) -> Env:
    """Return what is played: of a mixture the environment of the episode."""
    inner = env.unwrapped
    return _component(inner.env) if isinstance(inner, MixtureEnv) else env


@dataclass(slots=True)
class _Written:
    """What the agent ``transformers`` takes for a sample."""

    ids: list[int]
    logprobs: None = None
    is_complete: bool = True
    queue_seconds: float = 0.0
    model_seconds: float = 0.0


class Scribe:
    """Stands where the agent ``transformers`` has a model: writes ``text``, whatever the prompt.

    Args:
        tokenizer: Makes the tokens.
        context: Tokens of prompt and reply together, at most.
    """

    def __init__(self, tokenizer: Any, context: int) -> None:
        self.tokenizer = tokenizer
        self.context = context
        self.text = ""

    async def submit(self, request: Any) -> _Written:
        """Return the tokens of the text, with the one that ends a reply.

        A text that has a string of ``stop`` ends with it, as it would for a model.

        Raises:
            DataError: They are more than the request allows.
        """
        ends = [place + len(one) for one in request.stop if (place := self.text.find(one)) >= 0]
        text = self.text[: min(ends)] if ends else self.text
        # A model could not end its reply in the middle: what looks like a special token is text.
        ids = self.tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
        if not ends:
            ids = [*ids, self.tokenizer.eos_token_id]
        if len(ids) > request.max_new_tokens:
            raise DataError(
                f"The action has {len(ids)} tokens, and there is room for "
                f"{request.max_new_tokens}: raise max_new_tokens, or show less of the history. "
                f"It begins with {text[:80]!r}."
            )
        return _Written(ids)

    def text_of(self, written: _Written) -> str:
        """Return the text without the token that ends it."""
        ids = written.ids
        ids = ids[:-1] if ids and ids[-1] == self.tokenizer.eos_token_id else ids
        text: str = self.tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text
