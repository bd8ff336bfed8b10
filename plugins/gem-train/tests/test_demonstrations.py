"""Demonstrations: the actions of oracles, written as a model would write them."""

import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plays import GAME, SOME
from selection import some

import gem_core
import gem_rollout
from gem_core.agent import ScriptedAgent
from gem_core.env import BaseEnv, Step
from gem_core.errors import ConfigError
from gem_core.factory import make_factory
from gem_core.mixture import Component, MixtureEnv
from gem_core.specs import EnvSpec
from gem_rollout.models.tiny_model import CHAT_TEMPLATE, make_tiny_tokenizer, save_tiny_model
from gem_train.batch import batch_of
from gem_train.demonstrations import demonstrations
from gem_train.make_model import PIECES
from gem_train.transitions import transitions_of


@pytest.fixture(scope="module")
def tokenizer():
    return make_tiny_tokenizer(pieces=PIECES, context=2**20)


class Talk(BaseEnv):
    """Shows a new text in each turn, and accepts any action."""

    def __init__(self, *, turns=3):
        self._turns = turns

    def start(self):
        self._count = 0
        return "Turn 0: speak.", {"suffix": "What do you say?"}

    def step(self, action):
        self._count += 1
        done = self._count == self._turns
        return Step(f"Turn {self._count}: you spoke.", 1.0, done, False, {"suffix": "And now?"})


class TalkAtRandom(Talk):
    def sample_random_action(self):
        return f"word {self.action_rng.randrange(100)}"


def talk(*texts, env=Talk, oracle=True, **kwargs):
    """Makes environments whose oracle plays the texts."""
    spec = EnvSpec(
        id="test:Talk",
        entry_point=env,
        kwargs={"turns": len(texts), **kwargs},
        oracle=(lambda: ScriptedAgent(list(texts))) if oracle else None,
    )
    return make_factory(spec)


def play(factory, tokenizer, episodes=1, **options):
    return sorted(
        demonstrations(factory, tokenizer, episodes=episodes, **options),
        key=lambda one: one.index,
    )


def test_a_demonstration_follows_an_empty_thought_if_the_template_has_opened_one():
    opens = CHAT_TEMPLATE + "{% if add_generation_prompt %}<think>{% endif %}"
    tokenizer = make_tiny_tokenizer(pieces=PIECES, context=2**20, chat_template=opens)
    (one,) = play(make_factory(GAME), tokenizer)
    assert one.success
    for turn in one.turns:
        assert turn.generation.reply["content"].startswith("<think>\n</think>\n\n\\boxed{")
        assert not turn.info.get("format_error")


TEXTS = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(
    ["\\boxed{10}", "<|im_end|>", "a<|im_start|>b", "<|endoftext|>", "", " x ", "CRANE 漢字 é\n"]
)


@SOME
@given(texts=st.lists(TEXTS, min_size=1, max_size=3))
def test_the_oracles_actions_and_their_end_tokens_are_learned(tokenizer, texts):
    (one,) = play(talk(*texts), tokenizer)
    assert [turn.action for turn in one.turns] == texts
    (sequence,) = one.tokens()
    end = tokenizer.eos_token_id
    said = [
        [*tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True), end]
        for text in texts
    ]
    assert [sequence.ids[start:stop] for _, start, stop in sequence.spans] == said
    batch = batch_of(transitions_of([one]), rows="episodes")
    assert batch.ids[batch.mask].tolist() == [one for ids in said for one in ids]
    assert batch.sampler_logprobs is None


def test_an_episode_is_the_chat_as_the_template_renders_it(tokenizer):
    (one,) = play(talk("first", "second"), tokenizer, system="Speak.")
    (sequence,) = one.tokens()
    chat = [
        {"role": "system", "content": "Speak."},
        {"role": "user", "content": "Turn 0: speak.\nWhat do you say?"},
        {"role": "assistant", "content": "first"},
        {"role": "user", "content": "Turn 1: you spoke.\nAnd now?"},
        {"role": "assistant", "content": "second"},
    ]
    whole = tokenizer.apply_chat_template(chat, tokenize=False)
    assert tokenizer.decode(sequence.ids) + "\n" == whole


