"""Samples as tensors.

A batch has two tables. Its *turns* are what returns and advantages are made from: N turns, each
with its episode and group. Its *rows* are what a model reads: S sequences of at most L tokens, in
which every sampled token says which turn it is of. A row holds one turn (prompt and response), or
as many turns of an episode as are one sequence; the turns are the same, and so are the advantages.

Axes are named in suffixes: N turns, S rows, L positions, E episodes, T turns of an episode,
K groups.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Self

import torch

from gem_core.errors import ConfigError, DataError
from gem_train.samples import Sample

__all__ = ["Batch", "batch_of", "distinct", "drop_cut", "subsample", "token_batches"]


@dataclass(frozen=True)
class Batch:
    """Turns, and the rows that hold their tokens.

    Args:
        ids: Token ids, shape (S, L), padded on the right.
        attention: Where there is a token, bool, (S, L).
        turn_of: For each token that was sampled, its turn, in [0, N); -1 for tokens of prompts and
            for padding; (S, L).
        sampler_logprobs: The sampler's log-probability of each sampled token in nats, 0 elsewhere;
            (S, L). None unless all are known.
        reward: Of each turn, (N,).
        done: Whether the turn is the last of its episode, bool, (N,).
        truncated: Whether the episode was cut with it, bool, (N,).
        cut: Whether the response was cut at the limit of its length, bool, (N,).
        formatted: Whether the environment could read the action, bool, (N,).
        episode: Episode of the turn, in [0, E), (N,). Every turn of an episode is in the batch.
        turn: Number of the turn in its episode, from 0, (N,).
        group: Group of its episode, in [0, K), (N,).
        chosen: Turns that statistics over the batch are taken of (see ``subsample``), bool, (N,).
        trained: Turns that the loss is taken of: chosen, and not dropped; bool, (N,).
    """

    ids: torch.Tensor
    attention: torch.Tensor
    turn_of: torch.Tensor
    sampler_logprobs: torch.Tensor | None
    reward: torch.Tensor
    done: torch.Tensor
    truncated: torch.Tensor
    cut: torch.Tensor
    formatted: torch.Tensor
    episode: torch.Tensor
    turn: torch.Tensor
    group: torch.Tensor
    chosen: torch.Tensor
    trained: torch.Tensor

    @property
    def mask(self) -> torch.Tensor:
        """The tokens that the loss is taken of: sampled in a turn that is trained; bool, (S, L)."""
        return (self.turn_of >= 0) & self.trained[self.turn_of.clamp(min=0)]

    @property
    def lengths(self) -> torch.Tensor:
        """Tokens of each row, (S,)."""
        return self.attention.sum(-1)

    @property
    def episodes(self) -> int:
        """Number of episodes, E."""
        return int(self.episode.max()) + 1

    def spread(self, x_N: torch.Tensor) -> torch.Tensor:
        """Return the values of turns at each token sampled in them, 0 elsewhere; (S, L)."""
        return torch.where(self.turn_of >= 0, x_N[self.turn_of.clamp(min=0)], 0)

    def table(self, x_N: torch.Tensor) -> torch.Tensor:
        """Return the values of turns by episode and turn, 0 where there is none; (E, T + 1).

        The last column is 0: what comes after the end.
        """
        x_E_T = x_N.new_zeros(self.episodes, int(self.turn.max()) + 2)
        x_E_T[self.episode, self.turn] = x_N
        return x_E_T

    def states(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return where the state of each turn ends: rows, positions and turns, one shape.

        It is the last token before the response: a value read there has seen the whole prompt and
        nothing of the action. ``values_S_L[rows, positions]`` are the values of ``turns``. A turn
        without a token of its own has no place.
        """
        before, here = self.turn_of[:, :-1], self.turn_of[:, 1:]
        rows, positions = torch.where((here >= 0) & (here != before))
        return rows, positions, here[rows, positions]

    def values(self, values_S_L: torch.Tensor) -> torch.Tensor:
        """Return the value of each turn's state, 0 for a turn without a token; (N,)."""
        rows, positions, turns = self.states()
        values_N = values_S_L.new_zeros(len(self.turn))
        return values_N.index_put((turns,), values_S_L[rows, positions])

    def select(self, rows: torch.Tensor) -> Self:
        """Return the batch with these rows only, no wider than they need; all turns stay.

        Args:
            rows: Numbers of rows, (S',).
        """
        width = int(self.lengths[rows].max())

        def take(x_S_L: torch.Tensor) -> torch.Tensor:
            return x_S_L[rows, :width]

        known = self.sampler_logprobs is not None
        return replace(
            self,
            ids=take(self.ids),
            attention=take(self.attention),
            turn_of=take(self.turn_of),
            sampler_logprobs=take(self.sampler_logprobs) if known else None,
        )

    def to(self, device: torch.device | str) -> Self:
        """Return the batch on a device."""
        tensors = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{n: x if x is None else x.to(device) for n, x in tensors.items()})


