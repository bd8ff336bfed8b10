"""Token sessions: the same tokens, masks and rewards for everybody who samples."""

import asyncio
import math
import pickle
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from gem_core.agent import BaseAgent, Reply
from gem_core.env import AsyncEnv, BaseEnv, Step
from gem_core.errors import ConfigError, DataError, EpisodeEndedError, UnknownIdError
from gem_core.observation import Action, Info, Observation
from gem_core.thoughts import spoken
from gem_core.wrappers.history import HistoryWrapper
from gem_rollout import (
    FaultPolicy,
    Limits,
    Prompt,
    ReplyError,
    RowEnvs,
    Sampled,
    TokenSession,
    Trajectory,
    Turn,
    collect,
    env_rows,
    play_batch,
    play_tokens,
    row_of,
    training_rows,
)
from gem_rollout.models.tiny_model import make_tiny_tokenizer
from gem_rollout.tokens.agent import SequenceError
from gem_rollout.tokens.limits import PromptTooLongError
from gem_rollout.tokens.reply import ReplyInterruptedError

GAME = "game:GuessTheNumber-v0-easy"
FORGETFUL = (
    "{% for m in messages %}{% if m.role != 'assistant' %}"
    "<|im_start|>{{ m.content }}<|im_end|>{% endif %}{% endfor %}"
)


class Counting(BaseEnv):
    """Five turns with the rewards 1 to 5; counts what is made and closed."""

    made = closed = 0

    def __init__(self) -> None:
        type(self).made += 1

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.made = cls.closed = 0

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return f"start {self.rng.random()}", {}

    def step(self, action: Action) -> Step:
        self.turn += 1
        return Step(f"{self.turn}: {action}", float(self.turn), self.turn == 5, False, {})

    def close(self) -> None:
        type(self).closed += 1


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    pytest.importorskip("tokenizers")
    return make_tiny_tokenizer()


@pytest.fixture
def counting() -> type[Counting]:
    class Fresh(Counting):
        pass

    return Fresh


def sampler(tokenizer: Any) -> Callable[[Prompt], Any]:
    """Return a function that samples random tokens, mostly not as the tokenizer splits them."""

    async def generate(prompt: Prompt) -> Sampled:
        rng = random.Random(prompt.seed)
        ids = rng.choices([*tokenizer.encode("0123456789 ab")], k=rng.randint(1, 6))
        ids = [*ids[: (prompt.room or 7) - 1], tokenizer.eos_token_id]
        return Sampled(ids, [-rng.random() for _ in ids], is_complete=True)

    return generate


def play(session: TokenSession, generate: Callable[[Prompt], Any]) -> Trajectory:
    return asyncio.run(play_tokens(session, generate))


