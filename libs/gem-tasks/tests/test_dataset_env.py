"""Any dataset of questions on the hub is an environment, and an id never has other rows."""

import json

import pytest
from hydra import compose, initialize

import gem_core
from gem_core.config import build
from gem_core.errors import ConfigError, DataError, InvalidIdError
from gem_core.testing import check_env
from gem_tasks.dataset_env import DatasetEnv
from gem_tasks.dataset_spec import DatasetSpec
from gem_tasks.golds import GoldWarning

ROWS = [
    {"question": f"What is {n} + {n}?", "answer": f"It is twice.\n#### {2 * n}"} for n in range(30)
]


@pytest.fixture
def hub(datasets, fake_hub):
    fake_hub.add("acme/sums", {"train": ROWS, "test": ROWS[:5]})
    return fake_hub


@pytest.mark.slow
def test_a_dataset_on_the_hub_is_an_environment(hub):
    env = gem_core.make("hf:acme/sums", split="train", answer_after="####")
    question, info = env.reset(idx=3)
    assert (question, info["data"]) == ("What is 3 + 3?", "acme/sums, split train")
    step = env.step(r"So \boxed{6}.")
    assert (step.reward, step.info["correct"]) == (1.0, True)
    assert step.info["grading"] == {
        "question": "What is 3 + 3?",
        "expected": "6",
        "extracted": "6",
        "verdict": "correct",
        "reason": "compared by text",
    }
    env.reset(idx=3)
    step = env.step("6")
    assert (step.reward, step.info["format_error"]) == (0.0, True)
    assert env.spec.id == "hf:acme/sums"


@pytest.mark.slow
def test_the_spec_of_a_dataset_keeps_the_contract(hub):
    spec = gem_core.spec("hf:acme/sums").with_kwargs(split="train", answer_after="####")
    check_env(spec, episodes=5).raise_for_findings()


@pytest.mark.slow
def test_a_dataset_is_an_option_of_hydra_and_of_configurations(hub):
    with initialize(version_base=None, config_path=None):
        config = compose(
            overrides=[
                "+env=hf/acme/sums",
                "env.split=test",
                "env.rewards={format: 2}",
                "env.answer_after='####'",
            ]
        )
    env = build(config)
    env.reset(seed=0)
    assert env.step(r"\boxed{}").reward == 2.0


def test_the_name_of_a_config_follows_that_of_the_dataset():
    spec = gem_core.spec("hf:acme/sums/hard")
    assert spec.kwargs == {"dataset_name": "acme/sums:hard"}
    for wrong in ("hf:acme/sums/hard/more", "hf/a/b/c/d"):
        with pytest.raises(InvalidIdError, match="'hf:org/name/config'"):
            gem_core.spec(wrong)


@pytest.mark.slow
def test_a_wrong_column_names_those_that_exist_and_the_option(hub):
    with pytest.raises(DataError, match=r"It has: question, answer\. .*instead with question_key="):
        gem_core.make("hf:acme/sums", split="train", question_key="problem")
    with pytest.raises(DataError, match="choose one with split="):
        gem_core.make("hf:acme/sums")


@pytest.mark.slow
def test_a_revision_may_be_named(hub):
    env = gem_core.make("hf:acme/sums", split="test", revision="main", answer_after="####")
    assert env.reset()[1]["data"] == "acme/sums@main, split test"


@pytest.mark.parametrize(
    ("form", "right", "none"),
    [
        ("boxed", r"\boxed{Six}", "six"),
        ("tagged", "<answer>Six</answer>", "six"),
        ("text", " six ", None),
    ],
)
def test_an_answer_has_one_of_three_forms(form, right, none):
    env = DatasetEnv(data=[{"question": "?", "answer": ["six", 6]}], form=form)
    env.reset(seed=0)  # otherwise a random answer is right now and then
    for action, reward in ((right, 1.0), (env.sample_random_action(), 0.0)):
        env.reset()
        assert env.step(action).reward == reward
    env.reset()
    assert env.step(env.solution()).reward == 1.0
    if none is not None:
        env.reset()
        grading = env.step(none).info["grading"]
        assert (grading["extracted"], grading["verdict"]) == (None, "no answer")
        assert grading["reason"].startswith("no ")
    if form != "text":
        assert right[:5] in env.answer_instruction


def test_thoughts_are_no_answer_and_graders_of_the_form_see_them():
    rows = [{"question": "?", "answer": "six"}]
    for form, thought in (("boxed", r"\boxed{six}"), ("tagged", "<answer>six</answer>")):
        env = DatasetEnv(data=rows, form=form)
        env.reset(seed=0)
        step = env.step(f"<think>{thought}</think> I do not know.")
        assert step.info["grading"]["extracted"] is None
    parts = {"correctness": 1.0, "thinks": {"id": "format", "pattern": "<think>.+</think>.+"}}
    env = DatasetEnv(data=rows, form="text", rewards=parts)
    env.reset(seed=0)
    assert env.step("<think>Five?</think> six").reward == 2.0


