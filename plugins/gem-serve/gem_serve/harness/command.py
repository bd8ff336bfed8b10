"""``gem-core harness``: episodes that an agent program plays, recorded by a gateway."""

import contextlib
import json
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

import gem_core
from gem_core.console import Terminal
from gem_core.errors import ConfigError
from gem_core.options import complete_envs, completions
from gem_core.plugins import default_registry
from gem_rollout.commands.progress import ProgressView, print_line
from gem_rollout.records.redaction import redact_words
from gem_rollout.records.runs import Run
from gem_rollout.records.store import TrajectoryFile
from gem_rollout.records.trajectory import Trajectory
from gem_serve.gateway.apis import API_KINDS
from gem_serve.gateway.client import GatewayClient
from gem_serve.gateway.serving import GatewayThread
from gem_serve.harness.player import Player
from gem_serve.harness.program import folders_of
from gem_serve.harness.recipe import HARNESSES, find_recipe
from gem_serve.harness.runner import play_episodes

__all__ = ["command"]


def _complete(_ctx: click.Context, _param: click.Parameter, start: str) -> Any:
    return completions(default_registry().list(HARNESSES, f"{start}*"))


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core harness codex --env terminal:Sample --engine http://127.0.0.1:8000 --episodes 20\n"
    "  gem-core harness claude --env terminal:Harbor --set data=tasks --engine URL --jobs 4\n"
    "  gem-core harness mini --env terminal:Sample --gateway http://127.0.0.1:8081"
)
@click.argument("program", shell_complete=_complete)
@click.option("--env", "env_id", required=True, shell_complete=complete_envs, help="Its id.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Of the environment.")
@click.option("--recipe", "parts", multiple=True, metavar="NAME=VALUE", help="Of the recipe.")
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="Of the gateway's "
              "episodes: mode, calls, tokens, sampling, ...")  # fmt: skip
@click.option("--engine", metavar="URL", help="The engine: a gateway is started in front of it.")
@click.option("--engine-kind", type=click.Choice(API_KINDS), default="vllm",
              show_default=True, help="The engine's API.")  # fmt: skip
@click.option("--model", help="The engine's model; by default the first one that it lists.")
@click.option(
    "--gateway",
    metavar="URL",
    help="The admin API of a gateway that runs already; its token is GEM_GATEWAY_TOKEN.",
)
@click.option("--episodes", type=click.IntRange(min=1), default=1, show_default=True,
              help="Start states.")  # fmt: skip
@click.option("--samples", type=click.IntRange(min=1), default=1, show_default=True,
              help="Episodes that begin in the same state.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="Runs with the same seed have the same start states.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True,
              help="Episodes that are played at the same time.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds for the "
              "program; by default those that the task allows.")  # fmt: skip
@click.option("--programs", multiple=True, metavar="FOLDER", help="A folder of this host in which "
              "programs are installed; machines of 'local' see it at the same path.")  # fmt: skip
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="The run's folder.")
@click.option("--progress", default="auto", show_default=True, help="auto, live, lines or off.")
def command(program: str, env_id: str, **given: Any) -> None:
    """Let PROGRAM play episodes of an environment with a machine, through a gateway.

    Each episode has a machine, a home directory and a URL of its own; the gateway is the machine's
    only network. The trajectories have the tokens of each call, and the environment's reward.
    'gem-core list --kind harnesses' shows the programs; 'gem-core view' reads the results.

    Exit with status 1 if every episode ended with an error. Ctrl-C ends all programs and prints
    what was found so far.
    """
    if (given["engine"] is None) == (given["gateway"] is None):
        raise ConfigError("Give --engine URL, or --gateway URL of one that runs already.")
    programs = [str(Path(one).expanduser().resolve()) for one in given["programs"]]
    recipe = find_recipe({"id": program, **_values(given["parts"])})
    settings = _with_folders(_values(given["settings"]), programs)
    options = _values(given["options"])
    with _gateway(given) as gateway:
        gateway.health()
        run = _run(program, env_id, settings, options, given)
        player = Player(
            recipe=recipe,
            gateway=gateway,
            name=program,
            programs=programs,
            timeout=given["timeout"],
            options=options,
        )
        episodes = play_episodes(
            player,
            lambda: gem_core.make(env_id, **settings),
            **{name: given[name] for name in ("episodes", "samples", "seed", "jobs")},
        )
        summary = _record(run, episodes, given)
    _report(run, summary)
    if not summary.is_complete:
        click.echo("Interrupted.", err=True)
        raise click.Abort
    if not summary.worked:
        sys.exit(1)


