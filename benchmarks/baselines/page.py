"""The page docs/baselines.md, made from the figures."""

import math
from collections.abc import Iterator

from common.output import number, table
from learning.cells import STEPS
from learning.figures import said, signed
from learning.intervals import Interval
from learning.page import wrapped

from baselines.envs import AGENTS, MISSING_FAMILIES, SUITE, family_of
from baselines.figures import Figures
from baselines.tiny import DEMONSTRATIONS, GAME_SKILL, LR, NOT_TRAINED, PLAN

__all__ = ["PICTURE", "baselines_page"]

PICTURE = "images/baselines.png"
"""The file of the learning curves, from the folder of the page."""
_RESULTS = "../benchmarks/results"


def baselines_page(figures: Figures) -> str:
    """Return the page."""
    parts = [
        "# Baselines",
        *_how(figures),
        "## Agents without a model",
        *_returns(figures),
        "## Cost of an episode",
        *_costs(figures),
        "## Tiny models",
        *_tiny(figures),
        "## How it is made again",
        *_again(figures),
    ]
    return "\n\n".join(map(wrapped, parts)) + "\n"


def _how(figures: Figures) -> Iterator[str]:
    envs = figures.envs
    episodes, seeds = figures.content["suite"]["settings"]["episodes"], figures.content["seeds"]
    families = ", ".join(f"`{one}:`" for one in dict.fromkeys(map(family_of, envs)))
    yield (
        f"Figures to compare a model with: agents without a model, and tiny models that we train, "
        f"in {len(envs)} environments of the families {families}. They need no network. A model of "
        f"yours plays the same tasks with one line:"
    )
    yield f"    gem-core eval suite={SUITE} agent=openai agent.model=NAME agent.base_url=URL"
    missing = "; ".join(f"`{name}:`, because {why}" for name, why in MISSING_FAMILIES.items())
    yield (
        f"The suite `{SUITE}` is ours: it is not the list of 24 environments of the GEM paper. It "
        f"leaves out {missing}."
    )
    count = len(seeds) * episodes
    yield (
        f"**Intervals.** There are {len(seeds)} seeds with {episodes} episodes each; `eval` plays "
        f"those of seed 0, and those of the others with `seed=1` to `seed={seeds[-1]}`. ± is half "
        f"of the 95 % interval: Student's t over the means of the seeds. ± 0.00 says that all "
        f"seeds had the same mean, not that it is certain: a rate that was 0 or 1 in {count} "
        f"episodes is known to about {_wilson(count):.2f} (Wilson)."
    )


def _wilson(episodes: int) -> float:
    """Return the width of Wilson's 95 % interval of a rate that was 0 or 1 in all episodes."""
    square = 1.959964**2
    return square / (episodes + square)


def _returns(figures: Figures) -> Iterator[str]:
    yield "\n".join(f"- `{agent}` {about}" for agent, about in AGENTS.items())
    headings = ["environment", *(f"{one}: {what}" for one in AGENTS for what in _SHOWN)]
    rows = [
        [f"`{env}`", *(_cell(figures.of(env, *key)) for key in _columns())] for env in figures.envs
    ]
    rows.append(["mean over environments", *(_cell(figures.over_envs(*key)) for key in _columns())])
    yield table(headings, rows)
    yield from _reasons(figures)


_SHOWN = ("return", "success")


def _columns() -> Iterator[tuple[str, str]]:
    for agent in AGENTS:
        for measure in _SHOWN:
            yield agent, measure


def _cell(one: Interval | None) -> str:
    return "" if one is None else said(one)


def _reasons(figures: Figures) -> Iterator[str]:
    """Yield why cells are empty."""
    found = [
        f"- {agent} in `{env}`: {why}"
        for env in figures.envs
        for agent in AGENTS
        if (why := figures.reason(env, agent))
    ]
    if found:
        yield "Empty cells:"
        yield "\n".join(found)


def _costs(figures: Figures) -> Iterator[str]:
    yield (
        "Turns, and milliseconds of CPU time of the process and its children. They include making "
        "and resetting the environment, and depend on the machine and on what else it does."
    )
    headings = [
        "environment",
        *(f"{one}: {what}" for one in AGENTS for what in ("turns", "CPU ms")),
    ]
    rows = []
    for env in figures.envs:
        cells = [f"`{env}`"]
        for agent in AGENTS:
            turns, cpu = (figures.of(env, agent, what) for what in ("turns", "cpu_seconds"))
            cells.append("" if turns is None else f"{turns.mean:.1f}")
            cells.append("" if cpu is None else number(1e3 * cpu.mean))
        rows.append(cells)
    yield table(headings, rows)


