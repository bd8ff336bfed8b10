"""``gem-core train sft``: a warm start from the actions of oracles, or from the episodes of a run.

======================  ==============================================================
file                    content
======================  ==============================================================
``run.json``            the command and the configuration
``trajectories.jsonl``  the demonstrations
``metrics.csv``         metrics of each update
``model/``              the model, even if the run was interrupted or failed
======================  ==============================================================
"""

import importlib.util
import math
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import click
import hydra
import pydantic
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from pydantic import Field
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from gem_core.cli.compose import check_values, checked_overrides, env_sources, plain_config
from gem_core.errors import ConfigError, DataError, GemError
from gem_rollout import Component, Trajectory, TrajectoryFile
from gem_rollout.runs import Run
from gem_train.demonstrations import AGENT, demonstrations
from gem_train.metrics import Writers, open_writers
from gem_train.sft_config import SFTConfig

__all__ = ["command"]

INTERRUPTED = 130


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("overrides", nargs=-1, type=click.UNPROCESSED)
def command(overrides: tuple[str, ...]) -> None:
    """Train a model on the actions of oracles, or on the episodes of a run."""
    sys.argv = ["gem-core train sft", *checked_overrides(overrides, _OwnKeys.model_fields)]
    _app()


class _Sampling(pydantic.BaseModel):
    """The format of prompts."""

    model_config = pydantic.ConfigDict(extra="forbid")

    max_new_tokens: int = Field(ge=1)
    system: str | None
    history: Literal["auto", "agent", "env"]
    stop: list[str]
    template: dict[str, Any]


class _OwnKeys(SFTConfig):
    """The values of the command's own keys."""

    model_config = pydantic.ConfigDict(extra="ignore")

    trajectories: str | None
    model: str = Field(min_length=1)
    device: str
    precision: Literal["float32", "bf16"]
    threads: int | None = Field(ge=1)
    lora: dict[str, Any] | None
    gradient_checkpointing: bool
    episodes: int = Field(ge=1)
    skill: float | list[float]
    concurrency: int = Field(ge=1)
    only_successes: bool
    min_return: float | None
    sampling: _Sampling
    writers: list[str]
    out: str


