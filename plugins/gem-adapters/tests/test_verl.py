"""verl's own worker plays environments: the same rows as ours, and one fault harms no other row."""

import asyncio
import random
import threading
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import gem_core
from gem_adapters.rows import verl_layout
from gem_adapters.testing.adapters import FORGETFUL_TEMPLATE
from gem_adapters.verl import agent_loop_config, write_agent_loop_config
from gem_adapters.verl.options import LoopOptions
from gem_core.env import BaseEnv, Step
from gem_core.errors import ConfigError, UnknownKwargError
from gem_core.observation import Action, Info, Observation
from gem_core.plugins import default_registry
from gem_rollout import Limits, Prompt, Row, RowEnvs, Sampled, env_rows, play_tokens, training_rows
from gem_rollout.models.tiny_model import make_tiny_tokenizer
from gem_rollout.tokens.agent import SequenceError
from gem_rollout.tokens.limits import PromptTooLongError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of verl and Ray
    replica = pytest.importorskip(
        "verl.workers.rollout.replica",
        reason="verl is not installed: pip install 'gem-adapters[verl]'",
    )
    from gem_adapters.checks.verl import batch_of, make_worker, rows_of

pytestmark = pytest.mark.filterwarnings("ignore")

GAME = "game:GuessTheNumber-v0-easy"


class Room(BaseEnv):
    """Three turns with the rewards 1 to 3; may fail or hang in the second."""

    blocking = True
    released = threading.Event()

    def __init__(self, fault: str = "", words: int = 1) -> None:
        self.fault, self.words = fault, words

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        if self.fault == "reset":
            raise RuntimeError("the room has no door")
        return f"{self.rng.random()}" + " word" * self.words, {}

    def step(self, action: Action) -> Step:
        self.turn += 1
        if self.turn == 2 and self.fault == "raise":
            raise RuntimeError("the room is on fire")
        if self.turn == 2 and self.fault == "hang":
            self.released.wait()
        return Step(f"turn {self.turn}", float(self.turn), self.turn == 3, False, {})


class Engine:
    """Replies with tokens that are a function of the prompt."""

    def __init__(self, tokenizer: Any, **fields: Any) -> None:
        self.tokenizer, self.fields = tokenizer, fields
        self.asked: list[dict[str, Any]] = []

    def reply(self, prompt_ids: Sequence[int], room: int | None) -> Sampled:
        rng = random.Random(str(list(prompt_ids)))
        ids = rng.choices(self.tokenizer.encode("0123456789 ab"), k=rng.randint(1, 6))
        ids = [*ids[: (room or 7) - 1], self.tokenizer.eos_token_id]
        return Sampled(ids, [-rng.random() for _ in ids], is_complete=True)

    async def generate(self, request_id: str, **asked: Any) -> Any:
        self.asked.append({"request_id": request_id, **asked})
        reply = self.reply(asked["prompt_ids"], asked["sampling_params"]["max_tokens"])
        fields = {"token_ids": reply.ids, "log_probs": reply.logprobs, **self.fields}
        return replica.TokenOutput(**fields)


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    specs = default_registry()._specs
    gem_core.list_envs("game:*")
    monkeypatch.setitem(specs, "envs", dict(specs["envs"]))
    gem_core.register("test:Room-v0", Room)
    Room.released.clear()
    yield "test:Room-v0"
    Room.released.set()


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_tiny_tokenizer()


