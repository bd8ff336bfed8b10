"""``gem-core train``: reinforcement learning; ``gem-core train sft``: the warm start before it."""

import os
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from rich.console import Console
from rich.text import Text

from gem_core.cli.compose import (
    agent_makers,
    check_values,
    checked_overrides,
    env_sources,
    plain_config,
)
from gem_core.errors import ConfigError, GemError, near_names
from gem_rollout import Component
from gem_rollout.runs import Run, without_secrets
from gem_train.algorithm import ALGORITHMS, RENAMED, load_algorithm
from gem_train.config import TrainConfig
from gem_train.curriculum import CURRICULA, parameters_of
from gem_train.metrics.csv_file import METRICS_FILE, read_metrics
from gem_train.plots import text_curve

__all__ = ["command"]

INTERRUPTED = 130
_MORE_KEYS = ("out", "resume", "algo", "curriculum")


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("overrides", nargs=-1, type=click.UNPROCESSED)
def command(overrides: tuple[str, ...]) -> None:
    """Train a model on environments."""
    if overrides[:1] == ("sft",):
        from gem_train.sft_command import command as sft  # noqa: PLC0415 - another command

        sft.main(list(overrides[1:]), prog_name="gem-core train sft")
        return
    _offer_options()
    try:
        overrides = (*_words_of_run(overrides), *overrides)
        _check_names(overrides)
    except GemError as error:
        raise click.ClickException(str(error)) from error
    keys = (*TrainConfig.model_fields, *_MORE_KEYS)
    sys.argv = ["gem-core train", *checked_overrides(overrides, keys)]
    _app()


def _check_names(overrides: Sequence[str]) -> None:
    """Check names, because Hydra's errors do not suggest similar ones.

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
    """Return the arguments of a run that is resumed, which need not be typed again.

    Raises:
        ConfigError: The run does not exist.
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
    """Register each algorithm as an option of ``algo``, and each curriculum of ``curriculum``."""
    for name in ALGORITHMS:
        try:
            values = asdict(load_algorithm(name).config())
        except ConfigError:  # without torch, --help still works, and a run reports what to install
            values = {}
        _offer("algo", name, values)
        for old, new in RENAMED.items():
            if new == name:
                _offer("algo", old, {**values, "id": new})
    for name in CURRICULA:
        _offer("curriculum", name, parameters_of(name))


@hydra.main(version_base="1.3", config_path="pkg://gem_train.conf", config_name="train")
def _app(config: DictConfig) -> None:
    try:
        finished = _train(plain_config(config), Path(HydraConfig.get().runtime.output_dir))
    except (GemError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    if not finished:
        sys.exit(INTERRUPTED)


def _train(config: dict[str, Any], folder: Path) -> bool:
    own = {name: config[name] for name in TrainConfig.model_fields}
    check_values(TrainConfig, own)
    sources = env_sources(config)
    load_algorithm(config["algo"]["id"])
    import transformers  # noqa: PLC0415 - seconds

    from gem_train.remote import AdapterPush  # noqa: PLC0415 - torch must be there
    from gem_train.trainer import Trainer  # noqa: PLC0415 - as above

    transformers.utils.logging.disable_progress_bar()  # it would interrupt our own progress

    agents = agent_makers(config) if config.get("agent") else {}
    if len(agents) > 1:
        raise ConfigError(f"agent: only one agent can sample, got {', '.join(agents)}.")
    run = _open(folder, config, list(sources))
    console = Console(stderr=True)
    url = config["sampling"]["adapters_url"]
    if bool(agents) != bool(url):
        raise ConfigError(
            "An agent that samples remotely needs the adapters, and adapters are only sent for "
            "such an agent: set both agent=openai and sampling.adapters_url, or neither."
        )
    trainer = Trainer(
        TrainConfig(**own),
        sources,
        run.path,
        eval_sources=_eval_sources(config),
        make_agent=next(iter(agents.values()), None),
        after_step=AdapterPush(url, run.path / "adapters") if url else None,
        resume=config["resume"],
        console=console,
    )
    try:
        finished = trainer.train()
    except GemError as error:
        _say_where(console, run, trainer.step, "stopped")
        raise error from None
    _say_where(console, run, trainer.step, "done" if finished else "interrupted")
    return finished


def _open(folder: Path, config: dict[str, Any], envs: list[str]) -> Run:
    """Create the run's folder, or open the existing one to resume it.

    Raises:
        ConfigError: The folder holds a run without ``resume=true``, or with other values.
    """
    run = Run(folder)
    if run.trajectories_path.is_file() and not config["resume"]:
        raise ConfigError(
            f"{folder} holds a run: add resume=true to resume it, or choose another out."
        )
    if config["resume"]:
        _check_same(run.info().get("config", {}), config)
    return run.create(
        folder, command=sys.argv, config=config, envs=envs, agents=["policy"], kind="train"
    )


_MAY_CHANGE = ("steps", "device", "threads", "log", "checkpoint", "eval", "out", "resume", "agent")
"""Keys that may change when a run is resumed."""


def _check_same(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    changed = [
        line
        for key in sorted(new)
        if key not in _MAY_CHANGE
        for line in _differences(key, old.get(key), without_secrets(new[key]))
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
    """Return the environments of ``eval.envs`` with the tools and wrappers of training, or None."""
    names = config["eval"]["envs"]
    if not names:
        return None
    return env_sources({**config, "envs": names, "env": None, "mixture": {}})


def _show_curve(console: Console, run: Run) -> None:
    """Print the curve of success, or of the return if success is unknown."""
    path = run.path / METRICS_FILE
    figures = read_metrics(path) if path.is_file() else {}
    for name in ("rollout/success", "rollout/return"):
        if name in figures and len(figures[name][1]) > 1:
            console.print(Text(f"\n{name} of {len(figures[name][1])} steps"))
            console.print(Text(text_curve(figures[name][1])), soft_wrap=True)
            return


def _say_where(console: Console, run: Run, step: int, how: str) -> None:
    path = os.path.relpath(run.path)
    path = str(run.path) if path.startswith("..") else path

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style=style), soft_wrap=True)

    if how == "done":
        _show_curve(console, run)
        say(f"Trained {step} steps: {path}/model")
        if (run.path / "curves.png").is_file():
            say(f"Curves: {path}/curves.png")
        say(f"Next: gem-core view {path}", "dim")
        return
    say(f"{how.capitalize()} after {step} steps; a checkpoint was written.", "yellow")
    say(f"Resume: gem-core train out={path} resume=true")
