"""Compares GRPO steps on a CPU: gem-train's ``Trainer`` and TRL's ``GRPOTrainer``.

Both train the same small model on the same environments with the same batch, loss, optimiser and
number of threads. Each side is a process that waits between its steps, so the sides alternate, a
few steps at a time, under the same load. TRL is installed once, into its own virtual environment;
the model is made and trained on demonstrations of each game once.

Examples:
  python benchmarks/run.py trl                              everything, about 10 minutes
  python benchmarks/run.py trl --only reverse --threads 1
  python benchmarks/run.py trl --rounds 2 --steps 5         a quick look
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from common.output import machine, not_measured, write
from common.peers import TRL, find_or_install
from common.processes import WORKER, in_rounds, start, stop

from gem_core.factory import EnvFactory
from trl_steps.report import SIDES, Comparison, parts_of
from trl_steps.setting import Setting
from trl_steps.tasks import TASKS, warm_start

__all__ = ["add_arguments", "run"]

_SOURCES = ("plugins/gem-games",)
"""Folders of the checkout that TRL's interpreter needs for the environments, besides the root."""
_GUESS = "guess"
_TASKS = ("reverse", _GUESS)
_WARM_UP = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this suite."""
    parser.add_argument("--only", action="append", choices=_TASKS, help="may be repeated")
    parser.add_argument("--threads", action="append", type=int, help="may be repeated: 1, 2")
    parser.add_argument("--rounds", type=int, default=12, help="turns of each side (12)")
    parser.add_argument("--steps", type=int, default=5, help="steps in a turn (5)")
    parser.add_argument("--max-new-tokens", type=int, default=16, help="of a response (16)")
    parser.add_argument(
        "--runs", type=Path, default=Path("runs/learning"), help="folder of the models"
    )
    parser.add_argument("--peer-python", metavar="PATH", help="interpreter that has TRL")


def run(options: argparse.Namespace) -> None:
    """Run the comparison."""
    stem = ["trl", *(options.only or []), *map(str, options.threads or [])]
    options.only, options.threads = options.only or list(_TASKS), options.threads or [1, 2]
    python = options.peer_python or str(find_or_install(TRL))
    pythons = dict(zip(SIDES, (sys.executable, python), strict=True))
    for task in options.only:
        print(warm_start(task, options.runs), file=sys.stderr)
    found: list[Comparison] = []

    def compare(task: str, setting: Setting) -> None:
        found.append(_compare(options, task, setting, pythons))

    errors = in_rounds(
        1,
        lambda _: [
            (f"{task}, {setting.threads} threads", partial(compare, task, setting))
            for task, setting in _settings(options)
        ],
    )
    note = f"{machine()}; `run.py trl --rounds {options.rounds} --steps {options.steps}`."
    parts = [note, *not_measured(errors), *parts_of(found)]
    write(options.output, "-".join(stem), "GRPO beside TRL", parts, [o.as_dict() for o in found])


class _Side:
    """A trainer's process.

    Args:
        name: Its module in this package.
        python: Its interpreter.
        setting: The training.
        log: File for its standard error.
    """

    def __init__(self, name: str, python: str, setting: Setting, log: Path) -> None:
        self.name = name
        self.steps: list[dict[str, float]] = []
        """Figures of the steps after the warm-up."""
        root = Path(__file__).resolve().parents[2]
        paths = [str(root), *(str(root / one) for one in _SOURCES)]
        environ = {
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": str(setting.threads),
            # Spinning threads use CPU time that others need.
            "OMP_WAIT_POLICY": "passive",
            "PYTHONPATH": os.pathsep.join(paths),
            "TOKENIZERS_PARALLELISM": "false",
            "TRL_EXPERIMENTAL_SILENCE": "1",
        }
        self._log = log
        command = [python, WORKER, "trl_steps.train", name, setting.to_json()]
        with log.open("w") as errors:
            self._process = start(command, environ, stdin=subprocess.PIPE, stderr=errors)

    def take(self) -> dict[str, Any]:
        """Return its next message: it is ready, or a step is done.

        Raises:
            RuntimeError: It has ended.
        """
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            last = self._log.read_text(errors="replace").strip().splitlines()
            raise RuntimeError(f"{self.name}: {last[-1] if last else 'it ended'}")
        said: dict[str, Any] = json.loads(line)
        return said

    def advance(self, steps: int) -> list[dict[str, float]]:
        """Take some steps, and return their figures."""
        done = []
        for _ in range(steps):
            with contextlib.suppress(BrokenPipeError):  # take() says why it has ended
                self._process.stdin.write("\n")  # type: ignore[union-attr]
                self._process.stdin.flush()  # type: ignore[union-attr]
            done.append(self.take())
        return done

    def stop(self) -> None:
        """End it."""
        stop(self._process)


def _settings(options: argparse.Namespace) -> list[tuple[str, Setting]]:
    """Return the tasks to train, each with its setting."""
    found = []
    for task in options.only:
        factory: EnvFactory = TASKS[task].factory()
        model = options.runs / task / "warm" / "model"
        for threads in options.threads:
            setting = Setting(
                entry_point=str(factory.spec.entry_point),
                kwargs=dict(factory.spec.kwargs),
                multi_turn=task == _GUESS,
                model=str(model.resolve()),
                threads=threads,
                steps=_WARM_UP + options.rounds * options.steps,
                max_new_tokens=options.max_new_tokens,
            )
            found.append((task, setting))
    return found


def _compare(
    options: argparse.Namespace, task: str, setting: Setting, pythons: Mapping[str, str]
) -> Comparison:
    """Let both sides train, in turns."""
    logs = options.runs / task / "beside-trl"
    logs.mkdir(parents=True, exist_ok=True)
    sides = [_Side(name, pythons[name], setting, logs / f"{name}.txt") for name in SIDES]
    try:
        versions: dict[str, str] = {}
        for side in sides:
            versions |= side.take()["versions"]
            side.advance(_WARM_UP)
        for number in range(options.rounds):
            for side in sides if number % 2 == 0 else sides[::-1]:
                side.steps += side.advance(options.steps)
    finally:
        for side in sides:
            side.stop()
    return Comparison(
        task=task,
        setting=setting,
        steps_of_a_turn=options.steps,
        versions=versions,
        steps={side.name: side.steps for side in sides},
    )
