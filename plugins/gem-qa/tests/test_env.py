"""The environment: prompts, answers, rewards."""

import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core import make
from gem_core.errors import ConfigError, DataError
from gem_qa.env import QaEnv

TAGS = "<think>{}</think><answer>{}</answer>"
few = settings(max_examples=100 if thorough() else 20)


def asked(question="Who?", answer="Euclid", **options):
    """Return an environment with one question, after its reset."""
    env = QaEnv(data=[{"question": question, "answer": answer}], **options)
    env.reset(seed=0)
    return env


def observation_of(question, **options):
    return asked(question, **options).reset()[0]


@pytest.mark.parametrize("boxed", [False, True])
def test_the_default_prompt_asks_for_the_form_that_is_read(boxed):
    prompt = observation_of("Who wrote the Elements?", extract_boxed=boxed)
    assert prompt.endswith("\n\nQuestion: Who wrote the Elements?\n")
    assert ("\\boxed{answer}" in prompt) == boxed
    assert ("<answer> and </answer>" in prompt) == (not boxed)


@pytest.mark.parametrize("prompt", [None, "{question}"])
def test_a_question_without_a_prompt_is_shown_alone(prompt):
    assert observation_of("Who {is} {} \\frac{1}{2}?", prompt=prompt) == "Who {is} {} \\frac{1}{2}?"


@pytest.mark.slow
@few
@given(st.text(max_size=20).map(lambda text: f"{text}{{question}}{{x}}"))
def test_braces_in_a_question_are_kept(question):
    shown = observation_of(question, prompt="Say \\boxed{x}: {question} {now}")
    assert shown == f"Say \\boxed{{x}}: {question} {{now}}"


def test_a_template_without_the_field_is_rejected():
    with pytest.raises(ConfigError, match=r"\{question\}"):
        asked(prompt="What is {it}?")


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("<answer>Euclid</answer>", "Euclid"),
        ("<think>so</think>\n<answer>\n the Euclid. \n</answer> thanks", "the Euclid."),
        ("<answer>Gauss</answer> no, <answer>Euclid</answer>", "Euclid"),
        ("<answer>\\boxed{\\text{Euclid}}</answer>", "\\boxed{\\text{Euclid}}"),
        ("<answer>**Euclid**</answer>", "**Euclid**"),
    ],
)
def test_the_last_tag_is_read(response, answer):
    step = asked().step(response)
    assert step[1:4] == (1.0, True, False)
    assert (step.info["correct"], step.info["f1"]) == (True, 1.0)
    assert step.info["grading"]["extracted"] == answer
    assert step.observation == "Correct."


@pytest.mark.parametrize(
    ("response", "answer", "f1"),
    [
        ("<answer>Euclid</answer><answer>Gauss</answer>", "Gauss", 0.0),
        ("<answer>Euclid or Gauss</answer>", "Euclid or Gauss", 0.5),
        ("<answer></answer>", "", 0.0),
        ("Euclid", None, 0.0),
        ("<answer>Euclid", None, 0.0),
        ("\\boxed{Euclid}", None, 0.0),
        ("", None, 0.0),
    ],
)
def test_a_wrong_or_missing_answer_gets_no_reward(response, answer, f1):
    step = asked().step(response)
    assert step[1:4] == (0.0, True, False)
    assert (step.info["correct"], step.info["f1"]) == (False, f1)
    assert step.info.get("format_error", False) is (answer is None)
    found = step.info["grading"]
    assert (found["expected"], found["extracted"]) == ("Euclid", answer)
    assert found["verdict"] == ("no answer" if answer is None else "wrong")
    is_missing = found["reason"] == "no <answer> tag in the reply"
    assert is_missing is (answer is None)
    assert step.observation == "Wrong. The answer is Euclid."


