"""``gem-core train sft``: a warm start from the actions of oracles, or from the episodes of a run.

It writes these files to the run's folder:

======================  ==============================================================
``run.json``            the command and the configuration
``trajectories.jsonl``  the demonstrations
``metrics.csv``         metrics of each update
``model/``              the model, even if the run was interrupted or failed
======================  ==============================================================
"""

import math
import re
import shlex
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, Self

import click
import pydantic
from pydantic import Field
from rich.console import Console

from gem_core.console import Terminal
from gem_core.errors import ConfigError, DataError
from gem_core.extras import require
from gem_core.options import visible
from gem_rollout import Component, Trajectory, TrajectoryFile
from gem_rollout.answer_instruction import KEY
from gem_rollout.commands import INTERRUPTED, RUN_FOLDER, HydraCommand, Job, env_sources
from gem_rollout.commands.progress import Mode, ProgressBar, print_line
from gem_rollout.models.threads import set_threads
from gem_rollout.records.failures import Failures
from gem_rollout.records.redaction import redact_words
from gem_rollout.records.runs import Run
from gem_train.demonstrations import AGENT, demonstrations
from gem_train.metrics import Writers, open_writers
from gem_train.sft_config import SFTConfig

__all__ = ["command"]


class PromptConfig(pydantic.BaseModel):
    """How prompts are written."""

    model_config = pydantic.ConfigDict(extra="forbid", use_attribute_docstrings=True)

    max_new_tokens: int = Field(default=512, ge=1)
    """Most tokens of a response; a longer action is an error."""
    system: str | None = None
    """The system message."""
    history: Literal["auto", "agent", "env"] = "auto"
    """Whether the agent or the environment shows earlier turns; see the agent ``transformers``."""
    stop: list[str] = []
    """Texts that end a response, such as the end of a tool call."""
    template: dict[str, Any] = {}
    """Additional variables for the chat template."""


class SFTKeys(SFTConfig):
    """The keys of ``gem-core train sft``."""

    model_config = pydantic.ConfigDict(extra="ignore")

    model: str = Field(min_length=1)
    """Folder or name of the model; 'gem-core make-model' makes a small one."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, ..."""
    precision: Literal["float32", "bf16"] = "float32"
    """bf16 learns with weights in bfloat16; the optimiser keeps them in float32."""
    threads: int | None = Field(default=None, ge=1)
    """Most threads of torch; null for 1 if the model is small, else the usable cores."""
    lora: dict[str, Any] | None = None
    """Parameters of peft's LoraConfig, to train adapters only: lora.r=16."""
    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass to save memory."""
    trajectories: str | None = None
    """A run's folder or a file of trajectories to learn from, instead of environments."""
    episodes: int = Field(default=2000, ge=1)
    """Episodes to play."""
    skill: float | list[float] = 1.0
    """Probability that a turn's action is the oracle's; otherwise it is random. If it is a list,
    a value is drawn for each episode."""
    concurrency: int = Field(default=16, ge=1)
    """Most episodes at the same time."""
    only_successes: bool = False
    """Learn from successful episodes only."""
    min_return: float | None = None
    """Learn from episodes with at least this return only."""
    sampling: PromptConfig = PromptConfig()
    writers: list[str | dict[str, Any]] = Field(default=["csv"])
    """Metric writers: ids, module:NAME, or mappings with such an id and parameters."""
    out: str = RUN_FOLDER
    """The run's folder."""
    progress: Mode = "auto"
    """Progress on standard error: auto (live at a terminal, else lines), live, lines or off."""