class TestASession:
    def test_a_session_has_all_tokens_and_rewards(self, tokenizer: Any, counting: Any) -> None:
        sampled: list[list[int]] = []

        async def generate(prompt: Prompt) -> Sampled:
            reply = await sampler(tokenizer)(prompt)
            sampled.append(reply.ids)
            return reply

        trajectory = play(TokenSession(counting, tokenizer, seed=3), generate)
        (row,) = training_rows(trajectory)
        assert row.turn_rewards == [1.0, 2.0, 3.0, 4.0, 5.0]
        assert (row.reward, row.terminated, row.truncated) == (15.0, True, False)
        assert [row.response_ids[start:end] for start, end in row.spans] == sampled
        assert sum(row.mask) == sum(map(len, sampled))
        shown = tokenizer.decode(row.prompt_ids + row.response_ids)
        for turn in trajectory.turns:
            assert turn.observation in shown
        assert [row.token_rewards[end - 1] for _, end in row.spans] == row.turn_rewards
        assert sum(row.token_rewards) == 15.0
        assert all(value == 0 for value, was in zip(row.logprobs, row.mask, strict=True) if not was)
        assert (counting.made, counting.closed) == (1, 1)

    def test_a_session_plays_the_same_episode_as_collect(self, tokenizer: Any) -> None:
        class Model(BaseAgent):
            def act(self, observation: Observation, info: Info) -> Reply:
                return Reply("x")

        for index, expected in enumerate(collect(GAME, Model, episodes=3, seed=7, concurrency=1)):
            row = env_rows(GAME, 3, seed=7)[index]
            found = play(RowEnvs().session(row, tokenizer), sampler(tokenizer))
            assert (found.seed, found.index) == (expected.seed, expected.index)
            assert found.reset_info == expected.reset_info
            assert found.reset_options == expected.reset_options

    def test_samples_of_a_row_begin_alike_and_have_other_seeds(self, tokenizer: Any) -> None:
        async def firsts() -> list[Prompt | None]:
            (row,) = env_rows(GAME, 1)
            sessions = [RowEnvs().session(row, tokenizer, sample=n) for n in range(4)]
            prompts = [await one.begin() for one in sessions]
            for one in sessions:
                await one.aclose()
            return prompts

        prompts = [one for one in asyncio.run(firsts()) if one is not None]
        assert len({tuple(one.ids) for one in prompts}) == 1
        assert len({one.seed for one in prompts}) == 4

    @pytest.mark.slow
    def test_pushed_pulled_and_batched_episodes_are_the_same(self, tokenizer: Any) -> None:
        rows = env_rows("game:Mastermind-v0-easy", 6)
        generate = sampler(tokenizer)

        async def pushed(row: dict[str, Any]) -> Trajectory:
            session = RowEnvs().session(row, tokenizer)
            prompt = await session.begin()
            while prompt is not None:
                reply = await generate(prompt)
                result = await session.feed(reply.ids, reply.logprobs)
                assert result.reward == session.trajectory.turns[-1].reward
                prompt = result.prompt
            return session.trajectory

        async def all_at_once(prompts: list[Prompt]) -> list[Sampled]:
            return [await generate(prompt) for prompt in prompts]

        def sessions() -> list[TokenSession]:
            return [RowEnvs().session(row, tokenizer) for row in rows]

        one = [training_rows(asyncio.run(pushed(row))) for row in rows]
        two = [training_rows(play(session, generate)) for session in sessions()]
        three = [training_rows(t) for t in asyncio.run(play_batch(sessions(), all_at_once))]
        assert one == two == three

    def test_a_session_plays_asynchronous_and_blocking_environments(self, tokenizer: Any) -> None:
        class Asynchronous(AsyncEnv):
            async def start(self) -> tuple[Observation, Info]:
                await asyncio.sleep(0)
                return "go", {}

            async def step(self, action: Action) -> Step:
                await asyncio.sleep(0)
                return Step("end", 1.0, True, False, {})

        class Blocking(Counting):
            blocking = True

            def step(self, action: Action) -> Step:
                assert threading.current_thread() is not threading.main_thread()
                return super().step(action)

        for env, total in ((Asynchronous, 1.0), (Blocking, 15.0)):
            trajectory = play(TokenSession(env, tokenizer, seed=0), sampler(tokenizer))
            assert (trajectory.error, trajectory.episode_return) == (None, total)
        assert Blocking.closed == 1

    def test_closing_a_session_closes_its_environment(self, tokenizer: Any, counting: Any) -> None:
        async def leave() -> None:
            session = TokenSession(counting, tokenizer, seed=0)
            assert await session.begin() is not None
            await session.aclose()
            await session.aclose()
            with pytest.raises(EpisodeEndedError):
                await session.feed([1], [-1.0])
            with pytest.raises(EpisodeEndedError):
                await session.begin()
            TokenSession(counting(), tokenizer, seed=0).close()

        asyncio.run(leave())
        assert (counting.made, counting.closed) == (2, 2)

    def test_a_cancelled_trainer_closes_the_environment(
        self, tokenizer: Any, counting: Any
    ) -> None:
        async def cancelled() -> None:
            asked = asyncio.Event()

            async def never(prompt: Prompt) -> Sampled:
                asked.set()
                await asyncio.Event().wait()
                raise AssertionError

            task = asyncio.create_task(
                play_tokens(TokenSession(counting, tokenizer, seed=0), never)
            )
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        before = set(threading.enumerate())
        asyncio.run(cancelled())
        assert counting.closed == 1
        assert not set(threading.enumerate()) - before


