"""slime plays environments: its samples are our rows, also of episodes that were interrupted."""

import asyncio
import gc
import importlib
import math
import warnings
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
    warnings.simplefilter("ignore")  # those of slime and its dependencies
    for name in ("slime.utils", "httpx", "pylatexenc", "ray", "tokenizers", "torch"):
        pytest.importorskip(
            name, reason=f"{name} is not installed: see docs/trainers/more.md for the commands"
        )
    from slime.rollout.sglang_rollout import GenerateState
    from slime.utils.async_utils import run
    from slime.utils.types import Sample

    from gem_adapters.checks.slime import make_args, play, row_of_sample
    from gem_adapters.rows import slime_layout
    from gem_adapters.slime import Generate, group_rewards

pytestmark = pytest.mark.filterwarnings("ignore")

GAME = "game:GuessTheNumber-v0-easy"
EXAMPLES = Path(__file__).parents[3] / "examples" / "trainers"
FAILED = Sample.Status.FAILED


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_tokenizer()


@pytest.fixture
def model(tokenizer: Any) -> ScriptedModel:
    return ScriptedModel(tokenizer)


def play_rows(rows: Any, model: ScriptedModel, adapter: Any = None, **options: Any) -> list[Any]:
    """Play rows as slime reads them from a dataset."""
    lines = [{**slime_layout(row), "text": "prompt"} for row in rows]
    adapter = adapter or Generate(max_retries=1)
    return play(adapter, lines, model.tokenizer, model, **options)


def reference_rows(
    rows: Any, model: ScriptedModel, one_sequence: Any = "raise", **limits: int
) -> Any:
    case = Case(
        rows=rows,
        model=model.fresh(),
        tokenizer=model.tokenizer,
        limits=Limits(**limits),
        one_sequence=one_sequence,
    )
    return [played.rows for played in reference(case)]


def check_equal(sample: Sample, expected: Row) -> None:
    found = row_of_sample(sample)
    for name in ("prompt_ids", "response_ids", "mask", "truncated"):
        assert getattr(found, name) == getattr(expected, name), name
    assert found.logprobs == pytest.approx(expected.logprobs)
    assert found.reward == pytest.approx(expected.reward)
    assert not sample.remove_sample


def check_removed(sample: Sample) -> None:
    """Check that slime trains on no token of a sample."""
    assert (sample.status, sample.remove_sample, sample.reward) == (FAILED, True, 0.0)
    assert sample.response_length == len(sample.loss_mask) == len(sample.rollout_log_probs) > 0
    assert not any(sample.loss_mask)


