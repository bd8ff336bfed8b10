"""tinker-cookbook plays environments: the same data as ours, and faults are raised."""

import asyncio
import json
import pickle
import random
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import gem_core
from gem_core.errors import ConfigError
from gem_rollout import (
    FaultPolicy,
    Limits,
    Prompt,
    ReplyError,
    Row,
    RowEnvs,
    Sampled,
    env_rows,
    play_tokens,
    row_of,
    training_rows,
)
from gem_rollout.models.tiny_model import make_tiny_tokenizer
from gem_rollout.tokens.agent import SequenceError
from gem_rollout.tokens.limits import PromptTooLongError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of tinker-cookbook and its dependencies
    pytest.importorskip(
        "tinker_cookbook",
        reason="tinker-cookbook is not installed: pip install 'gem-adapters[tinker]'",
    )
    from tinker_cookbook.completers import TokenCompleter, TokensWithLogprobs
    from tinker_cookbook.exceptions import AllTrajectoriesFailedError
    from tinker_cookbook.rl.data_processing import assemble_training_data, compute_advantages
    from tinker_cookbook.rl.rollout_strategy import MinViableGroup, RetryOnFailure
    from tinker_cookbook.rl.rollouts import do_group_rollout
    from tinker_cookbook.tokenizer_utils import register_tokenizer

    from gem_adapters.checks._rows_of_data import rows_of_data
    from gem_adapters.rows import plain_layout
    from gem_adapters.tinker import GemDataset, GemDatasetBuilder, GemGroupBuilder

pytestmark = pytest.mark.filterwarnings("ignore")

GAME = "game:GuessTheNumber-v0-easy"
FORGETFUL = (
    "{% for m in messages %}{% if m.role != 'assistant' %}"
    "<|im_start|>{{ m.content }}<|im_end|>{% endif %}{% endfor %}"
)


class Completer(TokenCompleter):
    """Replies with tokens that are a function of the prompt."""

    def __init__(self, tokenizer: Any, **fields: Any) -> None:
        self.tokenizer, self.fields = tokenizer, fields
        self.stops: list[Any] = []
        self.rooms: list[int | None] = []

    def reply(self, prompt_ids: Sequence[int], room: int | None) -> Sampled:
        rng = random.Random(str(list(prompt_ids)))
        ids = rng.choices(self.tokenizer.encode("0123456789 ab"), k=rng.randint(1, 6))
        ids = [*ids[: (room or 7) - 1], self.tokenizer.eos_token_id]
        return Sampled(ids, [-rng.random() for _ in ids], is_complete=True)

    async def __call__(self, model_input: Any, stop: Any, *, max_tokens: int | None = None) -> Any:
        self.stops.append(stop)
        self.rooms.append(max_tokens)
        reply = self.reply(model_input.to_ints(), max_tokens)
        fields = {"tokens": reply.ids, "maybe_logprobs": reply.logprobs, **self.fields}
        await asyncio.sleep(0)
        return TokensWithLogprobs(**fields)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    tiny = make_tiny_tokenizer()
    register_tokenizer("tiny", lambda: tiny)
    return tiny


def builder(row: dict[str, Any], tokenizer: Any, size: int = 1, **options: Any) -> GemGroupBuilder:
    return GemGroupBuilder(row, tokenizer, size, options=options)


def rollout(group: GemGroupBuilder, completer: Completer, strategy: Any = None) -> Any:
    return asyncio.run(do_group_rollout(group, completer, strategy=strategy))


def reference(row: dict[str, Any], completer: Completer, **options: Any) -> list[Row]:
    async def generate(prompt: Prompt) -> Sampled:
        return completer.reply(prompt.ids, prompt.room)

    session = RowEnvs().session(row, completer.tokenizer, one_sequence="split", **options)
    return training_rows(asyncio.run(play_tokens(session, generate)), one_sequence="split")


def check_equal(found: Sequence[Row], expected: Sequence[Row]) -> None:
    for one, other in zip(found, expected, strict=True):
        for name in ("prompt_ids", "response_ids", "mask", "turns", "spans", "turn_rewards"):
            assert getattr(one, name) == getattr(other, name), name
        assert one.logprobs == pytest.approx(other.logprobs)
        assert one.token_rewards == pytest.approx(other.token_rewards)
        assert (one.terminated, one.truncated) == (other.terminated, other.truncated)