class TestLimits:
    @pytest.mark.parametrize("limit", ["response_tokens", "context"])
    def test_a_limit_truncates_the_episode(self, tokenizer: Any, counting: Any, limit: str) -> None:
        limits = Limits(**{limit: 90})
        trajectory = play(
            TokenSession(counting, tokenizer, seed=0, limits=limits), sampler(tokenizer)
        )
        last = trajectory.turns[-1]
        assert trajectory.error is None
        assert 1 <= len(trajectory.turns) < 5
        assert (last.truncated, last.info["truncated_by"]) == (True, limit)
        (row,) = training_rows(trajectory, limits=limits)
        assert row.truncated
        assert len(row.response_ids) <= 90

    def test_each_prompt_has_the_room_of_a_turn(self, tokenizer: Any, counting: Any) -> None:
        rooms = []

        async def generate(prompt: Prompt) -> Sampled:
            rooms.append(prompt.room)
            return await sampler(tokenizer)(prompt)

        limits = Limits(turn_tokens=4)
        play(TokenSession(counting, tokenizer, seed=0, limits=limits), generate)
        assert rooms == [4] * 5

    @pytest.mark.parametrize("limit", ["prompt_tokens", "context"])
    def test_a_first_prompt_that_is_too_long_is_an_error(
        self, tokenizer: Any, counting: Any, limit: str
    ) -> None:
        session = TokenSession(counting, tokenizer, seed=0, limits=Limits(**{limit: 5}))
        with pytest.raises(PromptTooLongError, match=f"the limit {limit} is 5") as caught:
            play(session, sampler(tokenizer))
        assert pickle.loads(pickle.dumps(caught.value)).limit == limit  # noqa: S301
        assert counting.closed == 1

    @pytest.mark.parametrize("value", [0, -1, 1.5, True, "8"])
    def test_limits_must_be_positive_numbers(self, value: Any) -> None:
        with pytest.raises(ConfigError, match="context is a positive int or None"):
            Limits(context=value)

    def test_rows_beyond_the_limits_are_refused(self, tokenizer: Any, counting: Any) -> None:
        trajectory = play(TokenSession(counting, tokenizer, seed=0), sampler(tokenizer))
        with pytest.raises(DataError, match="where response_tokens allows 20"):
            training_rows(trajectory, limits=Limits(response_tokens=20))


@pytest.mark.slow
def test_a_thought_that_the_template_has_opened_does_not_act(counting: Any) -> None:
    pytest.importorskip("tokenizers")
    template = FORGETFUL.replace("{% if m.role != 'assistant' %}", "").replace("{% endif %}", "")
    tokenizer = make_tiny_tokenizer(chat_template=template + "<|im_start|><think>")

    async def feed(text: str) -> Turn:
        session = TokenSession(counting, tokenizer, seed=0, logprobs="optional")
        await session.begin()
        await session.feed(tokenizer.encode(text, add_special_tokens=False))
        await session.aclose()
        return session.trajectory.turns[0]

    for text, said in [("7?", ""), ("7?</think>8", "8")]:
        turn = asyncio.run(feed(text))
        assert spoken(turn.action) == said
        assert turn.action == "<think>" + text
        assert turn.generation.opens_thought
        assert turn.generation.reply["content"] == turn.action


class TestSeveralSequences:
    @pytest.fixture
    def forgetful(self) -> Any:
        pytest.importorskip("tokenizers")
        return make_tiny_tokenizer(chat_template=FORGETFUL)

    def test_a_rewritten_prompt_is_a_clear_error(self, forgetful: Any, counting: Any) -> None:
        session = TokenSession(counting, forgetful, seed=0)
        with pytest.raises(SequenceError, match=r"turn 2 .*: at character \d+ it was"):
            play(session, sampler(forgetful))
        assert counting.closed == 1

    def test_sequences_are_split_or_the_last_is_kept(self, forgetful: Any, counting: Any) -> None:
        session = TokenSession(counting, forgetful, seed=0, one_sequence="split")
        trajectory = play(session, sampler(forgetful))
        rows = training_rows(trajectory, one_sequence="split", reward="turns")
        assert [row.turns for row in rows] == [[0], [1], [2], [3], [4]]
        assert [row.reward for row in rows] == [1.0, 2.0, 3.0, 4.0, 5.0]
        assert [row.reward for row in training_rows(trajectory, one_sequence="split")] == [15.0] * 5
        (last,) = training_rows(trajectory, one_sequence="last")
        assert last == training_rows(trajectory, one_sequence="split")[-1]
        with pytest.raises(SequenceError, match="turn 2 of episode 0"):
            training_rows(trajectory)


