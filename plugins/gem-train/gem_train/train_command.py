"""``gem-core train``: train a model on environments with reinforcement learning."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field
from rich.console import Console

from gem_core.console import Terminal
from gem_core.errors import ConfigError, EntryPointError, GemError, NotInstalledError
from gem_core.plugins import default_registry
from gem_rollout import Component
from gem_rollout.commands import (
    INTERRUPTED,
    RUN_FOLDER,
    HydraCommand,
    Job,
    env_parameters,
    env_sources,
    envs_by_name,
)
from gem_rollout.commands.progress import print_line
from gem_rollout.episodes.executor import executor_of
from gem_rollout.records.redaction import redact, with_hidden
from gem_rollout.records.runs import Run
from gem_rollout.records.step_metrics import METRICS_FILE, read_metrics
from gem_train.config import TrainConfig
from gem_train.parts import parts_of
from gem_train.plots import text_curve
from gem_train.specs import ALGORITHMS

__all__ = ["command"]


class TrainKeys(TrainConfig):
    """The keys of ``gem-core train``."""

    algo: dict[str, Any] = Field(default={"id": "rebn"})
    """The algorithm: an id, or module:NAME. algo.NAME=VALUE sets a parameter."""
    curriculum: dict[str, Any] | None = None
    """How episodes are shared among environments: a curriculum; null for fixed weights."""
    filters: dict[str, Any] | list[Any] = Field(default=[])
    """Which groups are learned from: filters=[ID,...]; filters.ID.NAME=VALUE sets a parameter."""
    shapers: dict[str, Any] | list[Any] = Field(default=[])
    """Changes of the rewards to learn from: shapers=[ID,...]; shapers.ID.NAME=VALUE."""
    out: str = RUN_FOLDER
    """The run's folder."""
    resume: bool = False
    """Continue from the newest checkpoint in out. The other keys need not be typed again."""


def _further(typed: Mapping[str, str]) -> Iterator[str]:
    """Yield the words of the run to be continued, and the loss that the algorithm names."""
    recorded = {word.partition("=")[0].lstrip("+"): word for word in _words_of_run(typed)}
    yield from recorded.values()
    values = {key: word.partition("=")[2] for key, word in recorded.items()} | dict(typed)
    if "loss" not in values and (loss := _loss_of(values.get("algo", "rebn"))):
        yield f"loss={loss}"


def _loss_of(algorithms: str) -> str:
    """Return the loss that an algorithm names; empty if there is none.

    So the loss's parameters are keys of the configuration. In a sweep over algorithms with
    different losses, each uses its own with the parameters' defaults.
    """
    registry = default_registry()
    specs = [registry.find(ALGORITHMS, name) for name in algorithms.strip("'\"").split(",")]
    with contextlib.suppress(
        EntryPointError, NotInstalledError
    ):  # a run says so, and --cfg works without torch
        losses = {getattr(spec.load(), "loss", None) for spec in specs}
        if len(losses) == 1 and isinstance(loss := losses.pop(), str):
            return loss
    return ""


def _words_of_run(typed: Mapping[str, str]) -> list[str]:
    """Return the words of the run that ``resume=true`` continues.

    Raises:
        ConfigError: ``out`` is missing, or there is no run in it.
    """
    if typed.get("resume", "").lower() not in {"true", "yes", "on", "1"}:
        return []
    if "out" not in typed:
        raise ConfigError("resume=true needs the run's folder: out=...")
    return Run.open(typed["out"]).typed()[1]


def _train(job: Job[TrainKeys]) -> int:
    """Train a model on environments.

    'gem-core train sft' is a warm start, with a --help of its own.
    """
    config = job.config
    own = {name: getattr(job.keys, name) for name in TrainConfig.model_fields}
    sources = env_sources(config)
    parts_of(TrainConfig(**own))  # mistakes are reported before the folder is made
    from gem_train.trainer import Trainer  # noqa: PLC0415 - needs torch

    run = _open(job, list(sources))
    console = Terminal(stderr=True)
    with executor_of(config) as workers:
        evaluated = _eval_sources(config)
        trainer = Trainer(
            TrainConfig(**own),
            workers.sources(sources),
            run.path,
            eval_sources=None if evaluated is None else workers.sources(evaluated),
            resume=job.keys.resume,
            console=console,
        )
        try:
            finished = trainer.train()
        except GemError as error:
            _summarise(console, run, trainer.step, "stopped")
            raise error from None
    status = "done" if finished else "interrupted"
    _summarise(console, run, trainer.step, status)
    if job.form == "json":
        plain = {"run": str(run.path), "status": status, "steps": trainer.step}
        job.print_json({**plain, "model": str(run.path / "model")})
    return 0 if finished else INTERRUPTED


