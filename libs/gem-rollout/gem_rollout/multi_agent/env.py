"""Environments for several agents.

An author writes ``start``, ``observe`` and ``process_actions``. ``MultiAgentEnv`` adds the random
generator, snapshots and forks that ``BaseEnv`` has, and features for several agents: turn order,
checks of joint actions, flags and returns of each agent, agents that join and leave, messages.
"""

import functools
import random
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self, overload

from gem_core.errors import ConfigError, GemError, WrongAgentError
from gem_core.maybe_async import then
from gem_core.observation import Action, Info, Observation
from gem_core.seeded_env import SeededEnv
from gem_core.specs import check_kwargs

__all__ = ["AgentSelector", "AgentState", "MultiAgentEnv", "MultiAgentStep"]


class MultiAgentStep(NamedTuple):
    """The results of a step: five dicts keyed by agent.

    They have an entry for each agent that was present when the step began or joined during it,
    agents that ended in this step included. An agent is never both terminated and truncated.
    """

    observations: dict[str, Observation]
    rewards: dict[str, float]
    terminated: dict[str, bool]
    truncated: dict[str, bool]
    infos: dict[str, Info]


class AgentState(NamedTuple):
    """The state of one agent; ``reward`` is the sum of its rewards in the episode."""

    observation: Observation
    reward: float
    terminated: bool
    truncated: bool
    info: Info


class AgentSelector:
    """The turn order: one agent after another, or all at the same time.

    Args:
        agents: The agents, in turn order.
        mode: ``sequential`` or ``parallel``.
    """

    def __init__(self, agents: Iterable[str], mode: str = "sequential") -> None:
        self.mode = mode
        self.reinit(agents)

    def reinit(self, agents: Iterable[str]) -> None:
        """Start over with these agents; the first one is selected."""
        self._agents = list(agents)
        self._index = 0
        # -1 after the first agent was removed during its turn: `next` then selects the first one.

    @property
    def selected(self) -> str | None:
        """The selected agent; None if there are no agents."""
        return self._agents[max(self._index, 0)] if self._agents else None

    def get_active_agents(self) -> list[str]:
        """Return the agents that act now: the selected one, or all in ``parallel`` mode.

        Raises:
            ConfigError: The mode is unknown.
        """
        if self.mode == "parallel":
            return list(self._agents)
        if self.mode == "sequential":
            return [] if self.selected is None else [self.selected]
        raise ConfigError(
            f"The mode of an AgentSelector is sequential or parallel; got {self.mode!r}."
        )

    def next(self) -> None:
        """Select the next agent, or the first after the last; no effect in ``parallel`` mode."""
        if self.mode == "sequential" and self._agents:
            self._index = (self._index + 1) % len(self._agents)

    def is_first(self) -> bool:
        """Return whether the first agent is selected."""
        return bool(self._agents) and self._index <= 0

    def is_last(self) -> bool:
        """Return whether the last agent is selected."""
        return bool(self._agents) and max(self._index, 0) == len(self._agents) - 1

    def add_agent(self, agent: str) -> None:
        """Add an agent at the end of the order, unless it is there already."""
        if agent not in self._agents:
            self._agents.append(agent)

    def remove_agent(self, agent: str) -> None:
        """Remove an agent, if it is there; the order of the others stays the same.

        If it was selected, the agent before it is selected until ``next``, or else the first one.
        """
        if agent not in self._agents:
            return
        position = self._agents.index(agent)
        del self._agents[position]
        if position <= self._index:
            self._index -= 1