def _tiny(figures: Figures) -> Iterator[str]:
    if not figures.trained:
        yield "No model has been trained."
        return
    parameters = [one["parameters"] for one in figures.content["warm_starts"]]
    yield (
        f"Models of {min(parameters):,} to {max(parameters):,} parameters are made from scratch, "
        f"each for one environment and one seed. A [warm start](training/warm-start.md) learns "
        f"from {DEMONSTRATIONS} demonstrations, in which the oracle plays all actions, or "
        f"{GAME_SKILL:.0%} of them in games. [ReBN](training/algorithms.md) then trains it for "
        f"{STEPS} steps of {PLAN.episodes} episodes, with a discount of 0.9 and the learning rate "
        f"{LR:g} that the [learning studies](training/curves.md) chose. All environments have the "
        f"same settings."
    )
    yield (
        f"At the end a model plays {PLAN.held_out} episodes, and its warm start "
        f"{2 * PLAN.held_out}, sampled at temperature 1. Their seeds are not used in training, but "
        f"small datasets have few rows: in `logic:Sample`, `math:Sample` and `qa:Sample` a model "
        f"meets questions that it was trained on, and may have learned answers by heart."
    )
    headings = ["environment", *(f"{what}, {when}" for what in _SHOWN for when in _WHEN)]
    rows = [
        [f"`{env}`", *(cell for what in _SHOWN for cell in _change(figures, env, what))]
        for env in figures.trained
    ]
    yield table(headings, rows)
    yield _verdicts(figures)
    yield f"![Returns in each step of training, mean and interval]({PICTURE})"
    yield "The curves are returns of the episodes that training plays, smoothed over some steps."
    yield "What it costs: tokens of an episode, each counted once, and CPU seconds."
    yield table(
        ["environment", "turns", "tokens", "warm start, CPU s", "training, CPU s"],
        [_cost(figures, env) for env in figures.trained],
    )
    yield "No model is trained in the other environments:"
    yield "\n".join(
        f"- {', '.join(f'`{env}`' for env in envs)}: {why}." for why, envs in NOT_TRAINED.items()
    )


_WHEN = ("warm start", "trained", "change")


def _change(figures: Figures, env: str, measure: str) -> list[str]:
    gain = figures.gain(env, measure)
    shown = f"**{signed(gain)}**" if gain.excludes_zero else signed(gain)
    return [said(figures.before(env, measure)), said(figures.after(env, measure)), shown]


def _verdicts(figures: Figures) -> str:
    """Return which environments were learned, by the return."""
    gains = {env: figures.gain(env, "return") for env in figures.trained}
    rose = [env for env, one in gains.items() if one.excludes_zero and one.mean > 0]
    fell = [env for env, one in gains.items() if one.excludes_zero and one.mean < 0]
    rest = [env for env in gains if env not in {*rose, *fell}]
    groups = {"rose": rose, "fell": fell, "shows no change that can be seen": rest}
    lines = [
        f"- The return {what} in {len(envs)} of {len(gains)}: {', '.join(f'`{e}`' for e in envs)}"
        for what, envs in groups.items()
        if envs
    ]
    return (
        "A change is in bold if its interval excludes 0; of changes without an effect, one in "
        "twenty is too.\n\n" + "\n".join(lines)
    )


def _cost(figures: Figures, env: str) -> list[str]:
    return [
        f"`{env}`",
        f"{figures.after(env, 'turns').mean:.1f}",
        f"{figures.after(env, 'tokens').mean:.0f}",
        f"{figures.seconds(env, 'warm_starts').mean:.0f}",
        f"{figures.seconds(env, 'runs').mean:.0f}",
    ]


def _again(figures: Figures) -> Iterator[str]:
    yield (
        "`make baselines` plays and trains everything, and writes this page, its picture and "
        f"[all figures]({_RESULTS}/baselines.json). It resumes: what is in `runs/baselines` is not "
        f"made again. `python benchmarks/run.py baselines --report-only` writes the page from the "
        f"stored figures. The seeds are {', '.join(map(str, figures.content['seeds']))}."
    )
    seconds = sum(
        one.get("cpu_seconds", 0.0) * one.get("episodes", 1)
        for part in ("scripted", "warm_starts", "runs")
        for one in figures.content[part]
    )
    yield f"These figures took {math.ceil(seconds / 60)} minutes of CPU time, with:"
    yield "\n".join(
        "- " + ", ".join(f"{name} {version}" for name, version in one.items())
        for one in figures.content["versions"]
    )
