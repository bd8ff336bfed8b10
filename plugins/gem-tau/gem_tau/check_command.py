"""``gem-core tau check``: which tasks pay an agent that does nothing, and is the oracle paid?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import Field
from rich.table import Table
from rich.text import Text

from gem_core.console import Terminal
from gem_core.factory import EnvFactory
from gem_rollout import Component, collect
from gem_rollout.commands import INTERRUPTED, CommandKeys, HydraCommand, Job, envs_by_name
from gem_rollout.commands.progress import Mode, ProgressBar, print_line
from gem_tau.floors import IDLE_AGENTS, free_tasks
from gem_tau.oracle import DialogueOracle
from gem_tau.outcomes import Outcome, dialogue_of, first_tasks, outcome_of, task_count

__all__ = ["command"]


class CheckKeys(CommandKeys):
    """The keys of ``gem-core tau check``."""

    episodes: int | None = Field(default=None, ge=1)
    """Tasks to check of each environment; null for all, or for 200 of an endless source."""
    seed: int = Field(default=0, ge=0)
    """Decides which tasks of an endless source are checked."""
    concurrency: int = Field(default=16, ge=1)
    """The largest number of episodes at the same time, if the user or a judge is a model."""
    progress: Mode = "auto"
    """Progress on standard error: auto (live at a terminal, else lines), live, lines or off."""


@dataclass
class _Report:
    """The findings about an environment.

    Args:
        environment: Its name.
        tasks: The number of tasks to check.
        free: The agents that are paid, by task.
        undecided: The tasks with statements for a judge: no agent's pay is known without one.
        oracle: How the oracle's episodes ended.
    """

    environment: str
    tasks: int
    free: Mapping[str, Sequence[str]]
    undecided: Sequence[str]
    oracle: list[Outcome]

    @property
    def unpaid(self) -> list[Outcome]:
        """The episodes in which the oracle was not paid."""
        return [one for one in self.oracle if one.state != "paid"]

    @property
    def is_complete(self) -> bool:
        """Whether each task was played."""
        return len(self.oracle) == self.tasks

    @property
    def is_good(self) -> bool:
        """Whether no task is free and the oracle was paid in each."""
        return self.is_complete and not self.free and not self.unpaid

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "environment": self.environment,
            "ok": self.is_good,
            "tasks": self.tasks,
            "played": len(self.oracle),
            "free": [{"task": task, "agents": list(who)} for task, who in self.free.items()],
            "undecided": list(self.undecided),
            "oracle_failures": [asdict(one) for one in self.unpaid],
        }


def _check(job: Job[CheckKeys]) -> int:
    """Check that no task pays an agent that does nothing useful, and that each pays the oracle.

    Three agents play each task with the scripted user: one sends empty messages, one says goodbye
    in each turn, and one hands over to a human agent in its first turn. The oracle plays each task
    with the environment's user.

    Exit with status 1 if an agent is paid, or the oracle is not. Ctrl-C prints what was found.
    """
    factories = envs_by_name(job.config)
    reports = [_begin(name, factory, job.keys) for name, factory in factories.items()]
    console = Terminal(stderr=True, highlight=False)
    interrupted = False
    total = sum(report.tasks for report in reports)
    with ProgressBar(console, job.keys.progress, total) as bar:
        try:
            for report in reports:
                bar.update(description=report.environment)
                factory = factories[report.environment]
                _play(report, factory, job.keys, lambda: bar.update(advance=1))
        except KeyboardInterrupt:
            interrupted = True
    if job.form == "json":
        job.print_json([report.to_dict() for report in reports])
    else:
        _print(reports)
    if interrupted:
        left = sum(report.tasks - len(report.oracle) for report in reports)
        print_line(console, f"Interrupted: the oracle did not play {left:,} tasks.", "yellow")
        return INTERRUPTED
    return 0 if all(report.is_good for report in reports) else 1


command = HydraCommand(
    "tau check",
    _check,
    CheckKeys,
    agents=None,
    formats=("table", "json"),
    examples=[
        "gem-core tau check tau:Retail-Sample",
        "gem-core tau check 'tau:*-Sample' --format json",
        "gem-core tau check tau:Airline env.data=FOLDER env.reward_basis=[db,communicate]",
        "gem-core tau check tau:Airline env.data=FOLDER env.exclude_free=true",
    ],
)


def _begin(name: str, factory: EnvFactory, keys: CheckKeys) -> _Report:
    """Return a report with the free tasks; the oracle has not played yet."""
    env = factory()
    try:
        dialogue = dialogue_of(env, name)
        count, basis = task_count(dialogue, keys.episodes), dialogue.basis
    finally:
        env.close()
    tasks = first_tasks(factory, count, keys.seed)
    undecided = [
        task.id
        for task in tasks
        if task.nl_assertions and "nl" in (task.reward_basis if basis is None else basis)
    ]
    return _Report(
        name, count, free_tasks(tasks, basis=basis, mentions=dialogue.mentions), undecided, []
    )


def _play(
    report: _Report, factory: EnvFactory, keys: CheckKeys, advance: Callable[[], object]
) -> None:
    rollout = collect(
        {report.environment: Component(factory)},
        DialogueOracle,
        episodes=report.tasks,
        seed=keys.seed,
        concurrency=keys.concurrency,
        agent_name="oracle",
    )
    with rollout:
        for trajectory in rollout:
            report.oracle.append(outcome_of(trajectory))
            advance()
    report.oracle.sort(key=lambda one: one.group)


def _print(reports: Sequence[_Report]) -> None:
    console = Terminal(soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("environment", overflow="fold")
    for heading in ("tasks", *IDLE_AGENTS, "oracle paid"):
        table.add_column(heading, justify="right")
    for report in reports:
        paid = [sum(name in who for who in report.free.values()) for name in IDLE_AGENTS]
        earned = len(report.oracle) - len(report.unpaid)
        table.add_row(
            report.environment,
            f"{report.tasks:,}",
            *(Text(f"{count:,}", "red" if count else "") for count in paid),
            Text(f"{earned:,} of {len(report.oracle):,}", "red" if report.unpaid else ""),
        )
    console.print(table)
    for report in reports:
        _print_findings(console, report)


def _print_findings(console: Terminal, report: _Report) -> None:
    for task, names in report.free.items():
        print_line(console, f"{report.environment} {task}: pays {', '.join(names)}", "red")
    for one in report.unpaid:
        how = f" (ended by {one.ended_by})" if one.ended_by else ""
        print_line(console, f"{report.environment} {one.task}: oracle {one.state}{how}", "red")
        print_line(console, f"  {one.reason}", "dim")
    if report.undecided:
        print_line(
            console,
            f"{report.environment}: {len(report.undecided):,} tasks have statements for a judge. "
            f"Whether they pay an agent that does nothing is not known.",
            "yellow",
        )
