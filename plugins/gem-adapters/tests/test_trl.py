"""TRL's own trainers play our environments."""

import json
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from ports import free_port

trl = pytest.importorskip("trl", reason="trl is not installed: pip install trl")
transformers = pytest.importorskip("transformers")
datasets = pytest.importorskip("datasets")

from gem_adapters.trl import environment, reward, rollout, sampling  # noqa: E402
from gem_core.errors import ConfigError, EpisodeEndedError  # noqa: E402
from gem_rollout import Limits  # noqa: E402
from gem_rollout.models.tiny_model import make_tiny_tokenizer, save_tiny_model  # noqa: E402

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
    for prompt, sampled in zip(asked, sampling.sample(made, asked), strict=True):
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
    from gem_rollout.episodes.components import options_of_reset

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


def test_functions_of_tools_are_methods_with_their_types() -> None:
    factory = pickle.loads(pickle.dumps(environment.environment_factory(["tools=[python]"])))  # noqa: S301
    made = factory()
    assert type(made) is type(factory())
    schema = transformers.utils.get_json_schema(made.python)["function"]
    assert schema["parameters"]["properties"]["code"]["type"] == "string"
    assert schema["parameters"]["required"] == ["code"]
    (row,) = environment.rows("math:Sample", 1)
    made.reset(**row)
    assert "42" in made.python(code="print(6 * 7)")
    assert "'code' is" in made.python()  # missing, or a required property
    assert "has ended" in made.act(r"\boxed{0}")
    with pytest.raises(EpisodeEndedError):
        made.python(code="1")


def test_calls_are_text_where_the_configuration_has_a_format() -> None:
    config = ["tools=[python]", "tool_use.call_format=tags"]
    made = environment.environment_factory(config)()
    assert type(made) is environment.Environment
    (row,) = environment.rows("math:Sample", 1)
    assert "<python>" in made.reset(**row)
    assert "42" in made.act("<python>print(6 * 7)</python>")


def test_an_asynchronous_environment_is_waited_for() -> None:
    made = environment.Environment()
    assert "name a digit" in made.reset(env="conformance:Asynchronous", seed=0)
    shown = [made.act("1") for _ in range(3)]
    assert shown[-1].endswith("The episode has ended.")
    assert made.get_reward() == pytest.approx((2 + 3 + 4) / 8)


def test_an_environment_that_raises_has_no_reward() -> None:
    made = environment.Environment()
    made.reset(env="conformance:Failing", seed=0)
    made.act("1")
    assert made.get_reward() == 2 / 8
    assert "failed" in made.act("1")
    assert made.get_reward() is None
    with pytest.raises(EpisodeEndedError):
        made.act("1")
    made.reset(env="conformance:Game", seed=0)
    assert made.get_reward() == 0


def test_an_environment_that_shows_an_image_is_an_error() -> None:
    with pytest.raises(ConfigError, match="image"):
        environment.Environment().reset(env="conformance:Picture", seed=0)


def test_the_tool_loop_plays_an_environment(tmp_path: Path) -> None:
    template = Path(trl.__file__).parent / "chat_templates" / "qwen3_instruct_2507.jinja"
    tokenizer = make_tiny_tokenizer(chat_template=template.read_text())
    made = trainer(
        save_tiny_model(tmp_path, tokenizer=tokenizer),
        tmp_path,
        train_dataset=datasets.Dataset.from_list(environment.rows("conformance:Turns", 8)),
        environment_factory=environment.environment_factory(["tools=[python]"]),
    )

    def call(name: str, **arguments: str) -> list[int]:
        written = json.dumps({"name": name, "arguments": arguments})
        return list(
            made.processing_class(f"<tool_call>\n{written}\n</tool_call><|im_end|>").input_ids
        )

    replies = [
        call("act", action="1"),
        call("python", code="print(6 * 7)"),
        call("act", action="2"),
        list(made.processing_class("Done.<|im_end|>").input_ids),
    ]
    turn = iter(replies)

    def scripted(prompt_ids: list[list[int]], *_: Any, **__: Any) -> tuple[list[list[int]], None]:
        reply = next(turn)
        return [list(reply) for _ in prompt_ids], None

    made._generate_single_turn = scripted
    made.max_completion_length = 2000
    made.model.train()
    held = made._generate_and_score_completions([made.train_dataset[0] for _ in range(4)])
    shown = made.processing_class.decode(held["completion_ids"][0])
    assert "Turn 1: 2 points for 1" in shown
    assert "Code execution result: 42" in shown
    sampled = held["completion_ids"][0][
        held["tool_mask"][0].bool() & held["completion_mask"][0].bool()
    ]
    assert sampled.tolist() == [one for reply in replies for one in reply]
    assert list(made._logs["rewards"]["ToolEnvironment"]) == [(2 + 4) / 8] * 4
    asked = made.processing_class.decode(held["prompt_ids"][0], skip_special_tokens=True)
    assert "has ended.\n\nTurns " in asked


def test_processes_that_share_a_server_sample_in_step(tmp_path: Path) -> None:
    port = str(free_port())
    script = str(Path(__file__).with_name("trl_processes.py"))
    logs = [tmp_path / str(rank) for rank in range(2)]
    started = []
    try:
        for rank, log in enumerate(logs):
            with log.open("w") as output:
                command = [sys.executable, script, str(rank), port]
                started.append(subprocess.Popen(command, stdout=output, stderr=output))
        for process, log in zip(started, logs, strict=True):
            assert process.wait(timeout=300) == 0, log.read_text()
    finally:
        for process in started:
            process.kill()
            process.wait()


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