class TestAnEpisode:
    @pytest.mark.parametrize("env", ["Game", "Sums", "Turns"])
    def test_an_episode_has_the_row_of_play_tokens(self, model: ScriptedModel, env: str) -> None:
        rows = env_rows(f"conformance:{env}", 16, seed=5)
        adapter = Generate(limits=Limits(response_tokens=400, turn_tokens=9))
        found = play_rows(
            rows, model, adapter, rollout_max_response_len=5, rollout_max_context_len=900
        )
        expected = reference_rows(rows, model, turn_tokens=5, response_tokens=400, context=900)
        for (sample,), (row,) in zip(found, expected, strict=True):
            check_equal(sample, row)
            status = Sample.Status.TRUNCATED if row.truncated else Sample.Status.COMPLETED
            assert sample.status is status

    @pytest.mark.parametrize(("reward", "score"), [("sum", 6), ("discounted", 2.75), ("last", 3)])
    def test_an_episode_has_one_reward(
        self, counted_room: Any, model: ScriptedModel, reward: Any, score: float
    ) -> None:
        adapter = Generate(reward=reward, gamma=0.5)
        ((one, two),) = play_rows(env_rows(counted_room.id, 1), model, adapter, samples=2)
        assert (one.reward, two.reward) == (score, score)
        assert one.metadata["turns"] == 3
        assert one.metadata["error"] is None

    def test_an_episode_has_its_reward_under_the_key_of_slime(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        ((sample,),) = play_rows(env_rows(counted_room.id, 1), model, reward_key="score")
        assert sample.reward == {"score": 6.0}
        assert sample.get_reward_value(make_args(Generate(), reward_key="score")) == 6.0

    def test_an_episode_can_be_read_in_the_logs(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        ((sample,),) = play_rows(env_rows(counted_room.id, 1), model)
        assert "word" in sample.prompt
        assert "turn 2" in sample.response
        assert "turn 2" not in sample.prompt

    def test_an_episode_never_exceeds_its_limits(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        rows = env_rows(counted_room.id, 1)
        ((whole,),) = reference_rows(rows, model)
        for most in (1, 3, 8, 20):
            context = len(whole.prompt_ids) + most
            ((sample,),) = play_rows(rows, model, rollout_max_context_len=context)
            assert 0 < sample.response_length <= most
            assert sample.status is Sample.Status.TRUNCATED

    def test_an_episode_has_the_tools_of_its_configuration(self, model: ScriptedModel) -> None:
        ((sample,),) = play_rows(env_rows(GAME, 1), model, Generate(config=["tools=[python]"]))
        assert "python" in sample.prompt

    def test_an_episode_has_the_tokens_that_were_possible_under_top_p(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        def spoil(response: Any) -> Any:
            ids = response["output_ids"]
            response["meta_info"] |= {
                "top_p_token_ids": ids,
                "top_p_token_offsets": list(range(len(ids) + 1)),
                "weight_version": "7",
            }
            return response

        rows = env_rows(counted_room.id, 2)
        rows[1]["env_kwargs"] = {"fault": "reset"}
        (sample,), (failed,) = play_rows(
            rows, model, rollout_top_p=0.9, server={"spoil": spoil, "aborts": 1}
        )
        sampled = [
            token
            for token, kept in zip(
                sample.tokens[-sample.response_length :], sample.loss_mask, strict=True
            )
            if kept
        ]
        assert sample.rollout_top_p_token_ids.tolist() == sampled
        assert len(sample.rollout_top_p_token_offsets) == sample.response_length + 1
        assert sample.weight_versions == ["7"] * 4
        assert len(failed.rollout_top_p_token_offsets) == failed.response_length + 1

    def test_an_episode_asks_as_slime_does(self, counted_room: Any, model: ScriptedModel) -> None:
        asked: list[Any] = []
        play_rows(
            env_rows(counted_room.id, 1),
            model,
            rollout_stop=["</answer>"],
            rollout_max_response_len=6,
            use_rollout_routing_replay=True,
            server={"aborts": 1},
            look=lambda group, server: asked.extend(server.requests),
        )
        params = asked[0]["sampling_params"]
        assert (params["stop"], params["no_stop_trim"]) == (["</answer>"], True)
        assert (params["top_k"], params["max_new_tokens"]) == (-1, 6)
        assert asked[0]["return_logprob"] is asked[0]["return_routed_experts"] is True


class TestAnInterruption:
    """slime aborts requests, and plays the samples again later."""

    def test_an_interruption_leaves_no_trace_in_the_samples(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        rows = [*env_rows(counted_room.id, 4), *env_rows("conformance:Turns", 4)]
        waits = []

        def look(group: Any, server: Any) -> None:
            waits.append([sample.status for sample in group])

        found = play_rows(rows, model, partial_rollout=True, server={"aborts": 11}, look=look)
        for (sample,), (row,) in zip(found, reference_rows(rows, model), strict=True):
            check_equal(sample, row)
        assert waits == [[Sample.Status.ABORTED]] * 11

    def test_an_interruption_masks_older_tokens_if_slime_asks_for_it(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        rows = env_rows(counted_room.id, 1)
        ((whole,),) = reference_rows(rows, model)
        ((sample,),) = play_rows(
            rows,
            model,
            partial_rollout=True,
            mask_offpolicy_in_partial_rollout=True,
            server={"aborts": 2},
        )
        found = row_of_sample(sample)
        assert found.response_ids == whole.response_ids
        first = found.mask.index(True)
        assert 0 < first < whole.spans[0][1]
        assert found.mask[first:] == whole.mask[first:]

    def test_an_interruption_while_the_environment_works_waits_before_the_next_request(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        requests: list[int] = []

        def look(group: Any, server: Any) -> None:
            requests.append(len(server.requests))
            GenerateState(None).reset()

        def abort(response: Any) -> Any:
            GenerateState(None).aborted = not requests
            return response

        rows = env_rows(counted_room.id, 1)
        ((whole,),) = reference_rows(rows, model)
        ((sample,),) = play_rows(
            rows,
            model,
            mask_offpolicy_in_partial_rollout=True,
            look=look,
            server={"spoil": abort},
        )
        assert requests == [1]
        assert (sample.status, sample.reward) == (Sample.Status.COMPLETED, 6.0)
        assert sample.loss_mask.index(1) == whole.spans[1][0]

    def test_an_interruption_of_a_sample_that_is_dropped_closes_its_environment(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        adapter = Generate()
        (row,) = env_rows(counted_room.id, 1)

        async def drop() -> None:
            state = GenerateState(None)
            state.aborted = True
            sample: Any = Sample(metadata=row)
            await adapter(make_args(adapter), sample, {"max_new_tokens": 9})
            assert (sample.status, counted_room.open) == (Sample.Status.ABORTED, 1)
            sample = None
            gc.collect()
            for _ in range(5):
                await asyncio.sleep(0)
            assert counted_room.open == 0

        play_rows(env_rows(GAME, 1), model)  # makes slime's state
        asyncio.run(drop())


class TestSeveralSequences:
    @pytest.fixture
    def forgetful(self) -> ScriptedModel:
        return ScriptedModel(make_tokenizer(chat_template=FORGETFUL_TEMPLATE))

    def test_several_sequences_are_a_list_of_samples_of_one_rollout(
        self, counted_room: Any, forgetful: ScriptedModel
    ) -> None:
        rows = env_rows(counted_room.id, 2)
        adapter = Generate(one_sequence="split")
        groups = play_rows(rows, forgetful, adapter, samples=1)
        for (samples,), expected in zip(
            groups, reference_rows(rows, forgetful, "split"), strict=True
        ):
            assert len(samples) == 3
            for sample, row in zip(samples, expected, strict=True):
                check_equal(sample, row)
            assert {sample.rollout_id for sample in samples} == {samples[0].index}

    def test_several_sequences_are_refused_where_slime_cannot_keep_them(
        self, counted_room: Any, forgetful: ScriptedModel
    ) -> None:
        rows, adapter = env_rows(counted_room.id, 1), Generate(one_sequence="split")
        (error,) = play_rows(rows, forgetful, adapter, partial_rollout=True)
        assert isinstance(error, ConfigError)
        assert "--partial-rollout" in str(error)

    def test_several_sequences_name_the_turn_or_keep_the_last(
        self, counted_room: Any, forgetful: ScriptedModel
    ) -> None:
        rows = env_rows(counted_room.id, 1)
        (error,) = play_rows(rows, forgetful)
        assert isinstance(error, SequenceError)
        assert "turn 2" in str(error)
        ((sample,),) = play_rows(rows, forgetful, Generate(one_sequence="last"))
        check_equal(sample, reference_rows(rows, forgetful, "last")[0][0])

    @pytest.mark.parametrize("estimator", ["grpo", "reinforce_plus_plus_baseline"])
    def test_several_sequences_count_as_one_episode_in_their_group(self, estimator: str) -> None:
        samples = [
            Sample(group_index=group, rollout_id=rollout, reward=reward)
            for group, rollout, reward in (
                (0, 0, 1.0),
                (0, 0, 1.0),
                (0, 0, 1.0),
                (0, 1, 3.0),
                (1, 2, 5.0),
            )
        ]
        args = make_args(Generate(), advantage_estimator=estimator)
        raw, normalised = group_rewards(args, samples)
        scale = math.sqrt(2) if estimator == "grpo" else 1.0
        assert raw == [1.0, 1.0, 1.0, 3.0, 5.0]
        expected = [-1 / scale, -1 / scale, -1 / scale, 1 / scale, 0.0]
        assert normalised == pytest.approx(expected, rel=1e-5)

    def test_several_sequences_are_one_sample_in_an_evaluation(
        self, counted_room: Any, forgetful: ScriptedModel
    ) -> None:
        rows, adapter = env_rows(counted_room.id, 1), Generate(one_sequence="split")
        ((sample,),) = play_rows(rows, forgetful, adapter, evaluation=True)
        assert (sample.status, sample.reward) == (Sample.Status.COMPLETED, 6.0)
        (error,) = play_rows(rows, forgetful, adapter, evaluation=True, eval_max_context_len=1)
        assert isinstance(error, PromptTooLongError)


class TestAFault:
    def test_a_removed_sample_does_not_count_in_its_group(self) -> None:
        samples = [Sample(group_index=0, index=i, reward=float(i)) for i in (1, 3)]
        samples.append(Sample(group_index=0, index=0, reward=0.0, remove_sample=True))
        samples.append(Sample(group_index=1, index=4, reward=0.0, remove_sample=True))
        args = make_args(Generate(), grpo_std_normalization=False)
        assert group_rewards(args, samples)[1] == [-1.0, 1.0, 0.0, 0.0]

    def test_slimes_own_normalisation_is_refused_in_training(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        rows, own = env_rows(counted_room.id, 1), {"custom_reward_post_process_path": None}
        (error,) = play_rows(rows, model, **own)
        assert isinstance(error, ConfigError)
        assert "gem_adapters.slime.group_rewards" in str(error)
        for allowed in ({"evaluation": True}, {"advantage_estimator": "ppo"}):
            ((sample,),) = play_rows(rows, model, **own, **allowed)
            assert sample.status == Sample.Status.COMPLETED

    @pytest.mark.parametrize("fault", ["raise", "reset"])
    def test_a_fault_of_one_environment_of_64_removes_its_sample_only(
        self, counted_room: Any, model: ScriptedModel, fault: str
    ) -> None:
        rows = env_rows(counted_room.id, 64)
        rows[17]["env_kwargs"] = {"fault": fault}
        found = play_rows(rows, model)
        (failed,) = found.pop(17)
        check_removed(failed)
        assert failed.metadata["error"]["type"] == "RuntimeError"
        del rows[17]
        for (sample,), (row,) in zip(found, reference_rows(rows, model), strict=True):
            check_equal(sample, row)

    def test_a_fault_is_played_again_if_asked_to(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        adapter = Generate(policy=FaultPolicy(on_error="retry", retries=2))
        rows = env_rows(counted_room.id, 1, env_kwargs={"fault": "raise", "last": 2})
        ((sample,),) = play_rows(
            rows, model, adapter, mask_offpolicy_in_partial_rollout=True, server={"aborts": 1}
        )
        assert (sample.status, sample.reward) == (Sample.Status.COMPLETED, 6.0)
        assert sample.loss_mask[0] == 1
        assert counted_room.made == 3

    def test_a_fault_is_raised_if_asked_to(self, counted_room: Any, model: ScriptedModel) -> None:
        rows = env_rows(counted_room.id, 1, env_kwargs={"fault": "raise"})
        (error,) = play_rows(rows, model, Generate(policy=FaultPolicy(on_error="raise")))
        assert isinstance(error, RuntimeError)
        assert str(error) == "the room is on fire"

    @pytest.mark.parametrize(
        ("response", "words"),
        [
            (None, "must have meta_info with finish_reason"),
            ({"meta_info": {"finish_reason": {"type": "stop"}}}, "sampled no token"),
            (
                {"meta_info": {"finish_reason": {"type": "stop"}}, "output_ids": [5, 6]},
                "2 with 0 log-probabilities",
            ),
        ],
    )
    def test_a_fault_of_the_server_says_what_it_returned(
        self, counted_room: Any, model: ScriptedModel, response: Any, words: str
    ) -> None:
        ((sample,),) = play_rows(
            env_rows(counted_room.id, 1), model, server={"spoil": lambda _: response}
        )
        check_removed(sample)
        assert words in sample.metadata["error"]["message"]

    def test_a_fault_of_a_failing_server_removes_the_sample(self, tokenizer: Any) -> None:
        rows = env_rows("conformance:Turns", 1, env_kwargs={"label": "faulty"})
        ((sample,),) = play_rows(rows, ScriptedModel(tokenizer, misbehaves="raises"))
        check_removed(sample)
        assert "500 Internal Server Error" in sample.metadata["error"]["message"]

    def test_a_fault_of_a_server_that_is_gone_removes_the_sample(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        adapter = Generate(max_retries=1)
        (row,) = env_rows(counted_room.id, 1)
        play_rows([row], model)  # makes slime's state
        args = make_args(adapter, sglang_router_ip="127.0.0.1", sglang_router_port=9)
        sample = run(adapter(args, Sample(metadata=row), {"max_new_tokens": 9}))
        check_removed(sample)
        assert sample.metadata["error"]["type"] == "ConnectError"


class TestARefusal:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"reward": "turns"}, "reward must be"),
            ({"gamma": 2.0}, "gamma must be"),
            ({"one_sequence": "all"}, "one_sequence must be"),
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
        (error,) = play(Generate(), [{"text": "", "metadata": row}], model.tokenizer, model)
        assert isinstance(error, gem_core.GemError)
        assert message in str(error)

    def test_a_refusal_of_a_prompt_over_its_limit_names_it(
        self, counted_room: Any, model: ScriptedModel
    ) -> None:
        rows = env_rows(counted_room.id, 1, env_kwargs={"words": 300})
        (error,) = play_rows(rows, model, rollout_max_context_len=256)
        assert isinstance(error, PromptTooLongError)
        assert "context is 256" in str(error)


class TestTheExample:
    @pytest.fixture
    def module(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """The module, imported by its name as slime does."""
        monkeypatch.syspath_prepend(EXAMPLES)
        return importlib.import_module("slime_generate")

    def test_the_example_plays_with_its_tool(self, module: Any, model: ScriptedModel) -> None:
        rows = env_rows("game:Mastermind-v0-easy", 2, env_kwargs={"max_turns": 2})
        for (sample,) in play_rows(rows, model, module.generate):
            assert "python" in sample.prompt

    def test_the_example_plays_an_episode_or_writes_the_dataset(
        self, module: Any, tmp_path: Path, capsys: Any
    ) -> None:
        module.main()
        assert "reward" in capsys.readouterr().out
        module.main(str(tmp_path / "rows.jsonl"))
        assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 1000
