"""The pages of the baselines, in docs and beside the results, made from the figures."""

import math
from collections.abc import Iterable, Iterator

from common.output import number, table
from learning.figures import said, signed
from learning.intervals import Interval
from learning.page import wrapped

from baselines.constant import CANDIDATES
from baselines.constant import EPISODES as CHOSEN_ON
from baselines.envs import AGENTS, MISSING_FAMILIES, SUITE, family_of
from baselines.figures import Figures, Row
from baselines.real import EPISODES, MAX_NEW_TOKENS
from baselines.tiny import (
    DEMONSTRATIONS,
    GAME_SKILL,
    LR,
    NOT_CHOSEN,
    PLAN,
    STARTS,
    STEPS,
    env_of,
)
from gem_rollout.episodes.proportions import wilson

__all__ = ["DETAILS", "PICTURE", "baselines_page", "details_page"]

PICTURE = "images/baselines.png"
"""The file of the learning curves, from the folder of docs/baselines.md."""
_DOCS = "../../docs"
DETAILS = "baselines-details.md"
"""The name of the page with all figures, which is beside them."""


def baselines_page(figures: Figures) -> str:
    """Return the page of the documentation: what a reader compares a model with."""
    parts = [
        "# Baselines",
        *_how(figures),
        *_means(figures),
        "## Tiny models",
        *_in_short(figures),
    ]
    return "\n\n".join(map(wrapped, parts)) + "\n"


def details_page(figures: Figures) -> str:
    """Return the page with all figures, and how they were measured."""
    parts = [
        "# Baselines: all figures",
        *_intervals(figures),
        "## Agents without a model",
        *_returns(figures),
        "## Cost of an episode",
        *_costs(figures),
        "## Tiny models",
        *_tiny(figures),
        "## A real model",
        *_real(figures),
        "## How it is made again",
        *_again(figures),
    ]
    return "\n\n".join(map(wrapped, parts)) + "\n"


def _how(figures: Figures) -> Iterator[str]:
    envs = figures.envs
    families = ", ".join(f"`{one}:`" for one in dict.fromkeys(map(family_of, envs)))
    yield (
        f"Figures to compare a model with, in {len(envs)} environments of the families {families}: "
        f"agents without a model, and tiny models that we train. The environments need no network. "
        f"A model of yours plays the same tasks with one line:"
    )
    yield f"    gem-core eval suite={SUITE} agent=openai agent.model=NAME agent.base_url=URL"
    missing = " and ".join(f"`{name}:`, because {why}" for name, why in MISSING_FAMILIES.items())
    yield (
        f"The suite `{SUITE}` is ours: it is not the list of 24 environments of the GEM paper. It "
        f"leaves out {missing}."
    )


def _means(figures: Figures) -> Iterator[str]:
    """Yield the table of the documentation: what agents without a model reach."""
    yield (
        f"The best constant answer is the floor that counts: a model that always says the same can "
        f"reach it. The [details](../benchmarks/results/{DETAILS}) have the answers, the silent "
        f"agent, intervals over seeds (at most {_widest(figures):.2f} on either side), costs, and "
        f"a language model of 135M parameters."
    )
    agents = [agent for agent in AGENTS if agent != "silent"]
    cells = [(one, what) for one in agents for what in _SHOWN if (one, what) != _ALWAYS_ONE]
    headings = ["environment", *(f"{one}: {what}" for one, what in cells)]
    rows = []
    for env in figures.envs:
        found = [figures.of(env, *cell) for cell in cells]
        rows.append([f"`{env}`", *("" if one is None else f"{one.mean:.2f}" for one in found)])
    yield table(headings, rows)


def _widest(figures: Figures) -> float:
    found = (figures.of(env, *key) for env in figures.envs for key in _columns())
    return max((one.half for one in found if one is not None), default=0.0)


def _in_short(figures: Figures) -> Iterator[str]:
    if not figures.trained:
        yield "No model has been trained."
        return
    parameters = [one["parameters"] for one in figures.content["warm_starts"]]
    yield (
        f"Models of {min(parameters):,} to {max(parameters):,} parameters, made from scratch, each "
        f"for one environment: a [warm start](training/warm-start.md), then {STEPS} steps of ReBN, "
        f"with {STARTS} seeds, on tasks that they are not measured on."
    )
    yield _verdicts(figures)
    yield f"![Success in each step of training, mean and interval]({PICTURE})"
    yield "`make baselines` plays and trains everything again."


