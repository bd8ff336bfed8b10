"""RL2 plays environments: its tensors are our rows, also of episodes that were interrupted."""

import asyncio
import gc
import importlib.util
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from adapter_refusals import CONFIGS, ROWS

import gem_core
from gem_adapters.testing.adapters import (
    FORGETFUL_TEMPLATE,
    Case,
    ScriptedModel,
    make_tokenizer,
    reference,
)
from gem_core.errors import ConfigError
from gem_rollout import FaultPolicy, Limits, Row, env_rows
from gem_rollout.tokens.agent import SequenceError
from gem_rollout.tokens.limits import PromptTooLongError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of RL2 and its dependencies
    for name in ("RL2", "datasets", "torchdata", "tokenizers"):
        pytest.importorskip(
            name, reason=f"{name} is not installed: see docs/trainers/more.md for the commands"
        )
    from omegaconf import OmegaConf
    from RL2.datasets import Sample
    from RL2.utils.communication import async_request, with_session

    from gem_adapters.checks._sglang import serve
    from gem_adapters.checks.rl2 import play, rows_of_group
    from gem_adapters.rl2 import Generate
    from gem_adapters.rows import plain_layout

pytestmark = pytest.mark.filterwarnings("ignore")

GAME = "game:GuessTheNumber-v0-easy"
EXAMPLE = Path(__file__).parents[3] / "examples" / "trainers" / "rl2_env.py"


@pytest.fixture(autouse=True)
def _no_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    """RL2 repeats a failed request without a pause."""
    monkeypatch.setattr(async_request, "__defaults__", ("POST", 2, 0))


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_tokenizer()


@pytest.fixture
def model(tokenizer: Any) -> ScriptedModel:
    return ScriptedModel(tokenizer)


def play_rows(rows: Any, model: ScriptedModel, generate: Any = None, **options: Any) -> list[Any]:
    """Play rows as RL2 reads them from a dataset."""
    lines = [plain_layout(row) for row in rows]
    return play(generate or Generate(), lines, model.tokenizer, model, **options)


def reference_rows(
    rows: Any, model: ScriptedModel, one_sequence: Any = "raise", **limits: int
) -> list[list[Row]]:
    case = Case(
        rows=rows,
        model=model.fresh(),
        tokenizer=model.tokenizer,
        limits=Limits(**limits),
        one_sequence=one_sequence,
    )
    return [played.rows for played in reference(case)]


def check_equal(group: Any, expected: list[Row]) -> None:
    """Check that the only episode of a group has the rows that play_tokens gives."""
    (found,) = rows_of_group(group)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        for name in ("prompt_ids", "response_ids", "mask", "truncated"):
            assert getattr(one, name) == getattr(other, name), name
        for name in ("logprobs", "token_rewards", "turn_rewards"):
            assert getattr(one, name) == pytest.approx(getattr(other, name)), name


def check_masked(group: Any) -> None:
    """Check that RL2 trains on no token of the group's only episode."""
    tensors, metrics = group.to_all_tensor_dicts_and_metrics()
    assert tensors[0]
    for one in tensors[0]:
        assert not one["action_mask"].any()
        assert not one["rewards"].any()
    assert (metrics["failed"], metrics["rewards"]) == ([True], [0.0])


