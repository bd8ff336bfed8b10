"""Play cheats on a task: which are paid, and which keep the tests from giving any reward?"""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gem_core.errors import ConfigError
from gem_tasks.task_source import ListedTasks
from gem_terminal.env import TerminalEnv
from gem_terminal.specs import CheatSpec
from gem_terminal.task import TerminalTask
from gem_workers.machine import MachineProvider

__all__ = ["CheatReport", "PlayedCheat", "play_cheats"]

_PARALLEL = 4
"""The number of machines on which the cheats of a task are played at the same time."""
_COMMAND_SECONDS = 30.0
_SHOWN = 2_000


@dataclass(frozen=True)
class PlayedCheat:
    """What came of a cheat.

    Args:
        id: The id of the cheat.
        reward: The reward.
        problem: The fault in place of a reward; empty if there is none.
        forgeable: Whether the episode says that an agent could write its own reward.
        output: The end of what the commands and the tests printed.
    """

    id: str
    reward: float = 0.0
    problem: str = ""
    forgeable: bool = False
    output: str = ""


@dataclass(frozen=True)
class CheatReport:
    """What was found of a task with cheats.

    Args:
        tried: The number of cheats that apply to the task, each of which was played once.
        paid: The ids of those that were paid.
        voids: The ids of those that ended in a fault instead of a reward.
        flagged: Whether episodes say that an agent could write its own reward.
        seconds: Seconds of wall time.
    """

    tried: int
    paid: tuple[str, ...]
    voids: tuple[str, ...]
    flagged: bool
    seconds: float

    @classmethod
    def of(cls, played: Sequence[PlayedCheat], seconds: float) -> "CheatReport":
        """Return the report of cheats that were played."""
        return cls(
            tried=len(played),
            paid=tuple(each.id for each in played if each.reward),
            voids=tuple(each.id for each in played if each.problem),
            flagged=any(each.forgeable for each in played),
            seconds=seconds,
        )

    @property
    def note(self) -> str:
        """The cheats that a flagged task pays; empty if there are none."""
        if not self.flagged or not self.paid:
            return ""
        count = f"{len(self.paid)} of {self.tried} cheats are paid"
        return f"forgeable: {count}: {', '.join(self.paid)}"

    def problem(self, played: Sequence[PlayedCheat]) -> str:
        """Return the problems of the task in a sentence; empty if it has none.

        Args:
            played: The cheats that were played.
        """
        parts = []
        if self.paid and not self.flagged:
            found = ", ".join(f"{each.id} ({each.reward:g})" for each in played if each.reward)
            parts.append(f"{len(self.paid)} of {self.tried} cheats are paid: {found}")
        if self.voids:
            first = next(each.problem for each in played if each.problem)
            found = ", ".join(self.voids)
            parts.append(f"{len(self.voids)} of {self.tried} void the episode: {found} ({first})")
        return "; ".join(parts)


def play_cheats(
    task: TerminalTask,
    provider: MachineProvider,
    cheats: Sequence[CheatSpec],
    stopped: threading.Event,
) -> tuple[CheatReport, list[PlayedCheat]]:
    """Play each cheat that applies to a task, several at the same time.

    Args:
        task: The task.
        provider: Starts the machines.
        cheats: The cheats.
        stopped: No further cheat is played once this is set.

    Raises:
        ConfigError: Machines of the provider are not isolated: cheats would attack the host.
    """
    if not provider.isolated:
        raise ConfigError("Cheats are played on isolated machines only, such as those of 'local'.")
    begin = time.monotonic()
    parent = TerminalEnv(
        tasks=ListedTasks([task]), machine=provider, command_timeout=_COMMAND_SECONDS
    )

    def play(cheat: CheatSpec) -> PlayedCheat | None:
        if stopped.is_set():
            return None
        env = parent.spawn(seed=0)
        try:
            return _episode(env, cheat)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no reward
            return PlayedCheat(cheat.id, problem=f"{type(error).__name__}: {error}")
        finally:
            env.close()

    with ThreadPoolExecutor(_PARALLEL) as pool:
        played = [each for each in pool.map(play, cheats) if each is not None]
    return CheatReport.of(played, time.monotonic() - begin), played


def _episode(env: TerminalEnv, cheat: CheatSpec) -> PlayedCheat | None:
    """Play a cheat, and finish; return None if it does not apply to the task."""
    _, info = env.reset(seed=0)
    made = [] if env.task is None else [cheat.make(part.task) for part in env.task.parts]
    if not any(made):
        return None
    output = ""
    for commands in made:
        step = env.step(env.bash(commands))
        output += f"{step.observation}\n"
        if not (step.terminated or step.truncated):
            step = env.step(env.finish_action)
            output += step.info.get("verifier_output", "")
        if step.terminated or step.truncated:
            break
    forgeable = bool(info.get("forgeable") or step.info.get("forgeable"))
    return PlayedCheat(cheat.id, step.reward, "", forgeable, output[-_SHOWN:])