class Worker:
    """verl's worker and its engine."""

    def __init__(self, folder: Path, tokenizer: Any, **fields: Any) -> None:
        self.folder, self.tokenizer = folder, tokenizer
        self.engine = Engine(tokenizer, **fields)

    def play(
        self,
        rows: Sequence[dict[str, Any]],
        *,
        samples: int = 1,
        columns: dict[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        worker = make_worker(self.folder, self.tokenizer, self.engine, **options)
        batch = batch_of([{**verl_layout(row), **(columns or {})} for row in rows], samples)
        return asyncio.run(worker.generate_sequences(batch))


@pytest.fixture
def worker(tmp_path: Path, tokenizer: Any) -> Worker:
    return Worker(tmp_path, tokenizer)


def reference(rows: Sequence[dict[str, Any]], engine: Engine, limits: Limits) -> list[Row]:
    async def generate(prompt: Prompt) -> Sampled:
        return engine.reply(prompt.ids, prompt.room)

    found = []
    for row in rows:
        session = RowEnvs().session(row, engine.tokenizer, limits=limits)
        found += training_rows(asyncio.run(play_tokens(session, generate)), limits=limits)
    return found


class TestABatch:
    @pytest.mark.parametrize("env", [GAME, "game:Mastermind-v0-easy", "test:Room-v0"])
    def test_a_batch_has_the_rows_of_play_tokens(self, room: str, worker: Worker, env: str) -> None:
        rows = env_rows(env, 16, seed=5)
        limits = Limits(prompt_tokens=600, response_tokens=900, turn_tokens=5)
        found = rows_of(worker.play(rows, limits=limits))
        for one, other in zip(found, reference(rows, worker.engine, limits), strict=True):
            for field in ("prompt_ids", "response_ids", "mask", "turn_rewards", "terminated"):
                assert getattr(one, field) == getattr(other, field), field
            assert one.logprobs == pytest.approx(other.logprobs)
            assert one.reward == pytest.approx(other.reward)
            assert one.truncated == other.truncated

    def test_a_batch_shares_the_start_of_a_group(self, worker: Worker) -> None:
        found = rows_of(worker.play(env_rows(GAME, 2), samples=3))
        prompts = [row.prompt_ids for row in found]
        assert len(found) == 6
        assert prompts[0] == prompts[1] == prompts[2]

    def test_a_batch_is_asked_with_one_request_an_episode(self, room: str, worker: Worker) -> None:
        worker.play(env_rows(room, 1), stop=["</a>"])
        asked = worker.engine.asked
        assert len({one["request_id"] for one in asked}) == 1
        assert len(asked) == 3
        assert asked[0]["sampling_params"]["stop"] == ["</a>"]
        assert asked[0]["sampling_params"]["max_tokens"] == 8192

    @pytest.mark.parametrize(("reward", "score"), [("sum", 6), ("discounted", 2.75), ("last", 3)])
    def test_a_batch_has_one_score_a_row_and_those_of_the_turns(
        self, room: str, worker: Worker, reward: str, score: float
    ) -> None:
        batch = worker.play(env_rows(room, 1), reward=reward, gamma=0.5)
        assert float(batch.batch["rm_scores"].sum()) == score
        assert list(batch.non_tensor_batch["turn_scores"]) == [[1.0, 2.0, 3.0]]
        assert batch.non_tensor_batch["__num_turns__"].tolist() == [6]

    def test_a_batch_never_exceeds_the_response_length(self, room: str, worker: Worker) -> None:
        for length in (1, 3, 8, 20, 40):
            limits = Limits(prompt_tokens=200, response_tokens=length)
            batch = worker.play(env_rows(room, 4), limits=limits)
            assert batch.batch["responses"].shape == (4, length)
            for row in rows_of(batch):
                assert 0 < len(row.response_ids) <= length
                assert row.error is None
                assert row.truncated is not row.terminated
        assert batch.non_tensor_batch["gem_truncated_share"].tolist() == [1.0] * 4

    def test_a_batch_keeps_the_context(self, room: str, worker: Worker) -> None:
        limits = Limits(prompt_tokens=200, response_tokens=200, context=100)
        for row in rows_of(worker.play(env_rows(room, 2), limits=limits)):
            assert len(row.prompt_ids) + len(row.response_ids) <= 100

    def test_a_batch_keeps_versions_of_the_weights_and_routed_experts(
        self, room: str, tmp_path: Path, tokenizer: Any
    ) -> None:
        np = pytest.importorskip("numpy")
        experts = np.ones((9000, 1, 2), dtype=np.int16)
        extra = {"min_global_steps": 4, "max_global_steps": 6}
        worker = Worker(tmp_path, tokenizer, extra_fields=extra, routed_experts=experts)
        batch = worker.play(env_rows(room, 1))
        (row,) = rows_of(batch)
        assert batch.non_tensor_batch["min_global_steps"].tolist() == [4]
        assert batch.non_tensor_batch["max_global_steps"].tolist() == [6]
        known = batch.batch["routed_experts"][0, :, 0, 0].sum()
        assert int(known) == len(row.prompt_ids) + len(row.response_ids)

    def test_a_batch_needs_no_log_probabilities_where_verl_asks_for_none(
        self, room: str, tmp_path: Path, tokenizer: Any
    ) -> None:
        worker = Worker(tmp_path, tokenizer, log_probs=None)
        silent = ["actor_rollout_ref.rollout.calculate_log_probs=false"]
        batch = worker.play(env_rows(room, 2), overrides=silent)
        assert "rollout_log_probs" not in batch.batch
        assert batch.batch["rm_scores"].sum(1).tolist() == [6.0, 6.0]


class TestAFault:
    @pytest.mark.parametrize(("fault", "turns"), [("raise", [1.0]), ("hang", [1.0]), ("reset", [])])
    def test_a_fault_of_one_environment_of_64_harms_no_other_row(
        self, room: str, worker: Worker, fault: str, turns: list[float]
    ) -> None:
        rows = env_rows(room, 64)
        expected = reference(rows, worker.engine, Limits())
        rows[17]["env_kwargs"] = {"fault": fault}
        batch = worker.play(rows, turn_deadline=2.0)
        found = rows_of(batch)
        ids = [(row.prompt_ids, row.response_ids, row.mask, row.reward) for row in found]
        for number, row in enumerate(expected):
            if number != 17:
                assert ids[number] == (row.prompt_ids, row.response_ids, row.mask, row.reward)
        assert not any(found[17].mask)
        assert found[17].reward == 0
        assert found[17].turn_rewards == turns
        errors = batch.non_tensor_batch["gem_error"].tolist()
        assert [number for number, error in enumerate(errors) if error is not None] == [17]
        assert errors[17].startswith("env: " if fault != "hang" else ("env: ", "agent: "))
        assert batch.non_tensor_batch["gem_error_share"].sum() == 1.0

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"log_probs": None}, "0 log-probabilities"),
            ({"log_probs": [-0.5]}, "1 log-probabilities"),
            ({"token_ids": [], "log_probs": []}, "is empty"),
            ({"stop_reason": "aborted"}, "aborted"),
        ],
    )
    def test_a_fault_of_the_engine_is_a_masked_row(
        self, room: str, tmp_path: Path, tokenizer: Any, fields: dict[str, Any], message: str
    ) -> None:
        if fields.get("log_probs") == [-0.5]:
            fields = {**fields, "token_ids": [5, 6]}
        worker = Worker(tmp_path, tokenizer, **fields)
        batch = worker.play(env_rows(room, 2))
        assert int(batch.batch["response_mask"].sum()) == 0
        for error in batch.non_tensor_batch["gem_error"]:
            assert error.startswith("agent: ")
            assert message in error

    def test_a_fault_before_the_first_reply_has_the_step_as_its_version(
        self, room: str, worker: Worker
    ) -> None:
        rows = env_rows(room, 1, env_kwargs={"fault": "reset"})
        batch = worker.play(rows, columns={"global_steps": 9})
        assert batch.non_tensor_batch["min_global_steps"].tolist() == [9]
        assert batch.non_tensor_batch["max_global_steps"].tolist() == [9]
        assert batch.batch["attention_mask"].sum() == 2

    def test_a_fault_ends_the_run_if_asked_to(self, room: str, worker: Worker) -> None:
        rows = env_rows(room, 1, env_kwargs={"fault": "raise"})
        with pytest.raises(RuntimeError, match="on fire"):
            worker.play(rows, on_error="raise")

    def test_a_fault_is_repeated_under_retry(self, room: str, worker: Worker) -> None:
        rows = env_rows(room, 1, env_kwargs={"fault": "raise"})
        batch = worker.play(rows, on_error="retry", retries=1)
        assert len(worker.engine.asked) == 4
        assert not batch.batch["response_mask"].any()


