"""SkyRL and skyrl-gym play our environments."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("skyrl_gym", reason="skyrl-gym is not installed: pip install skyrl-gym")

import skyrl_gym

from gem_adapters.rows import rows, skyrl_layout
from gem_adapters.skyrl.text_env import register
from gem_core.errors import ConfigError, UnknownIdError
from gem_rollout import env_rows
from gem_rollout.models.tiny_model import make_tiny_tokenizer

GAME = "game:GuessTheNumber-v0-easy"
pytestmark = pytest.mark.filterwarnings("ignore")  # SkyRL and its packages warn about themselves


def made(extras: dict[str, Any], name: str = "gem", config: list[str] | None = None) -> Any:
    register(name, config)
    register(name, config)
    return skyrl_gym.make(name, env_config={}, extras=extras)


class TestTextEnv:
    def test_an_episode_is_played_to_its_end(self) -> None:
        (row,) = rows(GAME, 1, layout="skyrl")
        env = made(row)
        chat, _ = env.init([{"role": "system", "content": "Play."}, *row["prompt"]])
        assert [message["role"] for message in chat] == ["system", "user"]
        assert "guess" in chat[1]["content"].lower()
        total = 0.0
        for number in range(1, 11):
            step = env.step(rf"\boxed{{{number}}}")
            total += step["reward"]
            if step["done"]:
                break
            assert step["observations"][0]["role"] == "user"
        assert step["done"]
        assert step["observations"] == []
        assert total != 0
        env.close()

    def test_it_ends_after_the_turns_of_skyrl(self) -> None:
        (row,) = rows(GAME, 1, layout="skyrl")
        env = made({**row, "max_turns": 2})
        env.init(row["prompt"])
        assert [env.step(r"\boxed{10}")["done"] for _ in range(2)] == [False, True]
        env.close()

    def test_an_asynchronous_environment_is_played(self) -> None:
        (row,) = rows("conformance:Asynchronous", 1, layout="skyrl")
        env = made(row)
        chat, _ = env.init(row["prompt"])
        assert chat[0]["content"].startswith("Asynchronous")
        steps = [env.step("3") for _ in range(3)]
        assert [step["done"] for step in steps] == [False, False, True]
        assert [step["reward"] for step in steps] == [4 / 8, 5 / 8, 6 / 8]
        env.close()

    def test_tools_and_wrappers_are_composed(self) -> None:
        (row,) = rows(GAME, 1, layout="skyrl")
        env = made(row, "gem_concat", ["wrappers=[concat]"])
        chat, _ = env.init(row["prompt"])
        step = env.step(r"\boxed{10}")
        assert chat[0]["content"].splitlines()[0] in step["observations"][0]["content"]
        env.close()

    def test_a_name_cannot_have_two_configurations(self) -> None:
        register("gem_taken")
        with pytest.raises(ConfigError, match="another environment called 'gem_taken'"):
            register("gem_taken", ["wrappers=[concat]"])

    @pytest.mark.parametrize(
        ("extras", "error"), [({}, ConfigError), ({"env": "game:No", "seed": 0}, UnknownIdError)]
    )
    def test_a_row_that_is_invalid_is_an_error(self, extras: Any, error: type[Exception]) -> None:
        with pytest.raises(error):
            made(extras)


class TestGenerator:
    @pytest.fixture
    def generator(self) -> Any:
        reason = "skyrl is not installed: pip install 'gem-adapters[skyrl]'"
        pytest.importorskip("gem_adapters.checks.skyrl", reason=reason, exc_type=ImportError)
        from gem_adapters.skyrl import GemGenerator

        return GemGenerator

    def engine(self, tokenizer: Any, reason: str = "stop") -> Any:
        class Engine:
            asked: list[Any] = []  # noqa: RUF012

            async def generate(self, batch: dict[str, Any]) -> dict[str, Any]:
                self.asked.append(batch)
                ids = [*tokenizer.encode("1"), tokenizer.eos_token_id]
                return {
                    "response_ids": [ids],
                    "stop_reasons": [reason],
                    "response_logprobs": [[-0.5] * len(ids)],
                }

        return Engine()

    def batch(self, count: int) -> dict[str, Any]:
        extras = [skyrl_layout(row) for row in env_rows(GAME, count)]
        return {"env_extras": extras, "sampling_params": {"max_tokens": 7, "top_p": 0.9}}

    def test_a_reward_for_the_episode_is_the_sum_of_those_of_its_tokens(
        self, generator: Any
    ) -> None:
        tokenizer = make_tiny_tokenizer()
        engine = self.engine(tokenizer)
        by_token, by_episode = (
            asyncio.run(generator(tokenizer, engine, reward=reward).generate(self.batch(4)))
            for reward in ("tokens", "sum")
        )
        assert [sum(each) for each in by_token["rewards"]] == pytest.approx(by_episode["rewards"])
        assert {one["sampling_params"]["max_tokens"] for one in engine.asked} == {7}
        assert {one["sampling_params"]["top_p"] for one in engine.asked} == {0.9}

    def test_an_aborted_request_is_masked(self, generator: Any) -> None:
        tokenizer = make_tiny_tokenizer()
        made = generator(tokenizer, self.engine(tokenizer, "abort"))
        output = asyncio.run(made.generate(self.batch(2)))
        assert output["stop_reasons"] == ["error", "error"]
        assert not any(any(mask) for mask in output["loss_masks"])
        assert output["rollout_metrics"]["generate/error_share"] == 1.0
        assert "aborted" in output["env_metrics"][0]["error"]

    def test_a_batch_without_rows_is_an_error(self, generator: Any) -> None:
        with pytest.raises(ConfigError, match="has no env_extras"):
            asyncio.run(generator(make_tiny_tokenizer(), None).generate({"env_extras": None}))

    def test_options_are_checked(self, generator: Any) -> None:
        with pytest.raises(ConfigError, match="reward must be"):
            generator(make_tiny_tokenizer(), None, reward="mean")
