"""Played and generated episodes for tests."""

import random

import torch
from hypothesis import settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core.agent import BaseAgent, Generation, Reply
from gem_rollout import Trajectory, Turn, collect
from gem_train.batch import batch_of
from gem_train.transitions import transitions_of

torch.set_num_threads(1)  # so small tensors only lose by more

SOME = settings(max_examples=100 if thorough() else 20)
"""How many batches a property is tried with."""
REWARDS = st.integers(-16, 16).map(lambda eighths: eighths / 8)
FRACTIONS = st.sampled_from([0.0, 0.25, 0.9, 1.0]) | st.floats(0.01, 1)
ALL = ["reinforce", "rebn", "grpo", "drgrpo", "rloo", "episode_reinforce", "ppo"]


@st.composite
def plays(draw, rewards=REWARDS, max_episodes=6, max_turns=4):
    """Transitions of whole episodes in any order; some prompts extend the turn before."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    trajectories = []
    for episode in range(draw(st.integers(1, max_episodes))):
        turns = []
        for number in range(draw(st.integers(1, max_turns))):
            extends = number > 0 and rng.random() < 0.7
            response = tokens_of(rng, 0 if rng.random() < 0.1 else 1)
            turns.append(
                turn_of(
                    tokens_of(rng, 0 if extends else 1),
                    response,
                    [-3 * rng.random() for _ in response],
                    draw(rewards),
                    extends=extends,
                    cut=rng.random() < 0.2,
                    formatted=rng.random() < 0.8,
                )
            )
        turns[-1].truncated = rng.random() < 0.2
        trajectories.append(episode_of(turns, episode, group=rng.randrange(3)))
    transitions = transitions_of(trajectories)
    rng.shuffle(transitions)
    return transitions


def turn_of(given, sampled, logprobs, reward, *, extends, cut=False, formatted=True):
    """A turn with these tokens; ``given`` are those of its prompt that are new."""
    generation = Generation(
        prompt_ids=given,
        token_ids=sampled,
        logprobs=logprobs,
        extends=extends,
        finish_reason="length" if cut else "stop",
    )
    info = {} if formatted else {"format_error": True}
    return Turn("policy", "", "", reward, False, False, info, 0, 0, generation)


def episode_of(turns, index=0, *, group=0):
    return Trajectory("game:X-v0", "policy", index, 0, turns, group=group)


@st.composite
def batches(draw, **options):
    """A batch of float64."""
    rows = draw(st.sampled_from(["turns", "episodes"]))
    return batch_of(draw(plays(**options)), rows=rows, dtype=torch.float64)


def tokens_of(rng, least):
    return [rng.randrange(1, 50) for _ in range(rng.randint(least, 4))]


def numbers(count, seed=0):
    """Some float64 numbers of a normal distribution."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, generator=generator, dtype=torch.float64)


def episodes_of(batch):
    """The numbers of the turns of each episode, in their order, as lists."""
    found = {}
    for number, (episode, turn) in enumerate(
        zip(batch.episode.tolist(), batch.turn.tolist(), strict=True)
    ):
        found.setdefault(episode, {})[turn] = number
    return {episode: [turns[t] for t in sorted(turns)] for episode, turns in found.items()}


GAME = "game:GuessTheNumber-v0-easy"


class CharacterAgent(BaseAgent):
    """Guesses upwards from 1, with characters as tokens; prompts extend earlier turns or do not."""

    def __init__(self, *, keeps=True, ids=True, logprobs=True, every_second_bad=False):
        self.keeps, self.ids, self.logprobs, self.bad = keeps, ids, logprobs, every_second_bad

    def reset(self, env):
        self.turn = 0

    def act(self, observation, info):
        extends = self.keeps and self.turn > 0
        self.turn += 1
        action = "no box" if self.bad and self.turn % 2 == 0 else f"\\boxed{{{self.turn}}}"
        generation = Generation(
            extends=extends,
            finish_reason="length" if self.turn == 2 else "stop",
            prompt_ids=[ord(letter) for letter in f"<{observation}>"] if self.ids else None,
            token_ids=[ord(letter) for letter in action] if self.ids else None,
            logprobs=[-number / 8 for number in range(len(action))] if self.logprobs else None,
        )
        return Reply(action, generation)


def played(episodes=6, groups_of=3, **options):
    made = collect(
        lambda: gem_core.make(GAME),
        lambda: CharacterAgent(**options),
        episodes=episodes,
        episodes_per_group=groups_of,
        seed=1,  # with it, the first episode has several turns
    )
    return sorted(made, key=lambda one: one.index)