class TestAnEpisode:
    @pytest.mark.parametrize("env", [GAME, "game:Mastermind-v0-easy", "test:CountedRoom-v0"])
    def test_an_episode_has_the_tokens_and_rewards_of_play_tokens(
        self, room: str, tokenizer: Any, env: str
    ) -> None:
        limits = Limits(turn_tokens=5, context=900, response_tokens=400)
        completer = Completer(tokenizer)
        for row in env_rows(env, 16, seed=5):
            (played,) = rollout(
                builder(plain_layout(row), tokenizer, limits=limits), completer
            ).trajectories_G
            check_equal(rows_of_data(played), reference(row, completer, limits=limits))

    def test_an_episode_of_several_sequences_becomes_several_data(self, room: str) -> None:
        tokenizer = make_tiny_tokenizer(chat_template=FORGETFUL)
        (row,), completer = env_rows(room, 1), Completer(tokenizer)
        (played,) = rollout(builder(row, tokenizer), completer).trajectories_G
        rows = rows_of_data(played)
        check_equal(rows, reference(row, completer))
        assert [one.turn_rewards for one in rows] == [[1.0], [2.0], [3.0]]
        with pytest.raises(SequenceError, match="turn 2"):
            rollout(builder(row, tokenizer, one_sequence="raise"), completer)

    def test_an_episode_never_exceeds_its_limits(self, room: str, tokenizer: Any) -> None:
        (row,) = env_rows(room, 1)
        for most in (1, 3, 8, 20):
            completer, limits = Completer(tokenizer), Limits(response_tokens=most)
            (played,) = rollout(builder(row, tokenizer, limits=limits), completer).trajectories_G
            (found,) = rows_of_data(played)
            assert 0 < len(found.response_ids) <= most
            assert completer.rooms[0] == most
            assert (found.truncated, played.stop_reason) == (True, "max_tokens")

    @pytest.mark.parametrize(
        ("reward", "rewards"),
        [("sum", [1, 2, 3]), ("discounted", [1, 1, 0.75]), ("last", [0, 0, 3])],
    )
    def test_an_episode_has_the_rewards_that_are_chosen(
        self, room: str, tokenizer: Any, reward: str, rewards: list[float]
    ) -> None:
        group = builder(env_rows(room, 1)[0], tokenizer, reward=reward, gamma=0.5)
        played = rollout(group, Completer(tokenizer))
        assert [one.reward for one in played.trajectories_G[0].transitions] == rewards
        assert played.get_total_rewards() == [sum(rewards)]

    def test_an_episode_ends_a_reply_at_the_end_token_or_a_stop_string(
        self, tokenizer: Any
    ) -> None:
        (row,) = env_rows(GAME, 1)
        completer = Completer(tokenizer)
        rollout(builder(row, tokenizer), completer)
        assert completer.stops[0] == [tokenizer.eos_token_id]
        rollout(builder(row, tokenizer, stop=["</a>"]), completer)
        assert completer.stops[-1] == ["</a>", tokenizer.eos_token]

    def test_an_episode_becomes_training_data_of_the_trainer(
        self, room: str, tokenizer: Any
    ) -> None:
        group = rollout(builder(env_rows(room, 1)[0], tokenizer, 3), Completer(tokenizer))
        data, metadata = assemble_training_data([group], compute_advantages([group]))
        assert [one["traj_idx"] for one in metadata] == [0, 1, 2]
        assert len({tuple(one.model_input.to_ints()[:30]) for one in data}) == 1


