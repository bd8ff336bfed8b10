"""The environments over datasets: rows, orders, resets, grading, spawning."""

import numpy as np
import pytest

import gem
from gem.envs.code_env import CodeEnv
from gem.envs.math_env import MathEnv, verify_fn
from gem.envs.math_visual_env import MathVisualEnv
from gem.envs.mcpmark import MCPMarkEnv
from gem.envs.qa_env import QaEnv, apply_prompt
from gem.envs.reasoning_gym import ReasoningGymEnv
from gem.utils.constants import TERMINAL_STATE
from gem.utils.parsing import extract_last_boxed_answer
from gem_core.errors import ConfigError, DataError

SUMS = [{"problem": f"What is {i} plus 1?", "answer": str(i + 1)} for i in range(6)]
QUESTIONS = [
    {"question": "Which city is the capital of France?", "answer": ["Paris", "Paname"]},
    {"question": "Is 7 a prime?", "answer": ["yes"]},
]
DOUBLE = {
    "problem": "Double the number.",
    "tests": '{"inputs": ["2\\n", "5\\n"], "outputs": ["4", "10\\n"]}',
}


def dataset_of(rows):
    import datasets

    return datasets.Dataset.from_list(rows)


def questions(env, count):
    return [env.reset()[0] for _ in range(count)]


@pytest.mark.slow
def test_rows_come_in_the_order_of_gem_llm():
    rows = dataset_of(SUMS)
    first = rows.shuffle(seed=3)
    env = MathEnv(dataset=rows, seed=3)
    second = first.shuffle(seed=3 + 1)
    assert questions(env, 12) == [*first["problem"], *second["problem"]]
    assert (env.epoch, env.idx, env.seed) == (1, 6, 3)


def test_the_rows_own_order_is_kept_for_evaluation():
    env = MathEnv(dataset=SUMS, eval=True)
    assert questions(env, 6) == [row["problem"] for row in SUMS]


@pytest.mark.parametrize("form", [list, dataset_of])
def test_a_row_is_taken_by_seed_or_by_number(form):
    env = MathEnv(dataset=form(SUMS), seed=1)
    order = questions(env, 6)
    assert env.reset(idx=2)[0] == order[2]
    assert env.reset()[0] == order[3]
    assert env.reset(seed=7) == env.reset(seed=np.int64(7))
    assert {env.reset(seed=seed)[0] for seed in range(60)} == set(order)
    assert env.reset(seed=7, idx=4)[0] == order[4]
    for idx in (-1, 6):
        with pytest.raises(ConfigError, match="0 to 5"):
            env.reset(idx=idx)


def test_splits_are_chosen_as_in_gem_llm():
    import datasets

    splits = {"train": dataset_of(SUMS), "test": dataset_of(SUMS[:2])}
    rows = datasets.DatasetDict(splits)
    assert len(MathEnv(dataset=rows, split="test").dataset) == 2
    with pytest.raises(ValueError, match="'train', 'test'"):
        MathEnv(dataset=rows)
    with pytest.raises(DataError, match="column 'question'"):
        MathEnv(dataset=rows, split="test", question_key="question")


def test_mathematics_is_graded():
    env = MathEnv(dataset=[{"problem": "?", "answer": "1/2"}])
    assert env.reset() == ("?", {})
    assert env.step(r"So \boxed{0.5}") == (TERMINAL_STATE, 1.0, True, True, {"correct": True})
    assert env.step(r"\boxed{ \frac{1}{2} }")[1] == 1.0  # graded again
    assert env.step(r"\boxed{2}") == (TERMINAL_STATE, 0.0, True, True, {"correct": False})
    assert env.step("1/2") == (TERMINAL_STATE, 0.0, True, True, {"correct": False})
    assert env.step(env.sample_random_action())[1] == 0.0
    paid = MathEnv(dataset=SUMS, use_format_error_reward=True)
    paid.reset()
    assert paid.step("1/2") == (TERMINAL_STATE, -0.1, True, True, {})


