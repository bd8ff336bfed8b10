"""The tasks of an evaluation: rows of a dataset, each once, with ids that group the results."""

import json
from collections import Counter

import pytest

from gem_eval.episodes import EpisodeRecord, with_task_ids
from gem_eval.metrics import figures_of, rows_of
from gem_eval.statistics import wilson
from gem_rollout import read_trajectories

ROWS = [{"problem": f"What is {n} + 1?", "answer": str(n + 1)} for n in range(12)]
_CELLS = "{{problem:'{problem}',answer:'{answer}'}}"
SUMS = f"env.data=[{','.join(_CELLS.format(**row) for row in ROWS[:4])}]"
"""A dataset of four questions."""


def played(path):
    return list(read_trajectories(path / "trajectories.jsonl"))


def indices(path):
    ordered = sorted(played(path), key=lambda one: one.index)
    return [one.reset_info["idx"] for one in ordered]


@pytest.mark.slow
def test_as_many_episodes_as_rows_play_every_row_once(tmp_path, ok):
    for command in ("eval", "run"):
        words = ["math:Custom", SUMS, "agent=oracle", "episodes=4", f"out={command}"]
        ok(command, *words, cwd=tmp_path)
        assert sorted(indices(tmp_path / command)) == list(range(4))


@pytest.mark.slow
def test_more_episodes_extend_a_run_and_another_seed_plays_other_rows(tmp_path, ok):
    base = ["eval", "math:Sample", "agent=oracle"]
    ok(*base, "episodes=10", "out=small", cwd=tmp_path)
    ok(*base, "episodes=20", "out=large", "concurrency=1", cwd=tmp_path)
    ok(*base, "episodes=10", "seed=1", "out=other", cwd=tmp_path)
    small = indices(tmp_path / "small")
    assert indices(tmp_path / "large")[:10] == small
    assert indices(tmp_path / "other") != small
    ok(*base, "episodes=20", "out=small", "resume=true", cwd=tmp_path)
    assert indices(tmp_path / "small") == indices(tmp_path / "large")


@pytest.mark.slow
@pytest.mark.parametrize("fork", ["fork_groups=false", "fork_groups=true"])
def test_the_samples_of_a_task_share_its_row(tmp_path, ok, fork):
    command = ["eval", "math:Sample", "agent=random", "episodes=10", "samples=3", fork, "out=run"]
    ok(*command, cwd=tmp_path)
    groups = {}
    for one in played(tmp_path / "run"):
        groups.setdefault(one.group, set()).add((one.reset_info["idx"], one.task_id))
        assert one.reset_options == {"idx": one.reset_info["idx"]}
    assert {len(rows) for rows in groups.values()} == {1}
    assert len(set.union(*groups.values())) == 10


@pytest.mark.slow
def test_a_mixture_goes_through_the_rows_of_each_component(tmp_path, ok):
    names = ["+env@mixture.a=math/Sample", "+env@mixture.b=qa/Sample"]
    ok("eval", *names, "agent=random", "episodes=40", "out=run", cwd=tmp_path)
    rows = Counter(
        (one.reset_info["component"], one.reset_info["idx"]) for one in played(tmp_path / "run")
    )
    assert max(rows.values()) == 1
    assert {name for name, _ in rows} == {"a", "b"}


@pytest.mark.slow
def test_repeated_rows_are_announced_and_are_samples_of_their_tasks(tmp_path, gem):
    """The dataset is a file whose last row repeats the question of the first."""
    pytest.importorskip("datasets", reason="pip install 'gem-tasks[datasets]'")
    path = tmp_path / "sums.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*ROWS[:-1], ROWS[0]]))
    command = ["eval", "math:Custom", f"env.data={path}", "agent=oracle", "episodes=24", "out=run"]
    done = gem(*command, cwd=tmp_path)
    assert "math:Custom has 12 tasks, fewer than the 24 that were asked for" in done.stderr
    assert "24 groups of episodes ask 11 different questions" in done.stderr
    row = json.loads((tmp_path / "run" / "metrics.json").read_text())["rows"][0]
    assert (row["episodes"], row["tasks"]) == (24, 11)
    assert row["success"]["low"] == pytest.approx(wilson(1, 11)[0])
    assert set(Counter(indices(tmp_path / "run")).values()) == {2}