def _train(job: Job[SFTKeys]) -> int:
    """Train a model on what oracles play, or on the episodes of a run."""
    keys, folder = job.keys, job.folder
    own = SFTConfig(**{name: getattr(keys, name) for name in SFTConfig.model_fields})
    require("gem-train[torch]", "Training")
    import torch  # noqa: PLC0415 - takes seconds, and --help does not need it

    from gem_train.policy import Policy  # noqa: PLC0415 - needs torch
    from gem_train.sft import sft  # noqa: PLC0415 - needs torch

    torch.manual_seed(own.seed)  # for the initial weights of adapters
    old = None if keys.trajectories is None else Run.open(keys.trajectories)
    sources = env_sources(job.config) if old is None else {}
    if Run(folder).trajectories_path.is_file():
        raise ConfigError(f"{folder} holds a run: choose another out.")
    policy = Policy.load(
        keys.model,
        device=keys.device,
        precision=keys.precision,
        lora=keys.lora,
        gradient_checkpointing=keys.gradient_checkpointing,
    )
    set_threads(policy.model, keys.threads)
    run = Run.create(
        folder, command=job.command, config=job.config, envs=sources, agents=[AGENT], kind="sft"
    )
    console = Terminal(stderr=True)
    found = _play(sources, policy, run, keys, console) if old is None else old.trajectories()
    trajectories = _chosen(found, keys, console, (old or run).shown_trajectories)
    writers = open_writers(
        keys.writers, run.path, run_name=run.name, config=job.config, resume_step=None
    )
    finished = False
    with _Figures(console, writers, own.steps, job.keys.progress) as figures:
        try:
            sft(policy, trajectories, own, figures.log)
            finished = True
        except KeyboardInterrupt:
            print_line(console, "Interrupted. The model is saved as it is now.", "yellow")
        finally:
            policy.save_merged(run.path / "model")
            _summarise(console, run, figures)
    if finished:
        _suggest_next(run, job, policy)
    if job.form == "json":
        status = "done" if finished else "interrupted"
        plain = {"run": str(run.path), "status": status, "model": str(run.path / "model")}
        job.print_json({**plain, "loss": figures.last_loss()})
    return 0 if finished else INTERRUPTED


command = HydraCommand(
    "train sft",
    _train,
    SFTKeys,
    agents=None,
    examples=[
        "gem-core make-model 'game:GuessTheNumber*' out=tiny",
        "gem-core train sft model=tiny game:GuessTheNumber-v0-easy skill=0.4 out=runs/warm",
        "gem-core train sft model=tiny 'game:*-easy' skill=[0,0.5,1] steps=1000 lr=6e-4",
        "gem-core train sft model=NAME math:Sample tools=[python] epochs=3 lr=1e-5 lora.r=16",
        "gem-core train sft model=NAME trajectories=runs/mine only_successes=true lr=1e-5",
        "gem-core train algo=rebn game:GuessTheNumber-v0-easy model=runs/warm/model optim.lr=1e-3",
    ],
)


def _play(
    sources: Mapping[str, Component],
    policy: Any,
    run: Run,
    keys: SFTKeys,
    console: Console,
) -> list[Trajectory]:
    """Play episodes, write them to the run's folder, and return them sorted by index."""
    found: list[Trajectory] = []
    config = policy.model.config.get_text_config()
    bar = ProgressBar(console, keys.progress, keys.episodes, "playing")
    with TrajectoryFile(run.trajectories_path) as file, bar:
        for one in demonstrations(
            sources,
            policy.tokenizer,
            episodes=keys.episodes,
            skill=keys.skill,
            seed=keys.seed,
            concurrency=keys.concurrency,
            context=getattr(config, "max_position_embeddings", None) or 2**31,
            vision=policy.vision,
            **keys.sampling.model_dump(),
        ):
            file.append(one)
            found.append(one)
            bar.update(advance=1)
    return sorted(found, key=lambda one: one.index)


