"""Compares whole steps of GRPO on a CPU: gem-train's ``Trainer`` beside TRL's ``GRPOTrainer``.

Both train the same small model on the same environments with the same batch, loss, optimiser and
number of threads. Each side is a process that waits between its steps, so that they take turns, a
few steps at a time, under the same load. TRL is installed once, into an environment of its own
beside the checkout; the model is made, and taught a little of each game, once.
"""

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpo_report import SIDES, Comparison, document
from learning.run import warm_start
from learning.tasks import TASKS
from peer import TRL, PeerError, find_or_install
from processes import start, stop
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import Progress
from trainers.setting import Setting

from gem_core.factory import EnvFactory

_HERE = Path(__file__).resolve().parent
_SOURCES = ("plugins/gem-games",)
"""What the other side's interpreter takes from the checkout: the environments, and gem_core."""
_GUESS = "guess"
_TASKS = ("reverse", _GUESS)
_WARM_UP = 3
_EXAMPLES = """\
examples:
  python benchmarks/grpo.py                              everything, about 10 minutes
  python benchmarks/grpo.py --task reverse --threads 1
  python benchmarks/grpo.py --rounds 2 --steps 5         a quick look
"""


def main() -> None:
    """Run the comparison that the command line asks for."""
    options = _parse()
    try:
        python = options.peer_python or str(find_or_install(TRL))
    except PeerError as error:
        sys.exit(str(error))
    pythons = dict(zip(SIDES, (sys.executable, python), strict=True))
    for task in options.task:
        print(warm_start(task, options.runs), file=sys.stderr)
    found, failed = _measure(options, pythons)
    text = document(found, [_setting_of_machine(options), *failed])
    _write(options, text, found)
    Console().print(Markdown(text))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", action="append", choices=_TASKS, help="may be repeated")
    parser.add_argument("--threads", action="append", type=int, help="may be repeated: 1, 2")
    parser.add_argument("--rounds", type=int, default=12, help="turns of each side (12)")
    parser.add_argument("--steps", type=int, default=5, help="steps of a turn (5)")
    parser.add_argument("--max-new-tokens", type=int, default=16, help="of a response (16)")
    parser.add_argument(
        "--runs", type=Path, default=Path("runs/learning"), help="folder of the models"
    )
    parser.add_argument("--peer-python", metavar="PATH", help="interpreter that has TRL")
    parser.add_argument("--output", type=Path, default=_HERE / "results", metavar="FOLDER")
    options = parser.parse_args()
    options.task = options.task or list(_TASKS)
    options.threads = options.threads or [1, 2]
    return options


class _Side:
    """A trainer's process.

    Args:
        name: Its module in ``trainers``.
        python: Its interpreter.
        setting: What it is asked to do.
        log: Where its standard error goes.
    """

    def __init__(self, name: str, python: str, setting: Setting, log: Path) -> None:
        self.name = name
        self.steps: list[dict[str, float]] = []
        """Figures of the steps, the warm-up left out."""
        root = _HERE.parent
        paths = [str(root), *(str(root / one) for one in _SOURCES)]
        environ = {
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": str(setting.threads),
            # Threads that spin while they wait count as work, and on a busy machine do harm.
            "OMP_WAIT_POLICY": "passive",
            "PYTHONPATH": os.pathsep.join(paths),
            "TOKENIZERS_PARALLELISM": "false",
            "TRL_EXPERIMENTAL_SILENCE": "1",
        }
        self._log = log
        command = [python, str(_HERE / "train.py"), name, setting.to_json()]
        with log.open("w") as errors:
            self._process = start(command, environ, stdin=subprocess.PIPE, stderr=errors)

    def take(self) -> dict[str, Any]:
        """Wait for what it says, a step done or that it is ready.

        Raises:
            RuntimeError: It has ended; the message is its last word.
        """
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            last = self._log.read_text(errors="replace").strip().splitlines()
            raise RuntimeError(f"{self.name}: {last[-1] if last else 'it ended'}")
        said: dict[str, Any] = json.loads(line)
        return said

    def advance(self, steps: int) -> list[dict[str, float]]:
        """Have it take some steps, and return their figures."""
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


@dataclass(frozen=True)
class _Plan:
    """What is compared: a task, with a number of threads."""

    task: str
    setting: Setting


def _plans(options: argparse.Namespace) -> list[_Plan]:
    plans = []
    for task in options.task:
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
            plans.append(_Plan(task, setting))
    return plans


def _measure(
    options: argparse.Namespace, pythons: Mapping[str, str]
) -> tuple[list[Comparison], list[str]]:
    """Return what was measured, and a line about each comparison that failed."""
    plans = _plans(options)
    found, failed = list[Comparison](), list[str]()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=len(plans) * options.rounds)
        for plan in plans:
            title = f"{plan.task}, threads: {plan.setting.threads}"
            progress.update(bar, description=title)
            try:
                found.append(_compare(options, plan, pythons, lambda: progress.advance(bar)))
            except RuntimeError as error:
                failed.append(f"Not measured: {title}: {error}.")
    return found, failed


def _compare(
    options: argparse.Namespace, plan: _Plan, pythons: Mapping[str, str], tick: Any
) -> Comparison:
    """Let both sides train, in turns."""
    logs = options.runs / plan.task / "beside-trl"
    logs.mkdir(parents=True, exist_ok=True)
    sides = [_Side(name, pythons[name], plan.setting, logs / f"{name}.txt") for name in SIDES]
    try:
        versions: dict[str, str] = {}
        for side in sides:
            versions |= side.take()["versions"]
            side.advance(_WARM_UP)
        for number in range(options.rounds):
            for side in sides if number % 2 == 0 else sides[::-1]:
                side.steps += side.advance(options.steps)
            tick()
    finally:
        for side in sides:
            side.stop()
    return Comparison(
        task=plan.task,
        setting=plan.setting,
        steps_of_a_turn=options.steps,
        versions=versions,
        steps={side.name: side.steps for side in sides},
    )


def _setting_of_machine(options: argparse.Namespace) -> str:
    return (
        f"{os.cpu_count()} CPUs, {platform.platform()}, Python {platform.python_version()}; load "
        f"average at the end {os.getloadavg()[1]:.1f} (5 minutes), the measurement's own included; "
        f"`python benchmarks/grpo.py --rounds {options.rounds} --steps {options.steps}`."
    )


def _write(options: argparse.Namespace, text: str, found: Sequence[Comparison]) -> None:
    """Write the tables and everything measured; a partial run has a name of its own."""
    options.output.mkdir(parents=True, exist_ok=True)
    is_all = options.task == list(_TASKS) and options.threads == [1, 2]
    parts = [*options.task, *map(str, options.threads)]
    stem = "-".join(["trl", *([] if is_all else parts)])
    (options.output / f"{stem}.md").write_text(text)
    raw = [one.as_dict() for one in found]
    (options.output / f"{stem}.json").write_text(json.dumps(raw, indent=1) + "\n")


if __name__ == "__main__":
    main()