def test_prompts_are_those_that_a_model_samples_from(tokenizer, tmp_path):
    model = save_tiny_model(tmp_path, tokenizer=tokenizer, context=2048)
    shown = play(talk("\\boxed{5}", env=TalkAtRandom), tokenizer)[0].turns[0].generation
    (sampled,) = gem_rollout.collect(
        talk("\\boxed{5}"),
        lambda: gem_core.make_agent("transformers", model=model, max_new_tokens=1),
        episodes=1,
    )
    assert shown.prompt_ids == sampled.turns[0].generation.prompt_ids


@pytest.mark.parametrize("skill", [1, 0.0])
def test_skill_is_the_share_of_the_oracle(tokenizer, skill):
    played = play(talk(*["wise"] * 4, env=TalkAtRandom), tokenizer, 20, skill=skill)
    wise = [turn.action == "wise" for one in played for turn in one.turns]
    assert sum(wise) == skill * len(wise)


def test_between_oracle_and_chance_each_turn_is_drawn(tokenizer):
    played = play(talk(*["wise"] * 10, env=TalkAtRandom), tokenizer, 40, skill=0.3)
    wise = [[turn.action == "wise" for turn in one.turns] for one in played]
    assert 80 < sum(map(sum, wise)) < 160
    assert len({tuple(one) for one in wise}) > 20


def test_of_several_skills_each_episode_has_one(tokenizer):
    played = play(talk(*["wise"] * 6, env=TalkAtRandom), tokenizer, 40, skill=[0, 1])
    shares = [sum(turn.action == "wise" for turn in one.turns) / 6 for one in played]
    assert set(shares) == {0, 1}


def test_the_same_seed_plays_the_same(tokenizer):
    def said(seed):
        played = play(lambda: gem_core.make(GAME), tokenizer, 8, skill=0.5, seed=seed)
        return [(one.seed, [turn.generation.token_ids for turn in one.turns]) for one in played]

    assert said(1) == said(1)
    assert said(1) != said(2)


def test_start_states_are_not_those_of_an_evaluation_of_the_same_seed(tokenizer):
    shown = {one.seed for one in play(talk("a"), tokenizer, 10, seed=3)}
    agent = ScriptedAgent(["a"])
    seen = {one.seed for one in gem_rollout.collect(talk("a"), lambda: agent, episodes=10, seed=3)}
    assert not shown & seen


class Listener(ScriptedAgent):
    """Records the observations that it sees."""

    shown: list[str] = []  # noqa: RUF012 - the test empties it

    def act(self, observation, info):
        Listener.shown.append(observation)
        return super().act(observation, info)


def test_an_oracle_is_asked_for_played_actions_and_sees_all_observations(tokenizer):
    Listener.shown.clear()
    spec = EnvSpec(
        id="test:Talk",
        entry_point=TalkAtRandom,
        kwargs={"turns": 8},
        oracle=lambda: Listener([f"wise {number}" for number in range(8)]),
    )
    (one,) = play(make_factory(spec), tokenizer, skill=0.5, seed=2)
    wise = [turn.action for turn in one.turns if turn.action.startswith("wise")]
    assert wise == [f"wise {number}" for number in range(len(wise))]
    assert 0 < len(wise) < 8
    text = "\n".join(Listener.shown)
    last = max(n for n, turn in enumerate(one.turns) if turn.action.startswith("wise"))
    assert [text.count(f"Turn {n}:") for n in range(last + 1)] == [1] * (last + 1)


def test_with_a_history_the_oracle_sees_nothing_twice(tokenizer):
    Listener.shown.clear()
    spec = EnvSpec(
        id="test:Talk",
        entry_point=TalkAtRandom,
        kwargs={"turns": 8},
        oracle=lambda: Listener(["wise"]),
    )
    play(make_factory(spec, wrappers=["concat"]), tokenizer, skill=0.5, seed=2)
    assert all(text.count("Turn 0:") == 1 for text in Listener.shown)


GAMES = [
    f"game:{name}-v0-easy"
    for name in (
        *("Crosswords", "FifteenPuzzle", "Game2048", "GuessTheNumber", "Hangman", "Mastermind"),
        *("Minesweeper", "Sokoban", "Sudoku", "TowerofHanoi", "WordSearch", "Wordle"),
    )
]


@pytest.mark.slow
@pytest.mark.parametrize("env_id", some(GAMES))
def test_the_oracles_of_games_continue_after_random_actions(tokenizer, env_id):
    def mean_return(skill):
        played = play(lambda: gem_core.make(env_id), tokenizer, 10, skill=skill)
        assert [one.error for one in played if one.error] == []
        return sum(one.episode_return for one in played) / len(played)

    chance, half = mean_return(0), mean_return(0.5)
    assert chance < half


