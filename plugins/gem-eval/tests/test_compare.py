"""Comparisons of runs that were written down by hand, and of the command as people use it."""

import io
import json
import os
import random
import re
import subprocess
import sys

import pytest
from cli import read_by_nobody

from gem_core.console import Terminal
from gem_core.errors import ConfigError
from gem_eval.compare import Options, candidates_of, compare
from gem_eval.compare_command import verdicts
from gem_eval.design import components_of
from gem_eval.tables import print_table


def outcomes(trajectory, successes, **kwargs):
    return [trajectory(bool(one), group=group, **kwargs) for group, one in enumerate(successes)]


@pytest.mark.slow
def test_pairs_of_single_episodes_have_mcnemars_test(trajectory, write):
    first = write("first", outcomes(trajectory, [0] * 8 + [1] * 4))
    second = write("second", outcomes(trajectory, [1] * 7 + [0] * 2 + [1] * 3))
    _, (success, returns) = compare(candidates_of([str(first), str(second)]), Options())
    assert success.test == "exact McNemar"
    assert success.p_value == pytest.approx(2 * 9 / 2**8)  # 7 better, 1 worse
    assert success.difference.value == pytest.approx(0.5)
    assert (success.first_mean, success.second_mean) == pytest.approx((4 / 12, 10 / 12))
    assert returns.test == "exact McNemar"
    assert returns.p_value == pytest.approx(success.p_value)


def test_episodes_of_a_task_are_averaged_before_they_are_paired(trajectory, write):
    def run(name, tasks):
        return write(
            name,
            [
                trajectory(bool(one), group=group, sample=sample, k=2)
                for group, task in enumerate(tasks)
                for sample, one in enumerate(task)
            ],
        )

    paths = [run("a", [(0, 0), (0, 1), (1, 1)]), run("b", [(1, 1), (0, 1), (0, 1)])]
    _, (success, _) = compare(candidates_of([str(path) for path in paths]), Options())
    assert success.pairs == 3
    assert success.difference.value == pytest.approx((1 + 0 - 0.5) / 3)
    assert success.test == "empirical likelihood"


@pytest.mark.slow
def test_tasks_of_one_run_only_are_left_out_and_named(trajectory, write, ok):
    first = write("first", outcomes(trajectory, [0, 1, 1, 0]))
    second = write("second", outcomes(trajectory, [1, 1]))
    ((pairing,), _) = compare(candidates_of([str(first), str(second)]), Options())
    assert (len(pairing.shared), len(pairing.only_first), len(pairing.only_second)) == (2, 2, 0)
    shown = ok("compare", first, second)
    assert "Left out: 2 tasks that only first has: game:X-v0-easy #2, #3\n" in shown


def test_runs_without_a_task_in_common_cannot_be_compared(trajectory, write, gem):
    first = write("first", outcomes(trajectory, [0, 1]))
    second = write("second", outcomes(trajectory, [0, 1], seed=5))
    done = gem("compare", first, second)
    assert done.returncode == 1
    assert "have no task in common" in done.stderr


@pytest.mark.slow
def test_several_comparisons_are_corrected(trajectory, write):
    paths = [
        write("base", outcomes(trajectory, [0] * 12)),
        write("good", outcomes(trajectory, [1] * 7 + [0] * 5)),
        write("same", outcomes(trajectory, [1] + [0] * 11)),
    ]
    options = Options(measures=("success",))
    _, found = compare(candidates_of([str(path) for path in paths]), options)
    assert [one.second for one in found] == ["good", "same"]
    assert found[0].p_corrected == pytest.approx(2 * found[0].p_value)
    _, every = compare(
        candidates_of([str(path) for path in paths]), Options(("success",), all_pairs=True)
    )
    assert len(every) == 3
    assert every[0].p_corrected == pytest.approx(3 * every[0].p_value)


@pytest.mark.slow
def test_environments_are_compared_together_and_each(trajectory, write):
    runs = [
        write(
            name,
            outcomes(trajectory, x, env_id="game:X-v0") + outcomes(trajectory, y, env_id="qa:Y"),
        )
        for name, x, y in (("a", [0, 0, 0], [1, 0]), ("b", [1, 1, 0], [1, 1]))
    ]
    _, found = compare(candidates_of([str(run) for run in runs]), Options(("success",)))
    assert [(one.name, one.pairs) for one in found] == [
        ("all tasks", 5),
        ("game:X-v0", 3),
        ("qa:Y", 2),
    ]


@pytest.mark.slow
def test_a_verdict_names_the_required_number_of_pairs(trajectory, write):
    first = write("first", outcomes(trajectory, [0, 1] * 10))
    second = write("second", outcomes(trajectory, [1, 0] * 9 + [1, 1]))
    pairings, found = compare(candidates_of([str(first), str(second)]), Options())
    (sentence,) = verdicts(pairings, found, Options())
    assert sentence.startswith("second and first do not differ significantly: success 55.0%")
    assert "pairs are needed to detect 5 points" in sentence
    better = write("better", outcomes(trajectory, [1] * 20))
    pairings, found = compare(candidates_of([str(first), str(better)]), Options())
    assert verdicts(pairings, found, Options())[0].startswith("better is better than first")