class TestAGroup:
    """Advantages of verl's own estimators, and of ours, which leave out what an error ended."""

    REWARDS = ((1.0, 3.0, 0.0), (0.0, 0.0, 5.0))

    def advantages(self, name: str, *, failed: bool) -> Any:
        torch, np = pytest.importorskip("torch"), pytest.importorskip("numpy")
        import verl  # noqa: F401 - it loads the plugins
        from verl.trainer.config import AlgoConfig
        from verl.trainer.ppo.core_algos import get_adv_estimator_fn

        rewards = torch.zeros(6, 4)
        rewards[:, 2] = torch.tensor([one for group in self.REWARDS for one in group])
        mask = torch.ones(6, 4)
        mask[2] = 0 if failed else 1
        found, _ = get_adv_estimator_fn(name)(
            token_level_rewards=rewards,
            response_mask=mask,
            index=np.array(["a", "a", "a", "b", "b", "b"], dtype=object),
            config=AlgoConfig(adv_estimator=name, norm_adv_by_std_in_grpo=False),
        )
        return found

    @pytest.mark.parametrize("name", ["grpo", "rloo", "reinforce_plus_plus_baseline"])
    def test_without_faults_a_group_is_verls(self, name: str) -> None:
        torch = pytest.importorskip("torch")
        ours = self.advantages(f"gem_{name}", failed=False)
        if name != "grpo":  # verl gives it another default than its configuration's
            assert torch.allclose(ours, self.advantages(name, failed=False))
        assert ours.abs().sum() > 0

    def test_an_episode_that_an_error_ended_does_not_count_in_its_group(self) -> None:
        found = self.advantages("gem_grpo", failed=True)
        assert found[0].tolist() == [-1.0] * 4
        assert found[1].tolist() == [1.0] * 4
        assert found[2].tolist() == [0.0] * 4

    def test_an_estimator_that_would_count_it_is_refused(self, room: str, worker: Worker) -> None:
        from hydra.errors import InstantiationException

        rows = env_rows(room, 1)
        with pytest.raises(InstantiationException, match="adv_estimator=gem_grpo"):
            worker.play(rows, overrides=["algorithm.adv_estimator=grpo"])
        for name in ("gem_grpo", "gae"):
            worker.play(rows, overrides=[f"algorithm.adv_estimator={name}"])


