"""The page docs/real-model.md and its picture, made from the figures of the units."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.output import number, table
from learning.page import wrapped

from gem_train.plots import smoothed
from real_model.units import TASKS, WHOLE

__all__ = ["PICTURE", "page", "picture"]

PICTURE = "images/real-model.png"
"""The file of the learning curves, from the folder of the page."""
Figures = Mapping[str, Any]
_STAGES = {
    "random": "random player",
    "constant": "best constant answer",
    "base": "the model as it is",
    "supervised": "after the supervised start",
    "oracle": "oracle",
}
_REACH = 9
"""Steps over which a drawn curve is averaged."""


def page(found: Sequence[Figures]) -> str:
    """Return the page.

    Args:
        found: The figures of each unit.
    """
    whole = [one for one in found if one["sizes"] == WHOLE.as_json()]
    small = [one for one in found if one["sizes"] != WHOLE.as_json()]
    parts = [
        "# A real language model",
        *_introduction(),
        *(part for one in _by_task(whole) for part in _task(one)),
        *_on_a_cpu(small),
        *_again(found),
    ]
    return "\n\n".join(map(wrapped, parts)) + "\n"


def picture(found: Sequence[Figures], file: Path) -> None:
    """Draw the success of each step of training; nothing if no whole unit has run."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - slow to import
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    groups = _by_task([one for one in found if one["sizes"] == WHOLE.as_json()])
    if not groups:
        return
    figure = Figure(figsize=(7.2, 3.4 * len(groups)), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    for place, group in enumerate(groups, start=1):
        axes = figure.add_subplot(len(groups), 1, place)
        for one in group:
            steps, values = one["curves"]["step"], one["curves"]["rollout/success"]
            (line,) = axes.plot(steps, smoothed(values, _REACH), label=_trained(one["unit"]))
            axes.plot(steps, values, color=line.get_color(), alpha=0.25, lw=0.8)
        for stage, style in (("oracle", "-."), ("random", "--"), ("base", ":")):
            if (row := _row(group[0], stage, group[0]["env"])) is not None:
                value, label = row["success"]["value"], _STAGES[stage]
                axes.axhline(value, color="black", ls=style, lw=1, label=label)
        axes.set(title=group[0]["env"], xlabel="step of training", ylabel="success")
        axes.set_ylim(-0.03, 1.05)
        axes.legend(fontsize="small", loc="center right")
        axes.grid(alpha=0.3)
    figure.savefig(file)


def _introduction() -> Iterator[str]:
    yield (
        "SmolLM2-135M-Instruct is a pretrained model that is small enough for a laptop. `gem-core "
        "get-model smollm2` [fetches it](agents.md#models-that-are-fetched). Here it plays as it "
        "is, after a supervised start, and after reinforcement learning, always the same tasks, "
        "and also environments that it was never trained in. All of it are commands of "
        "`gem-core`: `make real-model` runs them."
    )
    yield (
        "Brackets are 95 % intervals over episodes: Wilson's for success. They do not contain the "
        "spread over seeds of training."
    )


def _by_task(found: Iterable[Figures]) -> list[list[Figures]]:
    groups: dict[str, list[Figures]] = {}
    for one in found:
        groups.setdefault(one["unit"]["task"], []).append(one)
    return [groups[task] for task in TASKS if task in groups]


def _task(group: Sequence[Figures]) -> Iterator[str]:
    first = group[0]
    env, seeds = first["env"], sorted({one["unit"]["seed"] for one in group})
    yield f"## `{env}`"
    count = "One seed" if len(seeds) == 1 else f"{len(seeds)} seeds"
    yield (
        f"{count} of {', '.join(dict.fromkeys(_algo(one['unit']) for one in group))}, on "
        f"{_device(first)}. {first.get('note', '')}"
    )
    yield f"![Success in each step of training]({PICTURE})"
    yield _results(group)
    task = TASKS[first["unit"]["task"]]
    if task.transfer:
        names = " and ".join(f"`{one}`" for one in task.transfer)
        yield f"{names} were not played in training, nor in the supervised start. {task.about}"
    yield from _compared(group)
    yield "What it cost, in seconds on the GPU, with loading of the model and start-up:"
    yield _costs(group)


def _results(group: Sequence[Figures]) -> str:
    first = group[0]
    envs = TASKS[first["unit"]["task"]].envs
    rows = []
    for stage, label in _STAGES.items():
        if stage == "oracle":
            rows += [
                (_trained(one["unit"]), *(_success(_row(one, "trained", env)) for env in envs))
                for one in group
            ]
        if any(_row(first, stage, env) for env in envs):
            rows.append((label, *(_success(_row(first, stage, env)) for env in envs)))
    return table(("success", *(f"`{env}`" for env in envs)), rows)


def _row(one: Figures, stage: str, env: str) -> Figures | None:
    return next(
        (row for row in one["evaluations"] if (row["stage"], row["env"]) == (stage, env)), None
    )


def _success(row: Figures | None) -> str:
    if row is None:
        return "not played"
    found = row["success"]
    value, low, high = (100 * found[key] for key in ("value", "low", "high"))
    return f"{value:.1f} % [{low:.1f}, {high:.1f}]"


def _compared(group: Sequence[Figures]) -> Iterator[str]:
    rows = [
        (
            _trained(one["unit"]),
            f"`{row['name']}`",
            f"{row['first_mean']:.3f}",
            f"{row['second_mean']:.3f}",
            f"{difference['value']:+.3f} [{difference['low']:+.3f}, {difference['high']:+.3f}]",
            f"{row['p_value']:.2g}",
        )
        for one in group
        for row in one["comparisons"]
        if row["measure"] == "success" and row["name"] != "all"
        for difference in (row["difference"],)
    ]
    if rows:
        yield "`gem-core compare` of the supervised start and the trained model, task by task:"
        yield table(("run", "environment", "before", "after", "difference", "p"), rows)


def _costs(group: Sequence[Figures]) -> str:
    rows = []
    for one in group:
        curves, seconds = one["curves"], one["seconds"]
        sampling = sum(filter(None, curves.get("time/sample", ())))
        learning = sum(filter(None, curves.get("time/learn", ())))
        speed = curves.get("speed/sampled_tokens_per_second", ())
        known = [value for value in speed if value is not None]
        rows.append(
            (
                _trained(one["unit"]),
                *(_seconds(seconds.get(name)) for name in ("supervised training", "training")),
                number(len(curves["step"])),
                number(sampling),
                number(learning),
                number(sum(known) / len(known)) if known else "-",
                _seconds(seconds.get("trained")),
            )
        )
    headings = (
        *("run", "supervised start", "training", "steps", "of it sampling", "of it learning"),
        *("sampled tokens/s", "last evaluation"),
    )
    return table(headings, rows)


def _seconds(value: float | None) -> str:
    return "-" if value is None else number(value)


def _on_a_cpu(found: Sequence[Figures]) -> Iterator[str]:
    for one in found:
        sizes = one["sizes"]
        yield "## On a CPU"
        yield (
            f"Without a GPU the same command makes a fraction, on {_device(one)}: the supervised "
            f"start is the whole one, evaluations have {sizes['eval_episodes']} episodes in each "
            f"environment, and reinforcement learning is {sizes['steps']} steps of "
            f"{sizes['episodes']} episodes, which show that it runs. So few say little about what "
            f"is learned. {one.get('note', '')}"
        )
        yield _results([one])


def _again(found: Sequence[Figures]) -> Iterator[str]:
    yield "## How it is made again"
    yield textwrap.indent(
        "gem-core get-model smollm2\n"
        "make real-model                                  # one seed of ReBN\n"
        "make real-model SEEDS=3 ALGOS='rebn grpo'        # what a lab would want\n"
        "make real-model TASKS='guess gcd math terminal'  # further environments",
        "    ",
    )
    yield (
        f"A unit is one environment, one algorithm and one seed: {WHOLE.supervised_steps} "
        f"supervised updates of 16 episodes, in which the oracle plays a tenth to a third of the "
        f"actions and the others are random; at most {WHOLE.steps} steps of {WHOLE.episodes} "
        f"episodes; evaluations of {WHOLE.eval_episodes} episodes in each environment. Training "
        f"ends when {WHOLE.equal_steps} steps in a row had no group or batch with a spread of "
        f"returns. `MINUTES=8` stops a call in time; the next one goes on where it was. Every "
        f"command is printed. Page and figures go to `runs/real-model`; those of this page are in "
        f"[benchmarks/results/real_model](../benchmarks/results/real_model), which "
        f"`OUTPUT=benchmarks/results` adds to."
    )
    ran = {one["unit"]["task"] for one in found if one["sizes"] == WHOLE.as_json()}
    if waiting := [f"`{task.env}`" for name, task in TASKS.items() if name not in ran]:
        yield f"Ready to run, but not yet run on a GPU: {', '.join(waiting)}."
    versions = {json.dumps(one["machine"]) for one in found}
    yield from (_versions(json.loads(one)) for one in sorted(versions))


def _versions(machine: Mapping[str, str]) -> str:
    rest = ", ".join(f"{name} {version}" for name, version in machine.items() if name != "device")
    return f"- {machine['device']}: {rest}"


def _device(one: Figures) -> str:
    return f"one {device}" if (device := one["machine"]["device"]).startswith("NVIDIA") else device


def _algo(unit: Mapping[str, Any]) -> str:
    return {"rebn": "ReBN", "grpo": "GRPO"}.get(unit["algo"], str(unit["algo"]))


def _trained(unit: Mapping[str, Any]) -> str:
    return f"trained: {_algo(unit)}, seed {unit['seed']}"