@pytest.mark.slow
def test_a_comparison_says_where_differences_vary_and_what_half_would_have_shown(
    trajectory, write, ok
):
    """Tasks that are all hard or all easy, without noise: further samples say nothing new."""

    def run(name, wins):
        return write(
            name,
            [
                trajectory(wins(group), group=group, sample=sample, k=4)
                for group in range(40)
                for sample in range(4)
            ],
        )

    paths = [run("base", lambda group: group % 4 == 0), run("good", lambda group: group % 4 != 1)]
    plain = json.loads(ok("compare", *paths, "--format", "json"))
    success = plain["comparisons"][0]
    assert success["half"] == 1.0
    assert success["components"]["samples"] == 0
    assert success["components"]["icc"] == 1
    assert success["components"]["worth"]["4"] == 1
    shown = ok("compare", *paths)
    assert "4 samples of a task say as much as 1.0 tasks with one sample" in shown
    assert "100% of random halves of the tasks lead to the same decision" in shown


def test_variances_are_told_apart():
    rng = random.Random(0)

    def pair(env):
        task = rng.gauss(env, 2)
        return [rng.gauss(0, 1) for _ in range(3)], [rng.gauss(task, 1) for _ in range(5)]

    envs = {}
    for n in range(60):
        middle = rng.gauss(0, 3)
        envs[str(n)] = [pair(middle) for _ in range(30)]
    found = components_of(envs)
    assert found.environments == pytest.approx(9, rel=0.5)
    assert found.tasks == pytest.approx(4, rel=0.2)
    assert found.samples == pytest.approx(2, rel=0.1)
    assert found.icc == pytest.approx(2 / 3, rel=0.1)
    assert found.worth(1) == 1
    once = components_of({"a": [([0.0], [1.0]), ([0.0], [0.0])]})
    assert (once.tasks, once.samples, once.icc, once.environments) == (None, None, None, None)


@pytest.mark.slow
def test_the_range_of_returns_bounds_their_difference(trajectory, write):
    """20 equal returns of one agent and of the other are no proof, whatever else may happen."""
    rewards = {"first": 0.5, "second": 0.6}
    paths = [
        write(
            name, [trajectory(None, env_id="math:Sample", group=g, reward=one) for g in range(20)]
        )
        for name, one in rewards.items()
    ]
    _, (returns,) = compare(candidates_of([str(path) for path in paths]), Options(("return",)))
    assert returns.difference.value == pytest.approx(0.1)
    assert returns.difference.low < 0
    assert returns.p_value > 0.05


@pytest.mark.slow
def test_agents_of_one_run_are_compared_by_name(trajectory, write, ok, gem):
    run = write(
        "both",
        outcomes(trajectory, [1, 1], agent="large") + outcomes(trajectory, [0, 1], agent="small"),
    )
    plain = json.loads(ok("compare", run, "--format", "json"))
    assert [plain["comparisons"][0][name] for name in ("first", "second")] == ["large", "small"]
    turned = json.loads(ok("compare", f"{run}@small", f"{run}@large", "--format", "json"))
    assert turned["comparisons"][0]["difference"]["value"] == pytest.approx(0.5)
    done = gem("compare", f"{run}@smal", run)
    assert "Did you mean 'small'?" in done.stderr


def test_one_agent_alone_has_nothing_to_be_compared_with(trajectory, write):
    run = write("alone", outcomes(trajectory, [1, 1]))
    with pytest.raises(ConfigError, match="needs two agents; found 1"):
        candidates_of([str(run)])


@pytest.mark.slow
def test_differences_in_configuration_and_first_observations_are_reported(trajectory, write, ok):
    first = write("first", outcomes(trajectory, [1, 0]), env={"id": "x", "max_turns": 3})
    second = write(
        "second",
        outcomes(trajectory, [1, 1], observation="Other."),
        env={"id": "x", "max_turns": 9},
    )
    shown = ok("compare", first, second)
    assert "2 tasks of first and second begin with different observations" in shown
    assert "env.max_turns: 3 -> 9" in shown


@pytest.mark.parametrize("form", ["csv", "md"])
def test_other_formats_have_a_line_for_each_comparison(trajectory, write, ok, form):
    paths = [write(name, outcomes(trajectory, [1, 0])) for name in ("a", "b")]
    lines = ok("compare", *paths, "--format", form).splitlines()
    assert sum(line.startswith(("a,b,", "| a | b |")) for line in lines) == 2


@pytest.mark.parametrize("width", [30, 40, 60, 80, 200])
def test_no_figure_is_cut_or_broken_however_narrow_the_terminal(width):
    headings = ["agent", "environment", "pairs", "difference", "p (Holm)"]
    line = ["random", "game:GuessTheNumber-v0-easy", "20", "+0.361 [+0.218, +0.504]", "<0.001"]
    console = Terminal(file=io.StringIO(), width=width, force_terminal=True)
    print_table(console, (headings, [line, line]))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue())
    assert max(map(len, shown.splitlines())) <= width
    for word in " ".join([*headings, *line[2:]]).split():
        assert word in shown
    assert shown.count("<0.001") == 2
    assert "game:Guess" in shown


@pytest.mark.slow
def test_an_ascii_output_has_all_that_an_output_of_unicode_has(trajectory, write):
    paths = [write(name, outcomes(trajectory, wins)) for name, wins in (("a", [0, 1]), ("b", [1]))]

    def shown(encoding):
        words = [sys.executable, "-m", "gem_core", "compare", *map(str, paths)]
        env = {**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C"}
        return subprocess.run(words, env=env, check=True, capture_output=True).stdout

    signs = str.maketrans("─┼│●", "-+|o")
    assert shown("ascii").decode("ascii") == shown("utf-8").decode("utf-8").translate(signs)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_a_comparison_whose_reader_has_gone_is_no_error(trajectory, write, form):
    paths = [write(name, outcomes(trajectory, [1, 0])) for name in ("a", "b")]
    done = read_by_nobody("compare", *paths, "--format", form)
    assert done.returncode == 141
    assert "Error" not in done.stderr