def _intervals(figures: Figures) -> Iterator[str]:
    episodes, seeds = figures.content["suite"]["settings"]["episodes"], figures.content["seeds"]
    count = len(seeds) * episodes
    yield (
        f"**Intervals.** For agents, there are {len(seeds)} seeds with {episodes} episodes each; "
        f"`eval` plays those of seed 0, and those of the others with `seed=1` to "
        f"`seed={seeds[-1]}`. ± is half of the 95 % interval: Student's t over the means of the "
        f"seeds. ± 0.00 says that all seeds had the same mean, not that it is certain: a rate that "
        f"was 0 or 1 in {count} episodes is known to about {wilson(0, count)[1]:.2f} (Wilson)."
    )


def _returns(figures: Figures) -> Iterator[str]:
    yield "\n".join(f"- `{agent}` {about}" for agent, about in AGENTS.items())
    headings = ["environment", *(f"{one}: {what}" for one in AGENTS for what in _SHOWN)]
    rows = [
        [f"`{env}`", *(_cell(figures.of(env, *key)) for key in _columns())] for env in figures.envs
    ]
    rows.append(["mean over environments", *(_cell(figures.over_envs(*key)) for key in _columns())])
    yield table(headings, rows)
    yield from _reasons(figures)
    yield from _constants(figures)


def _constants(figures: Figures) -> Iterator[str]:
    questions, others = CHOSEN_ON["questions"], CHOSEN_ON["others"]
    yield (
        f"**The best constant answer** is the floor that counts: a model that always says the same "
        f"can reach it. The oracle and the random agent play {questions} other tasks ({others} "
        f"where an episode has several turns). The {CANDIDATES} most frequent actions of each are "
        f"played in all turns of all these tasks; the one with the highest success is taken, of "
        f"equal ones that with the highest return. Then it is scored on tasks that it was not "
        f"chosen on: in `code:`, `logic:`, `math:` and `qa:Sample` on other rows, in `rg:`, `tau:` "
        f"and `webshop:` chosen on other datasets, elsewhere with other seeds. `agent=scripted "
        f"'agent.actions=[TEXT]'` plays such an agent."
    )
    yield table(
        ["environment", "answer", "success where chosen", "return where chosen"],
        [_constant(one) for _, one in sorted(figures.constants.items())],
        rule="---",
    )


def _constant(one: Row) -> list[str]:
    text = " ".join(one["text"].split()).replace("`", "'").replace("|", "/")
    text = text if len(text) <= _WIDEST else text[:_WIDEST] + "..."
    found = (one["chosen_on"].get(name) for name in ("success", "return"))
    return [f"`{one['env']}`", f"`{text}`", *("" if v is None else f"{v:.2f}" for v in found)]


_WIDEST = 60
_SHOWN = ("return", "success")
_ALWAYS_ONE = ("oracle", "success")
"""A column that the page of the documentation leaves out, as nearly all of it is 1."""


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
        "Turns, and milliseconds of CPU time of the process and its children, the median over the "
        "seeds: helpers of an environment that end late are counted to another. They include "
        "making and resetting the environment, and depend on the machine and on what else it does."
    )
    headings = [
        "environment",
        *(f"{one}: {what}" for one in AGENTS for what in ("turns", "CPU ms")),
    ]
    rows = []
    for env in figures.envs:
        cells = [f"`{env}`"]
        for agent in AGENTS:
            turns, cpu = figures.of(env, agent, "turns"), figures.cpu_seconds(env, agent)
            cells.append("" if turns is None else f"{turns.mean:.1f}")
            cells.append("" if cpu is None else number(1e3 * cpu))
        rows.append(cells)
    yield table(headings, rows)


def _tiny(figures: Figures) -> Iterator[str]:
    if not figures.trained:
        yield "No model has been trained."
        return
    yield from _rule(figures)
    yield table(
        [
            "environment",
            "best constant",
            *(f"{what}, {when}" for what in _SUCCESS for when in _WHEN),
        ],
        [_result(figures, task) for task in figures.trained],
    )
    yield _verdicts(figures)
    yield (
        "**Variety of replies.** A policy that has collapsed has a low entropy (nats per token), "
        "few distinct replies, and one reply that is most of them. Warm start, then trained:"
    )
    yield table(
        ["environment", "entropy", "distinct replies", "share of the most frequent"],
        [_variety(figures, task) for task in figures.trained],
    )
    yield "What it costs: tokens of an episode, each counted once, and CPU seconds."
    yield table(
        ["environment", "turns", "tokens", "warm start, CPU s", "training, CPU s"],
        [_cost(figures, task) for task in figures.trained],
    )
    yield "No model is shown in the others:"
    yield "\n".join(_not_trained(figures))