class _Summary(ProgressView):
    """What has come out so far."""

    def __init__(self, console: Terminal, mode: str, episodes: int) -> None:
        super().__init__(console, mode)
        self.total, self.rewards, self.calls = episodes, list[float](), 0
        self.statuses, self.errors = Counter[str](), Counter[str]()
        self.first_error = ""
        self.is_complete = False
        """Whether there was no Ctrl-C."""

    @property
    def worked(self) -> int:
        """Episodes without an error."""
        return len(self.rewards)

    def add(self, trajectory: Trajectory) -> None:
        """Count an episode."""
        self.calls += len(trajectory.turns)
        error = trajectory.error
        if error is not None:
            self.errors[error["type"]] += 1
            self.first_error = self.first_error or f"{error['type']}: {error['message']}"
        else:
            self.rewards.append(trajectory.episode_return)
            self.statuses[trajectory.turns[-1].info["program"]["status"]] += 1
        if self._line_is_due(important=False):
            print_line(self._console, self.text())

    def text(self) -> str:
        """Return one line."""
        done = self.worked + sum(self.errors.values())
        mean = f"{sum(self.rewards) / len(self.rewards):.3f}" if self.rewards else "-"
        parts = [f"{done}/{self.total} episodes", f"mean reward {mean}", f"{self.calls} turns"]
        counts = {**self.statuses, **self.errors}
        return ", ".join([*parts, *(f"{count} {name}" for name, count in counts.items())])

    def _render(self) -> RenderableType:
        return Text(self.text())


def _values(pairs: Iterable[str]) -> dict[str, Any]:
    """Return the values of ``NAME=VALUE``, as JSON where that can be read."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise ConfigError(f"Write NAME=VALUE; got {pair!r}.")
        found[name] = value
        with contextlib.suppress(ValueError):
            found[name] = json.loads(value)
    return found


def _with_folders(settings: dict[str, Any], programs: list[str]) -> dict[str, Any]:
    """Return the parameters of an environment whose machines see folders of the host."""
    folders = folders_of(programs)
    if not folders:
        return settings
    if "machine" in settings:
        raise ConfigError("--programs is for machines of 'local'; leave out --set machine=...")
    shared = {path: path for path in folders}
    return {**settings, "machine": {"id": "local", "folders": shared}}


def _run(
    program: str,
    env_id: str,
    settings: Mapping[str, Any],
    options: Mapping[str, Any],
    given: Mapping[str, Any],
) -> Run:
    out = given["out"] or Path(f"runs/harness/{datetime.now().astimezone():%Y-%m-%d/%H-%M-%S-%f}")
    Run(out).check_can_write(resume=False)
    plain = {name: given[name] for name in ("episodes", "samples", "seed", "timeout", "engine")}
    config = {"program": program, "env": {"id": env_id, **settings}, "options": options, **plain}
    words = ["gem-core", *sys.argv[1:]]
    for part in ({"id": env_id}, {"id": program}):  # of --set and of --recipe
        words = redact_words(words, part)
    return Run.create(out, command=words, config=config, envs=[env_id], agents=[program])


@contextlib.contextmanager
def _gateway(given: Mapping[str, Any]) -> Iterator[GatewayClient]:
    if given["gateway"] is not None:
        yield GatewayClient(given["gateway"])
        return
    engine = {"kind": given["engine_kind"], "model": given["model"]}
    with GatewayThread(given["engine"], engine=engine) as gateway:
        yield gateway.admin


def _record(
    run: Run, episodes: Generator[Trajectory, None, None], given: Mapping[str, Any]
) -> _Summary:
    console = Terminal(stderr=True)
    summary = _Summary(console, given["progress"], given["episodes"])
    with (
        contextlib.suppress(KeyboardInterrupt),
        summary,
        contextlib.closing(episodes),
        TrajectoryFile(run.trajectories_path) as file,
    ):
        for trajectory in episodes:
            file.append(trajectory)
            summary.add(trajectory)
        summary.is_complete = True
    return summary


def _report(run: Run, summary: _Summary) -> None:
    terminal = Terminal(soft_wrap=True)
    print_line(terminal, f"{summary.text()}.")
    if summary.first_error:
        print_line(terminal, f"The first error is {summary.first_error}", "red")
    print_line(terminal, f"Episodes: gem-core view {run.shown_path}")