class MultiAgentEnv(SeededEnv, ABC):
    """Base of environments for several agents.

    Write ``start`` (set up an episode from ``self.rng``), ``observe`` (return an agent's
    observation) and ``process_actions`` (apply the agents' actions). List all agents in
    ``possible_agents``. All agents act at the same time, unless ``agent_selector`` defines a turn
    order. The episode ends when ``agents`` is empty.

    Example:
        >>> class Pick(MultiAgentEnv):
        ...     '''Two agents pick a number at the same time; the larger number wins.'''
        ...
        ...     possible_agents = ("a", "b")
        ...
        ...     def observe(self, agent):
        ...         return "A number?"
        ...
        ...     def process_actions(self, actions):
        ...         best = max(map(int, actions.values()))
        ...         rewards = {agent: float(int(text) == best) for agent, text in actions.items()}
        ...         return {}, rewards, dict.fromkeys(actions, True), {}, {}
        >>> env = Pick()
        >>> env.reset(seed=0)
        ({'a': 'A number?', 'b': 'A number?'}, {'a': {}, 'b': {}})
        >>> env.step({"a": "3", "b": "4"}).rewards
        {'a': 0.0, 'b': 1.0}
    """

    multi_agent: ClassVar[bool] = True
    possible_agents: Sequence[str] = ()
    """All agents that may take part, in turn order."""
    agent_selector: AgentSelector | None = None
    """The turn order; None if all agents act at the same time."""
    global_context: str = ""
    """Text for all agents, which ``observe`` may show."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.agents: list[str] = []
        """The agents that are present, which means neither terminated nor truncated."""
        self.terminations: dict[str, bool] = {}
        """The flag of every agent of this episode, including those that have left."""
        self.truncations: dict[str, bool] = {}
        self.rewards: dict[str, float] = {}
        """The rewards of the last step."""
        self.infos: dict[str, Info] = {}
        self.shared_memory: list[dict[str, Any]] = []
        """Messages as dicts of ``from``, ``to`` (one agent or a list) and ``message``, the oldest
        first. Messages may be added, but not removed."""
        self._inboxes: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self._sorted_messages = 0
        """How many messages are in the inboxes of their receivers."""
        self.global_context = ""
        self._returns: dict[str, float] = {}

    def start(self) -> Any:
        """Set up an episode from ``self.rng``; takes the keyword options of ``reset``.

        ``self.agents`` holds all of ``possible_agents``; set it to begin with some of them, or in
        another order. ``start`` may be a coroutine.
        """

    def reset_options(self, number: int, seed: int | None = None) -> dict[str, Any]:
        """Return the options of ``reset`` for episode ``number`` of a run; see ``BaseEnv``."""
        return {}

    @abstractmethod
    def observe(self, agent: str) -> Observation:
        """Return an agent's observation without changing anything; also for agents that left."""

    @abstractmethod
    def process_actions(self, actions: dict[str, Action]) -> Any:
        """Apply the actions of all agents that act now.

        Returns:
            A ``MultiAgentStep``, a tuple of the same five dicts, or an awaitable of either. A
            missing entry counts as ``observe(agent)``, 0.0, the agent's flags in
            ``self.terminations`` and ``self.truncations``, and ``{}``.
        """

    def sample_action(self, agent: str, rng: random.Random) -> Action:
        """Return a valid action of an agent for the current state, chosen with ``rng``."""
        raise NotImplementedError(f"{type(self).__name__} does not sample actions.")

    @property
    def active_agents(self) -> list[str]:
        """The agents whose actions ``step`` takes now."""
        if self.agent_selector is None:
            return list(self.agents)
        return [agent for agent in self.agent_selector.get_active_agents() if agent in self.agents]

    @property
    def unwrapped(self) -> Self:
        """The environment itself."""
        return self

    def sample_random_action(self) -> dict[str, Action]:
        """Return a valid action of each agent that acts now, chosen with ``self.action_rng``."""
        return {agent: self.sample_action(agent, self.action_rng) for agent in self.active_agents}

    def reset(self, seed: int | None = None, **options: Any) -> Any:
        """Start an episode; the same seed always starts the same episode.

        Args:
            seed: Non-negative int; None continues the environment's random stream.
            options: Keyword arguments of ``start``.

        Returns:
            Observations and infos, each keyed by agent; an awaitable of them if ``start`` is a
            coroutine.
        """
        if options:
            check_kwargs(self.start, options, f"reset of {type(self).__name__}")
        if seed is not None:
            self.seed(seed)
        self._ended = None
        self._clear()
        self.agents = list(self.possible_agents)
        return then(self.start(**options), self._begin)

    def _begin(self, _: object) -> tuple[dict[str, Observation], dict[str, Info]]:
        if not self.agents:
            raise GemError(f"{type(self).__name__} has no agents: set possible_agents.")
        for agent in self.agents:
            self._admit(agent)
        if self.agent_selector is not None:
            self.agent_selector.reinit(self.agents)
        self._ended = False
        observations = {agent: self.observe(agent) for agent in self.agents}
        return observations, {agent: self.infos[agent] for agent in self.agents}

    def _admit(self, agent: str) -> None:
        self.terminations[agent] = self.truncations[agent] = False
        self.rewards.setdefault(agent, 0.0)
        self._returns.setdefault(agent, 0.0)
        self.infos.setdefault(agent, {})

    def step(self, actions: Mapping[str, Action]) -> Any:
        """Take the actions of all agents that act now.

        Args:
            actions: The actions keyed by agent: one for each of ``active_agents`` and no others.

        Returns:
            A ``MultiAgentStep``, or an awaitable of it.

        Raises:
            WrongAgentError: The actions are not a dict, or an agent is missing or must not act;
                the episode has not changed.
            EpisodeEndedError: The episode has ended, or none was started.
        """
        if self._ended is not False:
            raise self._not_running()
        self._check_actions(actions)
        advance = functools.partial(self._advance, list(self.agents))
        return then(self.process_actions(dict(actions)), advance)

    def _check_actions(self, actions: object) -> None:
        active = self.active_agents
        due = f"These act now: {', '.join(active) or 'none'}."
        name = f"{type(self).__name__}.step"
        if not isinstance(actions, Mapping):
            raise WrongAgentError(
                f"{name} takes a dict of actions keyed by agent; got a "
                f"{type(actions).__name__}. {due}"
            )
        for agent in actions:
            if agent not in active:
                raise WrongAgentError(f"{name}: {agent!r} {self._why_not(agent)}. {due}")
        for agent in active:
            if agent not in actions:
                raise WrongAgentError(f"{name}: the action of {agent!r} is missing. {due}")

    def _why_not(self, agent: str) -> str:
        if agent in self.agents:
            return "does not act now"
        return "has left" if agent in self.terminations else "is not an agent of this episode"

    def _advance(self, before: list[str], result: tuple[Any, ...]) -> MultiAgentStep:
        step = MultiAgentStep(*result)
        present = list(dict.fromkeys([*before, *self.agents]))
        self._check_result(step, present)
        self.rewards = {agent: float(step.rewards.get(agent, 0.0)) for agent in present}
        for agent, reward in self.rewards.items():
            self._returns[agent] += reward
            self.infos[agent] = step.infos.get(agent, {})
            self._note_flags(agent, step)
        if self.agent_selector is not None:
            self.agent_selector.next()
        self._ended = not self.agents
        seen = step.observations
        return MultiAgentStep(
            {agent: seen[agent] if agent in seen else self.observe(agent) for agent in present},
            dict(self.rewards),
            {agent: self.terminations[agent] for agent in present},
            {agent: self.truncations[agent] for agent in present},
            {agent: self.infos[agent] for agent in present},
        )

    def _check_result(self, step: MultiAgentStep, present: list[str]) -> None:
        fields: dict[str, dict[str, Any]] = step._asdict()
        for field, values in fields.items():
            for agent in values:
                late = agent in self.terminations and not (field == "rewards" and values[agent])
                if agent not in present and not late:
                    raise GemError(
                        f"{type(self).__name__}.process_actions returned {field} of {agent!r}, "
                        f"which {self._why_not(agent)}. Present: {', '.join(present)}."
                    )

    def _note_flags(self, agent: str, step: MultiAgentStep) -> None:
        if agent in step.terminated or agent in step.truncated:
            self.terminations[agent] = bool(step.terminated.get(agent, False))
            self.truncations[agent] = bool(step.truncated.get(agent, False))
        if self.terminations[agent] and self.truncations[agent]:
            raise GemError(
                f"{type(self).__name__}.process_actions returned terminated and truncated both "
                f"true for {agent!r}; they exclude each other."
            )
        if self.terminations[agent] or self.truncations[agent] or agent not in self.agents:
            self.remove_agent(agent)

    def add_agent(self, agent: str) -> None:
        """Let an agent join or return, last in the order; no effect if it is present."""
        if agent not in self.agents:
            self.agents.append(agent)
            self._admit(agent)
            if self.agent_selector is not None:
                self.agent_selector.add_agent(agent)

    def remove_agent(self, agent: str) -> None:
        """Let an agent leave: it is terminated unless truncated; no effect if it is absent."""
        if agent in self.agents:
            self.agents.remove(agent)
            if self.agent_selector is not None:
                self.agent_selector.remove_agent(agent)
        if agent in self.terminations and not self.truncations[agent]:
            self.terminations[agent] = True

    @overload
    def get_state(self) -> dict[str, Any]: ...
    @overload
    def get_state(self, agent: str) -> AgentState: ...
    def get_state(self, agent: str | None = None) -> dict[str, Any] | AgentState:
        """Return the state of an agent; without an argument, the attributes for a snapshot.

        Raises:
            WrongAgentError: It is not an agent of this episode.
        """
        if agent is None:
            return super().get_state()
        if agent not in self.terminations:
            raise WrongAgentError(
                f"{agent!r} is not an agent of this episode. "
                f"Its agents: {', '.join(self.terminations)}."
            )
        flags = self.terminations[agent], self.truncations[agent]
        return AgentState(self.observe(agent), self._returns[agent], *flags, self.infos[agent])

    def get_active_states(self) -> dict[str, AgentState]:
        """Return the state of each agent that acts now."""
        return {agent: self.get_state(agent) for agent in self.active_agents}

    def send_message(self, sender: str, receiver: str, message: str) -> None:
        """Send a message from one present agent to another.

        Raises:
            WrongAgentError: One of them is not present.
        """
        for agent in (sender, receiver):
            if agent not in self.agents:
                raise WrongAgentError(
                    f"Cannot send from {sender!r} to {receiver!r}: {agent!r} is not present. "
                    f"Present: {', '.join(self.agents)}."
                )
        self.shared_memory.append({"from": sender, "to": receiver, "message": message})

    def broadcast_message(self, sender: str, message: str) -> None:
        """Send a message to each other present agent.

        Raises:
            WrongAgentError: The sender is not present.
        """
        if sender not in self.agents:
            self.send_message(sender, sender, message)
        others = [agent for agent in self.agents if agent != sender]
        self.shared_memory.append({"from": sender, "to": others, "message": message})

    def messages_to(self, agent: str) -> list[dict[str, Any]]:
        """Return the messages to an agent, the oldest first."""
        for message in self.shared_memory[self._sorted_messages :]:
            to = message["to"]
            for receiver in [to] if isinstance(to, str) else to:
                self._inboxes[receiver].append(message)
        self._sorted_messages = len(self.shared_memory)
        return list(self._inboxes.get(agent, ()))