def test_wrong_options_say_what_is_wrong():
    with pytest.raises(ConfigError, match="boxed, tagged, text; got 'box'"):
        DatasetEnv(data=ROWS, form="box")
    with pytest.raises(ConfigError, match=r"\{question\}"):
        DatasetEnv(data=ROWS, prompt="Answer!")


class TestAnIdThatStandsForADataset:
    spec = DatasetSpec(
        id="acme:Sums",
        entry_point=DatasetEnv,
        kwargs={"dataset_name": "acme/sums"},
        other_rows="acme:Custom",
    )

    @pytest.mark.parametrize(
        "rows", [{"data": ROWS}, {"data": "rows.csv"}, {"dataset_name": "a/b"}]
    )
    def test_an_id_of_a_dataset_refuses_other_rows(self, rows):
        with pytest.raises(ConfigError, match=r"'acme/sums', so .* use 'acme:Custom'"):
            gem_core.make(self.spec, **rows)
        with pytest.raises(ConfigError, match="acme:Custom"):
            gem_core.make_vec(self.spec, num_envs=2, vec_kwargs=[{}, rows])

    def test_an_id_of_a_dataset_may_repeat_its_own_rows(self):
        same = self.spec.with_kwargs(data=None, dataset_name="acme/sums", split="test")
        assert same.kwargs == {"data": None, "dataset_name": "acme/sums", "split": "test"}
        sample = DatasetSpec(
            id="acme:Sample", entry_point=DatasetEnv, kwargs={"data": "x"}, other_rows="acme:Custom"
        )
        assert sample.with_kwargs(data="x", dataset_name="").id == "acme:Sample"

    def test_an_invalid_configuration_of_a_dataset_names_the_place(self):
        with pytest.raises(ConfigError, match=r"env: 'math:GSM8K' stands for .*'math:Custom'"):
            build({"env": {"id": "math:GSM8K", "data": "rows.csv"}})


@pytest.mark.slow
@pytest.mark.parametrize("data", ["rows.jsonl", "rows.csv", "rows.parquet"])
def test_files_are_named_in_the_info(datasets, tmp_path, data):
    datasets.disable_progress_bars()
    path = tmp_path / data
    write = {"jsonl": "to_json", "csv": "to_csv", "parquet": "to_parquet"}[data.partition(".")[2]]
    getattr(datasets.Dataset.from_list(ROWS), write)(path)
    env = DatasetEnv(data=str(path), answer_after="####")
    assert env.reset(idx=3)[1]["data"] == str(path)
    assert env.step(r"\boxed{6}").reward == 1.0


GSM8K = "He has 3 boxes of 6.\nSo he has 3 * 6 = 18.\n#### 18"
LONG = "The train leaves at noon and so it is three hours late, " * 4
ASKED = {"question": "?"}


@pytest.mark.parametrize("gold", [GSM8K, [GSM8K, GSM8K], LONG])
def test_gold_answers_that_are_an_explanation_are_warned_of_once(gold):
    rows = [ASKED | {"answer": "1"}, ASKED | {"answer": gold}]
    with pytest.warns(GoldWarning, match=r"Row 1 of data, column 'answer': .*answer_after="):
        first = DatasetEnv(data=rows)
    assert DatasetEnv(data=rows).rows is first.rows  # a second warning would be an error
    DatasetEnv(data=list(rows), grader=lambda attempt: 1.0)


def test_the_warning_names_the_mark():
    with pytest.warns(GoldWarning, match=r"answer_after='####'"):
        DatasetEnv(data=[ASKED | {"answer": GSM8K}])
    env = DatasetEnv(data=[ASKED | {"answer": GSM8K}], answer_after="####")
    env.reset()
    assert env.step(r"\boxed{18}").reward == 1.0


@pytest.mark.parametrize("gold", ["", " \n", [], ["", " "]])
def test_an_empty_gold_answer_is_an_error(gold, tmp_path):
    rows = [ASKED | {"answer": "1"}, ASKED | {"answer": gold}]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    for data in (rows, tmp_path / "a.json"):
        with pytest.raises(DataError, match=r"Row 1 .*column 'answer': the gold answer is empty"):
            DatasetEnv(data=data)


def test_an_answer_that_its_mark_does_not_precede_is_an_error():
    env = DatasetEnv(data=[ASKED | {"answer": "So it is 18.\n#### "}], answer_after="####")
    with pytest.raises(DataError, match=r"Row 0 of data, column 'answer': nothing follows '####'"):
        env.reset()


@pytest.mark.slow
def test_empty_gold_answers_on_the_hub_are_warned_of(hub):
    hub.add("acme/empty", {"train": [ASKED | {"answer": text} for text in ("1", "", "2", "")]})
    for streaming in (False, True):
        with pytest.warns(GoldWarning, match="Row 1 of .*on the hub.* empty.* nor in 1 of the"):
            gem_core.make("hf:acme/empty", streaming=streaming)