class TestRewards:
    @pytest.mark.parametrize(
        ("reward", "gamma", "expected"),
        [("sum", 0.5, 15.0), ("last", 1.0, 5.0), ("discounted", 0.5, 1 + 1 + 0.75 + 0.5 + 5 / 16)],
    )
    def test_the_rewards_of_the_turns_become_one_number(
        self, tokenizer: Any, counting: Any, reward: Any, gamma: float, expected: float
    ) -> None:
        trajectory = play(TokenSession(counting, tokenizer, seed=0), sampler(tokenizer))
        (row,) = training_rows(trajectory, reward=reward, gamma=gamma)
        assert row.reward == pytest.approx(expected)

    @pytest.mark.parametrize("arguments", [{"reward": "mean"}, {"gamma": 1.5}, {"gamma": math.nan}])
    def test_an_unknown_name_of_a_reward_is_refused(self, arguments: Any) -> None:
        with pytest.raises(ConfigError):
            training_rows(Trajectory("env", "a", 0, 0), **arguments)


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "empty": ([], [], "is empty"),
    "none": (None, None, "instead of token ids"),
    "text": ("hello", None, "instead of a token id"),
    "floats": ([1.0, 2.0], [-1.0, -1.0], "instead of a token id"),
    "negative": ([-1], [-1.0], "instead of a token id"),
    "no logprobs": ([5, 6], None, "2 tokens and 0 log-probabilities"),
    "null logprobs": ([5, 6], [None, None], "2 tokens and 0 log-probabilities"),
    "short logprobs": ([5, 6], [-1.0], "2 tokens and 1 log-probabilities"),
    "nan": ([5], [math.nan], "the log-probability nan"),
    "minus infinity": ([5], [-math.inf], "the log-probability -inf"),
    "positive": ([5], [0.5], "the log-probability 0.5"),
    "no numbers": ([5], ["?"], "instead of log-probabilities"),
    "too many": ([5] * 9, [-1.0] * 9, "9 tokens, and 8 were allowed"),
}


