"""The view of one agent: an ordinary environment in which the other agents are played.

Wrappers, vectors, rollouts, evaluation and training work on such a view, so they need no code for
several agents.
"""

import copy
import time
from collections.abc import Awaitable, Generator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

from gem_core.agent import Agent, Generation, Reply
from gem_core.env import BaseEnv, Step
from gem_core.errors import ConfigError, GemError, WrongAgentError
from gem_core.faults import boundary
from gem_core.maybe_async import drive, is_awaitable
from gem_core.observation import Action, Info, Observation
from gem_core.optional import seed_agent
from gem_core.seeding import child_seed
from gem_rollout.multi_agent.env import MultiAgentEnv, MultiAgentStep

__all__ = ["AgentView", "Answer", "Players", "agents_to_act", "as_single", "check_players"]


class Answer(NamedTuple):
    """An agent's action, the model's work behind it, and its wall time."""

    action: Action
    generation: Generation | None
    seconds: float


class Players:
    """The players of an environment, and what each agent has received since it last acted.

    The reward of a move often comes with the move of another agent, so rewards, flags and infos
    are collected until the agent's next turn. The first turn includes everything before it.

    Args:
        env: The environment.
        agents: The player of each agent: a different object for each.
    """

    def __init__(self, env: MultiAgentEnv, agents: Mapping[str, Agent]) -> None:
        self.agents = dict(agents)
        self._views = {name: _PlayerView(env, name) for name in agents}
        self._acted: set[str] = set()
        self.received: dict[str, Step] = {}
        """Keyed by agent, agents without a player here included."""

    def attach(self, env: MultiAgentEnv, agents: Mapping[str, Agent]) -> None:
        """Complete a copy with its environment and with the attributes that players share.

        Args:
            env: The environment of the copy.
            agents: The original players, or others of the same classes.
        """
        for name, view in self._views.items():
            view.env = env
            for attribute in getattr(self.agents[name], "shared", ()):
                setattr(self.agents[name], attribute, getattr(agents[name], attribute))

    def begin(self, first: tuple[dict[str, Observation], dict[str, Info]], seed: int) -> None:
        """Begin an episode.

        Args:
            first: Observations and infos of the reset.
            seed: Seed of the players' randomness.
        """
        observations, infos = first
        self._acted = set()
        self.received = {
            name: Step(seen, 0.0, False, False, infos[name]) for name, seen in observations.items()
        }
        with boundary("agent"):
            for name, agent in self.agents.items():
                self._views[name].seed_actions(child_seed(seed, "actions", name))
                seed_agent(agent, child_seed(seed, "agent", name))
                agent.reset(self._views[name])

    def note_action(self, name: str) -> Step:
        """Return the step that an agent acts on, and start collecting for its next turn."""
        given = self.received[name]
        kept = 0.0 if name in self._acted else given.reward
        self._acted.add(name)
        self.received[name] = given._replace(reward=kept, info={})
        return given

    def ask(self, names: Sequence[str]) -> Generator[Any, Any, dict[str, Answer]]:
        """Ask agents for their actions; awaitable answers are awaited concurrently.

        Raises:
            WrongAgentError: One of them has no player.
        """
        for name in names:
            if name not in self.agents:
                raise WrongAgentError(
                    f"{name!r} must act and has no player. "
                    f"There are players for: {', '.join(self.agents) or 'none'}."
                )
        said = [self._ask_one(name) for name in names]
        if any(is_awaitable(one) for one in said):
            said = yield _all(said)
        return dict(zip(names, said, strict=True))

    def _ask_one(self, name: str) -> Any:
        given, started = self.note_action(name), time.perf_counter()
        with boundary("agent"):
            value = self.agents[name].act(given.observation, given.info)
        return _later(value, started) if is_awaitable(value) else _answer(value, started)

    def receive(self, step: MultiAgentStep) -> None:
        """Collect the results of a step."""
        for name, seen in step.observations.items():
            reward, info = step.rewards[name], step.infos[name]
            if name in self.received:
                before = self.received[name]
                reward, info = before.reward + reward, {**before.info, **info}
            flags = step.terminated[name], step.truncated[name]
            self.received[name] = Step(seen, reward, *flags, info)

    def close(self) -> None:
        """Close the players."""
        for agent in self.agents.values():
            agent.close()


def _answer(said: Any, started: float) -> Answer:
    action, generation = said if isinstance(said, Reply) else (said, None)
    return Answer(action, generation, time.perf_counter() - started)


async def _later(value: Awaitable[Any], started: float) -> Answer:
    with boundary("agent"):
        return _answer(await value, started)


async def _all(answers: list[Any]) -> list[Any]:
    """Await several answers concurrently; if one fails, cancel the others."""
    import asyncio  # noqa: PLC0415 - only where something waits

    waiting = [asyncio.ensure_future(one) for one in answers if is_awaitable(one)]
    try:
        await asyncio.gather(*waiting)
    finally:
        for one in waiting:
            one.cancel()
    later = iter(waiting)
    return [next(later).result() if is_awaitable(one) else one for one in answers]