def batch_of(
    samples: Sequence[Sample],
    *,
    rows: Literal["turns", "episodes"] = "turns",
    pad_id: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Batch:
    """Put samples into tensors.

    Args:
        samples: Turns of whole episodes, in any order; turn i of the batch is sample i.
        rows: ``turns`` for a row a sample. ``episodes`` for a row an episode: each prompt that
            extends all tokens before it goes on in the row, and one that does not begins another.
        pad_id: Token that fills rows up; nothing reads it.
        dtype: Type of rewards and log-probabilities.

    Raises:
        DataError: There is no sample, a prompt is empty, or turns of an episode are missing.
    """
    _check(samples)
    made = _rows_of_turns(samples) if rows == "turns" else _rows_of_episodes(samples)

    width = max(len(row.ids) for row in made)

    def padded(columns: Iterable[list[Any]], fill: int, kind: torch.dtype) -> torch.Tensor:
        filled = [column + [fill] * (width - len(column)) for column in columns]
        return torch.tensor(filled, dtype=kind)

    def column(name: str, kind: torch.dtype) -> torch.Tensor:
        return torch.tensor([getattr(sample, name) for sample in samples], dtype=kind)

    ids = padded((row.ids for row in made), pad_id, torch.long)
    lengths = torch.tensor([len(row.ids) for row in made])
    known = all(sample.logprobs is not None for sample in samples)
    every = torch.ones(len(samples), dtype=torch.bool)
    return Batch(
        ids=ids,
        attention=torch.arange(ids.shape[1]) < lengths[:, None],
        turn_of=padded((row.turn_of for row in made), -1, torch.long),
        sampler_logprobs=padded((row.logprobs for row in made), 0, dtype) if known else None,
        reward=column("reward", dtype),
        done=column("done", torch.bool),
        truncated=column("truncated", torch.bool),
        cut=column("cut", torch.bool),
        formatted=column("formatted", torch.bool),
        episode=column("episode", torch.long).unique(return_inverse=True)[1],
        turn=column("turn", torch.long),
        group=column("group", torch.long).unique(return_inverse=True)[1],
        chosen=every,
        trained=every.clone(),
    )


def subsample(batch: Batch, size: int, generator: torch.Generator) -> Batch:
    """Choose exactly ``size`` turns of the chosen ones, without replacement.

    So that every update has the same number of turns, however many the episodes had. Returns are
    of whole episodes still; statistics over the batch and the loss are of the chosen turns.

    Args:
        batch: The batch.
        size: Turns to choose, at least 1.
        generator: Where the choice comes from, on the CPU.

    Raises:
        ConfigError: There are not as many turns.
    """
    (numbers,) = torch.where(batch.chosen.cpu())
    if not 1 <= size <= len(numbers):
        raise ConfigError(
            f"Asked to choose {size} turns of {len(numbers)}; collect episodes until there are at "
            f"least as many turns as asked for."
        )
    taken = numbers[torch.randperm(len(numbers), generator=generator)[:size]]
    chosen = torch.zeros_like(batch.chosen)
    chosen[taken.to(chosen.device)] = True
    return replace(batch, chosen=chosen, trained=batch.trained & chosen)


def drop_cut(batch: Batch) -> Batch:
    """Leave turns whose response was cut out of the loss (``ignore_truncated``).

    They stay in returns and statistics: what they led to has happened.
    """
    return replace(batch, trained=batch.trained & ~batch.cut)


def token_batches(batch: Batch, tokens: int) -> list[torch.Tensor]:
    """Split the rows into batches of at most ``tokens`` tokens, padding included.

    Rows of like length come together, longest first, so that what does not fit into memory fails
    at once. Rows without a token to train are left out. The same batch gives the same split.

    Args:
        batch: The batch.
        tokens: Most tokens of a split, rows times the longest of them; a row that is longer is a
            split of its own.

    Returns:
        Numbers of rows, for ``batch.select``.

    Raises:
        ConfigError: ``tokens`` is less than 1.
    """
    if tokens < 1:
        raise ConfigError(f"A batch needs a budget of at least 1 token, got {tokens}.")
    lengths, used = batch.lengths.tolist(), batch.mask.any(-1).tolist()
    order = sorted((row for row, is_used in enumerate(used) if is_used), key=lambda r: -lengths[r])
    splits: list[list[int]] = []
    for row in order:
        if not splits or (len(splits[-1]) + 1) * lengths[splits[-1][0]] > tokens:
            splits.append([])
        splits[-1].append(row)
    return [torch.tensor(split, device=batch.ids.device) for split in splits]


def distinct(batch: Batch) -> tuple[Batch, torch.Tensor | None]:
    """Return rows that are alike once: of the same tokens, sampled at the same positions.

    Args:
        batch: The batch.

    Returns:
        The batch with the first row of each kind, and which of these each row is, (S,); the batch
        itself and None if no two are alike.
    """
    sampled = batch.turn_of >= 0
    tokens = torch.where(batch.attention, 2 * batch.ids + sampled, -1).tolist()
    first: dict[tuple[int, ...], int] = {}
    alike = [first.setdefault(tuple(row), number) for number, row in enumerate(tokens)]
    if len(first) == len(alike):
        return batch, None
    place = {row: number for number, row in enumerate(first.values())}
    device = batch.ids.device
    owner_S = torch.tensor([place[row] for row in alike], device=device)
    return batch.select(torch.tensor(list(place), device=device)), owner_S


class _Row:
    """A sequence that grows by turns."""

    def __init__(self, episode: int) -> None:
        self.episode = episode
        self.ids: list[int] = []
        self.turn_of: list[int] = []
        self.logprobs: list[float] = []

    def is_extended_by(self, sample: Sample) -> bool:
        is_same = self.episode == sample.episode
        return is_same and sample.prompt_ids[: len(self.ids)] == self.ids

    def add(self, number: int, sample: Sample) -> None:
        given = sample.prompt_ids[len(self.ids) :]
        sampled = sample.response_ids
        self.ids += given + sampled
        self.turn_of += [-1] * len(given) + [number] * len(sampled)
        self.logprobs += [0.0] * len(given) + (sample.logprobs or [0.0] * len(sampled))


def _rows_of_turns(samples: Sequence[Sample]) -> list[_Row]:
    rows = [_Row(sample.episode) for sample in samples]
    for number, (row, sample) in enumerate(zip(rows, samples, strict=True)):
        row.add(number, sample)
    return rows


def _rows_of_episodes(samples: Sequence[Sample]) -> list[_Row]:
    rows: list[_Row] = []
    in_order = sorted(enumerate(samples), key=lambda pair: (pair[1].episode, pair[1].turn))
    for number, sample in in_order:
        if not rows or not rows[-1].is_extended_by(sample):
            rows.append(_Row(sample.episode))
        rows[-1].add(number, sample)
    return rows


def _check(samples: Sequence[Sample]) -> None:
    if not samples:
        raise DataError("A batch needs at least one sample, got none.")
    turns: dict[int, dict[int, Sample]] = {}
    for sample in samples:
        if not sample.prompt_ids:
            raise DataError(
                f"Turn {sample.turn} of episode {sample.episode} has an empty prompt; a model "
                f"needs a token to begin with."
            )
        of_episode = turns.setdefault(sample.episode, {})
        if sample.turn in of_episode:
            raise DataError(f"Turn {sample.turn} of episode {sample.episode} is there twice.")
        of_episode[sample.turn] = sample
    for episode, of_episode in turns.items():
        last = len(of_episode) - 1
        if any(n not in of_episode or of_episode[n].done != (n == last) for n in range(last + 1)):
            raise DataError(
                f"Episode {episode} has the turns {sorted(of_episode)}; there must be all of them "
                f"from 0 on, and the last one, and no other, must be done. Give whole episodes; "
                f"subsample() takes some of their turns."
            )
