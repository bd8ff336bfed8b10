"""A dialogue of two agents over a database, and a fork in the middle of it.

Examples::

    python examples/tau_dialogues.py
    python examples/tau_dialogues.py 7
"""

import sys
from collections.abc import Iterator

import gem_core
import gem_rollout
from gem_core import Env
from gem_rollout import Trajectory
from gem_tau.env import DialogueEnv
from gem_tau.oracle import DialogueOracle
from gem_tau.users import ScriptedUser

NAME = "tau:Retail-Sample"


def play_both(seed: int) -> Trajectory:
    """Play an episode in which each seat has an agent; any agent can take either seat."""
    env = DialogueEnv(tasks="retail-sample")
    agents = {"user": ScriptedUser(), "assistant": DialogueOracle()}
    trajectory: Trajectory = gem_rollout.play_agents(env, agents, seed)
    return trajectory


def lines(trajectory: Trajectory) -> Iterator[str]:
    """Yield the dialogue, and what was paid for it."""
    for turn in trajectory.turns:
        yield f"{turn.agent}: {turn.action}"
        for call in turn.info.get("tool_calls", ()):
            yield f"  {'result' if call['ok'] else 'failed'}: {call['output'][:100]}"
    info = trajectory.turns[-1].info
    yield f"ended by {info['ended_by']}, reward parts {info['rewards']}"


def finish(env: Env, actions: list[str]) -> float:
    """Play actions until the episode ends, the last one repeatedly; return the reward."""
    while True:
        _, reward, terminated, truncated, _ = env.step(actions[0])
        actions = actions[1:] or actions
        if terminated or truncated:
            return float(reward)


def fork_in_the_middle(trajectory: Trajectory) -> tuple[float, float]:
    """Replay half of the assistant's turns, then go on in two ways; return both rewards."""
    actions = [turn.action for turn in trajectory.of_agent("assistant").turns]
    env = gem_core.make(NAME)  # the view of the assistant; a program plays the user
    env.reset(seed=trajectory.seed)
    half = len(actions) // 2
    for action in actions[:half]:
        env.step(action)
    twin = env.fork()  # its database and its user are copies
    return finish(env, actions[half:]), finish(twin, ["I am sorry, I cannot help you. Goodbye."])


def main(seed: int) -> None:
    """Print a dialogue, and the rewards of two ways to go on from its middle."""
    trajectory = play_both(seed)
    print("\n".join(lines(trajectory)))
    as_before, goodbye = fork_in_the_middle(trajectory)
    print(f"from the middle: as before {as_before:g}, with a goodbye {goodbye:g}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
