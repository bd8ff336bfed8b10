"""Episodes of several agents: one trajectory, whose turns name their agents."""

import time
from collections import defaultdict
from collections.abc import Generator, Mapping
from typing import Any

from gem_core.agent import Agent
from gem_core.faults import checked_reward, error_record
from gem_core.maybe_async import drive
from gem_core.vector.slot import FAULTS
from gem_rollout.episodes.episode import name_of
from gem_rollout.multi_agent.agent_view import Answer, Players, agents_to_act, check_players
from gem_rollout.multi_agent.env import MultiAgentEnv
from gem_rollout.records.observations import Observations
from gem_rollout.records.trajectory import Trajectory, Turn

__all__ = ["play_agents"]


def play_agents(env: MultiAgentEnv, agents: Mapping[str, Agent], seed: int, index: int = 0) -> Any:
    """Play one episode; returns its trajectory, or an awaitable of it.

    A turn's reward, flags and info include everything that its agent received before its next
    turn, also through moves of others. So the turns of one agent (``Trajectory.of_agent``) are an
    ordinary episode. Agents that act at the same time have consecutive turns; the last of them has
    the seconds of the step. An error ends the episode and is recorded in the trajectory.

    Args:
        env: The environment.
        agents: The player of each agent: a different object for each.
        seed: Seed of the episode.
        index: Number of the episode.

    Raises:
        WrongAgentError: One of the environment's ``possible_agents`` has no player.
        ConfigError: One object is the player of two agents.
    """
    check_players(env, agents)
    trajectory = Trajectory(name_of(env), ", ".join(agents), index, seed, group=index)
    return drive(_MultiAgentEpisode(env, agents, trajectory).run())


class _MultiAgentEpisode:
    """An episode in progress."""

    def __init__(
        self, env: MultiAgentEnv, agents: Mapping[str, Agent], trajectory: Trajectory
    ) -> None:
        self.env = env
        self.trajectory = trajectory
        self.players = Players(env, agents)
        self._last: dict[str, Turn] = {}
        self._seen: dict[str, Observations] = defaultdict(Observations)

    def run(self) -> Generator[Any, Any, Trajectory]:
        """Play until all agents have ended or an error occurs."""
        trajectory = self.trajectory
        trajectory.started_at = time.time()
        try:
            yield from self._reset()
            while self.env.agents:
                yield from self._take_turns()
        except FAULTS as error:
            trajectory.error, trajectory.success = error_record(error, "env"), False
        received, turns = self.players.received, trajectory.turns
        if received:
            name = turns[-1].agent if turns else next(iter(received))
            trajectory.final_observation = received[name].observation
        return trajectory

    def _reset(self) -> Generator[Any, Any, None]:
        started = time.perf_counter()
        first = yield self.env.reset(seed=self.trajectory.seed)
        self.trajectory.setup_seconds = time.perf_counter() - started
        self.trajectory.reset_info = {name: info for name, info in first[1].items() if info}
        self.players.begin(first, self.trajectory.seed)

    def _take_turns(self) -> Generator[Any, Any, None]:
        """Ask all agents that act now, and take one step."""
        names, players = agents_to_act(self.env), self.players
        shown = {name: self._seen[name].keep(players.received[name].observation) for name in names}
        answers: dict[str, Answer] = yield from players.ask(names)
        started = time.perf_counter()
        step = yield self.env.step({name: answer.action for name, answer in answers.items()})
        seconds = time.perf_counter() - started
        players.receive(step)
        for name, (action, generation, agent_seconds) in answers.items():
            turn = Turn(name, shown[name], action, 0.0, False, False, {}, agent_seconds)
            turn.generation = generation
            self._last[name] = turn
            self.trajectory.turns.append(turn)
        self.trajectory.turns[-1].env_seconds = seconds
        for name, turn in self._last.items():
            given = players.received[name]
            turn.reward, turn.info = checked_reward(given.reward, self.env), given.info
            turn.terminated, turn.truncated = given.terminated, given.truncated
