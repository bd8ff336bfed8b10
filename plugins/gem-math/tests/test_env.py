"""Mathematical problems: rewards, answers, golds, prompts, rows, ids."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hydra import compose, initialize
from hydra.errors import ConfigCompositionException
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from needs import needs
from selection import thorough

import gem_core
from gem_core import EnvSpec
from gem_core.cli.show import command as show
from gem_core.errors import ConfigError, DataError, InvalidActionError
from gem_core.testing import check_env
from gem_math.env import MathEnv
from gem_rollout import collect
from gem_tasks.env import GoldOracle
from gem_tasks.golds import GoldWarning
from gem_tasks.parsing import last_boxed
from gem_tasks.rows import forget_rows

ROWS = [{"problem": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(20)]


def answered(action: str, gold: Any = "42", **options: Any) -> Any:
    """Return the step of one answer to a problem with this gold."""
    env = MathEnv(data=[{"problem": "?", "answer": gold}], **options)
    env.reset(seed=0)
    return env.step(action)


class TestRowsOfOthers:
    """Rows as other data sets write them."""

    GSM8K = "He has 3 boxes of 6.\nSo he has 3 * 6 = 18.\n#### 18"

    def test_the_answer_may_follow_a_mark(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_text(json.dumps({"problem": "?", "answer": self.GSM8K}))
        with pytest.warns(GoldWarning, match=r"Row 0 of .*a.jsonl.*answer_after='####'"):
            MathEnv(data=path)
        env = MathEnv(data=path, answer_after="####")
        env.reset(seed=0)
        assert env.golds == ("18",)
        assert env.step(r"\boxed{18}").reward == 1.0

    def test_an_explanation_with_a_box_has_an_answer(self) -> None:
        assert answered(r"\boxed{18}", "Three times six is a word " * 9 + r"\boxed{18}").reward == 1

    def test_a_gold_that_no_answer_matches_is_an_error(self) -> None:
        with pytest.raises(DataError, match=r"Row 0 of data, column 'answer': .* is empty"):
            answered(r"\boxed{1}", "")

    @given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=30))
    @settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_rows_of_a_file_are_those_in_memory(self, tmp_path: Path, texts: list[str]) -> None:
        rows = [{"problem": text, "answer": [f"x{text}", n, n / 4]} for n, text in enumerate(texts)]
        (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        forget_rows()
        for data in (rows, tmp_path / "a.jsonl"):
            env = MathEnv(data=data)
            assert [(env.reset(idx=n), repr(env.row))[1] for n in range(len(rows))] == [
                *map(repr, rows)
            ]


class TestRewards:
    @pytest.mark.parametrize(
        ("action", "reward", "answer"),
        [
            (r"\boxed{42}", 1.0, "42"),
            (r"So it is $\boxed{42}$.", 1.0, "42"),
            (r"\boxed{42.0}", 1.0, "42.0"),
            (r"\boxed 42", 1.0, "42"),
            (r"\fbox{42}", 1.0, "42"),
            (r"First \boxed{41}, no: \boxed{42}", 1.0, "42"),
            (r"First \boxed{42}, no: \boxed{41}", 0.0, "41"),
            (r"\boxed{41}", 0.0, "41"),
            (r"\boxed{}", 0.0, ""),
            ("42", 0.0, None),
            ("", 0.0, None),
            (r"\boxed{42", 0.0, None),
        ],
    )
    def test_the_last_box_decides_the_reward(
        self, action: str, reward: float, answer: str | None
    ) -> None:
        step = answered(action)
        assert (step.reward, step.terminated, step.truncated) == (reward, True, False)
        found = step.info["grading"]
        assert (step.info["correct"], found["extracted"]) == (reward == 1.0, answer)
        verdict = "correct" if reward else "no answer" if answer is None else "wrong"
        assert (found["expected"], found["verdict"]) == ("42", verdict)
        assert isinstance(step.info["decided_by"], str)

    def test_an_answer_without_a_box_may_have_a_negative_reward(self) -> None:
        options: dict[str, Any] = {"use_format_error_reward": True}
        assert answered("42", **options).reward == -0.1
        assert answered(r"\boxed{41}", **options).reward == 0.0
        assert answered(r"\boxed{42}", **options).reward == 1.0

    def test_a_box_in_a_thought_counts_unless_thoughts_are_ignored(self) -> None:
        thoughts = [r"<think>\boxed{42}</think> No.", r"<think>\boxed{42}", r"\boxed{42}</think>"]
        for action in thoughts:
            assert answered(action).reward == 1.0
            assert answered(action, thoughts="ignore").info["grading"]["extracted"] is None
        long = f"<think>{'x' * 10**6}\\boxed{{1}}</think>\\boxed{{42}}"
        assert answered(long, thoughts="ignore").reward == 1.0
        with pytest.raises(ConfigError, match="'count' or 'ignore'; got 'no'"):
            answered("", thoughts="no")

    def test_the_end_of_a_very_long_text_is_graded(self) -> None:
        assert answered("x" * 10**6 + r"\boxed{42}").reward == 1.0
        assert answered(r"\boxed{42}" + "x" * 10**6).info["grading"]["extracted"] is None

    def test_the_feedback_gives_the_answer(self) -> None:
        assert answered(r"\boxed{42}").observation == "Correct."
        assert answered(r"\boxed{1}").observation == "Wrong. The answer is 42."

    def test_an_action_that_is_not_text_is_rejected_and_changes_nothing(self) -> None:
        env = MathEnv(data=ROWS)
        env.reset(seed=0)
        with pytest.raises(InvalidActionError, match="An action of MathEnv is text; got int"):
            env.step(42)
        assert env.step(env.solution()).reward == 1.0


class TestGolds:
    @pytest.mark.parametrize(
        ("gold", "right", "wrong"),
        [
            ("42", "42", "43"),
            (42, "42", "43"),
            (0.5, r"\frac{1}{2}", "0.05"),
            (["1", "2"], "2", "12"),
            ([1, 2.5], "2.5", "[1, 2.5]"),
            (r"\boxed{42}", "42", "43"),
            (r"The answer is \boxed{\frac{1}{2}}.", "0.5", "5"),
            (r"\frac{\sqrt{3}}{2}", r"\frac{\sqrt{3}}{2}", r"\frac{\sqrt{2}}{3}"),
        ],
    )
    def test_text_numbers_and_lists_are_golds(self, gold: Any, right: str, wrong: str) -> None:
        assert answered(rf"\boxed{{{right}}}", gold).reward == 1.0
        assert answered(rf"\boxed{{{wrong}}}", gold).reward == 0.0

    @pytest.mark.parametrize("gold", [None, {"value": 1}, [["1"]], [None]])
    def test_any_other_gold_is_rejected_when_it_is_loaded(self, gold: Any) -> None:
        with pytest.raises(DataError, match="column 'answer'"):
            MathEnv(data=[{"problem": "?", "answer": gold}])

    @pytest.mark.parametrize(
        "gold",
        [
            "42",
            "-1.5",
            r"\frac{\sqrt{3}}{2}",
            r"\{1, 2\}",
            r"\boxed{7}",
            r"\text{(A)}",
            r"\frac{1}{2",
            "5}",
            ["1", "2"],
            True,
        ],
    )
    def test_the_solution_is_correct(self, gold: Any) -> None:
        env = MathEnv(data=[{"problem": "?", "answer": gold}])
        env.reset(seed=0)
        assert env.step(env.solution()).reward == 1.0

    @pytest.mark.slow
    @given(st.text(alphabet=r"a1{}\ $.", min_size=1).filter(str.strip))
    @settings(max_examples=100 if thorough() else 30)
    def test_the_solution_contains_the_gold(self, text: str) -> None:
        env = MathEnv(data=[{"problem": "?", "answer": text}])
        env.reset(seed=0)
        solution = env.solution()
        if last_boxed(rf"\boxed{{{text}}}") == text:
            assert last_boxed(solution) == text
        assert text in solution


class TestOptions:
    def test_by_default_the_problem_is_shown_alone(self) -> None:
        env = MathEnv(data=ROWS, shuffle=False)
        assert env.reset()[0] == "What is 0 + 0?"

    def test_a_prompt_is_put_around_the_problem(self) -> None:
        prompt = r"{problem} Think, {then} write \boxed{}."
        env = MathEnv(data=[{"problem": "{problem} {x}?", "answer": "1"}], prompt=prompt)
        assert env.reset()[0] == r"{problem} {x}? Think, {then} write \boxed{}."

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"prompt": "Solve it."}, "None or a text with {problem} in it; got 'Solve"),
            ({"deadline": 0}, "deadline must be a positive number of seconds; got 0"),
            ({"deadline": float("nan")}, "deadline must be a positive number"),
            ({"shard": "2/2"}, "got '2/2'"),
        ],
    )
    def test_invalid_options_are_rejected(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            MathEnv(data=ROWS, **options)

    def test_columns_can_have_other_names(self) -> None:
        rows = [{"question": "1 + 1?", "solution": 2, "level": "easy"}]
        env = MathEnv(data=rows, question_key="question", answer_key="solution")
        assert env.reset()[0] == "1 + 1?"
        assert env.step(r"\boxed{2}").reward == 1.0

    def test_the_error_for_a_missing_column_lists_the_columns(self) -> None:
        with pytest.raises(DataError, match=r"'problem'.*It has: question, answer"):
            MathEnv(data=[{"question": "?", "answer": "1"}])

    def test_random_actions_are_boxed_numbers(self) -> None:
        env = MathEnv(data=ROWS)
        env.reset(seed=0)
        actions = [env.sample_random_action() for _ in range(20)]
        assert len(set(actions)) > 10
        assert all(str(int(last_boxed(action) or "x")) in action for action in actions)


class TestEpisodes:
    def test_a_seed_repeats_the_problems_and_idx_selects_a_row(self) -> None:
        env, other = MathEnv(data=ROWS), MathEnv(data=ROWS)
        seen = [env.reset(seed=3)[0], *(env.reset()[0] for _ in range(19))]
        assert [other.reset(seed=3)[0], *(other.reset()[0] for _ in range(19))] == seen
        assert sorted(seen) == sorted(row["problem"] for row in ROWS)
        assert env.reset(idx=7)[0] == ROWS[7]["problem"]

    def test_a_fork_is_independent_and_a_snapshot_contains_no_rows(self) -> None:
        env = MathEnv(data=ROWS)
        env.reset(idx=7)
        fork = env.fork()
        env.reset(idx=8)
        assert fork.step(r"\boxed{14}").reward == env.step(r"\boxed{16}").reward == 1.0
        assert b"What is" not in MathEnv(data=ROWS).snapshot()

    @pytest.mark.slow
    def test_the_oracle_is_correct_on_every_executor(self) -> None:
        for executor in ("serial", "threads", "processes"):
            with gem_core.make_vec("math:Sample", num_envs=3, executor=executor, seed=1) as envs:
                envs.reset()
                solutions = envs.call("solution")
                _, rewards, terminated, *_ = envs.step(solutions)
            assert (list(rewards), list(terminated)) == ([1.0] * 3, [True] * 3)

    def test_episodes_are_collected_and_counted_as_successes(self) -> None:
        played = collect(lambda: gem_core.make("math:Sample"), GoldOracle, episodes=8, seed=1)
        trajectories = sorted(played, key=lambda trajectory: trajectory.index)
        assert [trajectory.success for trajectory in trajectories] == [True] * 8
        assert len({trajectory.turns[0].observation for trajectory in trajectories}) > 1


class TestRowsFromElsewhere:
    @pytest.mark.slow
    def test_a_dataset_and_its_parquet_file_give_the_same_problems(self, tmp_path: Path) -> None:
        datasets = needs("datasets")
        datasets.disable_progress_bars()
        dataset = datasets.Dataset.from_list(ROWS)
        path = tmp_path / "rows.parquet"
        dataset.to_parquet(path)
        for data in (dataset, str(path)):
            env = MathEnv(data=data, shuffle=False)
            assert [env.reset()[0] for _ in ROWS] == [row["problem"] for row in ROWS]
            assert env.step(env.solution()).reward == 1.0


TEXT = "gem_math.env:MathEnv"
IDS = {
    "math:Custom": (TEXT, {}),
    "math:Custom-Visual": ("gem_math.visual:MathVisualEnv", {}),
    "math:Sample": (TEXT, {"data": "package://gem_math/data/sample.jsonl"}),
    "math:ASDiv2K": (TEXT, {"dataset_name": "axon-rl/ASDIV-2k"}),
    "math:GSM8K": (TEXT, {"dataset_name": "axon-rl/GSM-8k"}),
    "math:Math12K": (TEXT, {"dataset_name": "axon-rl/MATH-12k"}),
    "math:Math8K-3to5": (TEXT, {"dataset_name": "axon-rl/MATH-lvl3to5-8k"}),
    "math:Orz57K": (TEXT, {"dataset_name": "axon-rl/ORZ-57k"}),
    "math:DeepScaleR40K": (TEXT, {"dataset_name": "axon-rl/DeepScaleR-40K"}),
    "math:Geometry3K": (
        "gem_math.visual:MathVisualEnv",
        {"dataset_name": "axon-rl/geometry3k", "split": "train"},
    ),
} | {
    f"eval:{name}": (
        TEXT,
        {"dataset_name": "axon-rl/math-eval", "split": split, "shuffle": False},
    )
    for name, split in {
        "MATH500": "math",
        "AMC": "amc",
        "OlympiadBench": "olympiad_bench",
        "Minerva": "minerva",
        "AIME24": "aime24",
    }.items()
}


class TestIds:
    def test_the_plugin_registers_these_ids_with_these_datasets(self) -> None:
        specs = [spec for spec in gem_core.find_envs("*") if spec.source.startswith("gem-math ")]
        found = {spec.id: (spec.entry_point, dict(spec.kwargs)) for spec in specs}
        assert found == IDS

    @pytest.mark.slow
    def test_hydra_shows_every_option_and_rejects_others(self) -> None:
        with initialize(version_base=None, config_path=None):
            config = compose(overrides=["+env=math/Geometry3K", "env.shard=0/8"])
            with pytest.raises(ConfigCompositionException, match="shrad"):
                compose(overrides=["+env=math/Geometry3K", "env.shrad=0/8"])
        assert dict(config.env) == {
            "id": "math:Geometry3K",
            "image_key": "images",
            "question_key": "problem",
            "answer_key": "answer",
            "answer_after": None,
            "use_format_error_reward": False,
            "thoughts": "count",
            "prompt": None,
            "answer_deadline": 5.0,
            "deadline": 1.0,
            "dataset_name": "axon-rl/geometry3k",
            "split": "train",
            "data": None,
            "shuffle": True,
            "shard": "0/8",
            "revision": None,
            "streaming": False,
            "grader": None,
            "rewards": None,
        }

    def test_show_lists_the_options_of_the_rows(self) -> None:
        done = CliRunner().invoke(show, ["math:Sample", "--format", "json"])
        parameters = json.loads(done.output)["parameters"]
        assert parameters["shuffle"] is True
        assert parameters["data"] == "package://gem_math/data/sample.jsonl"

    @pytest.mark.parametrize("env_id", IDS)
    def test_every_id_has_an_oracle_and_takes_its_arguments(self, env_id: str) -> None:
        spec = gem_core.spec(env_id)
        row = {"problem": "?", "answer": "7", "images": []}
        env = spec.make(data=[row])
        env.reset(seed=0)
        assert spec.oracle == "gem_tasks:GoldOracle"
        assert env.step(env.solution()).reward == spec.return_range[1] == 1.0

    def test_evaluation_sets_keep_their_order(self) -> None:
        env = gem_core.spec("eval:AIME24").make(data=ROWS)
        assert [env.reset()[0] for _ in ROWS] == [row["problem"] for row in ROWS]


@settings(max_examples=60 if thorough() else 20)
@given(st.text(st.characters(exclude_categories=[]), max_size=40), st.booleans())
def test_no_response_makes_a_step_raise_an_error(text: str, boxed: bool) -> None:  # noqa: FBT001 - hypothesis fills it in
    action = rf"\boxed{{{text}}}" if boxed else text
    assert answered(action, deadline=0.1).reward in {0.0, 1.0}


@pytest.mark.slow
def test_the_sample_passes_the_conformance_checks() -> None:
    check_env("math:Sample", episodes=60).raise_for_findings()


def test_an_environment_with_a_format_reward_passes_the_conformance_checks() -> None:
    spec = gem_core.spec("math:Sample")
    punished = EnvSpec(
        id=spec.id,
        entry_point=spec.entry_point,
        kwargs={**spec.kwargs, "use_format_error_reward": True},
        description=spec.description,
        oracle=spec.oracle,
        return_range=(-0.1, 1.0),
    )
    check_env(punished, episodes=5).raise_for_findings()