class TestFaults:
    @pytest.mark.slow
    def test_an_invalid_reply_is_a_fault_of_the_agent(
        self, tokenizer: Any, counting: Any, subtests: pytest.Subtests
    ) -> None:
        async def feed(policy: FaultPolicy, ids: Any, logprobs: Any) -> Any:
            limits = Limits(turn_tokens=8)
            session = TokenSession(counting, tokenizer, seed=0, limits=limits, policy=policy)
            await session.begin()
            return await session.feed(ids, logprobs)

        after_end = ([tokenizer.eos_token_id, 5], [-1.0, -1.0], "goes on after its end")
        for case, (ids, logprobs, words) in {**REFUSED, "past the end": after_end}.items():
            with subtests.test(case):
                counting.made = counting.closed = 0
                result = asyncio.run(feed(FaultPolicy(), ids, logprobs))
                assert (result.prompt, result.error["boundary"]) == (None, "agent")
                assert words in result.error["message"]
                with pytest.raises(ReplyError, match=words):
                    asyncio.run(feed(FaultPolicy(on_error="raise"), ids, logprobs))
                assert counting.closed == counting.made == 2

    @pytest.mark.slow
    def test_a_fault_of_one_environment_leaves_the_others_alone(self, tokenizer: Any) -> None:
        class Fragile(Counting):
            number = 0

            def start(self) -> tuple[Observation, Info]:
                self.number = Fragile.number
                Fragile.number += 1
                return super().start()

            def step(self, action: Action) -> Step:
                if self.number == 3 and self.turn == 1:
                    raise RuntimeError("broken")
                return super().step(action)

        async def several(prompts: list[Prompt]) -> list[Sampled]:
            return [await sampler(tokenizer)(prompt) for prompt in prompts]

        sessions = [TokenSession(Fragile, tokenizer, seed=0, index=n) for n in range(8)]
        trajectories = asyncio.run(play_batch(sessions, several))
        errors = [one.error for one in trajectories]
        assert [error is not None for error in errors] == [n == 3 for n in range(8)]
        assert errors[3] is not None
        assert (errors[3]["boundary"], errors[3]["message"]) == ("env", "broken")
        assert [len(one.turns) for one in trajectories] == [5, 5, 5, 1, 5, 5, 5, 5]
        assert Fragile.closed == 8

    def test_an_engine_fault_is_recorded_or_raised(self, tokenizer: Any, counting: Any) -> None:
        async def generate(prompt: Prompt) -> Sampled:
            if prompt.turn == 1:
                raise OSError("engine is gone")
            return await sampler(tokenizer)(prompt)

        trajectory = play(TokenSession(counting, tokenizer, seed=0), generate)
        assert trajectory.error is not None
        assert (trajectory.error["boundary"], len(trajectory.turns)) == ("agent", 1)
        policy = FaultPolicy(on_error="raise")
        with pytest.raises(OSError, match="engine is gone"):
            play(TokenSession(counting, tokenizer, seed=0, policy=policy), generate)
        assert counting.closed == 2

    @pytest.mark.parametrize("answers", [[], [None], ["text"], OSError("gone")])
    def test_engine_faults_end_a_batch(self, tokenizer: Any, counting: Any, answers: Any) -> None:
        def generate(prompts: list[Prompt]) -> Any:
            if isinstance(answers, Exception):
                raise answers
            return answers

        sessions = [TokenSession(counting, tokenizer, seed=0)]
        (trajectory,) = asyncio.run(play_batch(sessions, generate))
        assert trajectory.error is not None
        assert trajectory.error["boundary"] == "agent"

    @pytest.mark.parametrize("in_batch", [False, True])
    def test_a_retry_repairs_a_fault(self, tokenizer: Any, *, in_batch: bool) -> None:
        class Twice(Counting):
            def step(self, action: Action) -> Step:
                if Twice.made < 3:
                    raise RuntimeError("not yet")
                return super().step(action)

        policy = FaultPolicy(on_error="retry", retries=2)
        session = TokenSession(Twice, tokenizer, seed=0, policy=policy)
        if in_batch:

            async def several(prompts: list[Prompt]) -> list[Sampled]:
                return [await sampler(tokenizer)(prompt) for prompt in prompts]

            (trajectory,) = asyncio.run(play_batch([session], several))
        else:
            trajectory = play(session, sampler(tokenizer))
        assert (trajectory.error, trajectory.attempts, len(trajectory.failures)) == (None, 3, 2)
        assert Twice.closed == Twice.made == 3

    def test_a_retry_needs_a_function_that_makes_the_environment(
        self, tokenizer: Any, counting: Any
    ) -> None:
        with pytest.raises(ConfigError, match="pass a function"):
            TokenSession(
                counting(), tokenizer, seed=0, policy=FaultPolicy(on_error="retry")
            ).close()

    @pytest.mark.slow
    @pytest.mark.parametrize("blocking", [False, True])
    def test_a_missed_deadline_ends_the_episode(self, tokenizer: Any, *, blocking: bool) -> None:
        release = threading.Event()

        class Hanging(Counting):
            def step(self, action: Action) -> Step:
                release.wait(0.2 if not blocking else 30)
                return super().step(action)

        Hanging.blocking = blocking  # type: ignore[misc, assignment]
        policy = FaultPolicy(turn_deadline=0.1)
        try:
            trajectory = play(
                TokenSession(Hanging, tokenizer, seed=0, policy=policy), sampler(tokenizer)
            )
        finally:
            release.set()
        assert trajectory.error is not None
        assert trajectory.error["type"] == "DeadlineError"

    def test_an_environment_that_cannot_be_made_is_a_fault(self, tokenizer: Any) -> None:
        def make() -> BaseEnv:
            raise OSError("no disk")

        trajectory = play(TokenSession(make, tokenizer, seed=0), sampler(tokenizer))
        assert trajectory.error is not None
        assert (trajectory.error["boundary"], trajectory.turns) == ("env", [])


