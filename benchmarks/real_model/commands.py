"""The commands of a unit, run as a user would; those that are done are skipped, others resumed."""

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from baselines.constant import constants
from hydra.core.override_parser.types import Quote, QuotedString

from gem_rollout.answer_instruction import DEFAULT, KEY
from gem_rollout.commands import envs_by_name
from real_model.units import TASKS, Sizes, Task, Unit

__all__ = ["Command", "Deadline", "commands", "made_model"]

_SYSTEM = Path(__file__).parent / "system.txt"
_SEED = 7
"""The seed of the tasks of all evaluations; training has others."""
_BATCH = 16
_CHOOSING = 40
"""Episodes for each candidate of the best constant answer."""
_REFERENCES = ("agent=[random,oracle]",)
_SECONDS = "seconds.json"
_TEN_SECONDS = 10.0


class Deadline(NamedTuple):
    """When the commands have to stop.

    Args:
        end: As ``time.monotonic`` counts.
    """

    end: float

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.end - time.monotonic()


class Command(NamedTuple):
    """A command of gem-core that writes a run.

    Args:
        out: The folder of the run.
        words: Its arguments, without the folder.
    """

    out: Path
    words: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """Wall-clock seconds of all calls so far, in which the run was made."""
        file = self.out.parent / f"{self.out.name}.{_SECONDS}"
        return float(json.loads(file.read_text())["seconds"]) if file.exists() else 0.0

    @property
    def is_done(self) -> bool:
        """Whether the run is complete."""
        return (self.out.parent / f"{self.out.name}.done").exists()

    @property
    def can_resume(self) -> bool:
        """Whether there is a part to go on with; of training, only a checkpoint is one."""
        if self.words[0] == "train":
            return "sft" not in self.words and any(self.out.glob("checkpoints/[0-9]*"))
        return self.out.exists()

    def run(self, deadline: Deadline) -> bool:
        """Make the run, or go on with it; return whether it is complete.

        Raises:
            subprocess.CalledProcessError: The command failed.
        """
        if self.is_done:
            return True
        self.out.parent.mkdir(parents=True, exist_ok=True)
        resume = ["resume=true"] if self.can_resume else []
        if self.out.exists() and not resume:
            shutil.rmtree(self.out)
        line = [sys.executable, "-m", "gem_core", *self.words, f"out={self.out}", *resume]
        print(f"$ {' '.join(line[1:])}", file=sys.stderr, flush=True)
        spent, begun = self.seconds, time.monotonic()
        with subprocess.Popen(line) as process:
            try:
                status = process.wait(max(_TEN_SECONDS, deadline.left))
            except subprocess.TimeoutExpired:
                process.terminate()  # training writes a checkpoint
                process.wait()
                status = None
        seconds = {"seconds": spent + time.monotonic() - begun}
        (self.out.parent / f"{self.out.name}.{_SECONDS}").write_text(json.dumps(seconds))
        if status:
            raise subprocess.CalledProcessError(status, line)
        if status == 0:
            (self.out.parent / f"{self.out.name}.done").touch()
        return status == 0


def commands(
    unit: Unit, sizes: Sizes, model: str, device: str, folder: Path
) -> Iterator[tuple[str, Command]]:
    """Yield what a unit runs, each with the name of its stage.

    The references, the base model and the supervised start are shared by all units of a task. What
    is trained depends on the stages before, so each is to be run before the next is asked for.
    """
    folder /= re.sub(r"[^\w.]+", "-", model)  # what was made with another model is no start
    task, shared = TASKS[unit.task], folder / unit.task
    own = folder / unit.name
    yield "references", _played(task, task.envs, sizes, shared / "references", _REFERENCES)
    for number, env in enumerate(task.envs):
        text = QuotedString(_constant(task, env, shared), Quote.double).with_quotes()
        agent = ("agent=scripted", f"agent.actions=[{text}]")
        out = shared / f"constant-{number}"
        yield f"constant in {env}", _played(task, (env,), sizes, out, agent)
    yield "base", _evaluated(task, sizes, model, device, shared / "base")
    supervised = shared / "supervised"
    words = (
        *("train", "sft", f"model={model}", f"env={task.env.replace(':', '/')}", *task.options),
        *("skill=[0.1,0.2,0.3]", f"episodes={sizes.supervised_steps * _BATCH + 64}"),
        *(f"batch_size={_BATCH}", f"steps={sizes.supervised_steps}", "lr=1e-5", "warmup_steps=5"),
        *(f"precision={sizes.precision}", f"device={device}", *_sampling(task)),
    )
    yield "supervised training", Command(supervised, words)
    start = made_model(supervised)
    yield "supervised", _evaluated(task, sizes, start, device, shared / "supervised-eval")
    words = (
        *("train", f"algo={unit.algo}", f"seed={unit.seed}", f"model={start}"),
        *(f"env={task.env.replace(':', '/')}", *task.options, *_sampling(task)),
        *(f"precision={sizes.precision}", f"device={device}", f"steps={sizes.steps}"),
        *(f"rollout.episodes={sizes.episodes}", f"rollout.concurrency={sizes.episodes}"),
        *("optim.lr=1e-5", "checkpoint.every=20", "checkpoint.keep=1"),
        *("log.trajectories_every=20", "log.plot=false", f"stop_after={sizes.equal_steps}"),
    )
    yield "training", Command(own / "train", words)
    yield "trained", _evaluated(task, sizes, made_model(own / "train"), device, own / "eval")


def made_model(run: Path) -> str:
    """Return the folder of the model that a run of training leaves."""
    return str(run / "model")


def _evaluated(task: Task, sizes: Sizes, model: str, device: str, out: Path) -> Command:
    agent = (
        *("agent=transformers", f"agent.model={model}", f"agent.system=@{_SYSTEM}"),
        *(f"agent.max_new_tokens={task.tokens}", f"agent.device={device}", f"agent.seed={_SEED}"),
        *("agent.batch_size=256", "concurrency=256"),
    )
    return _played(task, task.envs, sizes, out, agent)


def _played(
    task: Task, envs: Sequence[str], sizes: Sizes, out: Path, agent: Sequence[str]
) -> Command:
    names = envs[0] if len(envs) == 1 else f"envs=[{','.join(envs)}]"
    words = ("eval", names, *task.options, *agent, f"seed={_SEED}")
    return Command(out, (*words, f"episodes={sizes.eval_episodes}"))


def _constant(task: Task, env: str, folder: Path) -> str:
    """Return the best constant answer, which is chosen once, on other tasks."""
    file = folder / f"constant-in-{env.replace(':', '-')}.json"
    if not file.exists():
        tasks = envs_by_name({"envs": [{"id": env, **task.params}], KEY: DEFAULT})
        (made,) = tasks.values()
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(next(iter(constants(made, _CHOOSING)))), encoding="utf-8")
    text: str = json.loads(file.read_text(encoding="utf-8"))
    return text


def _sampling(task: Task) -> Iterator[str]:
    yield f"sampling.max_new_tokens={task.tokens}"
    yield f"sampling.system=@{_SYSTEM}"