@pytest.mark.parametrize(
    ("answer", "gold", "correct"),
    [
        (r"\boxed{7}", "7", True),
        (r"\boxed{3} or \boxed{14/2}", "7", True),
        (r"It is \boxed{0.5}.", ["3", "1/2"], True),
        (r"\boxed{8}", 8, True),
        (r"\boxed{8}", 8.5, False),
        (r"\boxed{8}", r"\boxed{8}", True),
        (extract_last_boxed_answer(r"So \boxed{8}"), "8", True),
        (extract_last_boxed_answer(r"So \boxed{9}"), "8", False),
        ("7", "7", False),
        ("The answer is 7.", "7", False),
        (r"\boxed{7", "7", False),
        ("", "8", False),
    ],
)
def test_the_answer_in_the_last_box_counts_and_none_without_a_box(answer, gold, correct):
    assert MathEnv.check_correct(answer, gold) is correct


@pytest.mark.parametrize("env", [MathEnv, MathVisualEnv, QaEnv, CodeEnv])
def test_rows_under_the_name_of_gem_core_are_an_error_that_names_the_parameter(env):
    with pytest.raises(ConfigError, match="dataset="):
        env(data=[{"problem": "1 + 1", "answer": "2"}])


@pytest.mark.parametrize("env", [MathEnv, QaEnv])
def test_a_gold_answer_of_another_type_is_an_error(env):
    with pytest.raises(ValueError, match="text, a number or a list"):
        env.check_correct("1", {"a": 1})


@pytest.mark.slow
def test_grading_works_in_the_environments_own_pool():
    env = MathEnv(dataset=SUMS)
    result = env.mp_pool.apply_async(env.check_correct, (r"\boxed{\frac{2}{4}}", "0.5"))
    assert result.get(timeout=60) is True
    twin = env.spawn(same_state=True)
    assert twin.mp_pool is not env.mp_pool
    twin.close()
    env.close()
    env.close()
    assert verify_fn(r"\boxed{3}", "3") == ({"formatted": True}, 1)


def test_spawned_environments_and_states_go_on_alike():
    env = MathEnv(dataset=SUMS, seed=1, use_format_error_reward=True)
    env.reset()
    same = env.spawn(same_state=True)
    assert (same.first_obs, same.answer, same.use_format_error_reward) == (
        env.first_obs,
        env.answer,
        True,
    )
    assert questions(same, 5) == questions(env, 5)
    with pytest.warns(UserWarning, match="parent's seed"):
        env.spawn(seed=1)
    other = env.spawn(seed=2)
    assert (other.seed, other.idx) == (2, 0)
    assert sorted(questions(other, 6)) == sorted(row["problem"] for row in SUMS)
    state = env.get_state()
    assert {"first_obs", "answer"} <= set(state)
    env.reset()
    env.set_state({"first_obs": "What?", "answer": "1"})
    assert env.step(r"\boxed{1}")[1] == 1.0
    env.set_state(state)
    assert env.first_obs == state["first_obs"]
    assert env.fork().answer == env.answer


def test_images_of_problems_are_shown():
    env = MathVisualEnv(dataset=[{**row, "images": ["pixels"]} for row in SUMS], seed=2)
    seen = [env.reset()[0] for _ in range(6)]
    assert {one["problem"] for one in seen} == {row["problem"] for row in SUMS}
    assert seen[0]["images"] == ["pixels"]
    assert env.step(rf"\boxed{{{env.answer}}}")[1] == 1.0
    assert isinstance(env.spawn(seed=5), MathVisualEnv)


@pytest.mark.parametrize("form", [list, dataset_of])
def test_questions_come_in_a_prompt_and_are_graded(form):
    env = QaEnv(dataset=form(QUESTIONS), load_from_cache_file=False)
    observation, _ = env.reset(idx=0)
    assert "<answer>" in observation
    asked = tuple(f"Question: {row['question']}" for row in QUESTIONS)
    assert observation.rstrip().endswith(asked)
    assert env.dataset[0]["question"] == observation
    gold = env.answer[0]
    assert env.step(f"<answer>The {gold}.</answer>") == (
        TERMINAL_STATE,
        1.0,
        True,
        True,
        {"correct": True},
    )
    assert env.step(gold)[1] == 0.0
    assert env.step(env.sample_random_action())[1] == 0.0