class TestBadInput:
    @pytest.mark.parametrize("seed", [None, -1, 1.5, "3", True])
    def test_a_seed_must_be_a_number(self, tokenizer: Any, counting: Any, seed: Any) -> None:
        with pytest.raises(ConfigError, match="seed"):
            TokenSession(counting, tokenizer, seed=seed)
        with pytest.raises(ConfigError, match="seed"):
            row_of({"env": GAME, "seed": seed})

    def test_a_tokenizer_needs_a_template(self, counting: Any) -> None:
        plain = make_tiny_tokenizer()
        plain.chat_template = None
        with pytest.raises(ConfigError, match="has no chat template"):
            play(TokenSession(counting, plain, seed=0), sampler(plain))

    def test_an_image_is_refused(self, tokenizer: Any) -> None:
        class Picture(Counting):
            def start(self) -> tuple[Observation, Info]:
                self.turn = 0
                return {"text": "look", "images": [b"png"]}, {}

        with pytest.raises(ConfigError, match="shows an image"):
            play(TokenSession(Picture, tokenizer, seed=0), sampler(tokenizer))

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"one_sequence": "first"}, "one_sequence must be"),
            ({"logprobs": "no"}, "logprobs must be"),
            ({"index": -1}, "index must be"),
            ({"sample": "2"}, "sample must be"),
            ({"stop": "x"}, "stop must be a list"),
        ],
    )
    def test_invalid_options_of_a_session_are_errors(
        self, tokenizer: Any, counting: Any, options: Any, words: str
    ) -> None:
        with pytest.raises(ConfigError, match=words):
            TokenSession(counting, tokenizer, **{"seed": 0, **options})


class TestRows:
    @pytest.mark.parametrize(
        ("row", "words"),
        [
            ({}, "no env and no seed"),
            ({"env": GAME}, "no seed"),
            ({"env": "", "seed": 0}, "env must be the id"),
            ({"env": GAME, "seed": 0, "index": -1}, "index must be"),
            ({"env": GAME, "seed": 0, "env_kwargs": "{"}, "not JSON"),
            ({"env": GAME, "seed": 0, "env_kwargs": [1]}, "must be a mapping"),
        ],
    )
    def test_invalid_rows_are_errors(self, row: Any, words: str) -> None:
        with pytest.raises(ConfigError, match=words):
            row_of(row)

    def test_rows_may_hold_numpy_numbers_and_json(self) -> None:
        numpy = pytest.importorskip("numpy")
        row = row_of(
            {"env": GAME, "seed": numpy.int64(3), "env_kwargs": '{"max_turns": 2}', "prompt": "x"}
        )
        assert (row.seed, row.env_kwargs) == (3, {"max_turns": 2})
        assert type(row.seed) is int

    def test_rows_must_name_an_environment_that_exists(self) -> None:
        with pytest.raises(UnknownIdError, match="GuessTheNumber-v0-easy"):
            env_rows("game:GuessTheNumber-v0-eas", 1)
        with pytest.raises(TypeError, match="max_turns"):
            env_rows(GAME, 1, env_kwargs={"max_turn": 3})

    @pytest.mark.slow
    def test_rows_are_played_with_the_tools_and_wrappers_of_overrides(self) -> None:
        envs = RowEnvs(["wrappers=[concat]", "env=game/Mastermind-v0-easy", "env.max_turns=3"])
        (row,) = env_rows(GAME, 1, env_kwargs={"max_turns": 2})
        env = envs.make(row)
        assert env.spec.kwargs["max_turns"] == 2
        assert isinstance(env, HistoryWrapper)
        named = envs.make({"env": "game:Mastermind-v0-easy", "seed": 0})
        assert named.spec.kwargs["max_turns"] == 3

    @pytest.mark.slow
    def test_the_composed_configuration_consists_of_dicts_and_lists(self) -> None:
        config = RowEnvs(["wrappers=[concat]", "env=game/Mastermind-v0-easy"]).config
        assert set(config) == {"env", "wrappers"}
        assert type(config["env"]) is dict
        assert RowEnvs(config).config == config
        assert RowEnvs().config == {}

    @pytest.mark.slow
    def test_wrong_overrides_of_rows_are_errors(self) -> None:
        with pytest.raises(ConfigError, match="conct"):
            RowEnvs(["wrappers=[conct]"])
        with pytest.raises(ConfigError, match="a list of strings"):
            RowEnvs("tools=[python]")