@pytest.mark.parametrize("env_id", ["math:Sample", "qa:Sample", "logic:Sample", "rg:leg_counting"])
def test_the_oracles_of_tasks_play_too(tokenizer, env_id):
    if not gem_core.find_envs(env_id):
        pytest.skip(f"{env_id} is not installed")
    played = play(lambda: gem_core.make(env_id), tokenizer, 12, skill=0.5)
    assert {one.success for one in played if one.error is None} == {True, False}
    assert [one.error for one in played if one.error] == []


def test_of_a_mixture_the_oracle_is_that_of_the_episode(tokenizer):
    parts = {name: Component(talk(f"from {name}", "end")) for name in "ab"}
    played = play(lambda: MixtureEnv(parts), tokenizer, 20)
    for one in played:
        assert one.turns[0].action == f"from {one.reset_info['component']}"
    assert len({one.turns[0].action for one in played}) == 2


def test_several_environments_take_their_shares(tokenizer):
    sources = {
        "a": gem_rollout.Component(talk("a"), weight=3.0),
        "b": gem_rollout.Component(talk("b")),
    }
    played = play(sources, tokenizer, 80)
    assert 45 < sum(one.turns[0].action == "a" for one in played) < 75


def test_a_reply_ends_where_a_string_of_stop_does(tokenizer):
    (one,) = play(talk("<python>1</python> and more", "end"), tokenizer, stop=["</python>"])
    first, second = one.turns
    assert first.action == "<python>1</python>"
    assert first.generation.token_ids[-1] != tokenizer.eos_token_id
    assert second.generation.token_ids[-1] == tokenizer.eos_token_id


def test_an_action_that_is_too_long_is_an_error_of_its_episode(tokenizer):
    (one,) = play(talk("a" * 100), tokenizer, max_new_tokens=10)
    assert one.error["type"] == "DataError"
    assert "raise sampling.max_new_tokens" in one.error["message"]
    (short,) = play(talk("\\boxed{5}"), tokenizer, max_new_tokens=len(one_action(tokenizer)))
    assert short.error is None


def one_action(tokenizer):
    return [*tokenizer.encode("\\boxed{5}"), tokenizer.eos_token_id]


def test_an_action_that_is_not_text_is_an_error_of_its_episode(tokenizer):
    (one,) = play(talk({"a": 1}), tokenizer)
    assert one.error["type"] == "DataError"
    assert "actions that are text" in one.error["message"]


@pytest.mark.parametrize(
    ("factory", "options", "message"),
    [
        (talk("a", oracle=False), {}, "has no oracle"),
        (talk("a"), {"skill": 0.0}, "needs random actions"),
        (talk("a"), {"skill": 1.5}, r"a number in \[0, 1\]"),
        (talk("a"), {"skill": []}, "or a list"),
        (talk("a"), {"max_new_tokens": 0}, "max_new_tokens"),
    ],
)
def test_invalid_parameters_are_reported(tokenizer, factory, options, message):
    with pytest.raises(ConfigError, match=message):
        play(factory, tokenizer, **options)


def test_random_actions_need_no_oracle(tokenizer):
    (one,) = play(talk("a", env=TalkAtRandom, oracle=False), tokenizer, skill=0)
    assert one.error is None


@pytest.mark.parametrize("lacks", ["chat_template", "eos_token"])
def test_a_tokenizer_that_cannot_write_is_refused(lacks):
    tokenizer = make_tiny_tokenizer(chat_template=CHAT_TEMPLATE)
    setattr(tokenizer, lacks, None)
    with pytest.raises(
        ConfigError, match=lacks.replace("_", " ").replace("eos token", "eos_token")
    ):
        play(talk("a"), tokenizer)


def test_an_interrupted_caller_leaves_nothing_behind(tokenizer):
    closed = threading.Event()

    class Closes(Talk):
        def close(self):
            closed.set()

    stream = demonstrations(talk("a", "b", env=Closes), tokenizer, episodes=1000)
    next(stream)
    stream.close()
    assert closed.wait(30)


def test_random_state_outside_is_left_alone(tokenizer):
    random.seed(1)
    before = random.getstate()
    play(talk("a", env=TalkAtRandom), tokenizer, 3, skill=0.5)
    assert random.getstate() == before
