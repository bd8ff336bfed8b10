"""``gem-core compare``: compare agents on the same tasks, in pairs."""

import csv
import io
from collections.abc import Sequence

import click

from gem_core.options import format_option, print_json
from gem_eval.compare import (
    ALL_TASKS,
    Candidate,
    Comparison,
    Options,
    Pairing,
    candidates_of,
    compare,
)
from gem_eval.episodes import Measure, Task
from gem_eval.tables import Cells, console_for, markdown_of, print_table
from gem_rollout.commands.progress import print_line

__all__ = ["command"]

_BAR = 25
_NAMED = 5
_ROOM_FOR_BARS = 140


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core compare runs/base runs/trained\n"
    "  gem-core compare runs/both                 (all agents of one run)\n"
    "  gem-core compare runs/both@small runs/both@large --measure success\n"
    "  gem-core compare A B C --all-pairs --difference 0.02 --power 0.9"
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN[@AGENT]...")
@click.option(
    "--measure",
    type=click.Choice(["success", "return", "both"]),
    default="both",
    show_default=True,
    help="The quantity to compare.",
)
@click.option(
    "--all-pairs", is_flag=True, help="Compare all pairs, instead of each agent with the first."
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals.",
)
@click.option(
    "--difference",
    type=click.FloatRange(0, min_open=True),
    default=0.05,
    show_default=True,
    help="Print how many pairs are needed to detect this difference.",
)
@click.option(
    "--power",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.8,
    show_default=True,
    help="The power with which to detect it.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, help="Seed of the random halves of the tasks."
)
@format_option("table", "json", "csv", "md")
def command(
    runs: tuple[str, ...],
    measure: str,
    confidence: float,
    difference: float,
    power: float,
    seed: int,
    form: str,
    *,
    all_pairs: bool,
) -> None:
    """Compare agents on the tasks that they share.

    RUN is a run's folder or a .jsonl file of trajectories. It stands for all agents of the run,
    RUN@AGENT for one. Each agent is compared with the first.
    """
    measures: tuple[Measure, ...] = ("success", "return")
    if measure != "both":
        measures = (measure,)  # type: ignore[assignment]
    options = Options(measures, all_pairs, confidence, difference, power, seed)
    pairings, found = compare(candidates_of(runs), options)
    if form == "json":
        print_json(_plain(pairings, found, options))
    elif form == "csv":
        click.echo(_csv(found))
    elif form == "md":
        click.echo(markdown_of(_cells(found)))
        said = [*verdicts(pairings, found, options), *designs(found)]
        click.echo("\n" + "\n".join(f"- {line}" for line in said))
    else:
        _print(pairings, found, options)


def _plain(
    pairings: Sequence[Pairing], found: Sequence[Comparison], options: Options
) -> dict[str, object]:
    return {
        "options": vars(options),
        "pairings": [
            {
                "first": one.first.name,
                "second": one.second.name,
                "shared": len(one.shared),
                "only_first": one.only_first,
                "only_second": one.only_second,
                "other_openings": one.other_openings,
                "config": one.config,
            }
            for one in pairings
        ],
        "comparisons": [one.to_dict() for one in found],
        "verdicts": verdicts(pairings, found, options),
    }


def _csv(found: Sequence[Comparison]) -> str:
    text = io.StringIO()
    rows = []
    for one in found:
        fields = one.to_dict()
        estimate, variances = fields.pop("difference"), one.components
        ends = {"difference": estimate["value"], "low": estimate["low"], "high": estimate["high"]}
        del fields["components"]
        rows.append(fields | ends | {f"variance.{name}": v for name, v in vars(variances).items()})
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def _print(pairings: Sequence[Pairing], found: Sequence[Comparison], options: Options) -> None:
    console = console_for()
    scale = {m: _scale([one for one in found if one.measure == m]) for m in options.measures}
    shown = ["first", "second", "tasks", "measure", "pairs", "first is", "second is", "difference"]
    headings, lines = _cells(found)
    kept = [headings.index(name) for name in (*shown, "p (Holm)")]
    with_bars = console.width >= _ROOM_FOR_BARS
    signs = "-+|o" if console.options.ascii_only else "─┼│●"
    rows = [
        [
            *(line[column] for column in kept),
            *([_bar(one, scale[one.measure], signs)] if with_bars else []),
        ]
        for one, line in zip(found, lines, strict=True)
    ]
    print_table(console, ([*shown, "p (Holm)", *([""] if with_bars else [])], rows))
    console.print()
    for line in [*verdicts(pairings, found, options), *designs(found)]:
        print_line(console, line)
    for line in _notes(pairings, found):
        print_line(console, line, "dim")