class TestADeadlineOfATurn:
    def test_a_deadline_that_is_missed_while_the_trainer_samples_ends_the_episode(
        self, tokenizer: Any, counting: Any
    ) -> None:
        async def late() -> TokenSession:
            policy = FaultPolicy(turn_deadline=0.5)
            session = TokenSession(counting, tokenizer, seed=0, policy=policy)
            prompt = await session.begin()
            assert prompt is not None
            while session.trajectory.error is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            result = await session.feed([tokenizer.eos_token_id], [-1.0])
            assert result.prompt is None
            assert result.error == session.trajectory.error
            with pytest.raises(EpisodeEndedError):
                await session.feed([tokenizer.eos_token_id], [-1.0])
            return session

        error = asyncio.run(late()).trajectory.error
        assert error is not None
        assert (error["type"], error["boundary"]) == ("DeadlineError", "agent")
        assert counting.closed == 1

    @pytest.mark.slow
    def test_waiting_for_a_batch_stops_the_deadline(self, tokenizer: Any, counting: Any) -> None:
        class Hanging(AsyncEnv):
            async def start(self) -> tuple[Observation, Info]:
                return "go", {}

            async def step(self, action: Action) -> Step:
                await asyncio.Event().wait()
                raise AssertionError

        async def generate(prompts: list[Prompt]) -> list[Sampled]:
            return [await sampler(tokenizer)(prompt) for prompt in prompts]

        policy = FaultPolicy(turn_deadline=1.5)
        sessions = [
            TokenSession(env, tokenizer, seed=0, policy=policy)
            for env in (counting, Hanging, counting)
        ]
        first, hanging, last = asyncio.run(play_batch(sessions, generate))
        assert (first.error, last.error) == (None, None)
        assert (first.episode_return, last.episode_return) == (15.0, 15.0)
        assert hanging.error is not None
        assert hanging.error["type"] == "DeadlineError"


class TestAnInterruption:
    """An engine that stops in the middle of a reply, and continues it later."""

    @staticmethod
    def generate(tokenizer: Any, turns: set[int]) -> Callable[[Prompt], Any]:
        """Return a sampler that is interrupted once in each of some turns."""

        async def reply(prompt: Prompt) -> Sampled:
            if prompt.turn in turns:
                turns.remove(prompt.turn)
                raise ReplyInterruptedError("The weights are updated.")
            sampled: Sampled = await sampler(tokenizer)(prompt)
            return sampled

        return reply

    def test_an_interruption_leaves_the_rows_alone(self, tokenizer: Any, counting: Any) -> None:
        async def play_in_parts(turns: set[int]) -> tuple[Trajectory, int]:
            session, generate = (
                TokenSession(counting, tokenizer, seed=0),
                self.generate(tokenizer, turns),
            )
            waits = 0
            while True:
                try:
                    return await play_tokens(session, generate), waits
                except ReplyInterruptedError:
                    assert session.prompt is not None
                    assert counting.closed == 1
                    waits += 1

        whole, _ = asyncio.run(play_in_parts(set()))
        parts, waits = asyncio.run(play_in_parts({0, 2}))
        assert training_rows(parts) == training_rows(whole)
        assert waits == 2
        assert counting.made == counting.closed == 2

    @pytest.mark.slow
    def test_an_interruption_stops_the_deadline(self, tokenizer: Any, counting: Any) -> None:
        async def play_late() -> Trajectory:
            policy = FaultPolicy(turn_deadline=1.5)
            session = TokenSession(counting, tokenizer, seed=0, policy=policy)
            generate = self.generate(tokenizer, {1})
            with pytest.raises(ReplyInterruptedError):
                await play_tokens(session, generate)
            await asyncio.sleep(1.6)
            return await play_tokens(session, generate)

        trajectory = asyncio.run(play_late())
        assert (trajectory.error, trajectory.episode_return) == (None, 15.0)

    def test_an_interrupted_session_may_be_closed(self, tokenizer: Any, counting: Any) -> None:
        async def drop() -> None:
            session = TokenSession(counting, tokenizer, seed=0)
            generate = self.generate(tokenizer, {1})
            with pytest.raises(ReplyInterruptedError):
                await play_tokens(session, generate)
            await session.aclose()
            with pytest.raises(EpisodeEndedError):
                await play_tokens(session, generate)

        asyncio.run(drop())
        assert counting.made == counting.closed == 1