class TestARefusal:
    def test_a_refusal_of_a_prompt_over_its_limit_names_prompt_length(
        self, room: str, worker: Worker
    ) -> None:
        rows = env_rows(room, 2, env_kwargs={"words": 300})
        with pytest.raises(PromptTooLongError, match=r"rollout\.prompt_length is 256"):
            worker.play(rows, limits=Limits(prompt_tokens=256))

    def test_a_refusal_of_a_template_that_forgets_names_the_turn(
        self, room: str, tmp_path: Path
    ) -> None:
        worker = Worker(tmp_path, make_tiny_tokenizer(chat_template=FORGETFUL_TEMPLATE))
        with pytest.raises(SequenceError, match="turn 2"):
            worker.play(env_rows(room, 1))
        batch = worker.play(env_rows(room, 1), one_sequence="last")
        (row,) = rows_of(batch)
        assert (row.turn_rewards, row.reward) == ([3.0], 6.0)

    def test_a_refusal_of_a_column_that_the_loop_writes_names_it(
        self, room: str, worker: Worker
    ) -> None:
        with pytest.raises(ConfigError, match="the column 'turn_scores'"):
            worker.play(env_rows(room, 1), columns={"turn_scores": 1})

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ({"env": GAME}, "has no seed"),
            ({"env": GAME, "seed": -1}, "seed must be a non-negative int"),
            ({"env": GAME, "seed": "3"}, "seed must be a non-negative int"),
            ({"env": "game:GuessTheNumber-v0-eazy", "seed": 3}, "Did you mean"),
            ({"env": GAME, "seed": 3, "env_kwargs": {"max_turn": 3}}, "Did you mean 'max_turns'"),
        ],
    )
    def test_a_refusal_of_a_row_says_what_is_wrong(
        self, worker: Worker, row: dict[str, Any], message: str
    ) -> None:
        loop = make_worker(worker.folder, worker.tokenizer, worker.engine)
        batch = batch_of([{**verl_layout(env_rows(GAME, 1)[0]), "extra_info": {"index": 0, **row}}])
        with pytest.raises(gem_core.GemError, match=message):
            asyncio.run(loop.generate_sequences(batch))
        assert worker.engine.asked == []