class TestAFault:
    @pytest.mark.parametrize("fault", ["raise", "reset"])
    def test_a_fault_is_raised(self, room: str, tokenizer: Any, fault: str) -> None:
        (row,) = env_rows(room, 1, env_kwargs={"fault": fault})
        for policy in (FaultPolicy(), FaultPolicy(on_error="retry", turn_deadline=60.0)):
            with pytest.raises(RuntimeError, match=r"on fire|no door"):
                rollout(builder(row, tokenizer, 2, policy=policy), Completer(tokenizer))

    def test_a_fault_drops_its_episode_only(self, counted_room: Any, tokenizer: Any) -> None:
        (row,) = env_rows(counted_room.id, 1, env_kwargs={"fault": "raise", "first": 2, "last": 2})
        group = rollout(
            builder(row, tokenizer, 4), Completer(tokenizer), MinViableGroup(max_retries=0)
        )
        assert sorted(one.transitions[-1].logs["sample"] for one in group.trajectories_G) == [
            0,
            2,
            3,
        ]
        assert [one.error_message for one in group.rollout_errors] == ["the room is on fire"]
        counted_room.made = 0
        (expected, *_) = reference(env_rows(counted_room.id, 1)[0], Completer(tokenizer))
        for one in group.trajectories_G:
            check_equal(rows_of_data(one), [expected])

    def test_a_fault_is_played_again_as_another_sample(self, room: str, tokenizer: Any) -> None:
        (row,) = env_rows(room, 1, env_kwargs={"fault": "raise", "first": 2, "last": 2})
        group = rollout(builder(row, tokenizer, 3), Completer(tokenizer), RetryOnFailure())
        samples = sorted(one.transitions[-1].logs["sample"] for one in group.trajectories_G)
        assert samples == [0, 2, 3]

    @pytest.mark.parametrize(
        "fields",
        [
            {"maybe_logprobs": None},
            {"maybe_logprobs": [-1.0]},
            {"tokens": [5], "maybe_logprobs": [float("nan")]},
            {"tokens": [5], "maybe_logprobs": [0.5]},
            {"tokens": [], "maybe_logprobs": []},
            {"tokens": [5] * 99, "maybe_logprobs": [-1.0] * 99},
        ],
    )
    def test_a_fault_of_the_sampler_is_refused(
        self, room: str, tokenizer: Any, fields: dict[str, Any]
    ) -> None:
        group = builder(env_rows(room, 1)[0], tokenizer, limits=Limits(turn_tokens=6))
        with pytest.raises(ReplyError, match="reply of turn 1"):
            rollout(group, Completer(tokenizer, **fields))

    def test_a_fault_of_all_episodes_drops_the_group(self, room: str, tokenizer: Any) -> None:
        (row,) = env_rows(room, 1, env_kwargs={"fault": "raise"})
        with pytest.raises(AllTrajectoriesFailedError):
            rollout(builder(row, tokenizer, 2), Completer(tokenizer), MinViableGroup())

    def test_a_cancelled_rollout_closes_its_environments(
        self, counted_room: Any, tokenizer: Any
    ) -> None:
        class Slow(Completer):
            async def __call__(self, *_: Any, **__: Any) -> Any:
                started.set()
                await asyncio.Event().wait()

        async def cancel() -> None:
            group = builder(env_rows(counted_room.id, 1)[0], tokenizer, 2)
            task = asyncio.create_task(do_group_rollout(group, Slow(tokenizer)))
            await started.wait()
            assert counted_room.open
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert counted_room.open == 0

        started = asyncio.Event()
        asyncio.run(cancel())


class TestAGroup:
    def test_a_group_can_be_pickled(self, tokenizer: Any) -> None:
        (row,) = env_rows(GAME, 1, seed=3)
        envs = RowEnvs(["tools=[python]"])
        group = GemGroupBuilder(row, "tiny", 2, envs)
        first = rollout(group, Completer(tokenizer))
        copy = pickle.loads(pickle.dumps(group))  # noqa: S301
        again = rollout(copy, Completer(tokenizer))
        for one, other in zip(first.trajectories_G, again.trajectories_G, strict=True):
            check_equal(rows_of_data(one), rows_of_data(other))
        prompt = first.trajectories_G[0].transitions[0].ob.to_ints()
        assert "python" in tokenizer.decode(prompt)
        assert group.logging_tags() == [GAME]

    def test_a_group_of_a_hundred_rows_is_played_at_the_same_time(
        self, room: str, tokenizer: Any
    ) -> None:
        data = GemDataset(
            env_rows(room, 32), tokenizer=tokenizer, group_size=2, groups_per_batch=32
        )

        async def play() -> list[Any]:
            groups = data.get_batch(0)
            completer = Completer(tokenizer)
            return await asyncio.gather(*(do_group_rollout(one, completer) for one in groups))

        rewards = [one.get_total_rewards() for one in asyncio.run(play())]
        assert rewards == [[6.0, 6.0]] * 32