@pytest.mark.parametrize(
    ("response", "reward"),
    [
        ("\\boxed{True}", 1.0),
        ("\\boxed{\\textbf{true}.}", 1.0),
        ("\\boxed{False} or rather $\\boxed{\\mathrm{True}}$", 1.0),
        ("\\boxed{True} or rather \\boxed{False}", 0.0),
        ("\\boxed{True or False}", 0.0),
        ("<answer>True</answer>", 0.0),
        ("True", 0.0),
    ],
)
def test_with_extract_boxed_the_last_box_is_read_and_nothing_else(response, reward):
    env = asked("Is it?", answer=True, extract_boxed=True)
    assert env.step(response).reward == reward


def test_an_answer_in_a_thought_counts_unless_thoughts_are_ignored():
    thought = "<think><answer>Euclid</answer></think> I do not know."
    assert asked().step(thought).reward == 1.0
    step = asked(thoughts="ignore").step(thought)
    assert (step.reward, step.info["grading"]["extracted"]) == (0.0, None)
    boxed = {"extract_boxed": True, "thoughts": "ignore"}
    assert asked(**boxed).step(r"<think>\boxed{Euclid}").reward == 0.0


def test_golds_may_be_texts_numbers_bools_or_lists(subtests):
    for gold, right, wrong in [
        (["Danube", "River Danube"], "the river Danube", "Rhine"),
        (46, "46", "45"),
        (5.0, "5", "50"),
        (-1.5, "-1.5", "15"),
        (15, "\\mathbf{15}", "\\text{1.5}"),
        (True, "true", "1"),
        ([1, "one"], "One", "two"),
        ("A", "A", "the"),
        ("The The", "the the", "the"),
    ]:
        with subtests.test(gold=gold):
            for answer, reward in ((right, 1.0), (wrong, 0.0), ("", 0.0)):
                assert asked(answer=gold).step(TAGS.format("so", answer)).reward == reward


@pytest.mark.parametrize("gold", [None, {"text": "Euclid"}, [["Euclid"]]])
def test_a_gold_of_another_type_is_rejected_when_the_rows_are_loaded(gold):
    with pytest.raises(DataError, match="answer"):
        asked(answer=gold)


def test_the_columns_may_have_other_names():
    rows = [{"problem": "Who?", "solution": "Euclid", "answer": None}]
    env = QaEnv(data=rows, question_key="problem", answer_key="solution", prompt=None)
    assert env.reset(seed=0)[0] == "Who?"
    assert env.step(env.solution()).reward == 1.0


@pytest.mark.parametrize("boxed", [False, True])
@few
@given(gold=st.text("ab <>/.1-$", min_size=1, max_size=9).filter(str.strip))
def test_the_solution_is_graded_correct(boxed, gold):
    env = asked(answer=["", gold], extract_boxed=boxed)
    assert env.step(env.solution()).reward == 1.0


def test_a_row_without_any_answer_is_rejected():
    with pytest.raises(DataError, match="Row 0 of data"):
        asked(answer=[])


@pytest.mark.parametrize("env_id", ["qa:Sample", "logic:Sample"])
def test_random_actions_have_the_form_that_is_read(env_id):
    env = make(env_id)
    answers = set()
    for seed in range(20):
        env.reset(seed=seed)
        answers.add(env.step(env.sample_random_action()).info["grading"]["extracted"])
    assert None not in answers
    assert len(answers) > 1


def test_a_snapshot_contains_no_rows():
    env = make("logic:Sample")
    env.reset(seed=1)
    assert len(env.snapshot()) < 10_000


@pytest.mark.parametrize("gold", ["025", "00501", "12e3", "1e5", "NA", "1.50", "true", 'a, "b"\nc'])
def test_the_cells_of_a_csv_file_are_texts(tmp_path, gold):
    row = {"question": "Which code?", "answer": gold}
    with (tmp_path / "a.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, row)
        table.writeheader()
        table.writerow(row)
    for data in ([row], tmp_path / "a.csv"):
        env = QaEnv(data=data)
        env.reset(seed=0)
        assert env.row == row
        assert env.step(f"<answer>{gold}</answer>").reward == 1.0


@pytest.mark.parametrize("gold", ["", [], [" "]])
def test_a_gold_answer_that_is_empty_is_an_error(gold):
    with pytest.raises(DataError, match=r"Row 0 of data, column 'answer': .* is empty"):
        asked(answer=gold)
