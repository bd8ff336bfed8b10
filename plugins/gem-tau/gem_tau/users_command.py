"""``gem-core tau users``: how often a user makes an assistant fail that does everything right."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import Field
from rich.table import Table

from gem_core.console import Terminal
from gem_core.factory import EnvFactory
from gem_rollout import Component, Trajectory, TrajectoryFile, collect
from gem_rollout.commands import (
    INTERRUPTED,
    RUN_FOLDER,
    CommandKeys,
    HydraCommand,
    Job,
    envs_by_name,
)
from gem_rollout.commands.progress import Mode, ProgressBar, print_line
from gem_rollout.episodes.proportions import pass_all, wilson
from gem_rollout.records.runs import Run
from gem_tau.oracle import DialogueOracle
from gem_tau.outcomes import Outcome, dialogue_of, outcome_of, task_count

__all__ = ["Tally", "command"]

_MOST_EXAMPLES = 5


class UsersKeys(CommandKeys):
    """The keys of ``gem-core tau users``."""

    user: dict[str, Any] = Field(default={"id": "scripted"})
    """The agent that plays the user, with its parameters: user=openai user.model=NAME."""
    episodes: int = Field(default=50, ge=1)
    """Tasks of each environment; at most all that there are."""
    samples: int = Field(default=1, ge=1)
    """Episodes of each task: K."""
    seed: int = Field(default=0, ge=0)
    """Episode number i of every run with this seed starts in the same state."""
    concurrency: int = Field(default=16, ge=1)
    """The largest number of episodes at the same time."""
    out: str = RUN_FOLDER
    """The run's folder; 'gem-core view' shows its dialogues."""
    progress: Mode = "auto"
    """Progress on standard error: auto (live at a terminal, else lines), live, lines or off."""


@dataclass
class Tally:
    """The outcomes of one environment.

    Args:
        environment: Its name.
        total: The number of episodes to be played.
        outcomes: How the episodes ended.
    """

    environment: str
    total: int
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def failures(self) -> list[Outcome]:
        """The episodes that failed because of the user, in the order of their tasks."""
        return self._with_state("failed")

    @property
    def faults(self) -> list[Outcome]:
        """The episodes that ended with an error."""
        return self._with_state("fault")

    def _with_state(self, state: str) -> list[Outcome]:
        found = [one for one in self.outcomes if one.state == state]
        return sorted(found, key=lambda one: (one.group, one.sample))

    def pass_all(self, k: int) -> dict[str, float | int] | None:
        """Return pass^k, the chance that k episodes of a task all succeed, with its interval.

        Faults are left out, and so are tasks with fewer than k other episodes. The interval is
        Wilson's with a trial for each task, at 95 %. It is at least as wide as the usual one, as
        the variance of values in [0, 1] is at most that of zeros and ones with the same mean.

        Returns:
            ``value``, ``low``, ``high`` and the number of ``tasks``; None without tasks.
        """
        played, paid = Counter[int](), Counter[int]()
        for one in self.outcomes:
            played[one.group] += one.state != "fault"
            paid[one.group] += one.state == "paid"
        shares = [pass_all(n, paid[group], k) for group, n in played.items() if n >= k]
        if not shares:
            return None
        mean = sum(shares) / len(shares)
        low, high = wilson(mean, len(shares))
        return {"value": mean, "low": low, "high": high, "tasks": len(shares)}

    def to_dict(self, samples: int) -> dict[str, Any]:
        """Return the figures as plain data."""
        judged = len(self.outcomes) - len(self.faults)
        return {
            "environment": self.environment,
            "episodes": len(self.outcomes),
            "faults": len(self.faults),
            "failed_by_user": len(self.failures),
            "share_failed_by_user": len(self.failures) / judged if judged else None,
            "pass_all": {str(k): self.pass_all(k) for k in range(1, samples + 1)},
            "ended_by": dict(Counter(one.ended_by or "error" for one in self.outcomes)),
            "failures": [asdict(one) for one in self.failures],
            "fault_list": [asdict(one) for one in self.faults],
        }


