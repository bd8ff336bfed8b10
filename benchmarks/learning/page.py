"""The pages of the studies, in docs and beside the results: sentences made from the figures.

Each sentence says what the interval of its figure says: more, less, or that no difference can be
seen. Figures that a study lacks are left out.
"""

import re
import textwrap
from collections.abc import Iterator

from learning.cells import ALGORITHMS, STEPS, Cell
from learning.figures import Figures, said, signed
from learning.intervals import Interval
from learning.tasks import TASKS

__all__ = ["curves_page", "details_page", "wrapped"]

_WIDTH = 130
_RESULTS = "../../benchmarks/learning/results"
_DOCS = "../../../docs/training"
_NAMES = {"reinforce": "REINFORCE", "rebn": "ReBN", "grpo": "GRPO", "ppo": "PPO"}
_CLAIMS = """\
## What the paper says

Liu et al. 2025, "GEM: A Gym for Agentic LLMs", train models of 1.7 to 4 billion parameters on
eight GPUs. Four of its statements can be tested with small models:

1. ReBN is above plain REINFORCE in games of several turns, and not behind GRPO and PPO.
2. A discount below 1 makes a model finish games in fewer turns.
3. A model that may call Python learns tasks that it cannot do without.
4. What is learned in one environment helps in others.

Models of 35,000 parameters that play shortened games say nothing about large ones: where a
statement does not reproduce here, it is not refuted."""


def curves_page(figures: Figures) -> str:
    """Return the page of the documentation: what reproduces."""
    parts = [
        "# Learning curves",
        "Tiny models that are made and trained from scratch, without a network.",
        _CLAIMS,
        *_in_short(figures),
        (
            f"Differences with half of their 95 % intervals, over three warm starts. [Each study "
            f"in detail]({_RESULTS}/details.md), with methods, learning rates and limits; "
            f"[tables]({_RESULTS}/README.md). `python benchmarks/run.py learning` makes all of it."
        ),
        f"![Success of four algorithms in GuessTheNumber]({_RESULTS}/guess.png)",
    ]
    return "\n\n".join(map(wrapped, parts)) + "\n"


def details_page(figures: Figures) -> str:
    """Return the page beside the results: how they were made, and each study."""
    parts = [
        "# Studies of learning: what they show",
        _how(figures),
        *_algorithms(figures, "guess", "Algorithms, several turns (statement 1)"),
        *_algorithms(figures, "reverse", "Algorithms, one turn"),
        *_offsets(figures),
        *_discounts(figures),
        *_tool(figures),
        *_transfer(figures),
        _LIMITS,
    ]
    return "\n\n".join(map(wrapped, parts)) + "\n"


def wrapped(text: str) -> str:
    """Wrap the paragraphs and items of lists; headings, plots, tables and code stay as they are."""
    return "\n\n".join(map(_wrapped_paragraph, text.split("\n\n")))


def _wrapped_paragraph(text: str) -> str:
    if text.startswith(("|", "    ")):
        return text
    return "\n".join(map(_filled, re.split(r"\n(?=- |\d\. )", text)))