_SUCCESS = ("success", "return")
_WHEN = ("warm start", "trained", "change")


def _rule(figures: Figures) -> Iterator[str]:
    parameters = [one["parameters"] for one in figures.content["warm_starts"]]
    yield (
        f"Models of {min(parameters):,} to {max(parameters):,} parameters are made from scratch, "
        f"each for one environment and one of {STARTS} seeds. These rules were written down before "
        f"the first run ([`tiny.py`](../baselines/tiny.py)). One was given "
        f"up in the course of the runs: environments were to be trained in the order of their "
        f"cost, but those whose warm start was likely to fail, and FifteenPuzzle, were put last. "
        f"The first runs were made at an earlier commit than the others. The rules:"
    )
    most = DEMONSTRATIONS * 2**PLAN.doublings
    yield (
        f"- **Environments.** Of those whose episodes and replies fit these models, the cheapest "
        f"in tokens: five of `rg:`, two of `game:`, one of each other family.\n"
        f"- **Tasks.** A model never learns from a task that it is measured on. Of the questions "
        f"of `:Sample`, it learns from the rows 0, 3, 6, ... and is measured on 1, 4, 7, ...; the "
        f"items of `rg:` come from two datasets; a game has other seeds. Generated questions may "
        f"still be equal by chance.\n"
        f"- **Warm start.** A [warm start]({_DOCS}/training/warm-start.md) learns from "
        f"{DEMONSTRATIONS} demonstrations, in which the oracle plays all actions, or "
        f"{GAME_SKILL:.0%} of them in games. It is made again with twice as "
        f"many, up to {most:,}, until its success on what it "
        f"learns from is at least {PLAN.least_success:g}. If that is not reached, the environment "
        f"is not trained.\n"
        f"- **Training.** [ReBN]({_DOCS}/training/algorithms.md), {STEPS} steps of "
        f"{PLAN.episodes} episodes, a discount of 0.9, and the learning rate {LR:g} in all "
        f"environments. One game is trained once more with success as the only reward, by "
        f"a [reward "
        f"shaper]({_DOCS}/rewards.md#reward-shapers).\n"
        f"- **Measure.** A model plays {PLAN.held_out} episodes, sampled at temperature 1, its "
        f"warm start twice as many, and the best constant answer the same {PLAN.held_out}. ± is "
        f"half of the 95 % interval over the seeds (Student's t). Trained success is **bold** if "
        f"its interval is above the best constant answer, and that of the change is above 0."
    )


def _shown(task: str) -> str:
    env = env_of(task)
    return f"`{env}`{task.removeprefix(env)}"


def _result(figures: Figures, task: str) -> list[str]:
    cells = [_shown(task), f"{figures.floor(task):.2f}"]
    for measure in _SUCCESS:
        after = said(figures.after(task, measure))
        is_bold = measure == "success" and figures.is_learned(task)
        cells.append(said(figures.before(task, measure)))
        cells.append(f"**{after}**" if is_bold else after)
        cells.append(signed(figures.gain(task, measure)))
    return cells


def _verdicts(figures: Figures) -> str:
    """Return where success is above both the best constant answer and the warm start."""
    learned = [task for task in figures.trained if figures.is_learned(task)]
    rest = [task for task in figures.trained if task not in learned]
    groups = {"is": learned, "cannot be said to be": rest}
    return "\n".join(
        f"- Success {what} above both the best constant answer and the warm start in {len(tasks)} "
        f"of {len(figures.trained)}: {'; '.join(map(_shown, tasks))}"
        for what, tasks in groups.items()
        if tasks
    )


def _variety(figures: Figures, task: str) -> list[str]:
    pair = figures.before, figures.after
    entropy = [f"{of(task, 'entropy').mean:.2f}" for of in pair]
    distinct = [
        f"{of(task, 'distinct').mean:.0f} of {of(task, 'replies').mean:,.0f}" for of in pair
    ]
    share = [f"{of(task, 'most_frequent').mean:.0%}" for of in pair]
    return [_shown(task), *(", ".join(one) for one in (entropy, distinct, share))]