class AgentView(BaseEnv):
    """An environment for one agent of a ``MultiAgentEnv``; see ``as_single``.

    A seed starts the same episode as in the environment itself. The episode ends when it ends for
    the agent; if that happens before the agent's first turn, the first step says so, whatever its
    action. Forks and snapshots pickle the other players, except the attributes that these list in
    ``shared``.

    Args:
        env: The environment, used by this view only.
        agent: The agent.
        others: The players of the other agents.
    """

    shared: ClassVar[tuple[str, ...]] = ("env",)

    def __init__(self, env: MultiAgentEnv, agent: str, others: Mapping[str, Agent]) -> None:
        self.env = env
        self.agent = agent
        self.spec = env.spec
        self.blocking = env.blocking
        self._players = Players(env, others)

    def seed(self, seed: int) -> None:
        super().seed(seed)
        self.env.seed(seed)

    def reset_options(self, number: int, seed: int | None = None) -> dict[str, Any]:
        """Return the environment's options for episode ``number`` of a run."""
        return self.env.reset_options(number, seed)

    def start(self, **options: Any) -> Any:
        """Begin an episode and let the others play until it is the agent's turn."""
        return drive(self._start(options))

    def _start(self, options: dict[str, Any]) -> Generator[Any, Any, tuple[Observation, Info]]:
        first = yield self.env.reset(**options)
        self._players.begin(first, self.rng.getrandbits(63))
        yield from self._play_on({})
        given = self._given()
        return given.observation, given.info

    def step(self, action: Action) -> Any:
        """Act and let the others play until it is the agent's turn again."""
        return drive(self._step(action))

    def _step(self, action: Action) -> Generator[Any, Any, Step]:
        if not self._is_over():
            self._players.note_action(self.agent)
            yield from self._play_on({self.agent: action})
        return self._given()

    def _play_on(self, own: dict[str, Action]) -> Generator[Any, Any, None]:
        env, players = self.env, self._players
        while own or not (self._is_over() or self.agent in env.active_agents):
            active = agents_to_act(env)
            answers = yield from players.ask([name for name in active if name not in own])
            others = {name: answer.action for name, answer in answers.items()}
            players.receive((yield env.step({**others, **own})))
            own = {}

    def _is_over(self) -> bool:
        given = self._players.received.get(self.agent)
        return not self.env.agents or (given is not None and (given.terminated or given.truncated))

    def _given(self) -> Step:
        given = self._players.received.get(self.agent)
        if given is None:  # the episode ended and the agent never joined it
            return Step("", 0.0, True, False, {})
        return given

    def sample_random_action(self) -> Action:
        return self.env.sample_action(self.agent, self.action_rng)

    def get_state(self) -> dict[str, Any]:
        """Return the view's state with the environment's inside."""
        return {**super().get_state(), "env": self.env.snapshot()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a state from ``get_state``, the environment's included."""
        own, agents = dict(state), self._players.agents
        self.env.restore(own.pop("env"))
        super().set_state(own)
        self._players.attach(self.env, agents)

    def fork(self) -> Self:
        """Return an independent copy of the environment, and of the other agents."""
        twin = copy.copy(self)
        twin.env = self.env.fork()
        super(AgentView, twin).set_state(self._unpickled(self._pickled(super().get_state())))
        twin._players.attach(twin.env, self._players.agents)  # noqa: SLF001 - its own class
        return twin

    def close(self) -> None:
        self.env.close()
        self._players.close()


class _PlayerView(AgentView):
    """The view that a player gets in ``reset``; pickled without the environment.

    Its owner sets ``env`` again after a copy.
    """

    def __init__(self, env: MultiAgentEnv, agent: str) -> None:
        super().__init__(env, agent, {})

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "env"}


def agents_to_act(env: MultiAgentEnv) -> list[str]:
    """Return the agents that act now.

    Raises:
        GemError: There are none, but the episode has not ended.
    """
    active = env.active_agents
    if not active:
        raise GemError(
            f"{type(env).__name__}: no agent acts now, but {', '.join(env.agents)} have not ended. "
            f"Its agent_selector must select one of them."
        )
    return active


def check_players(
    env: MultiAgentEnv, agents: Mapping[str, Agent], *, outside: Sequence[str] = ()
) -> None:
    """Check that each agent of an environment has its own player.

    Args:
        env: The environment.
        agents: The player of each agent.
        outside: Agents that act from outside and need no player.

    Raises:
        WrongAgentError: One of ``possible_agents`` has no player.
        ConfigError: One object is the player of two agents.
    """
    missing = [name for name in env.possible_agents if name not in {*agents, *outside}]
    if missing:
        raise WrongAgentError(
            f"{type(env).__name__} has the agents {', '.join(env.possible_agents)}; these have no "
            f"player: {', '.join(missing)}. There are players for: {', '.join(agents) or 'none'}."
        )
    if len({id(agent) for agent in agents.values()}) < len(agents):
        raise ConfigError(
            f"One object is the player of two of {', '.join(agents)}. Players keep state, so make "
            f"one for each agent."
        )


def as_single(env: MultiAgentEnv, agent: str, *, others: Mapping[str, Agent]) -> AgentView:
    """Return an environment for one agent in which the other agents are played.

    Args:
        env: The environment; the view is its only user from here on.
        agent: The agent whose actions ``step`` takes.
        others: The player of each other agent, keyed by agent.

    Raises:
        WrongAgentError: There is no such agent, ``others`` has a player for it, or lacks one for
            another agent.
        ConfigError: One object is the player of two agents.
    """
    if agent not in env.possible_agents:
        raise WrongAgentError(
            f"{type(env).__name__} has no agent {agent!r}. "
            f"It has: {', '.join(env.possible_agents)}."
        )
    if agent in others:
        raise WrongAgentError(f"{agent!r} acts from outside: remove it from others.")
    check_players(env, others, outside=[agent])
    return AgentView(env, agent, others)