@hydra.main(version_base="1.3", config_path="pkg://gem_train.conf", config_name="sft")
def _app(config: DictConfig) -> None:
    try:
        finished = _train(plain_config(config), Path(HydraConfig.get().runtime.output_dir))
    except (GemError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        click.echo("Interrupted before anything was learned.", err=True)
        sys.exit(INTERRUPTED)
    if not finished:
        sys.exit(INTERRUPTED)


def _train(config: dict[str, Any], folder: Path) -> bool:
    """Gather episodes, learn from them, and save the model; return False if interrupted."""
    check_values(_OwnKeys, config)
    own = SFTConfig(**{name: config[name] for name in SFTConfig.model_fields})
    for needed in ("torch", "transformers"):
        if importlib.util.find_spec(needed) is None:
            raise ConfigError(f"Training needs {needed}: pip install gem-train[torch].")
    import torch  # noqa: PLC0415 - seconds, and --help does without
    import transformers  # noqa: PLC0415 - as above

    from gem_train.policy import Policy  # noqa: PLC0415 - it imports torch
    from gem_train.sft import sft  # noqa: PLC0415 - as above

    transformers.utils.logging.disable_progress_bar()
    if config["threads"] is not None:
        torch.set_num_threads(config["threads"])
    torch.manual_seed(own.seed)  # adapters are initialised randomly
    old = None if config["trajectories"] is None else Run.open(config["trajectories"])
    sources = env_sources(config) if old is None else {}
    if Run(folder).trajectories_path.is_file():
        raise ConfigError(f"{folder} holds a run: choose another out.")
    policy = Policy.load(
        config["model"],
        device=config["device"],
        precision=config["precision"],
        lora=config["lora"],
        gradient_checkpointing=config["gradient_checkpointing"],
    )
    run = Run.create(
        folder, command=sys.argv, config=config, envs=sources, agents=[AGENT], kind="sft"
    )
    console = Console(stderr=True)
    found = _play(sources, policy, run, config, console) if old is None else old.trajectories()
    trajectories = _chosen(found, config, console)
    writers = open_writers(
        config["writers"], run.path, run_name=run.name, config=config, resume_step=None
    )
    finished = False
    with _Figures(console, writers, own.steps) as figures:
        try:
            sft(policy, trajectories, own, figures.log)
            finished = True
        except KeyboardInterrupt:
            _say(console, "Interrupted; the model so far is saved.", "yellow")
        finally:
            policy.save_merged(run.path / "model")
            _say_where(console, run.path, figures)
    if finished:
        _say_what_is_next(console, run.path, list(sources))
    return finished


def _play(
    sources: Mapping[str, Component],
    policy: Any,
    run: Run,
    config: dict[str, Any],
    console: Console,
) -> list[Trajectory]:
    """Play episodes, save them in the run, and return them in the order of their numbers."""
    found: list[Trajectory] = []
    with TrajectoryFile(run.trajectories_path) as file, _bar(console) as bar:
        task = bar.add_task("playing", total=config["episodes"])
        for one in demonstrations(
            sources,
            policy.tokenizer,
            episodes=config["episodes"],
            skill=config["skill"],
            seed=config["seed"],
            concurrency=config["concurrency"],
            context=getattr(policy.model.config, "max_position_embeddings", None) or 2**31,
            **config["sampling"],
        ):
            file.append(one)
            found.append(one)
            bar.advance(task)
    return sorted(found, key=lambda one: one.index)


def _chosen(
    found: Iterable[Trajectory], config: Mapping[str, Any], console: Console
) -> list[Trajectory]:
    """Return the episodes to learn from, and print a summary.

    Raises:
        DataError: There is no such episode.
    """
    least = -math.inf if config["min_return"] is None else config["min_return"]
    chosen: list[Trajectory] = []
    failures: list[str] = []
    count = 0
    for count, one in enumerate(found, start=1):  # noqa: B007 - how many there were
        if one.error is not None:
            failures.append(str(one.error["message"]))
        elif one.episode_return >= least and (one.success or not config["only_successes"]):
            chosen.append(one)
    first = f" The first one: {failures[0]}" if failures else ""
    if not chosen:
        raise DataError(
            f"There is nothing to learn from: {len(failures)} of {count} episodes ended in an "
            f"error, and only_successes and min_return exclude the others.{first}"
        )
    successes = sum(bool(one.success) for one in chosen) / len(chosen)
    turns = sum(len(one.turns) for one in chosen) / len(chosen)
    _say(
        console,
        f"Learning from {len(chosen)} of {count} episodes: {successes:.0%} successes, "
        f"{turns:.1f} turns each",
    )
    if failures:
        _say(console, f"{len(failures)} ended in an error and are left out.{first}", "red")
    return chosen


class _Figures:
    """Shows metrics and writes them; use it as a context manager.

    Args:
        console: The console to print to.
        writers: The writers of metrics.
        steps: Number of updates, None if unknown.
    """

    def __init__(self, console: Console, writers: Writers, steps: int | None) -> None:
        self.losses: dict[str, list[float]] = {"validation/loss": [], "train/loss": []}
        self._console = console
        self._writers = writers
        self._bar = _bar(console)
        self._task = self._bar.add_task("learning", total=steps)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Log the metrics of an update."""
        self._writers.log(step, figures)
        for name, losses in self.losses.items():
            if name in figures:
                losses.append(figures[name])
        if "validation/loss" in figures:
            _say(self._console, f"step {step}: loss {figures['validation/loss']:.4f}", "dim")
        self._bar.update(self._task, completed=step)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
        self._writers.close()


def _bar(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style=style), soft_wrap=True)


def _say_where(console: Console, path: Path, figures: _Figures) -> None:
    losses = figures.losses["validation/loss"] or figures.losses["train/loss"]
    where = "on episodes held out" if figures.losses["validation/loss"] else "of the update"
    if losses:
        _say(
            console,
            f"Loss {where}: {losses[0]:.4f} before, {losses[-1]:.4f} after (nats a token)",
        )
    _say(console, f"Model: {_short(path)}/model")


def _say_what_is_next(console: Console, path: Path, envs: list[str]) -> None:
    env = envs[0].replace(":", "/", 1) if len(envs) == 1 else "ENV"
    model = f"{_short(path)}/model"
    _say(console, f"Next: gem-core train algo=rebn env={env} model={model}", "dim")


def _short(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
