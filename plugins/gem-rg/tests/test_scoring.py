"""Scores: correct, partly right, wrong and hostile answers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core.errors import ConfigError, InvalidActionError
from gem_tasks.parsing import last_boxed

TEXTS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="0123456789.,-/+*^x()[]{}\\ \n", max_size=60),
    st.text(alphabet="AB→UDLRabc_ 12\n", max_size=60),
)


def score(name, answer, idx=0, **parameters):
    """Return the step for an answer to an item."""
    env = gem_core.make(f"rg:{name}", **parameters)
    env.reset(idx=idx)
    return env.step(f"<answer>{answer}</answer>")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "prime_factorization",  # its scorer raises unless the answer is a product
        "boxnet",
        "codeio",
        "countdown",
        "family_relationships",
        "pool_matrix",
        "rubiks_cube",
        "sokoban",
        "sudoku",
        "tower_of_hanoi",
    ],
)
@given(text=TEXTS)
@settings(max_examples=25 if thorough() else 8)
def test_no_answer_makes_scoring_raise_an_error(name, text):
    assert 0.0 <= score(name, text).reward <= 1.0


def test_an_error_of_the_scorer_is_in_info():
    step = score("prime_factorization", "two times three")
    assert (step.reward, step.info["correct"]) == (0.0, False)
    assert step.info["error"].startswith("ValueError: ")


def test_partial_scores_are_kept():
    env = gem_core.make("rg:prime_factorization")
    question, _ = env.reset(idx=0)
    number = question.split("factorization of ")[1].split(".")[0]
    step = env.step(f"\\boxed{{{number} \u00d7 1}}")
    assert (step.reward, step.info["correct"]) == (0.5, False)
    assert step.observation.startswith("Partly right: 0.50 of 1.")


def test_the_last_box_counts_and_then_the_last_tag():
    env = gem_core.make("rg:leg_counting")

    def reward(*parts):
        env.reset(idx=0)
        return env.step(" ".join(parts)).reward

    env.reset(idx=0)
    right, wrong = env.solution(), r"\boxed{-1}"
    gold = right[len(r"\boxed{") : -1]
    assert reward(wrong, right) == 1.0
    assert reward(right, wrong) == 0.0
    assert reward(f"<answer>{gold}</answer>") == 1.0
    assert reward(wrong, f"<answer>{gold}</answer>") == 0.0
    assert reward(gold) == 0.0


def test_an_action_must_be_text():
    env = gem_core.make("rg:leg_counting")
    env.reset(idx=0)
    with pytest.raises(InvalidActionError, match="text; got int"):
        env.step(4)


@pytest.mark.slow
def test_an_answer_that_takes_too_long_to_score_scores_0():
    step = score("countdown", "9**99999999", score_limit=0.3)
    assert (step.reward, step.info["error"]) == (0.0, "not scored within 0.3 s")
    assert score("countdown", "1 + 1").reward == 0.05


@pytest.mark.parametrize("name", ["countdown", "polynomial_multiplication", "simple_integration"])
@pytest.mark.parametrize(
    "code",
    ["open({path!r}, 'w')", "exec('open({path!r}, \"w\")')", "(1).__class__", "sin.__module__"],
)
def test_a_formula_in_an_answer_is_not_run_as_code(name, code, tmp_path):
    path = tmp_path / "made"
    assert score(name, code.format(path=str(path))).reward <= 0.05
    assert not path.exists()


@pytest.mark.parametrize("name", ["binary_matrix", "n_queens", "spiral_matrix", "string_insertion"])
def test_a_list_in_an_answer_is_not_run_as_code(name, tmp_path):
    path = tmp_path / "made"
    assert score(name, f"[open({str(path)!r}, 'w').name]").reward == 0.0
    assert not path.exists()


def test_a_list_in_the_notation_of_python_is_partly_right():
    env = gem_core.make("rg:spiral_matrix")
    env.reset(idx=0)
    numbers = env.item.gold.split()
    assert env.step(f"\\boxed{{[{', '.join(numbers)}]}}").reward == 0.1


def test_an_integral_is_accepted_in_any_form_but_not_uncomputed():
    env = gem_core.make("rg:simple_integration")
    env.reset(idx=0)
    integral = env.item.gold.removesuffix(" + C")
    assert score("simple_integration", f"7 + {integral}").reward == 1.0
    assert score("simple_integration", f"integrate(diff({integral}))").reward == 0.0


@pytest.mark.slow
def test_a_game_of_life_is_scored_by_its_answer():
    golds = set()
    for idx in range(12):
        env = gem_core.make("rg:game_of_life_halting")
        env.reset(idx=idx)
        golds.add(env.item.gold)
        other = {"True": "False", "False": "True"}[env.item.gold]
        assert score("game_of_life_halting", other, idx).reward == 0.0
        assert score("game_of_life_halting", "perhaps", idx).reward == 0.0
    assert golds == {"True", "False"}


@pytest.mark.slow
def test_twenty_four_must_use_the_given_numbers():
    assert score("puzzle24", "(1 + 2 + 3) * 4").reward == 0.01
    env = gem_core.make("rg:puzzle24", config={"min_value": 6, "max_value": 6})
    env.reset(idx=0)
    assert env.step(r"\boxed{6 + 6 + 6 + 6}").reward == 1.0


def test_an_item_without_gold_is_solved_if_its_task_has_a_solver():
    env = gem_core.make("rg:rush_hour")
    env.reset(idx=0)
    assert env.item.gold is None
    assert env.step(env.solution()).reward == 1.0
    env.reset(idx=0)
    env.item = env.item._replace(task="a_new_task")
    with pytest.raises(ConfigError, match="No answer to this item of rg:a_new_task is known"):
        env.solution()


@pytest.mark.slow
def test_an_answer_with_unbalanced_braces_is_given_in_tags():
    env = gem_core.make("rg:codeio")
    env.reset(idx=379)
    assert env.solution().startswith("<answer>")
    assert env.step(env.solution()).reward == 1.0


@pytest.mark.parametrize("name", ["chain_sum", "leg_counting", "letter_counting", "ab"])
def test_an_answer_in_a_box_may_be_formatted(name):
    env = gem_core.make(f"rg:{name}")
    forms = (r"\text{%s}", "{%s}", "$%s$", r"\mathrm{%s}", r"{\text{%s}}.")
    for form in ("%s", *forms):
        env.reset(idx=0)
        answer = last_boxed(env.solution())
        step = env.step(r"\boxed{%s}" % (form % answer))
        assert (step.reward, step.info["correct"]) == (1.0, True), form


def test_an_answer_may_be_scored_as_it_is_written():
    env = gem_core.make("rg:chain_sum", unwrap=False)
    env.reset(idx=0)
    answer = last_boxed(env.solution())
    assert env.step(f"\\boxed{{\\text{{{answer}}}}}").reward < 1.0


def test_a_formatted_wrong_answer_scores_what_the_answer_scores():
    env = gem_core.make("rg:chain_sum")
    rewards = []
    for answer in ("-1", r"\text{-1}", "{-1}"):
        env.reset(idx=0)
        rewards.append(env.step(f"\\boxed{{{answer}}}").reward)
    assert rewards == rewards[:1] * 3
