"""Figures of episodes that were written down by hand."""

import csv
import io

import pytest

from gem_core.agent import Generation
from gem_eval.metrics import figures_of, metrics_of, rows_of
from gem_eval.statistics import cluster_mean, wilson
from gem_eval.tables import csv_of, markdown_of, table_of


def test_single_episodes_of_tasks_have_wilsons_interval(episode):
    figures = figures_of([episode(group % 4 == 0, group=group) for group in range(20)])
    assert (figures.episodes, figures.tasks) == (20, 20)
    assert figures.success.value == pytest.approx(0.25)
    assert (figures.success.low, figures.success.high) == pytest.approx(wilson(0.25, 20))
    assert figures.pass_at == {}


def test_episodes_of_one_task_are_a_cluster(episode):
    outcomes = [[1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 0]]
    episodes = [
        episode(bool(success), group=group, sample=sample, k=4)
        for group, task in enumerate(outcomes)
        for sample, success in enumerate(task)
    ]
    figures = figures_of(episodes)
    assert figures.success.se == pytest.approx(cluster_mean(outcomes)[1])
    assert figures.mean_return.se == pytest.approx(cluster_mean(outcomes)[1])
    assert figures.pass_at[4].value == pytest.approx(3 / 4)
    assert figures.pass_all[4].value == pytest.approx(1 / 4)
    assert figures.pass_at[2].value == pytest.approx((1 + 0 + 1 + 0.5) / 4)
    assert figures.pass_at[1].value == pytest.approx(figures.success.value)
    assert list(figures.pass_at) == [1, 2, 4]


def test_pass_at_k_is_of_the_tasks_that_have_k_episodes(episode):
    whole = [episode(True, group=0, sample=sample, k=2) for sample in range(2)]
    figures = figures_of([*whole, episode(False, group=1, k=2)])
    assert figures.pass_at[2].value == 1.0
    assert figures.pass_at[2].tasks == 1
    assert figures.pass_at[1].tasks == 2


def test_an_error_counts_as_a_failure_and_is_reported(episode):
    episodes = [episode(True, group=0), episode(True, group=1), episode(group=2, error="agent")]
    figures = figures_of(episodes)
    assert figures.success.value == pytest.approx(2 / 3)
    assert figures.success_without_errors == 1.0
    assert figures.errors == {"agent": 1}


def test_success_is_none_if_no_environment_defines_it(episode):
    assert figures_of([episode(None, reward=2.0)]).success is None
    both = figures_of([episode(None, reward=2.0), episode(True, group=1)])
    assert (both.success.value, both.success.tasks, both.mean_return.value) == (1.0, 1, 1.5)


def test_tokens_tools_formats_and_times_are_counted(episode):
    made = Generation(
        prompt_tokens=10,
        completion_tokens=4,
        cost=0.5,
        finish_reason="length",
        model_seconds=0.3,
        queue_seconds=0.1,
    )
    info = {"tool_use_counter": 2, "tool_success_counter": 1, "format_error": True}
    figures = figures_of([episode(generation=made, **info), episode(group=1)])
    assert (figures.prompt_tokens, figures.completion_tokens, figures.total_tokens) == (10, 4, 14)
    assert (figures.cost, figures.tool_calls, figures.tool_success) == (0.5, 1.0, 0.5)
    assert (figures.format_errors, figures.cut_replies) == (0.5, 0.5)
    assert figures.seconds == pytest.approx(
        {"model": 0.4, "queue": 0.05, "agent": 0.05, "env": 0.25, "tool": 0.0, "setup": 0.125}
    )


def test_the_parts_of_a_reward_have_their_means(episode):
    episodes = [
        episode(group=0, rewards={"format": 1.0, "brief": -0.5}),
        episode(group=1, rewards={"format": 0.0, "brief": 0.0}),
        episode(group=2, error="env"),
        episode(group=3, env_id="game:Y-v0"),
    ]
    graded, plain, pooled, _ = rows_of(episodes)
    assert graded.figures.rewards == pytest.approx({"format": 1 / 3, "brief": -0.5 / 3})
    assert (plain.figures.rewards, pooled.figures.rewards) == ({}, graded.figures.rewards)
    headings, lines = table_of([graded, plain])
    column = headings.index("rewards")
    assert [line[column] for line in lines] == ["format 0.333, brief -0.167", ""]
    assert "rewards" not in table_of([plain])[0]


def test_the_time_of_a_step_with_tools_is_the_tools(episode):
    figures = figures_of([episode(use_tool=True)])
    assert (figures.seconds["tool"], figures.seconds["env"]) == (0.25, 0.0)


def test_there_are_rows_by_environment_by_level_and_overall(episode):
    episodes = [
        episode(success, env_id=env_id, group=group)
        for env_id, success in (
            ("game:X-v0-easy", True),
            ("game:Y-v0-easy", True),
            ("game:X-v0-hard", False),
        )
        for group in range(4 if env_id.endswith("easy") else 8)
    ]
    rows = {(row.scope, row.name): row.figures for row in rows_of(episodes)}
    assert [scope for scope, _ in rows] == ["env"] * 3 + ["level", "pooled", "macro"]
    assert rows["level", "easy"].episodes == 8
    assert rows["pooled", "all episodes"].success.value == pytest.approx(0.5)
    assert rows["macro", "mean over environments"].success.value == pytest.approx(2 / 3)


def test_each_agent_has_its_own_rows(episode):
    rows = rows_of([episode(True, agent="a"), episode(False, agent="b")])
    assert [(row.agent, row.figures.success.value) for row in rows] == [("a", 1.0), ("b", 0.0)]


def test_tables_have_a_line_for_each_row(episode):
    rows = rows_of([episode(True, agent="a|b"), episode(False, agent="b")])
    headings, lines = table_of(rows)
    assert headings[:5] == ["agent", "environment", "episodes", "return", "success"]
    assert "tokens" not in headings
    assert (
        markdown_of((headings, lines)).splitlines()[2].startswith(r"| a\|b | game:X-v0-easy | 1 |")
    )
    read = list(csv.DictReader(io.StringIO(csv_of(rows))))
    assert [float(line["success.value"]) for line in read] == [1.0, 0.0]


def test_no_episodes_have_no_rows():
    assert metrics_of([])["rows"] == []