@pytest.mark.slow
def test_runs_with_other_seeds_are_paired_by_row(tmp_path, ok):
    for seed in (0, 1):
        words = ["math:Custom", SUMS, "agent=random", "episodes=4"]
        ok("eval", *words, f"seed={seed}", f"out=r{seed}", cwd=tmp_path)
    shown = json.loads(ok("compare", "r0", "r1", "--format", "json", cwd=tmp_path))
    assert shown["pairings"][0]["shared"] == 4
    assert shown["pairings"][0]["other_openings"] == 0


def with_id(trajectory, task_id, *args, **kwargs):
    made = trajectory(*args, **kwargs)
    made.reset_info = {"task_id": task_id}
    return made


@pytest.mark.slow
def test_a_run_without_ids_is_compared_by_seed_with_one_that_has_them(trajectory, write, ok):
    old = write("old", [trajectory(group % 2, group=group) for group in range(6)])
    new = write("new", [with_id(trajectory, f"q{g}", True, group=g) for g in range(6)])
    shown = json.loads(ok("compare", old, new, "--format", "json"))
    assert shown["pairings"][0]["shared"] == 6


def test_an_episode_whose_reset_failed_belongs_to_its_row(trajectory):
    failed = trajectory(error="env", agent="b", group=3)
    failed.turns = []
    others = [with_id(trajectory, "q3", group=3), trajectory(group=4)]
    found = with_task_ids(map(EpisodeRecord.of, [failed, *others]))
    assert [one.task_id for one in found] == ["q3", "q3", None]


def test_environments_that_ask_the_same_questions_are_not_independent(trajectory):
    """Two environments with the same questions and answers tell no more than one of them."""

    def episodes(*names):
        return [
            EpisodeRecord.of(with_id(trajectory, f"q{g}", g % 2 == 0, env_id=name, group=g))
            for name in names
            for g in range(20)
        ]

    alone = figures_of(episodes("x"))
    *_, pooled, macro = rows_of(episodes("x", "y"))
    assert pooled.figures.tasks == 40
    for row in (pooled, macro):
        assert row.figures.success.se == pytest.approx(alone.success.se)
        assert row.figures.mean_return.se == pytest.approx(alone.mean_return.se)
    assert macro.figures.success.low == pytest.approx(alone.success.low)


@pytest.mark.slow
def test_an_environment_may_be_there_twice_with_parameters_of_its_own(tmp_path, ok, gem):
    small = "envs=[{id: math:Sample, shuffle: false}, math:Sample]"
    base = ["eval", "agent=oracle", "episodes=5", "out=run"]
    ok(*base, small, cwd=tmp_path)
    names = {one.component: one.env_id for one in played(tmp_path / "run")}
    assert names == {"math:Sample(shuffle=false)": "math:Sample", "math:Sample": "math:Sample"}
    assert "Nothing changes" in ok("replay", "run", cwd=tmp_path)
    done = gem("eval", "agent=oracle", "envs=[{id: math:Sample, shufle: false}]", cwd=tmp_path)
    assert "environment 'math:Sample' (envs.0) takes no argument 'shufle'" in done.stderr


@pytest.mark.slow
def test_environments_may_have_names(tmp_path, ok, gem):
    base = ["eval", "agent=oracle", "episodes=3", "out=run"]
    named = ["+env@envs.sorted=math/Sample", "envs.sorted.shuffle=false"]
    ok(*base, *named, "+env@envs.mixed=math/Sample", cwd=tmp_path)
    names = [
        row["name"] for row in json.loads((tmp_path / "run" / "metrics.json").read_text())["rows"]
    ]
    assert names[:2] == ["mixed", "sorted"]
    by_name = {
        name: [one for one in played(tmp_path / "run") if one.component == name] for name in names
    }
    assert sorted(one.reset_info["idx"] for one in by_name["sorted"]) == [0, 1, 2]
    refused = gem(*base, "+env@envs.sorted=math/Sample", "episodes=4", "resume=true", cwd=tmp_path)
    assert "envs.sorted.shuffle: False -> True" in refused.stderr
    ok(*base, *named, "episodes=4", "resume=true", cwd=tmp_path)
    assert "Nothing changes" in ok("replay", "run", cwd=tmp_path)
    typo = gem(*base, "+env@envs.sorted=math/Sample", "envs.sorted.shufle=false", cwd=tmp_path)
    assert "Did you mean 'shuffle'?" in typo.stderr