def test_questions_may_be_answered_in_a_box():
    env = QaEnv(dataset=QUESTIONS, extract_boxed=True)
    observation, _ = env.reset()
    assert "\\boxed" in observation
    assert "<answer>" not in observation
    assert env.extractor(r"\boxed{a}") == "a"
    assert env.step(rf"\boxed{{{env.answer[0]}}}")[1] == 1.0
    assert env.extractor(env.sample_random_action())


def test_the_prompt_leaves_the_row_alone():
    row = {"problem": "A {question}?", "answer": "x"}
    shown = apply_prompt(row, "problem")
    assert row["problem"] == "A {question}?"
    assert shown["problem"].rstrip().endswith("Question: A {question}?")
    assert shown["answer"] == "x"


@pytest.mark.slow
def test_programs_are_judged():
    env = CodeEnv(dataset=[DOUBLE])
    assert env.reset(seed=3) == ("Double the number.", {})
    assert env.tests["inputs"] == ["2\n", "5\n"]
    right = "```python\nprint(2 * int(input()))\n```"
    assert env.step(right) == (TERMINAL_STATE, 1.0, True, True, {})
    assert env.step("```python\nprint(4)\n```") == (TERMINAL_STATE, 0.0, True, True, {})
    assert env.step("print(4)") == (TERMINAL_STATE, -0.1, True, True, {})
    assert env._check_correct("print(int(input()) * 2)") is True
    assert env.step(env.sample_random_action())[1] == 0.0
    assert env.spawn(same_state=True).tests == env.tests
    assert set(env.get_state()) == {"first_obs", "tests", "idx", "epoch"}


def test_tests_may_be_lists_and_are_limited_to_the_longest():
    tests = {"inputs": [["1", "2"], ["10", "20"]], "outputs": [["wrong"], ["30"]]}
    env = CodeEnv(dataset=[{"problem": "Add.", "tests": tests}], max_tests=1)
    env.reset(idx=0)
    assert env._check_correct("print(int(input()) + int(input()))")
    env.max_tests = 2
    assert not env._check_correct("print(int(input()) + int(input()))")


def test_an_unknown_sandbox_is_an_immediate_error():
    with pytest.raises(ValueError, match="sandbox_type is one of none, bwrap"):
        CodeEnv(dataset=[DOUBLE], sandbox_type="jail")


def test_reasoning_gym_items_come_in_order_and_are_scored():
    env = ReasoningGymEnv("leg_counting", size=4, seed=7)
    first, info = env.reset()
    assert info["idx"] == 0
    assert env.idx == 1
    assert "boxed" not in first
    answer = env._env.solution()
    assert env.step("none")[:4] == (TERMINAL_STATE, 0.0, True, True)
    assert env.step(answer)[1] == 1.0  # graded again
    order = [first, *questions(env, 3)]
    assert env.reset(idx=1)[0] == order[1]
    assert env.reset(seed=5) == env.reset(seed=5)
    assert env.reset()[0] != ""
    state = env.get_state()
    assert set(state) == {"idx", "data"}
    same = env.spawn(same_state=True)
    assert same.reset() == env.reset()
    with pytest.warns(UserWarning, match="parent's seed"):
        env.spawn(seed=7)
    assert (env.spawn().seed, env.fork().size) == (42, 4)
    assert env.step(env.sample_random_action())[2]
    hinted = ReasoningGymEnv("leg_counting", hint="In a box.")
    assert hinted.reset()[0].endswith("In a box.")


@pytest.mark.parametrize("env_id", ["math:Sample", "qa:Sample", "logic:Sample", "code:Sample"])
def test_samples_need_no_network(env_id):
    env = gem.make(env_id, seed=4)
    observation, info = env.reset(seed=2)
    assert observation
    assert info == {}
    assert env.step(env.sample_random_action())[0] == TERMINAL_STATE


@pytest.mark.slow
def test_tasks_of_mcp_servers_end_with_the_first_message():
    env = MCPMarkEnv("filesystem", "library", seed=3)
    observation, info = env.reset()
    assert observation
    assert info["task_name"].startswith("library/")
    assert env.unwrapped.root.is_dir()
    _, reward, terminated, truncated, info = env.step("Done.")
    assert (reward, terminated, truncated, info["correct"]) == (0.0, True, True, False)
    env.close()
    with pytest.raises(DataError, match="no folder"):
        MCPMarkEnv("notion")