def _filled(text: str) -> str:
    marker = re.match(r"- |\d\. ", text)
    return textwrap.fill(
        " ".join(text.split()),
        _WIDTH,
        subsequent_indent=" " * len(marker[0]) if marker else "",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _how(figures: Figures) -> str:
    rates = ", ".join(f"{lr:g} for {_NAMES[algo]}" for algo, lr in figures.rates.items())
    return f"""\
`python benchmarks/run.py learning` makes this page, its [tables](README.md) and its
plots. The models are made and trained from scratch: no network is needed. The command resumes,
and `--report-only` writes the pages from the stored figures.

All runs of a cell begin with one of three [warm starts]({_DOCS}/warm-start.md), which differ in
their seed, and take {STEPS} steps of 64 episodes. Afterwards the model plays 256 episodes, the same
for all models, with seeds that training does not use, sampled at temperature 1; so did the warm
start (512 episodes). GuessTheNumber from 1 to 10 has ten secrets, so held-out seeds are not unseen
states there; products and the range up to 50 have states that a run does not meet.

**Intervals.** Figures are means ± half of the 95 % interval. Warm starts are a random effect: two
differ more than two seeds of one. The runs of a warm start are averaged, and the interval is
Student's t over these averages; with three warm starts its factor is 4.3. A bootstrap over three
would be too narrow. Differences are between runs with the same warm start and seed. "No
difference can be seen" means that the interval contains 0, not that there is none.

**Learning rates** are chosen in a [sweep](README.md#learning-rates) of three rates for
each algorithm, by the return in GuessTheNumber from the first warm start, with a seed that no
other cell uses: {rates}. The tables have [all rates from all warm
starts](README.md#learning-rates-from-all-warm-starts)."""


_LIMITS = """\
## Limits

- One size of model, one batch size, and one update for each step. Runs this short do not show
  where an algorithm converges.
- The learning rate is chosen in GuessTheNumber and used in all tasks.
- Three warm starts make wide intervals. Effects smaller than these cannot be seen."""


def _in_short(figures: Figures) -> Iterator[str]:
    """Yield what reproduces: a statement holds for a measure whose interval excludes 0."""
    yield "## What reproduces at this scale"
    checks = [
        ("1, ReBN above REINFORCE", ("guess", "rebn"), ("guess", "reinforce"), 1),
        ("1, ReBN above GRPO", ("guess", "rebn"), ("guess", "grpo"), 1),
        ("1, ReBN above PPO", ("guess", "rebn"), ("guess", "ppo"), 1),
        ("2, fewer turns with gamma 0.5 than with 1", ("gamma", "gamma 0.5"), None, -1),
        ("2, fewer turns with gamma 0.9 than with 1", ("gamma", "gamma 0.9"), None, -1),
        ("3, more with Python than without", ("tool", "with Python"), ("tool", "no tool"), 1),
    ]
    lines = []
    for name, key, other, sign in checks:
        measures = ("return", "success") if sign > 0 else ("turns",)
        cells = figures.cells.get(key), figures.cells.get(other or ("gamma", "gamma 1"))
        if cells[0] is None or cells[1] is None:
            continue
        for measure in measures:
            found = figures.less(cells[0], cells[1], measure)
            if found is not None:
                lines.append(f"- {name}, {measure}: {_outcome(found, sign)} ({signed(found)})")
    for cell in figures.of("transfer"):
        for task in cell.tests:
            if figures.played(cell, task):
                found = figures.gain(cell, task, "success")
                name = f"4, {cell.label} to {task}, success"
                lines.append(f"- {name}: {_outcome(found, 1)} ({signed(found)})")
    yield "\n".join(lines)


def _outcome(found: Interval, sign: int) -> str:
    if not found.excludes_zero:
        return "cannot be seen"
    return "**reproduces**" if found.mean * sign > 0 else "**the opposite**"


_OFFSETS = f"""\
A [shaper]({_DOCS}/own-algorithm.md) adds a constant c to the
discounted return of every turn: c(1 - gamma) before the last turn and c in it. **ReBN subtracts the
mean of the returns, so its advantages and gradients do not change**: bit for bit if the returns are
exact in binary, such as 0, 0.5 and 1, else up to rounding. A test holds this. Rounding can change a
sampled token, so curves may part after some steps. A constant added to the reward of each turn is
something else: it favours or punishes long episodes, and changes ReBN too, unless episodes have one
turn or gamma is 0. GRPO is invariant under a constant that is added to the return of every episode.
REINFORCE has no baseline: with c, all sampled actions are reinforced or punished in addition."""


def _algorithms(figures: Figures, study: str, title: str) -> Iterator[str]:
    cells = {cell.algo: cell for cell in figures.of(study)}
    if not cells:
        return
    yield f"## {title}"
    task = next(iter(cells.values())).task
    yield f"![Curves]({study}.png)\n\nThe task: {TASKS[task].about}."
    yield "\n".join(
        f"- {_NAMES[algo]} ({_counts(figures, cell)}): {_gains(figures, cell, task)}"
        for algo, cell in cells.items()
    )
    rebn = cells.get("rebn")
    others = [algo for algo in ALGORITHMS if algo in cells and algo != "rebn"]
    lines = [_compared(figures, rebn, cells[algo], _NAMES[algo]) for algo in others if rebn]
    yield "ReBN beside the others, with the same warm starts and seeds:"
    yield "\n".join(lines)


def _compared(figures: Figures, cell: Cell, other: Cell, name: str) -> str:
    parts = [
        _verdict(measure, found)
        for measure in ("return", "success")
        if (found := figures.less(cell, other, measure)) is not None
    ]
    return f"- than {name}: {'; '.join(parts)}." if parts else f"- {name}: no common seed."


def _offsets(figures: Figures) -> Iterator[str]:
    cells = {cell.label: cell for cell in figures.of("offset")}
    if not cells:
        return
    yield "## A constant added to every return"
    yield "![Curves](offset.png)"
    yield _OFFSETS
    lines = []
    for algo in ("rebn", "reinforce"):
        first = cells.get(f"{algo} +0")
        for cell in cells.values():
            if cell.algo != algo or not cell.offset or first is None:
                continue
            found = [(m, figures.less(cell, first, m)) for m in ("return", "success")]
            parts = [_verdict(m, one) for m, one in found if one is not None]
            lines.append(
                f"- {_NAMES[algo]} with c = {cell.offset:+g} than with 0 "
                f"({_counts(figures, cell)}): {'; '.join(parts)}."
            )
    yield "\n".join(lines)


def _discounts(figures: Figures) -> Iterator[str]:
    cells = figures.of("gamma")
    if not cells:
        return
    yield "## Discounts (statement 2)"
    yield f"![Turns](gamma.png)\n\nReBN. The task: {TASKS[cells[0].task].about}."
    yield "\n".join(
        f"- {cell.label} ({_counts(figures, cell)}): {_gains(figures, cell, cell.task, turns=True)}"
        for cell in cells
    )
    last = cells[-1]
    yield "\n".join(
        f"- {cell.label} beside {last.label}: "
        + "; ".join(
            _verdict(measure, found)
            for measure in ("turns", "return", "success")
            if (found := figures.less(cell, last, measure)) is not None
        )
        + "."
        for cell in cells[:-1]
    )


def _tool(figures: Figures) -> Iterator[str]:
    cells = {cell.label: cell for cell in figures.of("tool")}
    if len(cells) < 2:
        return
    yield "## With and without Python (statement 3)"
    yield f"![Curves](tool.png)\n\nReBN. The task: {TASKS['multiply'].about}."
    yield "\n".join(
        f"- {label} ({_counts(figures, cell)}): {_gains(figures, cell, cell.task)}"
        for label, cell in cells.items()
    )
    found = figures.less(cells["with Python"], cells["no tool"], "success")
    if found is not None:
        yield f"With Python than without: {_verdict('success', found)}."


def _transfer(figures: Figures) -> Iterator[str]:
    cells = figures.of("transfer")
    if not cells:
        return
    yield "## Other levels and other tasks (statement 4)"
    yield (
        "The warm starts have seen demonstrations of all these tasks. ReBN trains one of them, "
        "and the model plays all; what the warm start did is the baseline."
    )
    yield "\n".join(
        f"- trained: {TASKS[cell.task].about}; played: {TASKS[task].about} "
        f"({_counts(figures, cell)}): {_gains(figures, cell, task)}"
        for cell in cells
        for task in (cell.task, *cell.tests)
        if figures.played(cell, task)
    )


def _counts(figures: Figures, cell: Cell) -> str:
    found = figures.after(cell, cell.task, "return")
    return f"{found.starts} warm starts, {found.runs} runs"


def _gains(figures: Figures, cell: Cell, task: str, *, turns: bool = False) -> str:
    """Return how measures changed with training."""
    measures = ("turns", "return", "success") if turns else ("return", "success")
    return "; ".join(
        f"{measure} {said(figures.before(cell, task, measure))} before, "
        f"{said(figures.after(cell, task, measure))} after: "
        f"{_change(figures.gain(cell, task, measure))}"
        for measure in measures
    )


def _change(found: Interval) -> str:
    if not found.excludes_zero:
        return f"no change can be seen ({signed(found)})"
    return f"**{'rose' if found.mean > 0 else 'fell'}** ({signed(found)})"


def _verdict(measure: str, found: Interval) -> str:
    if not found.excludes_zero:
        return f"{measure}: no difference can be seen ({signed(found)})"
    return f"{measure}: **{'more' if found.mean > 0 else 'less'}** ({signed(found)})"
