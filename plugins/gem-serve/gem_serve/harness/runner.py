"""Many episodes of a program at the same time, each on a machine of its own."""

import threading
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from gem_core.env import Env
from gem_core.errors import ConfigError
from gem_rollout.records.trajectory import Trajectory
from gem_serve.harness.player import Player

__all__ = ["play_episodes"]

_PATIENCE = 0.2


@dataclass
class _Envs:
    """An environment for each thread."""

    make: Callable[[], Env]
    made: list[Env] = field(default_factory=list)
    _local: threading.local = field(default_factory=threading.local)

    def take(self) -> Env:
        env: Any = getattr(self._local, "env", None)
        if env is None:
            env = self._local.env = self.make()
            self.made.append(env)
        return env  # type: ignore[no-any-return]

    def close(self) -> None:
        for env in list(self.made):
            env.close()


def play_episodes(
    player: Player,
    make_env: Callable[[], Env],
    *,
    episodes: int,
    seed: int = 0,
    samples: int = 1,
    jobs: int = 1,
) -> Generator[Trajectory, None, None]:
    """Play episodes and yield their trajectories in the order in which they end.

    Episode ``i`` is sample ``i % samples`` of group ``i // samples``; those of a group begin in the
    same state. If the caller stops, the programs that run are killed.

    Args:
        player: What plays.
        make_env: Makes an environment; one is made for each of the ``jobs``.
        episodes: The number of episodes.
        seed: The seed of the run.
        samples: Episodes in a group.
        jobs: Episodes that are played at the same time.

    Raises:
        ConfigError: A number is below 1, or the environment has no machine.
        ProgramMissingError: The machine does not have the program.
    """
    for name, value in (("episodes", episodes), ("samples", samples), ("jobs", jobs)):
        if value < 1:
            raise ConfigError(f"{name} must be at least 1; got {value}.")
    envs = _Envs(make_env)
    stopped = threading.Event()

    def play(index: int) -> Trajectory | None:
        if stopped.is_set():
            return None
        group, sample = divmod(index, samples)
        env = envs.take()
        return player.play(env, run_seed=seed, index=index, group=group, sample=sample)

    with ThreadPoolExecutor(jobs, thread_name_prefix="gem-harness") as pool:
        waiting: set[Future[Trajectory | None]] = {
            pool.submit(play, index) for index in range(episodes)
        }
        try:
            while waiting:
                ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for one in ended:
                    if (trajectory := one.result()) is not None:
                        yield trajectory
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            envs.close()  # ends the machines, and with them the programs
            running = [one for one in waiting if not one.cancelled()]
            while wait(running, timeout=_PATIENCE).not_done:
                envs.close()  # an episode may have been about to start its machine