def _cells(found: Sequence[Comparison]) -> Cells:
    headings = ["first", "second", "tasks", "measure", "pairs", "first is", "second is"]
    headings += ["difference", "p", "p (Holm)", "test", "detectable", "half"]
    return headings, [
        [
            one.first,
            one.second,
            one.name,
            one.measure,
            str(one.pairs),
            _value(one, one.first_mean),
            _value(one, one.second_mean),
            _difference(one),
            _p(one.p_value),
            _p(one.p_corrected),
            one.test,
            "-" if one.detectable is None else _value(one, one.detectable),
            "-" if one.half is None else f"{one.half:.0%}",
        ]
        for one in found
    ]


def _value(one: Comparison, value: float) -> str:
    return f"{value:.1%}" if one.measure == "success" else f"{value:.3f}"


def _difference(one: Comparison) -> str:
    """Return the difference with its interval, in percentage points for success."""
    estimate = one.difference
    factor, form = (100, "+.1f") if one.measure == "success" else (1, "+.3f")
    value = format(estimate.value * factor, form)
    if estimate.low is None or estimate.high is None:
        return value
    return (
        f"{value} [{format(estimate.low * factor, form)}, {format(estimate.high * factor, form)}]"
    )


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.0005 else "<0.001"


def _scale(found: Sequence[Comparison]) -> float:
    ends = [
        abs(end)
        for one in found
        for end in (one.difference.value, one.difference.low, one.difference.high)
        if end is not None
    ]
    return max(ends, default=0.0) or 1.0


