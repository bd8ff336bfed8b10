"""TRL's own trainers play our environments."""

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest

transformers = pytest.importorskip("transformers")
datasets = pytest.importorskip("datasets")
trl = pytest.importorskip("trl", reason="trl is not installed: pip install trl")

from gem_adapters.trl import environment, reward, rollout  # noqa: E402
from gem_core.errors import ConfigError  # noqa: E402
from gem_rollout import Limits  # noqa: E402
from gem_rollout.models.tiny_model import save_tiny_model  # noqa: E402

GAME = "game:GuessTheNumber-v0-easy"
pytestmark = pytest.mark.filterwarnings("ignore")  # TRL and transformers warn about themselves


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_tiny_model(tmp_path_factory.mktemp("model"), context=1024)


def trainer(model: str, folder: Path, **options: Any) -> Any:
    arguments = {"max_completion_length": 200, **options.pop("args", {})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return trl.GRPOTrainer(
            model=transformers.AutoModelForCausalLM.from_pretrained(model),
            processing_class=transformers.AutoTokenizer.from_pretrained(model),
            args=trl.GRPOConfig(
                output_dir=str(folder),
                max_steps=2,
                per_device_train_batch_size=8,
                num_generations=4,
                learning_rate=1e-3,
                use_cpu=True,
                report_to=[],
                logging_steps=1,
                save_strategy="no",
                **arguments,
            ),
            **options,
        )


def test_a_game_of_several_turns_is_trained_on(model: str, tmp_path: Path) -> None:
    made = trainer(
        model,
        tmp_path,
        train_dataset=datasets.Dataset.from_list(rollout.prompts(GAME, 8)),
        rollout_func=rollout.rollout(["wrappers=[episode_tracking]"], limits=Limits(turn_tokens=8)),
        reward_funcs=rollout.episode_rewards,
    )
    made.train()
    logged = [entry for entry in made.state.log_history if "reward" in entry]
    assert len(logged) == 2
    assert all(-0.11 <= entry["reward"] <= 1.0 for entry in logged)
    assert all(entry["completions/max_length"] <= 200 for entry in logged)


def test_the_model_is_sampled_with_the_log_probabilities_of_its_own(
    model: str, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    from gem_rollout import Prompt

    made = trainer(
        model,
        tmp_path,
        train_dataset=datasets.Dataset.from_list(rollout.prompts(GAME, 8)),
        rollout_func=rollout.rollout(),
        reward_funcs=rollout.episode_rewards,
    )
    asked = [
        Prompt(list(range(10, 10 + n)), [], extends=False, room=room, stop=(), turn=0, seed=0)
        for n, room in ((5, 6), (9, 3))
    ]
    for prompt, sampled in zip(asked, rollout.sample(made, asked), strict=True):
        assert 1 <= len(sampled.ids) <= (prompt.room or 0)
        ids = torch.tensor([prompt.ids + sampled.ids])
        logits = made.model(ids).logits.float().log_softmax(-1)[0, len(prompt.ids) - 1 : -1]
        expected = logits.gather(-1, torch.tensor(sampled.ids)[:, None])[:, 0]
        assert sampled.logprobs == pytest.approx(expected.tolist(), abs=1e-4)


def test_questions_are_graded_by_the_environment(model: str, tmp_path: Path) -> None:
    rows = reward.questions("math:Sample", 8)
    assert rows[0]["prompt"][0]["content"]
    graded = reward.environment_reward()
    columns = {name: [row[name] for row in rows] for name in rows[0] if name != "prompt"}
    texts: list[Any] = ["no answer"] * 8
    assert graded(texts, **columns) == [0.0] * 8
    made = trainer(
        model,
        tmp_path,
        args={"max_completion_length": 16},
        train_dataset=datasets.Dataset.from_list(rows),
        reward_funcs=graded,
    )
    made.train()
    assert [entry["reward"] for entry in made.state.log_history if "reward" in entry] == [0.0] * 2


def test_a_right_completion_is_paid() -> None:
    rows = reward.questions("math:Sample", 4)
    import gem_core
    from gem_core.seeding import child_seed

    texts: list[Any] = []
    for row in rows:
        env = gem_core.make(row["env"])
        env.reset(seed=child_seed(row["seed"], row["index"]), **options(env, row))
        oracle = gem_core.make_agent("oracle")
        oracle.reset(env)
        texts.append([{"role": "assistant", "content": oracle.act("", {})}])
    columns = {name: [row[name] for row in rows] for name in rows[0] if name != "prompt"}
    assert reward.environment_reward()(texts, **columns) == [1.0] * 4


def options(env: Any, row: dict[str, Any]) -> dict[str, Any]:
    from gem_rollout.components import options_of_reset

    return options_of_reset(env, row["index"], row["seed"])


def test_an_environment_of_several_turns_is_no_reward_function() -> None:
    with pytest.raises(ConfigError, match="did not end with the first action"):
        reward.environment_reward()(
            [r"\boxed{1}"] * 3, env=[GAME] * 3, seed=[0] * 3, index=[0, 1, 2]
        )


def test_an_environment_is_played_by_calls_of_its_tool() -> None:
    factory = pickle.loads(pickle.dumps(environment.environment_factory()))  # noqa: S301
    made = factory()
    (row,) = environment.rows(GAME, 1)
    assert "guess" in made.reset(**row).lower()
    for number in range(1, 11):
        if made._ended:
            break
        shown = made.act(rf"\boxed{{{number}}}")
    assert "The episode has ended." in shown
    assert made.get_reward() != 0


@pytest.mark.parametrize("prompt", ["What is 2 + 2?", "[1]", "{}", json.dumps({"env": "game:No"})])
def test_a_prompt_that_is_no_row_is_an_error(model: str, tmp_path: Path, prompt: str) -> None:
    made = trainer(
        model,
        tmp_path,
        train_dataset=datasets.Dataset.from_list([{"prompt": prompt}] * 8),
        rollout_func=rollout.rollout(),
        reward_funcs=rollout.episode_rewards,
    )
    with pytest.raises((ConfigError, KeyError)):
        made.train()


def test_a_batch_in_which_every_episode_fails_is_an_error(model: str, tmp_path: Path) -> None:
    def broken(_: Any, asked: list[Any]) -> list[Any]:
        raise OSError("the engine is gone")

    made = trainer(
        model,
        tmp_path,
        train_dataset=datasets.Dataset.from_list(rollout.prompts(GAME, 8)),
        rollout_func=rollout.rollout(engine=broken),
        reward_funcs=rollout.episode_rewards,
    )
    with pytest.raises(RuntimeError, match=r"All 8 episodes of a batch failed.*engine is gone"):
        made.train()