def _cost(figures: Figures, task: str) -> list[str]:
    return [
        _shown(task),
        f"{figures.after(task, 'turns').mean:.1f}",
        f"{figures.after(task, 'tokens').mean:.0f}",
        f"{figures.before(task, 'cpu_seconds').mean:.0f}",
        f"{figures.after(task, 'cpu_seconds').mean:.0f}",
    ]


def _not_trained(figures: Figures) -> Iterator[str]:
    for env, one in figures.failed.items():
        yield (
            f"- `{env}`: the warm start has success {min(one['learned']):.2f} on what it learned "
            f"from, and {one['plays'][env]['success']:.2f} on other tasks, after "
            f"{DEMONSTRATIONS * one['times']:,} demonstrations."
        )
    rest = [
        task
        for task in PLAN.tasks
        if task not in figures.trained and env_of(task) not in figures.failed
    ]
    if rest:
        shown = "; ".join(map(_shown, rest))
        yield f"- {shown}: chosen, but not trained with all seeds in the time that there was."
    for why, envs in NOT_CHOSEN.items():
        yield f"- {_listed(envs)}: {why}."


def _listed(envs: Iterable[str]) -> str:
    return ", ".join(f"`{env}`" for env in envs)


def _real(figures: Figures) -> Iterator[str]:
    models = list(dict.fromkeys(one["model"] for one in figures.real))
    if not models:
        yield "None has been played."
        return
    yield (
        f"{EPISODES} episodes an environment, those that the best constant answer plays first, "
        f"with at most {MAX_NEW_TOKENS} tokens a reply: the models answer without reasoning at "
        f"length, and a reply that is cut rarely has an answer. Success has its 95 % interval "
        f"(Wilson). `smollm2` is SmolLM2-135M-Instruct as it is, on a CPU; environments that are "
        f"not listed were not played."
    )
    headings = [
        "model",
        "environment",
        "success",
        "best constant",
        "random",
        "return",
        "episodes with a format error",
        "replies cut",
        "turns",
        "CPU s an episode",
    ]
    rows = [_of_real(figures, one) for model in models for one in figures.real_rows(model)]
    yield table(headings, rows)
    yield (
        "`gem-core get-model smollm2` fetches the model, and `python benchmarks/run.py baselines "
        "--real smollm2` plays it, cheap environments first; it may be stopped at any time, and "
        "continues where it was. `--env` chooses environments. `--real FOLDER --as NAME` adds rows "
        "of a model that you have trained."
    )


def _of_real(figures: Figures, one: Row) -> list[str]:
    env = one["env"]
    if "error" in one:
        return [one["model"], f"`{env}`", one["error"], *[""] * 7]
    low, high = wilson(one["success"], one["episodes"])
    return [
        one["model"],
        f"`{env}`",
        f"{one['success']:.2f} [{low:.2f}, {high:.2f}]",
        *(_cell(figures.of(env, agent, "success")) for agent in ("constant", "random")),
        f"{one['return']:.2f}",
        f"{one['format_errors']:.0%}",
        f"{one['cut']:.0%}",
        f"{one['turns']:.1f}",
        f"{one['cpu_seconds']:.1f}",
    ]


def _again(figures: Figures) -> Iterator[str]:
    yield (
        "`make baselines` plays and trains everything, and writes this page, "
        f"[the page of the documentation]({_DOCS}/baselines.md) and "
        "[all figures](baselines.json). It resumes: what is in `runs/baselines` is not "
        "made again. `python benchmarks/run.py baselines --report-only` writes the pages from the "
        "stored figures."
    )
    seconds = sum(one["cpu_seconds"] for one in _models(figures)) + sum(
        (figures.cpu_seconds(env, agent) or 0.0) * one["episodes"]
        for env in figures.envs
        for agent in AGENTS
        for one in figures.scripted(env, agent)
    )
    yield f"Playing and training took {math.ceil(seconds / 60)} minutes of CPU time, with:"
    yield "\n".join(
        "- " + ", ".join(f"{name} {version}" for name, version in one.items())
        for one in figures.content["versions"]
    )


def _models(figures: Figures) -> list[Row]:
    return [*figures.content["warm_starts"], *figures.content["runs"]]