def _chosen(
    found: Iterable[Trajectory], keys: SFTKeys, console: Console, log: str
) -> list[Trajectory]:
    """Return the episodes to learn from, and print a summary of them.

    Raises:
        DataError: There is no such episode.
    """
    least = -math.inf if keys.min_return is None else keys.min_return
    chosen: list[Trajectory] = []
    failures = Failures()
    for one in found:
        failures.add(one)
        good = one.episode_return >= least and (one.success or not keys.only_successes)
        if one.error is None and good:
            chosen.append(one)
    count = failures.episodes
    if failures.is_total:
        raise DataError("\n".join(["There is nothing to learn from.", *failures.lines(log)]))
    if not chosen:
        raise DataError(
            f"There is nothing to learn from: of {count} episodes {failures.total} ended with an "
            f"error, and only_successes and min_return leave none of the others."
        )
    successes = sum(bool(one.success) for one in chosen) / len(chosen)
    turns = sum(len(one.turns) for one in chosen) / len(chosen)
    print_line(
        console,
        f"Learning from {len(chosen)} of {count} episodes: {successes:.0%} successes, "
        f"{turns:.1f} turns each",
    )
    if failures:
        print_line(console, "Episodes with an error are left out.", "red")
    for line in failures.lines(log):
        print_line(console, line, "red")
    return chosen


class _Figures:
    """Shows metrics and writes them; use it as a context manager.

    Args:
        console: The console to print them on.
        writers: What writes them.
        steps: The number of updates; None if it is not known.
        mode: How progress is shown.
    """

    def __init__(self, console: Console, writers: Writers, steps: int | None, mode: str) -> None:
        self.losses: dict[str, list[float]] = {"validation/loss": [], "train/loss": []}
        self._console = console
        self._writers = writers
        self._bar = ProgressBar(console, mode, steps, "learning")

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Write and show the figures of an update."""
        self._writers.log(step, figures)
        for name, losses in self.losses.items():
            if name in figures:
                losses.append(figures[name])
        if "validation/loss" in figures:
            print_line(self._console, f"step {step}: loss {figures['validation/loss']:.4f}", "dim")
        self._bar.update(completed=step)

    def last_loss(self) -> float | None:
        """Return the last loss, on held-out episodes if there are any."""
        losses = self.losses["validation/loss"] or self.losses["train/loss"]
        return losses[-1] if losses else None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.__exit__(kind, error, trace)
        self._writers.close()


def _summarise(console: Console, run: Run, figures: _Figures) -> None:
    losses = figures.losses["validation/loss"] or figures.losses["train/loss"]
    where = "on held-out episodes" if figures.losses["validation/loss"] else "of the update"
    if losses:
        text = f"Loss {where}: {losses[0]:.4f} before, {losses[-1]:.4f} after (nats a token)"
        print_line(console, text)
    print_line(console, f"Model: {run.shown_path}/model")


_TINY = 30_000_000
"""Parameters of a model below which 1e-3 is a learning rate to begin with; see ``make-model``."""


_OF_BOTH = (
    *("env", "envs", "mixture", "tools", "wrappers", "tool_use", KEY, "sampling"),
    *("device", "precision", "threads", "lora", "gradient_checkpointing"),
)
"""Keys that mean the same in ``gem-core train``."""


def _suggest_next(run: Run, job: Job[SFTKeys], policy: Any) -> None:
    """Print the command that goes on with the model, with all that was typed and it needs."""
    words = [word for word in job.words if _top_of(word) in _OF_BOTH]
    if job.keys.trajectories is not None:
        words.insert(0, "ENV")
    words = [_typed(word) for word in redact_words(words, job.config)]
    is_tiny = sum(one.numel() for one in policy.model.parameters()) < _TINY
    line = ["gem-core", "train", "algo=rebn", *words, f"model={run.shown_path}/model"]
    line += ["optim.lr=1e-3"] if is_tiny else []
    # The console would replace tabs by spaces.
    click.secho(visible(f"Next: {shlex.join(line)}"), err=True, dim=True)


def _top_of(word: str) -> str:
    """Return the top-level key of an override, such as ``env`` of ``+env@mixture.a=ID``."""
    return re.split(r"[.@=]", word.lstrip("+~"), maxsplit=1)[0]


def _typed(word: str) -> str:
    """Return an override as it is typed: the id of an environment without its key."""
    name = word.removeprefix("env=")
    return word if name == word else name.replace("/", ":", 1)
