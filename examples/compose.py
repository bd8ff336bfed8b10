"""A trainer's outer loop: a vector composed by Hydra, stepped by a policy.

Examples::

    python examples/compose.py
    python examples/compose.py env=game/Mastermind-v0-easy env.max_turns=6 vector.num_envs=64
    python examples/compose.py '~env' +env@mixture.a=game/Sudoku-v0-easy \
        +env@mixture.b=game/TowerofHanoi-v0-easy +mixture.b.weight=3
    python examples/compose.py -m env=game/GuessTheNumber-v0-easy,game/GuessTheNumber-v0-hard
"""

import hydra
from omegaconf import DictConfig

from gem_core.config import build


@hydra.main(version_base=None, config_path=".", config_name="compose")
def main(config: DictConfig) -> None:
    """Step the vector with random actions and print the mean return of the finished episodes."""
    vector = build(config)
    returns: list[float] = []
    with vector:
        vector.reset()
        for _ in range(config.steps):
            actions = vector.sample_random_actions()  # a policy's actions go here
            batch = vector.step(actions)
            ended = map(any, zip(batch.terminated, batch.truncated, strict=True))
            finals = [i["final_info"] for i, end in zip(batch.infos, ended, strict=True) if end]
            returns += [final["cumulative_rewards"] for final in finals]
    print(f"{len(returns)} episodes, mean return {sum(returns) / max(1, len(returns)):.3f}")


if __name__ == "__main__":
    main()
