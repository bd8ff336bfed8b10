"""The parts of the conformance suite of adapters: cases, a scripted model, and harnesses.

A ``Harness`` plays a ``Case`` through a framework's own code and returns what the framework holds
afterwards. The checks compare it with ``reference``, which plays the case with ``play_tokens``.
"""

import asyncio
import math
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

from gem_rollout.episodes.policy import FaultPolicy
from gem_rollout.models.tiny_model import make_tiny_tokenizer
from gem_rollout.records.rows import Row, training_rows
from gem_rollout.tokens.agent import OneSequence
from gem_rollout.tokens.dataset_rows import RowEnvs
from gem_rollout.tokens.limits import Limits
from gem_rollout.tokens.play import play_tokens
from gem_rollout.tokens.reply import Prompt
from gem_rollout.tokens.sampler import Sampled
from gem_rollout.tokens.session import TokenSession

__all__ = [
    "FAULTY",
    "FORGETFUL_TEMPLATE",
    "Case",
    "EngineError",
    "Harness",
    "Misbehaviour",
    "Outcome",
    "Played",
    "ScriptedModel",
    "case_rows",
    "make_tokenizer",
    "reference",
    "sessions_of",
]

Misbehaviour = Literal[
    "",
    "raises",
    "cancels",
    "none",
    "empty",
    "no_logprobs",
    "short_logprobs",
    "nan_logprobs",
    "past_eos",
    "no_eos",
]
"""The faults of a ``ScriptedModel``; ``no_eos`` is not a fault, but rare."""

Outcome = Literal["row", "masked", "dropped", "raised"]
"""What became of an episode: rows to train on, rows without a token to train on, no rows, or an
error that stopped the framework."""

FAULTY = "faulty"
"""The label of episodes in whose second turn a ``ScriptedModel`` misbehaves."""