class TestTheOptions:
    def test_the_options_compose_tools_and_wrappers(self, worker: Worker) -> None:
        composed = ["tools=[python]", "wrappers=[concat]"]
        worker.play(env_rows(GAME, 1), config=composed)
        shown = worker.tokenizer.decode(worker.engine.asked[0]["prompt_ids"])
        assert "python" in shown

    def test_the_options_are_replaced_from_the_configuration_of_verl(
        self, room: str, worker: Worker
    ) -> None:
        overrides = ["+gem.reward=last", '+gem.config=["tools=[python]"]']
        batch = worker.play(env_rows(room, 1), overrides=overrides, reward="sum")
        shown = worker.tokenizer.decode(worker.engine.asked[0]["prompt_ids"])
        assert float(batch.batch["rm_scores"].sum()) == 3.0
        assert "python" in shown

    def test_the_options_may_be_groups_of_verls_configuration(self, worker: Worker) -> None:
        groups = [f"+env={GAME.replace(':', '/')}", "env.max_number=77", "+tools=[python]"]
        worker.play(env_rows(GAME, 1), overrides=[*groups, "+wrappers=[concat]"])
        shown = worker.tokenizer.decode(worker.engine.asked[0]["prompt_ids"])
        assert "python" in shown
        assert "77" in shown
        with pytest.raises(ConfigError, match="has tools, and the options have config"):
            worker.play(env_rows(GAME, 1), overrides=groups[2:], config=["tools=[python]"])

    def test_the_options_name_an_environment(self, worker: Worker) -> None:
        worker.play(
            env_rows(GAME, 1), config=[f"env={GAME.replace(':', '/')}", "env.max_number=77"]
        )
        assert "77" in worker.tokenizer.decode(worker.engine.asked[0]["prompt_ids"])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"rewards": "sum"}, "Did you mean 'reward'"),
            ({"reward": "turns"}, "reward must be one of sum, discounted, last"),
            ({"one_sequence": "split"}, "one_sequence must be one of raise, last"),
            ({"gamma": 2}, "gamma must be in"),
            ({"config": "tools=[python]"}, "config is a list"),
            ({"on_error": "ignore"}, "on_error is record, retry or raise"),
            ({"turn_deadline": -1}, "turn_deadline must be positive"),
        ],
    )
    def test_the_options_that_are_wrong_are_refused(
        self, tmp_path: Path, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(gem_core.GemError, match=message):
            write_agent_loop_config(tmp_path / "gem.yaml", **options)

    def test_the_options_in_the_yaml_are_checked_when_verl_makes_the_loop(
        self, room: str, worker: Worker
    ) -> None:
        with pytest.raises(Exception, match="takes no argument 'retires'"):
            worker.play(env_rows(room, 1), overrides=["+gem.retires=3"])

    def test_the_options_of_the_shipped_yaml_are_the_defaults(self) -> None:
        omegaconf = pytest.importorskip("omegaconf")
        (loop,) = omegaconf.OmegaConf.load(agent_loop_config())
        assert loop.name == verl_layout(env_rows(GAME, 1)[0])["agent_name"]
        assert LoopOptions.of(loop.options) == LoopOptions()
        with pytest.raises(UnknownKwargError):
            LoopOptions.of({"tools": ["python"]})


def test_a_parquet_file_of_rows_reaches_the_loop_through_verls_dataset(
    room: str, worker: Worker
) -> None:
    """The dataset, its collation and the repetition of rows are verl's own."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    omegaconf = pytest.importorskip("omegaconf")
    from verl.protocol import DataProto
    from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn

    rows = [*env_rows(room, 2, seed=1), *env_rows(room, 1, env_kwargs={"words": 9})]
    file = worker.folder / "rows.parquet"
    parquet.write_table(pyarrow.Table.from_pylist([verl_layout(row) for row in rows]), file)
    config = omegaconf.OmegaConf.create(
        {"cache_dir": str(worker.folder / "cache"), "max_prompt_length": 512}
    )
    data = RLHFDataset(str(file), worker.tokenizer, config)
    batch = DataProto.from_single_dict(collate_fn([data[number] for number in range(3)]))
    batch.pop(batch_keys=["dummy_tensor"])
    batch = batch.repeat(repeat_times=2, interleave=True)
    loop = make_worker(worker.folder, worker.tokenizer, worker.engine)
    found = rows_of(asyncio.run(loop.generate_sequences(batch)))
    expected = reference(rows, worker.engine, Limits())
    assert [row.response_ids for row in found] == [
        row.response_ids for row in expected for _ in range(2)
    ]
