"""Agents act in environments: the protocol, and the agents that need no model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

from gem_core.env import Env
from gem_core.errors import ConfigError, DataError
from gem_core.observation import Action, Info, Observation, visible_text
from gem_core.records import from_fields, from_runs, to_fields, to_runs
from gem_core.specs import load_entry_point

__all__ = [
    "Agent",
    "BaseAgent",
    "Generation",
    "HumanAgent",
    "OracleAgent",
    "Preflight",
    "RandomAgent",
    "Reply",
    "ScriptedAgent",
    "SilentAgent",
]


@dataclass
class Generation:
    """The input and output of a model for one action.

    Only the part that is new in this turn is stored, so that the size of an episode does not grow
    with the square of its turns: if ``extends`` is true, the model's input was that of all earlier
    turns and their replies, followed by this.

    Args:
        messages: Chat messages that are new in this turn; for a model that completes text, one
            message with the role ``prompt``.
        reply: The model's message, unchanged (``role``, ``content``, ``tool_calls``, ...).
        extends: Whether the input begins with all inputs and replies of the earlier turns; False
            for the first turn.
        model: Name of the model that answered.
        system_fingerprint: What the endpoint says about its software and weights; None if it does
            not.
        finish_reason: Why it stopped: ``stop``, ``length``, ``tool_calls``, ...
        prompt_tokens: Number of tokens of the whole prompt, as counted by the endpoint.
        completion_tokens: Number of sampled tokens, as counted by the endpoint.
        prompt_ids: Token ids of the prompt that are new in this turn; None if unknown.
        token_ids: Sampled token ids; None if unknown.
        tokens: Text of each sampled token; None if unknown.
        logprobs: Log-probability of each sampled token, in nats, None for a token whose own is
            unknown; None if all are.
        versions: Version of the policy that sampled each token, a number that rises with the
            updates of its weights, None for a token whose own is unknown; None if all are.
        opens_thought: Whether the prompt ended with ``<think>``, so that the reply begins in a
            thought. The action has the tag before it, and so has the reply of an agent that renders
            the chat itself.
        queue_seconds: Wall time before the first request and between attempts.
        model_seconds: Wall time of the attempt that succeeded.
        attempts: Number of requests to the endpoint.
        cost: Cost in the currency of the agent's prices; None without prices.
        extra: Fields from a file of a newer version; they are kept, unread.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    reply: dict[str, Any] = field(default_factory=dict)
    extends: bool = False
    model: str = ""
    system_fingerprint: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_ids: list[int] | None = None
    token_ids: list[int] | None = None
    tokens: list[str] | None = None
    logprobs: list[float | None] | None = None
    versions: list[int | None] | None = None
    opens_thought: bool = False
    queue_seconds: float = 0.0
    model_seconds: float = 0.0
    attempts: int = 1
    cost: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the versions, which a file must have for each token.

        Raises:
            DataError: There are not as many as sampled tokens, or one is not an int.
        """
        versions, count = self.versions, len(self.token_ids or ())
        if versions is None:
            return
        if len(versions) != count or not all(v is None or type(v) is int for v in versions):
            raise DataError(
                f"A reply has {count} sampled tokens and the versions {str(versions)[:80]}; there "
                f"must be an int or None for each token."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, ``versions`` as runs ``[version, tokens]``; values are not copied."""
        versions = None if self.versions is None else to_runs(self.versions)
        return {**to_fields(self), "versions": versions}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the generation from the fields that ``to_dict`` returned.

        Raises:
            ValueError: The versions are not those of its sampled tokens.
        """
        runs = fields.get("versions")
        if runs is not None:
            count = len(fields.get("token_ids") or ())
            fields = {**fields, "versions": from_runs(runs, count)}
        return from_fields(cls, fields)


class Reply(NamedTuple):
    """An action, with the model's generation that it was parsed from."""

    action: Action
    generation: Generation | None = None


class Preflight(NamedTuple):
    """What an agent's ``preflight`` has found out.

    Args:
        prompt_tokens: Length of the prompt in tokens; None if unknown.
        reply_tokens: Tokens of the context that a reply to it must have room for, 1 or more.
        context: Context length of the model in tokens; None if unknown.
        problem: Why the model did not answer, although it may do so later, such as too many
            requests; empty if it did.
    """

    prompt_tokens: int | None = None
    reply_tokens: int = 1
    context: int | None = None
    problem: str = ""

    @property
    def fits(self) -> bool:
        """Whether prompt and reply fit in the context, as far as both are known."""
        if self.prompt_tokens is None or self.context is None:
            return True
        return self.prompt_tokens + self.reply_tokens <= self.context


@runtime_checkable
class Agent(Protocol):
    """A player of one episode at a time.

    Episodes that run at the same time have an agent each, so an agent may keep state.
    ``gem_core.optional`` lists the optional members.
    """

    def reset(self, env: Env) -> None:
        """Prepare for an episode of ``env``, which has just been reset.

        The agent may read from ``env`` (its spec, its tools, a random action); it must not step it.
        """

    def act(self, observation: Observation, info: Info) -> Action | Reply:
        """Return the next action, a ``Reply`` with one, or an awaitable of either.

        Args:
            observation: What the last ``reset`` or ``step`` returned.
            info: The info that came with it. Its ``prefix`` and ``suffix`` are part of the text
                that an agent sees; ``visible_text`` joins the parts.
        """

    def close(self) -> None:
        """Release its resources; may be called twice."""


class BaseAgent(ABC):
    """The base class of agents: write ``act``."""

    shared: ClassVar[tuple[str, ...]] = ()
    """Names of attributes that copies share (models, connections); pickles leave them out."""
    movable: ClassVar[bool] = False
    """Whether a copy in another process acts as it does here; then workers play whole episodes."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self.shared}

    def seed_episode(self, seed: int) -> None:  # noqa: B027 - most agents need none
        """Seed the agent's random numbers for the next episode; called before ``reset``.

        Args:
            seed: A different one for each episode of a run, also if their start states are equal.
        """

    def reset(self, env: Env) -> None:  # noqa: B027 - most agents need nothing
        """Prepare for an episode."""

    @abstractmethod
    def act(self, observation: Observation, info: Info) -> Action | Reply:
        """Return the next action, or a ``Reply`` with one."""

    def close(self) -> None:  # noqa: B027 - most agents hold nothing
        """Release the agent's resources."""


class RandomAgent(BaseAgent):
    """Plays the environment's random actions: the usual lower bound."""

    movable = True

    def reset(self, env: Env) -> None:
        self._env = env

    def act(self, observation: Observation, info: Info) -> Action:
        return self._env.sample_random_action()


class SilentAgent(BaseAgent):
    """Plays empty actions, which are malformed: its return is the lowest possible."""

    movable = True

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

    movable = True

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
    """Plays with the best known agent of the environment, which its spec names."""

    movable = True
    _player: Agent | None = None

    def reset(self, env: Env) -> None:
        """Prepare for an episode.

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
        """Release the player's resources."""
        if self._player is not None:
            self._player.close()
            self._player = None


class HumanAgent(BaseAgent):
    """Asks a person for each action.

    Args:
        ask: Gets the visible text and returns the action; the default prints it and reads a line.
    """

    def __init__(self, ask: Callable[[str], str] | None = None) -> None:
        self._ask: Callable[[str], Any] = ask or (lambda text: input(f"{text}\n> "))

    def act(self, observation: Observation, info: Info) -> Action:
        return self._ask(visible_text(observation, info))