def _users(job: Job[UsersKeys]) -> int:
    """Measure a user: play the oracle against it, several times per task.

    The oracle asks, proposes, waits for a yes and makes the calls of the reference. So if the
    reward is below 1, the user misled it, did not agree, or ended the dialogue too early. Errors,
    such as those of an endpoint, are counted separately. The user 'scripted' never fails.

    Exit with status 1 if every episode ended with an error. Ctrl-C prints what was found.
    """
    keys, run = job.keys, Run(job.folder)
    run.check_can_write(resume=False)
    factories = {
        name: _with_user(factory, keys.user) for name, factory in envs_by_name(job.config).items()
    }
    tallies = [_begin(name, factory, keys) for name, factory in factories.items()]
    ids = dict.fromkeys(factory.spec.id for factory in factories.values())
    run = Run.create(
        job.folder, command=job.command, config=job.config, envs=ids, agents=["oracle"]
    )
    console = Terminal(stderr=True, highlight=False)
    interrupted = False
    total = sum(tally.total for tally in tallies)
    with (
        TrajectoryFile(run.trajectories_path) as file,
        ProgressBar(console, keys.progress, total) as bar,
    ):
        try:
            for tally in tallies:
                bar.update(description=tally.environment)
                for trajectory in _play(tally, factories[tally.environment], keys):
                    file.append(trajectory)
                    bar.update(advance=1)
        except KeyboardInterrupt:
            interrupted = True
    if job.form == "json":
        figures = [tally.to_dict(keys.samples) for tally in tallies]
        job.print_json({"run": str(run.path), "environments": figures})
    else:
        _print(tallies, keys.samples)
    print_line(console, f"Run: {run.shown_path}")
    if interrupted:
        print_line(console, "Interrupted. The finished episodes are kept.", "yellow")
        return INTERRUPTED
    return 1 if all(len(tally.faults) == len(tally.outcomes) for tally in tallies) else 0


command = HydraCommand(
    "tau users",
    _users,
    UsersKeys,
    agents=None,
    examples=[
        "gem-core tau users tau:Retail-Sample user=scripted",
        "gem-core tau users tau:Retail-Sample user=openai user.model=NAME episodes=50 samples=4",
        "gem-core tau users 'tau:*-Sample' user=openai user.model=NAME user.temperature=1",
        "gem-core tau users tau:Airline env.data=FOLDER user=openai user.model=NAME --format json",
    ],
)


def _with_user(factory: EnvFactory, user: Mapping[str, Any]) -> EnvFactory:
    return dataclasses.replace(factory, spec=factory.spec.with_kwargs(user=dict(user)))


def _begin(name: str, factory: EnvFactory, keys: UsersKeys) -> Tally:
    env = factory()
    try:
        return Tally(name, task_count(dialogue_of(env, name), keys.episodes) * keys.samples)
    finally:
        env.close()


def _play(tally: Tally, factory: EnvFactory, keys: UsersKeys) -> Iterator[Trajectory]:
    rollout = collect(
        {tally.environment: Component(factory)},
        DialogueOracle,
        episodes=tally.total,
        episodes_per_group=keys.samples,
        seed=keys.seed,
        concurrency=keys.concurrency,
        agent_name="oracle",
    )
    with rollout:
        for trajectory in rollout:
            tally.outcomes.append(outcome_of(trajectory))
            yield trajectory


def _print(tallies: Sequence[Tally], samples: int) -> None:
    console = Terminal(soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("environment", overflow="fold")
    for heading in ("episodes", "failed by the user", "faults"):
        table.add_column(heading, justify="right")
    for tally in tallies:
        judged = len(tally.outcomes) - len(tally.faults)
        share = f" ({len(tally.failures) / judged:.1%})" if judged else ""
        table.add_row(
            tally.environment,
            f"{len(tally.outcomes):,}",
            f"{len(tally.failures):,}{share}",
            f"{len(tally.faults):,}",
        )
    console.print(table)
    for tally in tallies:
        print_line(console, f"\n{tally.environment}")
        for k in range(1, samples + 1):
            print_line(console, f"  pass^{k} {_interval(tally.pass_all(k))}")
        _print_endings(console, tally)


def _interval(estimate: Mapping[str, float] | None) -> str:
    if estimate is None:
        return "is not known: no task has enough episodes"
    return "{value:.1%} (95 %: {low:.1%} to {high:.1%}), {tasks:,} tasks".format(**estimate)


def _print_endings(console: Terminal, tally: Tally) -> None:
    endings = Counter(one.ended_by or "error" for one in tally.outcomes)
    shown = ", ".join(f"{how} {count:,}" for how, count in endings.most_common())
    print_line(console, f"  ended by: {shown or 'nothing'}")
    for found in (tally.failures, tally.faults):
        examples = {one.group: one for one in reversed(found)}  # the first of each task
        for group in sorted(examples)[:_MOST_EXAMPLES]:
            one = examples[group]
            print_line(console, f"  {one.task} (sample {one.sample}), {one.state}: {one.reason}")
            if one.state == "failed":
                print_line(console, f"    The user's last message: {one.last_message!r}", "dim")
        if (more := len(examples) - _MOST_EXAMPLES) > 0:
            print_line(console, f"  and {more:,} more tasks; --format json has all", "dim")