command = HydraCommand(
    "train",
    _train,
    TrainKeys,
    agents=None,
    executor=True,
    groups={"algo": "rebn", "loss": None, "curriculum": None, "filters": [], "shapers": []},
    further=_further,
    subcommands={"sft": "gem_train.sft_command:command"},
    examples=[
        "gem-core make-model 'game:GuessTheNumber*' out=tiny",
        "gem-core train sft model=tiny game:GuessTheNumber-v0-easy skill=0.4 out=runs/warm",
        "gem-core train algo=rebn game:GuessTheNumber-v0-easy model=runs/warm/model optim.lr=1e-3",
        "gem-core train algo=grpo rollout.group_size=8 rg:leg_counting model=NAME lora.r=16",
        "gem-core train algo=ppo math:Sample tools=[python] wrappers=[concat] model=NAME",
        "gem-core train +env@mixture.a=game/Sudoku-v0-easy +env@mixture.b=math/Sample model=NAME",
        "gem-core train algo=my_module:MyAlgorithm loss=clip math:Sample model=NAME",
        "gem-core train -m algo=reinforce,rebn seed=0,1,2 game:GuessTheNumber-v0-easy model=NAME",
        "gem-core train out=runs/mine resume=true",
    ],
)


def _open(job: Job[TrainKeys], envs: list[str]) -> Run:
    """Make the run's folder, or continue the run in it.

    Raises:
        ConfigError: The folder has a run that is not to be continued, or was begun with other
            values.
    """
    run = Run(job.folder)
    if run.trajectories_path.is_file() and not job.keys.resume:
        raise ConfigError(
            f"{job.folder} holds a run: add resume=true to continue it, or choose another out."
        )
    if job.keys.resume:
        _check_same(run.info().get("config", {}), job.config)
    return Run.create(
        job.folder,
        command=job.command,
        config=job.config,
        envs=envs,
        agents=["policy"],
        parameters=env_parameters(envs_by_name(job.config)),
        kind="train",
    )


_MAY_CHANGE = (
    *(
        "steps",
        "stop_after",
        "device",
        "threads",
        "log",
        "checkpoint",
        "eval",
        "out",
        "resume",
        "agent",
    ),
    *("executor", "progress"),
)
"""Keys that may change when a run is continued."""


def _check_same(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    old, new = redact(with_hidden(old, new)), redact(new)
    changed = [
        line
        for key in sorted(new)
        if key not in _MAY_CHANGE
        for line in _differences(key, old.get(key), new[key])
    ]
    if changed:
        raise ConfigError(
            "\n  ".join(["The run was started with other values:", *changed])
            + "\nKeep these values, or choose another out."
        )


def _differences(place: str, old: Any, new: Any) -> list[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return [
            line
            for key in sorted({*old, *new})
            for line in _differences(f"{place}.{key}", old.get(key), new.get(key))
        ]
    return [] if old == new else [f"{place}: {old!r} -> {new!r}"]


def _eval_sources(config: Mapping[str, Any]) -> dict[str, Component] | None:
    """Return the environments of ``eval.envs``, with the tools and wrappers of training."""
    names = config["eval"]["envs"]
    if not names:
        return None
    return env_sources({**config, "envs": names, "env": None, "mixture": {}})


def _print_curve(console: Console, run: Run) -> None:
    """Print the success of all steps as a curve, or the return if success is not known."""
    path = run.path / METRICS_FILE
    figures = read_metrics(path) if path.is_file() else {}
    for name in ("rollout/success", "rollout/return"):
        if name in figures and len(figures[name][1]) > 1:
            print_line(console, f"\n{name} of {len(figures[name][1])} steps")
            print_line(console, text_curve(figures[name][1]))
            return


def _summarise(console: Console, run: Run, step: int, status: str) -> None:
    path = run.shown_path
    if status == "done":
        _print_curve(console, run)
        print_line(console, f"Trained {step} steps: {path}/model")
        if (run.path / "curves.png").is_file():
            print_line(console, f"Curves: {path}/curves.png")
        print_line(console, f"Next: gem-core view {path}", "dim")
        return
    from gem_train.checkpoint import checkpoint_steps  # noqa: PLC0415 - needs torch

    print_line(console, f"{status.capitalize()} after {step} steps.", "yellow")
    kept = checkpoint_steps(run.path)
    if not kept:
        print_line(console, "There is no checkpoint: the run cannot be continued.", "yellow")
        return
    print_line(console, f"The newest checkpoint is that of step {kept[-1]}.", "yellow")
    print_line(console, f"To continue: gem-core train out={path} resume=true")
