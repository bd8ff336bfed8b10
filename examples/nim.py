"""A game for two agents: Nim, played by a random agent and by one with the optimal strategy.

Examples::

    python examples/nim.py
    python examples/nim.py 100
"""

import random
import re
import sys
from functools import reduce
from operator import xor

import gem_core
import gem_rollout
from gem_core import BaseAgent, Env, Info
from gem_core.agent import RandomAgent
from gem_core.errors import ConfigError
from gem_rollout import MultiAgentEnv, MultiAgentStep, Trajectory
from gem_rollout.multi_agent import AgentSelector

PLAYERS = ("first", "second")
MOVE = re.compile(r"take (\d{1,3}) from (\d{1,3})\b")


class NimEnv(MultiAgentEnv):
    """Nim: take any number of objects from one heap; taking the last object wins.

    The winner gets 1.0, the loser -1.0. An invalid move loses. Text after ``say:`` is a message to
    the other player.

    Args:
        heaps: Number of heaps, 1 to 10.
        largest: Most objects in a heap, 1 to 100.
    """

    possible_agents = PLAYERS

    def __init__(self, *, heaps: int = 3, largest: int = 7) -> None:
        super().__init__()
        if not (1 <= heaps <= 10 and 1 <= largest <= 100):
            raise ConfigError(
                f"heaps must be 1 to 10 and largest 1 to 100; got {heaps} and {largest}."
            )
        self.largest = largest
        self.heaps = [0] * heaps
        self.agent_selector = AgentSelector(PLAYERS)

    def start(self) -> None:
        """Fill the heaps."""
        self.heaps = [self.rng.randint(1, self.largest) for _ in self.heaps]

    def observe(self, agent: str) -> str:
        """Return the heaps and the last message of the other player."""
        sizes = ", ".join(f"heap {heap}: {size}" for heap, size in enumerate(self.heaps))
        said = [f"\nThe other player says: {one['message']}" for one in self.messages_to(agent)]
        return f"Nim. {sizes}. Answer 'take N from H'.{''.join(said[-1:])}"

    def process_actions(self, actions: dict[str, str]) -> MultiAgentStep:
        ((player, action),) = actions.items()
        other = PLAYERS[1 - PLAYERS.index(player)]
        move, _, said = action.partition("say:")
        if said.strip():
            self.send_message(player, other, said.strip())
        found = MOVE.search(move)
        number, heap = (int(found[1]), int(found[2])) if found else (0, 0)
        if heap >= len(self.heaps) or not 1 <= number <= self.heaps[heap]:
            return self._won(other, player, {player: {"format_error": found is None}})
        self.heaps[heap] -= number
        if not any(self.heaps):
            return self._won(player, other, {})
        return MultiAgentStep({}, {}, {}, {}, {})

    def _won(self, winner: str, loser: str, infos: dict[str, Info]) -> MultiAgentStep:
        both = {winner: True, loser: True}
        return MultiAgentStep({}, {winner: 1.0, loser: -1.0}, both, {}, infos)

    def sample_action(self, agent: str, rng: random.Random) -> str:
        """Take a random number of objects from a random heap."""
        heap = rng.choice([heap for heap, size in enumerate(self.heaps) if size])
        return f"take {rng.randint(1, self.heaps[heap])} from {heap}"


class Theorist(BaseAgent):
    """Leaves heaps whose exclusive or is zero, if possible.

    Source: C. L. Bouton, Nim, a game with a complete mathematical theory, 1901.
    """

    def act(self, observation: str, info: Info) -> str:
        """Return the move."""
        heaps = [int(size) for size in re.findall(r"heap \d+: (\d+)", observation)]
        total = reduce(xor, heaps)
        for heap, size in enumerate(heaps):
            if size ^ total < size:
                return f"take {size - (size ^ total)} from {heap} say: you have lost"
        return f"take 1 from {heaps.index(max(heaps))}"


def nim_against_random(*, heaps: int = 3, largest: int = 7) -> Env:
    """Return Nim for the first player; the second player is random."""
    env = NimEnv(heaps=heaps, largest=largest)
    return gem_rollout.as_single(env, "first", others={"second": RandomAgent()})


def main(episodes: int) -> None:
    """Play episodes of both agents, then episodes in the view of one agent."""
    agents = {"first": Theorist(), "second": RandomAgent()}
    wins = 0
    for seed in range(episodes):
        trajectory: Trajectory = gem_rollout.play_agents(NimEnv(), agents, seed)
        wins += trajectory.of_agent("first").episode_return > 0
    print(f"play_agents: the theorist won {wins} of {episodes} episodes")
    gem_core.register("example:Nim-v0", nim_against_random)
    played = gem_rollout.collect(
        lambda: gem_core.make("example:Nim-v0"), Theorist, episodes=episodes
    )
    wins = sum(trajectory.episode_return > 0 for trajectory in played)
    print(f"collect: the theorist won {wins} of {episodes} episodes")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
