"""Agents: who acts in an environment. The protocol, and the agents that need no model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

from gem_core.env import Env
from gem_core.errors import ConfigError
from gem_core.observation import Action, Info, Observation, visible_text
from gem_core.records import from_fields, to_fields
from gem_core.specs import load_entry_point

__all__ = [
    "Agent",
    "BaseAgent",
    "Generation",
    "HumanAgent",
    "NullAgent",
    "OracleAgent",
    "RandomAgent",
    "Reply",
    "ScriptedAgent",
]


@dataclass
class Generation:
    """What a model was given and gave for one action.

    Only what is new is kept, so that an episode of many turns is not stored many times over: with
    ``extends``, the model was given all messages (and tokens) of the turns before, then these.

    Args:
        messages: Chat messages that the model was given and had not been given before; for a
            model that completes text, one message of the role ``prompt``.
        reply: The model's message, as it came (``role``, ``content``, ``tool_calls``, ...).
        extends: Whether what the model was given begins with all that it was given and gave in
            the turns before; False for a first turn.
        model: Name of the model that answered.
        finish_reason: Why it stopped: ``stop``, ``length``, ``tool_calls``, ...
        prompt_tokens: Tokens of the whole prompt, as the endpoint counted them.
        completion_tokens: Tokens that were sampled, as the endpoint counted them.
        prompt_ids: Token ids of the prompt that are new in this turn, None if not known.
        token_ids: Token ids that were sampled, None if not known.
        tokens: Text of each sampled token, None if not known.
        logprobs: Log-probability of each sampled token, in nats, None if not known.
        queue_seconds: Wall time before the endpoint was asked, and between attempts.
        model_seconds: Wall time of the attempt that succeeded.
        attempts: How often the endpoint was asked.
        cost: What it cost, in the currency of the prices that the agent was given; None without.
        extra: Fields that this version does not know, from a file of a newer one.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    reply: dict[str, Any] = field(default_factory=dict)
    extends: bool = False
    model: str = ""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_ids: list[int] | None = None
    token_ids: list[int] | None = None
    tokens: list[str] | None = None
    logprobs: list[float] | None = None
    queue_seconds: float = 0.0
    model_seconds: float = 0.0
    attempts: int = 1
    cost: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields; values are not copied."""
        return to_fields(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the generation that ``to_dict`` gave."""
        return from_fields(cls, fields)


class Reply(NamedTuple):
    """An action, and the model's work that it came from."""

    action: Action
    generation: Generation | None = None


@runtime_checkable
class Agent(Protocol):
    """One player of one episode at a time.

    Episodes that run at once have an agent each, so an agent may keep what it has seen.
    """

    def reset(self, env: Env) -> None:
        """Get ready for an episode of ``env``, which has just been reset.

        ``env`` is for asking (its spec, its tools, a random action), never for stepping.
        """

    def act(self, observation: Observation, info: Info) -> Action | Reply:
        """Return the next action, a ``Reply`` with one, or an awaitable of either.

        Args:
            observation: What the last ``reset`` or ``step`` returned.
            info: The info that came with it; ``prefix`` and ``suffix`` belong to what is seen
                (``visible_text`` puts the parts together).
        """

    def close(self) -> None:
        """Release what it holds; may be called twice."""


class BaseAgent(ABC):
    """Base of agents: write ``act``."""

    shared: ClassVar[tuple[str, ...]] = ()
    """Names of attributes that copies share (models, connections): no pickle has them."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self.shared}

    def seed_episode(self, seed: int) -> None:  # noqa: B027 - most agents need none
        """Take a seed for what the agent draws in the next episode; called before ``reset``.

        Args:
            seed: Another one for each episode of a run, also for those of one start state.
        """

    def reset(self, env: Env) -> None:  # noqa: B027 - most agents need nothing
        """Get ready for an episode."""

    @abstractmethod
    def act(self, observation: Observation, info: Info) -> Action | Reply:
        """Return the next action, or a ``Reply`` with one."""

    def close(self) -> None:  # noqa: B027 - most agents hold nothing
        """Release what the agent holds."""


class RandomAgent(BaseAgent):
    """Plays the environment's own random actions: the ordinary floor."""

    def reset(self, env: Env) -> None:
        self._env = env

    def act(self, observation: Observation, info: Info) -> Action:
        return self._env.sample_random_action()


class NullAgent(BaseAgent):
    """Says nothing: the lowest floor, as every action is malformed."""

    def act(self, observation: Observation, info: Info) -> Action:
        return ""


class ScriptedAgent(BaseAgent):
    """Plays a fixed list of actions in every episode, from the first one on.

    Args:
        actions: The actions, in order.
        repeat: Start over at the end of the list; otherwise the last action is repeated.

    Raises:
        ConfigError: The list is empty.
    """

    def __init__(self, actions: Sequence[Action], *, repeat: bool = False) -> None:
        if not actions:
            raise ConfigError("The scripted agent needs at least one action.")
        self._actions = list(actions)
        self._repeat = repeat
        self._turn = 0

    def reset(self, env: Env) -> None:
        self._turn = 0

    def act(self, observation: Observation, info: Info) -> Action:
        turn, self._turn = self._turn, self._turn + 1
        last = len(self._actions) - 1
        return self._actions[turn % (last + 1) if self._repeat else min(turn, last)]


class OracleAgent(BaseAgent):
    """Plays as the best agent that the environment's spec names."""

    _player: Agent | None = None

    def reset(self, env: Env) -> None:
        """Get ready for an episode.

        Raises:
            ConfigError: The environment has no oracle.
        """
        spec = env.spec
        if spec is None or spec.oracle is None:
            name = type(env).__name__ if spec is None else spec.id
            raise ConfigError(f"{name!r} has no oracle. Try the agent 'random'.")
        self.close()
        make_player = spec.oracle if callable(spec.oracle) else load_entry_point(spec.oracle)
        player: Agent = make_player()
        player.reset(env)
        self._player = player

    def act(self, observation: Observation, info: Info) -> Action:
        if self._player is None:
            raise ConfigError("OracleAgent.act: call reset(env) first.")
        return self._player.act(observation, info)

    def close(self) -> None:
        """Release what the player holds."""
        if self._player is not None:
            self._player.close()
            self._player = None


class HumanAgent(BaseAgent):
    """Asks a person.

    Args:
        ask: Gets the visible text and returns the action; the default prints it and reads a line.
    """

    def __init__(self, ask: Callable[[str], str] | None = None) -> None:
        self._ask: Callable[[str], Any] = ask or (lambda text: input(f"{text}\n> "))

    def act(self, observation: Observation, info: Info) -> Action:
        return self._ask(visible_text(observation, info))