FORGETFUL_TEMPLATE = (
    "{% for m in messages %}{% if m.role != 'assistant' %}"
    "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""A chat template that leaves out the replies of earlier turns."""

_TEXTS = ("answer {}", "<answer>{}</answer>", "higher {}", "<add>{} 4</add>", "{}")
_LONGEST_LOGPROB = 4096


class EngineError(RuntimeError):
    """The error of a ``ScriptedModel`` that raises."""


class ScriptedModel:
    """A model whose k-th reply to a prompt is a fixed function of the prompt and k.

    The first replies to a prompt differ, so that the rows of a group do not depend on the order in
    which a framework asks for them. Replies are split into tokens as the tokenizer would not split
    them. Log-probabilities are numbers that 32-bit floats hold exactly.

    Args:
        tokenizer: The tokenizer of the case.
        seed: Seed of the replies.
        misbehaves: What it does in the second turn of episodes with the label ``FAULTY``.
    """

    def __init__(self, tokenizer: Any, *, seed: int = 0, misbehaves: Misbehaviour = "") -> None:
        self.tokenizer, self.seed, self.misbehaves = tokenizer, seed, misbehaves
        self.replies: set[tuple[int, ...]] = set()
        """The replies so far."""
        self._asked: Counter[tuple[int, ...]] = Counter()

    def fresh(self) -> Self:
        """Return a model with the same replies that has not been asked yet."""
        return type(self)(self.tokenizer, seed=self.seed, misbehaves=self.misbehaves)

    def sample(self, prompt_ids: Sequence[int], room: int | None = None) -> Sampled | None:
        """Return the next reply to a prompt; None where the script has no reply.

        Args:
            prompt_ids: Token ids of the prompt.
            room: Most tokens of the reply; None without a limit.

        Raises:
            EngineError: The script has an error here.
            CancelledError: The script says that the trainer cancels its tasks here.
        """
        prompt = tuple(prompt_ids)
        count = self._asked[prompt]
        self._asked[prompt] += 1
        texts = [text.format(number) for text in _TEXTS for number in range(10)]
        random.Random(f"{self.seed} {prompt}").shuffle(texts)
        text = texts[count % len(texts)]
        rng = random.Random(f"{self.seed} {count} {prompt}")
        ids = [one for letter in text for one in self._encode(letter)]
        end = self.tokenizer.eos_token_id
        how = self.misbehaves if self.misbehaves and self._is_faulty(prompt) else ""
        is_complete = True
        if end is not None and how != "no_eos":
            ids.append(end)
        if room is not None and len(ids) > room:
            ids, is_complete = ids[:room], False
        logprobs = [-rng.randrange(1, _LONGEST_LOGPROB) / _LONGEST_LOGPROB for _ in ids]
        sampled = _spoilt(Sampled(ids, logprobs, is_complete), how, end)
        if sampled is not None:
            self.replies.add(tuple(sampled.ids))
        return sampled

    async def asample(self, prompt_ids: Sequence[int], room: int | None = None) -> Sampled | None:
        """Return the next reply to a prompt, as an engine that other requests do not wait for."""
        await asyncio.sleep(0)
        return self.sample(prompt_ids, room)

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return ids

    def _is_faulty(self, prompt: tuple[int, ...]) -> bool:
        text = self.tokenizer.decode(list(prompt))
        return f" {FAULTY}:" in text and "Turn 1:" in text and "Turn 2:" not in text


def _spoilt(sampled: Sampled, how: str, end: int | None) -> Sampled | None:
    ids, logprobs = sampled.ids, sampled.logprobs
    match how:
        case "raises":
            raise EngineError("The engine failed in turn 2.")
        case "cancels":
            raise asyncio.CancelledError
        case "none":
            return None
        case "empty":
            ids, logprobs = [], []
        case "no_logprobs":
            logprobs = []
        case "short_logprobs":
            logprobs = logprobs[:-1]
        case "nan_logprobs":
            logprobs = [math.nan, *logprobs[1:]]
        case "past_eos":
            ids, logprobs = [end or 0, *ids], [-0.5, *logprobs]
    return replace(sampled, ids=ids, logprobs=logprobs)


@dataclass(frozen=True, kw_only=True)
class Case:
    """Episodes to play.

    Args:
        rows: Rows of a dataset, see ``env_rows``.
        samples: Episodes of each row; they are a group.
        tokenizer: The tokenizer.
        model: The model that replies.
        limits: Limits of tokens.
        config: The configuration of ``RowEnvs``.
        policy: What to do with faults.
        one_sequence: See ``TokenSession``.
    """

    rows: list[dict[str, Any]]
    model: ScriptedModel
    tokenizer: Any
    samples: int = 1
    limits: Limits = field(default_factory=Limits)
    config: Any = None
    policy: FaultPolicy = field(default_factory=FaultPolicy)
    one_sequence: OneSequence = "raise"

    def fresh(self) -> Self:
        """Return the same case with a model that has not been asked yet."""
        return replace(self, model=self.model.fresh())


@dataclass
class Played:
    """An episode as a framework holds it after its own code ran.

    Args:
        rows: Its rows; fields that the framework does not have are None or empty.
        outcome: What became of the episode.
        error: The message of the error that ended it; empty without one, or if it is unknown.
    """

    rows: list[Row]
    outcome: Outcome = "row"
    error: str = ""


class Harness(ABC):
    """Plays cases through a framework's own code."""

    name: ClassVar[str]
    """Name of the adapter, such as ``trl.rollout``."""
    distribution: ClassVar[str] = ""
    """Name of the framework's distribution; empty without one."""
    versions: ClassVar[tuple[str, ...]] = ()
    """Versions of the framework that the adapter was tested with."""
    one_sequence: ClassVar[bool] = False
    """Whether the framework takes one sequence of tokens for each episode only."""
    takes: ClassVar[frozenset[str]] = frozenset(
        {"turn_rewards", "token_rewards", "scalar", "logprobs", "limits", "truncated"}
    )
    """The inputs that the framework takes besides token ids and masks."""
    faults: ClassVar[Outcome] = "masked"
    """What becomes of an episode that ends with an error."""
    concurrent: ClassVar[str] = ""
    """Why the framework cannot play episodes at the same time; empty if it can."""

    @abstractmethod
    def play(self, case: Case) -> list[Played]:
        """Play a case.

        Args:
            case: The case. Its model is used by this call only.

        Returns:
            The episodes, in the order of rows and, for each row, of samples.

        Raises:
            Exception: The framework stopped with an error.
        """


def make_tokenizer(**changes: Any) -> Any:
    """Return a small tokenizer with a chat template that keeps the tokens of earlier turns.

    Args:
        **changes: Attributes to set, such as ``chat_template=FORGETFUL_TEMPLATE``.
    """
    tokenizer = make_tiny_tokenizer()
    for name, value in changes.items():
        setattr(tokenizer, name, value)
    return tokenizer


def case_rows(
    env: str, n: int = 1, *, first: int = 0, seed: int = 0, **env_kwargs: Any
) -> list[dict[str, Any]]:
    """Return rows of an environment of the suite.

    Args:
        env: Its name, such as ``Game``.
        n: Number of rows.
        first: Index of the first row.
        seed: Seed of the run.
        **env_kwargs: Parameters of the environment.
    """
    return [
        {"env": f"conformance:{env}", "env_kwargs": env_kwargs, "seed": seed, "index": index}
        for index in range(first, first + n)
    ]


def sessions_of(case: Case) -> list[TokenSession]:
    """Return a session for each episode of a case, in the order of ``Harness.play``."""
    envs = RowEnvs(case.config)
    return [
        envs.session(
            row,
            case.tokenizer,
            sample=sample,
            limits=case.limits,
            one_sequence=case.one_sequence,
            policy=case.policy,
        )
        for row in case.rows
        for sample in range(case.samples)
    ]


def reference(case: Case) -> list[Played]:
    """Play a case with ``play_tokens``, one episode after another.

    Raises:
        ConfigError: The case cannot be played.
    """

    async def generate(prompt: Prompt) -> Sampled | None:
        return case.model.sample(prompt.ids, prompt.room)

    async def play() -> list[Played]:
        played = []
        for session in sessions_of(case):
            trajectory = await play_tokens(session, generate)
            if trajectory.error is None:
                rows = training_rows(trajectory, limits=case.limits, one_sequence=case.one_sequence)
                played.append(Played(rows))
            else:
                played.append(Played([], "dropped", trajectory.error["message"]))
        return played

    return asyncio.run(play())
