"""``gem-core why``: why the episodes of a run failed."""

import csv
import io
import shlex

import click

from gem_core.options import format_option, print_json
from gem_eval.causes import RULES
from gem_eval.episodes import run_and_agent
from gem_eval.tables import (
    Cells,
    console_for,
    markdown_of,
    print_table,
    share,
    without_only_agent,
)
from gem_eval.why import Failures, Group, failures_of, lines_of
from gem_rollout.commands.progress import print_line
from gem_rollout.records.runs import Run

__all__ = ["cells_of", "command"]

_SHOWN = 60
"""The number of characters of a text of an example in a table."""
_CAUSES = "\n".join(f"  {rule.cause:<8} {rule.meaning}" for rule in RULES)


@click.command(
    epilog=f"\b\nCauses, the first that holds:\n{_CAUSES}\n\n"
    "\b\nExamples:\n"
    "  gem-core why runs/mine\n"
    "  gem-core why runs/both@small --env math:Sample\n"
    "  gem-core why runs/mine --format json"
)
@click.argument("run", metavar="RUN[@AGENT]")
@click.option("--env", "envs", multiple=True, help="An environment of the run; may be repeated.")
@click.option("--agent", "agents", multiple=True, help="An agent of the run; may be repeated.")
@format_option("table", "json", "csv", "md")
def command(run: str, envs: tuple[str, ...], agents: tuple[str, ...], form: str) -> None:
    """Group the failures of RUN by cause, with one example each.

    RUN is a run's folder or a .jsonl file of trajectories. An episode that succeeded is no failure.
    """
    source, agent = run_and_agent(run)
    chosen = [*agents, agent] if agent else agents
    found = failures_of(source.trajectories(), envs=envs, agents=chosen)
    if form == "json":
        print_json(_plain(found))
    elif form == "csv":
        click.echo(_csv(found))
    elif form == "md":
        lines = "\n".join(f"- {line}" for line in lines_of(found))
        click.echo(f"{markdown_of(cells_of(found))}\n\n{lines}" if found.groups else lines)
    else:
        _print(found, source)


def _plain(found: Failures) -> dict[str, object]:
    return {
        "episodes": found.episodes,
        "failures": found.total,
        "groups": [group.to_dict() for group in found.groups],
        "success_by_return": found.by_return,
        "unscored": dict(found.unscored),
    }


def _csv(found: Failures) -> str:
    rows = []
    for group in found.groups:
        fields = group.to_dict()
        rows.append({**fields, **fields.pop("example")})
        del rows[-1]["example"]
    names = ["env", "agent", "cause", "failures", "episodes", "share"]
    names += ["episode", "place", "question", "expected", "extracted", "reason"]
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def _print(found: Failures, run: Run) -> None:
    console = console_for()
    if found.groups:
        print_table(console, without_only_agent(cells_of(found)))
        console.print()
    for line in lines_of(found):
        print_line(console, line)
    if found.groups:
        example = found.groups[0].example
        print_line(
            console,
            f"To see an example: gem-core view {shlex.quote(run.shown_path)}, and {example.place} "
            f"after its address for episode {example.episode}.",
            "dim",
        )


def cells_of(found: Failures) -> Cells:
    """Return headings and cells of the table of failures."""
    headings = ["agent", "environment", "cause", "failed", "share"]
    headings += ["example", "place", "expected", "extracted", "reason"]
    return headings, [_line(group) for group in found.groups]


def _line(group: Group) -> list[str]:
    example = group.example
    return [
        group.agent,
        group.env,
        group.cause,
        f"{group.failures} of {group.episodes}",
        share(group.share),
        str(example.episode),
        example.place,
        _short(example.expected),
        _short(example.extracted),
        _short(example.reason),
    ]


def _short(text: str | None) -> str:
    """Return a text on one line, without what is left out in a table."""
    plain = " ".join((text or "").split())
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}..."