def _bar(one: Comparison, scale: float, signs: str) -> str:
    """Return the interval, drawn on a line with 0 in the middle.

    Args:
        one: The comparison.
        scale: The value at the right end.
        signs: The characters of the interval, of 0 in and out of it, and of the estimate.
    """
    line, crossing, zero, point = list(signs)

    def place(value: float) -> int:
        return round((value / scale + 1) / 2 * (_BAR - 1))

    estimate = one.difference
    cells = [" "] * _BAR
    if estimate.low is not None and estimate.high is not None:
        for column in range(place(estimate.low), place(estimate.high) + 1):
            cells[column] = line
    cells[_BAR // 2] = crossing if cells[_BAR // 2] == line else zero
    cells[place(estimate.value)] = point
    return "".join(cells)


def verdicts(
    pairings: Sequence[Pairing], found: Sequence[Comparison], options: Options
) -> list[str]:
    """Return a sentence about all tasks for each pair of candidates.

    It compares success if the environments define it, else the return.
    """
    lines = []
    for pairing in pairings:
        about = [
            one
            for one in found
            if (one.first, one.second) == (pairing.first.name, pairing.second.name)
        ]
        if about:
            lines.append(_verdict(about[0], options))
    return lines


def _verdict(one: Comparison, options: Options) -> str:
    said = "below 0.001" if one.p_corrected < 0.0005 else f"= {one.p_corrected:.3f}"
    points = " points" if one.measure == "success" else ""
    figures = (
        f"{one.measure} {_value(one, one.second_mean)} against {_value(one, one.first_mean)}, "
        f"{_difference(one)}{points}, p {said}"
    )
    if one.p_corrected < 1 - options.confidence:
        better = "better" if one.difference.value > 0 else "worse"
        return f"{one.second} is {better} than {one.first}: {figures}."
    line = f"{one.second} and {one.first} do not differ significantly: {figures}."
    if one.detectable is None or one.required is None:
        return f"{line} The pairs do not vary, so the power is unknown."
    asked = f"{options.difference * 100:g} points" if points else f"{options.difference:g}"
    seen = _value(one, one.detectable).rstrip("%")
    return (
        f"{line} With {one.pairs} pairs, a difference of {seen}{points} is detected with a power "
        f"of {options.power:.0%}; {one.required:,} pairs are needed to detect {asked}."
    )


def designs(found: Sequence[Comparison]) -> list[str]:
    """Return lines about the design of each comparison of all tasks, in its first measure.

    They say what half of the tasks would have shown, and where the differences vary.
    """
    lines = []
    seen = set()
    for one in found:
        pair = (one.first, one.second)
        if pair not in seen:
            seen.add(pair)
            lines += _half(one) + _components(one)
    return lines


def _half(one: Comparison) -> list[str]:
    if one.half is None:
        return []
    names = f"{one.second} and {one.first}"
    return [f"{one.half:.0%} of random halves of the tasks lead to the same decision on {names}."]


def _components(one: Comparison) -> list[str]:
    """Return a line if tasks have several samples: with one, nothing is known of more."""
    parts, samples = one.components, max(2, round(one.components.per_task))
    worth = parts.worth(samples)
    if parts.tasks is None or parts.samples is None or worth is None:
        return []
    shares = {"tasks": parts.tasks, "samples of a task": parts.samples}
    if parts.environments is not None:
        shares = {"environments": parts.environments, **shares}
    whole = sum(shares.values())
    said = ", ".join(f"{value / whole:.0%} between {name}" for name, value in shares.items())
    lines = (
        f"Variance of the difference in {one.measure}: {said} (ICC {parts.icc:.2f}).",
        f"{samples} samples of a task say as much as {worth:.1f} tasks with one sample.",
    )
    return [" ".join(lines)]


def _named(candidate: Candidate, tasks: Sequence[Task]) -> str:
    """Return the first tasks of each environment, by number."""
    groups: dict[str, list[int]] = {}
    for task in tasks:
        groups.setdefault(task[0], []).append(candidate.tasks[task][0].group)
    parts = []
    for env_id, numbers in groups.items():
        shown = [f"#{number}" for number in sorted(numbers)[:_NAMED]]
        parts.append(f"{env_id} {', '.join(shown)}{', ...' if len(numbers) > _NAMED else ''}")
    return "; ".join(parts)


def _notes(pairings: Sequence[Pairing], found: Sequence[Comparison]) -> list[str]:
    tests = sorted({one.test for one in found})
    lines = [f"Tests: {' and '.join(tests)}." if len(tests) > 1 else f"Test: {tests[0]}."]
    for one in pairings:
        names = f"{one.first.name} and {one.second.name}"
        for candidate, tasks in ((one.first, one.only_first), (one.second, one.only_second)):
            if tasks:
                named = _named(candidate, tasks)
                lines.append(
                    f"Left out: {len(tasks)} tasks that only {candidate.name} has: {named}"
                )
        if one.other_openings:
            lines.append(
                f"{one.other_openings} tasks of {names} begin with different observations: "
                f"their environments were not the same."
            )
        lines += [f"Configured differently, {names}: {line}" for line in one.config]
    runs = {one.run.shown_path: one.run for p in pairings for one in (p.first, p.second)}
    for path, run in runs.items():
        if (run.info().get("config") or {}).get("until"):
            lines.append(
                f"{path} stopped when it was decided (until=decided): p and intervals are those of "
                f"a fixed number of episodes. What holds is `decision` in its metrics.json."
            )
    if len({(one.first, one.second) for one in found}) > 1 or any(
        one.name == ALL_TASKS for one in found
    ):
        lines.append("p (Holm) is corrected for the number of comparisons and of environments.")
    return lines