class TestAnEpisode:
    @pytest.mark.parametrize("env", ["Game", "Sums", "Turns"])
    def test_an_episode_has_the_rows_of_play_tokens(self, model: ScriptedModel, env: str) -> None:
        rows = env_rows(f"conformance:{env}", 16, seed=5)
        generate = Generate(limits=Limits(response_tokens=400, turn_tokens=9))
        groups = play_rows(rows, model, generate, max_new_tokens=5)
        expected = reference_rows(rows, model, turn_tokens=5, response_tokens=400)
        for group, one in zip(groups, expected, strict=True):
            check_equal(group, one)

    def test_an_episode_has_the_reward_of_each_turn(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        (group,) = play_rows(env_rows(counted_room.id, 1), model, samples=2)
        for (row,) in rows_of_group(group):
            assert row.turn_rewards == [1.0, 2.0, 3.0]
        _, metrics = group.to_all_tensor_dicts_and_metrics()
        assert metrics["rewards"] == [6.0, 6.0]
        assert metrics["turns"] == [3, 3]
        assert metrics["failed"] == [False, False]
        assert len(metrics["response_length"]) == 6

    def test_an_episode_never_exceeds_its_limits(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        rows = env_rows(counted_room.id, 1)
        ((whole,),) = reference_rows(rows, model)
        for most in (1, 3, 8, 20):
            limits = Limits(context=len(whole.prompt_ids) + most)
            (group,) = play_rows(rows, model, Generate(limits=limits))
            (((found,),), metrics) = rows_of_group(group), group.samples[0].metrics
            assert 0 < len(found.response_ids) <= most
            assert metrics["truncated"] == [True]

    def test_an_episode_may_have_several_sequences(self, counted_room: Any) -> None:
        model = ScriptedModel(make_tokenizer(chat_template=FORGETFUL_TEMPLATE))
        rows = env_rows(counted_room.id, 1)
        (group,) = play_rows(rows, model, Generate(one_sequence="split"))
        (expected,) = reference_rows(rows, model, "split")
        assert len(expected) == 3
        check_equal(group, expected)

    def test_an_episode_has_the_tools_of_its_configuration(self, model: ScriptedModel) -> None:
        (group,) = play_rows(env_rows(GAME, 1), model, Generate(config=["tools=[python]"]))
        (((row,),)) = rows_of_group(group)
        assert "python" in model.tokenizer.decode(row.prompt_ids)

    def test_an_episode_ends_replies_at_the_stop_strings_of_rl2(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        asked: list[Any] = []
        play_rows(
            env_rows(counted_room.id, 1),
            model,
            stop="</answer>",
            server={"aborts": 1},
            look=lambda group, server: asked.extend(server.requests),
        )
        params = asked[0]["sampling_params"]
        assert params["stop"] == ["</answer>"]
        assert (params["temperature"], params["no_stop_trim"]) == (1.0, True)
        assert asked[0]["return_logprob"] is True

    def test_an_episode_is_printed_and_saved_by_rl2(
        self, counted_room: Any, model: ScriptedModel, tmp_path: Path, capsys: Any
    ) -> None:
        (group,) = play_rows(env_rows(counted_room.id, 1), model, samples=2)
        group.print()
        printed = capsys.readouterr().out
        assert "turn 2" in printed
        assert "[Reward] 6.0" in printed
        group.config.save_dir = str(tmp_path)
        group.save(4)
        one, other = json.loads((tmp_path / "step4.jsonl").read_text())
        assert (one["status"], one["turn"]) == ("done", 3)
        assert one["sample"] == other["sample"]


class TestAnInterruption:
    """RL2 aborts the requests of ``partial_rollout``, and plays the samples again later."""

    def test_an_interruption_leaves_no_trace_in_the_tensors(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        rows = [*env_rows(counted_room.id, 4), *env_rows("conformance:Turns", 4)]
        waits = []

        def look(group: Any, server: Any) -> None:
            waits.append([sample.status for sample in group.samples])

        groups = play_rows(rows, model, server={"aborts": 11}, look=look)
        for group, expected in zip(groups, reference_rows(rows, model), strict=True):
            check_equal(group, expected)
        assert waits == [[Sample.Status.ABORTED]] * 11

    def test_an_interruption_keeps_the_environment_and_the_room_of_the_reply(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        bodies: list[Any] = []

        def look(group: Any, server: Any) -> None:
            bodies[:] = server.requests
            assert counted_room.open == counted_room.made == 1

        play_rows(
            env_rows(counted_room.id, 1), model, max_new_tokens=6, server={"aborts": 2}, look=look
        )
        first, second = bodies
        sampled = len(second["input_ids"]) - len(first["input_ids"])
        assert sampled > 0
        assert first["sampling_params"]["max_new_tokens"] == 6
        assert second["sampling_params"]["max_new_tokens"] == 6 - sampled

    def test_an_interruption_does_not_play_finished_samples_of_the_group_again(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        statuses: list[Any] = []

        def look(group: Any, server: Any) -> None:
            statuses.extend(sample.status for sample in group.samples)

        (group,) = play_rows(
            env_rows(counted_room.id, 1), model, samples=3, server={"aborts": 1}, look=look
        )
        assert sorted(status.value for status in statuses) == ["aborted", "done", "done"]
        assert counted_room.made == 3
        assert group.to_all_tensor_dicts_and_metrics()[1]["rewards"] == [6.0] * 3

    def test_an_interruption_of_a_sample_that_is_dropped_closes_its_environment(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        generate = Generate()
        (row,) = env_rows(counted_room.id, 1)

        async def drop() -> None:
            sample: Any = Sample(sample=row)
            async with serve(model, aborts=1) as server:
                config = OmegaConf.create(
                    {"partial_rollout": True, "sampling_params": {"max_new_tokens": 9}}
                )
                await generate(config, model.tokenizer, server.url, sample)
            assert (sample.status, counted_room.open) == (Sample.Status.ABORTED, 1)
            sample = None
            gc.collect()
            for _ in range(5):
                await asyncio.sleep(0)
            assert counted_room.open == 0

        asyncio.run(with_session(drop)())

    def test_an_interruption_begins_the_episode_anew_where_nobody_waits(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        rows = env_rows(counted_room.id, 1)
        sample = Sample(sample=rows[0], status=Sample.Status.ABORTED)

        async def resume() -> None:
            config = OmegaConf.create({"sampling_params": {"max_new_tokens": 99}})
            async with serve(model) as server:
                await Generate()(config, model.tokenizer, server.url, sample)

        asyncio.run(with_session(resume)())
        assert (sample.status, sample.turn) == (Sample.Status.DONE, 3)

    def test_an_interruption_is_a_fault_without_partial_rollout(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        (group,) = play_rows(
            env_rows(counted_room.id, 1), model, partial=False, server={"aborts": 1}
        )
        check_masked(group)


class TestAFault:
    @pytest.mark.parametrize("fault", ["raise", "reset"])
    def test_a_fault_of_one_environment_of_64_masks_its_episode_only(
        self, counted_room: Any, model: ScriptedModel, fault: str
    ) -> None:
        rows = env_rows(counted_room.id, 64)
        rows[17]["env_kwargs"] = {"fault": fault}
        groups = play_rows(rows, model)
        check_masked(groups.pop(17))
        del rows[17]
        for group, expected in zip(groups, reference_rows(rows, model), strict=True):
            check_equal(group, expected)

    def test_a_fault_is_played_again_if_asked_to(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        policy = FaultPolicy(on_error="retry", retries=2)
        (row,) = env_rows(counted_room.id, 1, env_kwargs={"fault": "raise", "last": 2})
        (group,) = play_rows([row], model, Generate(policy=policy), server={"aborts": 4})
        ((found,),) = rows_of_group(group)
        assert found.turn_rewards == [1.0, 2.0, 3.0]
        assert counted_room.made == 3

    def test_a_fault_is_raised_if_asked_to(self, counted_room: Any, model: ScriptedModel) -> None:
        rows = env_rows(counted_room.id, 1, env_kwargs={"fault": "raise"})
        policy = FaultPolicy(on_error="raise")
        (error,) = play_rows(rows, model, Generate(policy=policy))
        assert isinstance(error, RuntimeError)
        assert str(error) == "the room is on fire"

    @pytest.mark.parametrize(
        ("response", "words"),
        [
            (None, "must have meta_info with finish_reason"),
            ("overloaded", "'overloaded'"),
            ({"meta_info": {"finish_reason": {"type": "error"}}}, "stop, length or abort"),
            ({"meta_info": {"finish_reason": {"type": "stop"}}}, "sampled no token"),
            (
                {"meta_info": {"finish_reason": {"type": "stop"}}, "output_ids": [5, 6]},
                "2 with 0 log-probabilities",
            ),
            (
                {"meta_info": {"finish_reason": {"type": "stop"}, "completion_tokens": 4}},
                "sampled 4 tokens, and returned 0",
            ),
        ],
    )
    def test_a_fault_of_the_server_says_what_it_returned(
        self, counted_room: Any, model: ScriptedModel, response: Any, words: str, caplog: Any
    ) -> None:
        (group,) = play_rows(
            env_rows(counted_room.id, 1), model, server={"spoil": lambda _: response}
        )
        check_masked(group)
        assert words in caplog.text

    def test_a_fault_of_a_server_that_is_gone_or_failing_masks_the_episode(
        self, counted_room: Any, tokenizer: Any, caplog: Any
    ) -> None:
        rows = env_rows("conformance:Turns", 1, env_kwargs={"label": "faulty"})
        model = ScriptedModel(tokenizer, misbehaves="raises")
        (group,) = play_rows(rows, model)
        check_masked(group)
        assert "Internal Server Error" in caplog.text
        (row,) = env_rows(counted_room.id, 1)
        sample = Sample(sample=row)

        async def ask() -> None:
            config = OmegaConf.create({"sampling_params": {"max_new_tokens": 9}})
            await Generate()(config, tokenizer, "http://127.0.0.1:9", sample)

        asyncio.run(with_session(ask)())
        assert sample.metrics["failed"] == [True]
        assert "127.0.0.1:9" in caplog.text


class TestARefusal:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"one_sequence": "last"}, "one_sequence must be raise or split"),
            *CONFIGS,
        ],
    )
    def test_a_refusal_of_an_option_comes_before_the_training(
        self, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ConfigError, match=message):
            Generate(**options)

    @pytest.mark.parametrize(("row", "message"), ROWS)
    def test_a_refusal_of_a_row_says_what_is_wrong(
        self, model: ScriptedModel, row: dict[str, Any], message: str
    ) -> None:
        (error,) = play(Generate(), [row], model.tokenizer, model)
        assert isinstance(error, gem_core.GemError)
        assert message in str(error)

    def test_a_refusal_of_a_prompt_over_its_limit_names_it(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        rows = env_rows(counted_room.id, 1, env_kwargs={"words": 300})
        (error,) = play_rows(rows, model, Generate(limits=Limits(prompt_tokens=256)))
        assert isinstance(error, PromptTooLongError)
        assert "prompt_tokens is 256" in str(error)

    def test_a_refusal_of_a_template_that_forgets_names_the_turn(self, counted_room: Any) -> None:
        model = ScriptedModel(make_tokenizer(chat_template=FORGETFUL_TEMPLATE))
        (error,) = play_rows(env_rows(counted_room.id, 1), model)
        assert isinstance(error, SequenceError)
        assert "turn 2" in str(error)

    def test_a_refusal_of_replies_without_a_limit_names_the_options(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        (error,) = play_rows(env_rows(counted_room.id, 1), model, max_new_tokens=None)
        assert isinstance(error, ConfigError)
        assert "Replies have no limit" in str(error)
        assert counted_room.open == 0


class TestTheExample:
    @pytest.fixture
    def module(self) -> Iterator[Any]:
        """The module, loaded by its path as RL2 does."""
        spec = importlib.util.spec_from_file_location("custom_module", EXAMPLE)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def test_the_example_is_loaded_by_its_path(self, module: Any, model: ScriptedModel) -> None:
        rows = env_rows("game:Mastermind-v0-easy", 2, env_kwargs={"max_turns": 2})
        for group in play_rows(rows, model, module.generate):
            ((row,),) = rows_of_group(group)
            assert "python" in model.tokenizer.decode(row.prompt_ids)

    def test_the_example_plays_an_episode_or_writes_the_dataset(
        self, module: Any, tmp_path: Path, capsys: Any
    ) -> None:
        module.main()
        assert "reward" in capsys.readouterr().out
        module.main(str(tmp_path / "rows.jsonl"))
        assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 1000
