"""``gem-core train``: train a model on environments with reinforcement learning."""

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click
import pydantic
from hydra.core.config_store import ConfigStore
from rich.console import Console

from gem_core.console import Terminal
from gem_core.errors import ConfigError, GemError, near_names
from gem_rollout import Component
from gem_rollout.commands import (
    INTERRUPTED,
    RUN_FOLDER,
    HydraCommand,
    Job,
    agent_makers,
    env_sources,
)
from gem_rollout.progress import print_line
from gem_rollout.redaction import redact
from gem_rollout.runs import Run
from gem_train.algorithm import ALGORITHMS, RENAMED, load_algorithm
from gem_train.config import TrainConfig
from gem_train.curriculum import CURRICULA, parameters_of
from gem_train.metrics.csv_file import METRICS_FILE, read_metrics
from gem_train.plots import text_curve

__all__ = ["command"]


class TrainKeys(TrainConfig):
    """The keys of ``gem-core train``."""

    algo: dict[str, Any] = pydantic.Field(
        default={"id": "rebn"},
        description=f"The algorithm: {', '.join(ALGORITHMS)}. algo.NAME=VALUE sets a parameter.",
    )
    curriculum: dict[str, Any] | None = pydantic.Field(
        default=None,
        description="How episodes are shared among environments: "
        f"{', '.join(CURRICULA)}; null for fixed weights.",
    )
    out: str = RUN_FOLDER
    """The run's folder."""
    resume: bool = False
    """Continue from the newest checkpoint in out. The other keys need not be typed again."""


def _prepare(overrides: list[str]) -> list[str]:
    """Return the overrides with those of the run to be continued, after a check of their names."""
    _offer_options()
    overrides = [*_words_of_run(overrides), *overrides]
    _check_names(overrides)
    return overrides


def _check_names(overrides: Sequence[str]) -> None:
    """Check names for which Hydra would not suggest near ones.

    Raises:
        GemError: An algorithm, a curriculum or a key does not exist.
    """
    pairs = [word.lstrip("+~").partition("=")[::2] for word in overrides]
    chosen = {"algo": ["rebn"], "curriculum": []}
    chosen |= {key: value.split(",") for key, value in pairs if key in chosen}
    known: dict[str, Collection[str]] = {
        name: getattr(field.annotation, "model_fields", ())
        for name, field in TrainConfig.model_fields.items()
    }
    for name in chosen["algo"]:
        known["algo"] = vars(load_algorithm(name).config())
    for name in chosen["curriculum"]:
        if name != "null":
            known["curriculum"] = parameters_of(name)
    for key, _ in pairs:
        part, dot, name = key.partition(".")
        if dot and known.get(part) and name.partition(".")[0] not in known[part]:
            full = [f"{part}.{one}" for one in known[part]]
            raise ConfigError(f"There is no key {key!r}.{near_names(key, full)}")


def _words_of_run(overrides: Sequence[str]) -> list[str]:
    """Return the overrides of the run that ``resume=true`` continues, without those given again.

    Raises:
        ConfigError: ``out`` is missing, or there is no run in it.
    """
    given = dict(word.partition("=")[::2] for word in overrides)
    if given.get("resume", "").lower() not in {"true", "yes", "on", "1"}:
        return []
    if "out" not in given:
        raise ConfigError("resume=true needs the run's folder: out=...")
    words = shlex.split(Run.open(given["out"]).info().get("command", ""))
    return [word for word in words[1:] if word.partition("=")[0] not in {*given, "resume"}]


def _offer(group: str, name: str, values: dict[str, Any]) -> None:
    ConfigStore.instance().store(group=group, name=name, node={"id": name, **values})


def _offer_options() -> None:
    """Make each algorithm an option of ``algo`` and each curriculum one of ``curriculum``."""
    for name in ALGORITHMS:
        try:
            values = asdict(load_algorithm(name).config())
        except ConfigError:  # torch is missing: a run says so, and --help works without it
            values = {}
        _offer("algo", name, values)
        for old, new in RENAMED.items():
            if new == name:
                _offer("algo", old, {**values, "id": new})
    for name in CURRICULA:
        _offer("curriculum", name, parameters_of(name))


def _train(job: Job[TrainKeys]) -> int:
    """Train a model on environments.

    'gem-core train sft' is a warm start, with a --help of its own.
    """
    config = job.config
    own = {name: getattr(job.keys, name) for name in TrainConfig.model_fields}
    sources = env_sources(config)
    load_algorithm(job.keys.algo["id"])
    import transformers  # noqa: PLC0415 - takes seconds

    from gem_train.remote import AdapterPush  # noqa: PLC0415 - needs torch
    from gem_train.trainer import Trainer  # noqa: PLC0415 - needs torch

    transformers.utils.logging.disable_progress_bar()  # of loading weights

    agents = agent_makers(config) if config.get("agent") else {}
    if len(agents) > 1:
        raise ConfigError(
            f"agent: only one agent can sample for a policy; got {', '.join(agents)}."
        )
    run = _open(job, list(sources))
    console = Terminal(stderr=True)
    url = job.keys.sampling.adapters_url
    if bool(agents) != bool(url):
        raise ConfigError(
            "An agent that samples on a server needs the weights, and weights are only sent for "
            "such an agent: set both agent=openai and sampling.adapters_url, or neither."
        )
    trainer = Trainer(
        TrainConfig(**own),
        sources,
        run.path,
        eval_sources=_eval_sources(config),
        make_agent=next(iter(agents.values()), None),
        after_step=AdapterPush(url, run.path / "adapters") if url else None,
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
        click.echo(json.dumps({**plain, "model": str(run.path / "model")}, indent=2))
    return 0 if finished else INTERRUPTED


command = HydraCommand(
    "train",
    _train,
    TrainKeys,
    agents=[],
    groups={"algo": "rebn", "curriculum": None},
    prepare=_prepare,
    subcommands={"sft": "gem_train.sft_command:command"},
    examples=[
        "gem-core make-model tiny --env 'game:GuessTheNumber*'",
        "gem-core train sft model=tiny game:GuessTheNumber-v0-easy skill=0.4 out=runs/warm",
        "gem-core train algo=rebn algo.gamma=0.9 game:GuessTheNumber-v0-easy model=runs/warm/model",
        "gem-core train algo=grpo rollout.group_size=8 rg:leg_counting model=NAME +lora.r=16",
        "gem-core train algo=ppo math:Sample tools=[python] wrappers=[concat] model=NAME",
        "gem-core train +env@mixture.a=game/Sudoku-v0-easy +env@mixture.b=math/Sample model=NAME",
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
        job.folder, command=job.words, config=job.config, envs=envs, agents=["policy"], kind="train"
    )


_MAY_CHANGE = ("steps", "device", "threads", "log", "checkpoint", "eval", "out", "resume", "agent")
"""Keys that may change when a run is continued."""


def _check_same(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    old, new = redact(old), redact(new)
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
    print_line(
        console, f"{status.capitalize()} after {step} steps. There is a checkpoint.", "yellow"
    )
    print_line(console, f"To continue: gem-core train out={path} resume=true")