class TestADataset:
    def test_a_dataset_has_batches_of_rows(self, tokenizer: Any) -> None:
        rows = env_rows(GAME, 5)
        data = GemDataset(rows, tokenizer=tokenizer, group_size=3, groups_per_batch=2)
        assert len(data) == 3
        batches = [data.get_batch(number) for number in range(3)]
        assert [one.row for batch in batches for one in batch] == rows
        assert data.get_batch(0)[0] is not data.get_batch(0)[0]
        with pytest.raises(IndexError):
            data.get_batch(3)

    def test_a_dataset_is_built_from_an_id(self, tokenizer: Any) -> None:
        build = GemDatasetBuilder(
            model_name="tiny",
            group_size=4,
            groups_per_batch=2,
            env=GAME,
            n=4,
            test_n=3,
            seed=9,
            turn_tokens=5,
            config=["wrappers=[concat]"],
        )
        train, test = asyncio.run(build())
        assert test is not None
        assert (len(train), len(test)) == (2, 2)
        groups = [*train.get_batch(0), *train.get_batch(1), *test.get_batch(0), *test.get_batch(1)]
        assert [one.row for one in groups] == env_rows(GAME, 7, seed=9)
        assert [one.group_size for one in groups] == [4] * 4 + [1] * 3
        assert groups[0].options["limits"] == Limits(turn_tokens=5)

    def test_a_dataset_is_built_from_a_file_of_rows(self, tokenizer: Any, tmp_path: Path) -> None:
        rows, file = env_rows(GAME, 3), tmp_path / "rows.jsonl"
        file.write_text("".join(json.dumps(plain_layout(row)) + "\n" for row in rows))
        build = GemDatasetBuilder(
            model_name="tiny", group_size=1, groups_per_batch=3, rows_file=str(file)
        )
        train, test = asyncio.run(build())
        assert test is None
        assert [row_of(one.row) for one in train.get_batch(0)] == list(map(row_of, rows))
        file.write_text("{\n")
        with pytest.raises(ConfigError, match="JSON in each line"):
            asyncio.run(build())


class TestARefusal:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"reward": "turns"}, "reward must be"),
            ({"gamma": 2.0}, "gamma in"),
            ({"one_sequence": "last"}, "trains on every sequence"),
            ({"group_size": 0}, "group_size must be"),
            ({"groups_per_batch": 2.0}, "groups_per_batch must be"),
            ({"rows": []}, "at least one row"),
            ({"rows": [{"env": GAME}]}, "has no seed"),
            ({"rows": [{"env": GAME, "seed": -1}]}, "seed must be a non-negative int"),
            ({"rows": [{"env": GAME + "y", "seed": 1}]}, "Did you mean"),
            ({"rows": [{"env": GAME, "seed": 1, "env_kwargs": {"max_turn": 3}}]}, "max_turns"),
        ],
    )
    def test_a_refusal_of_a_data_set_comes_before_the_first_step(
        self, tokenizer: Any, options: dict[str, Any], message: str
    ) -> None:
        given = {"rows": env_rows(GAME, 1), "group_size": 1, "groups_per_batch": 1, **options}
        with pytest.raises(gem_core.GemError, match=message):
            GemDataset(given.pop("rows"), tokenizer=tokenizer, **given)

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({}, "either env or rows_file"),
            ({"env": GAME, "rows_file": "x"}, "either env or rows_file"),
            ({"env": GAME, "test_n": -1}, "test_n must be"),
            ({"env": GAME, "context": 0}, "context is a positive int"),
            ({"env": GAME, "config": ["tools=[pyton]"]}, "pyton"),
        ],
    )
    def test_a_refusal_of_a_configuration_names_the_field(
        self, tokenizer: Any, fields: dict[str, Any], message: str
    ) -> None:
        build = GemDatasetBuilder(model_name="tiny", group_size=1, groups_per_batch=1, **fields)
        with pytest.raises(ConfigError, match=message):
            asyncio.run(build())

    def test_a_tokenizer_without_an_end_token_is_refused(self) -> None:
        tokenizer = make_tiny_tokenizer()
        tokenizer.eos_token = None
        with pytest.raises(ConfigError, match="no end-of-sequence token"):
            GemDataset(env_rows(GAME, 1), tokenizer=tokenizer, group_size=1, groups_per_batch=1)

    def test_a_refusal_of_a_prompt_over_its_limit_names_it(self, room: str, tokenizer: Any) -> None:
        (row,) = env_rows(room, 1, env_kwargs={"words": 300})
        group = builder(row, tokenizer, limits=Limits(prompt_tokens=256))
        with pytest.raises(PromptTooLongError, match="prompt_tokens is 256"):
            rollout(group, Completer(tokenizer))
