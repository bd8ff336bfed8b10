"""Transitions as tensors.

A batch has two tables. Returns and advantages are computed from its *turns*: N turns, each with its
episode and group. The model reads its *rows*: S sequences of at most L tokens, in which every
sampled token refers to its turn. A row holds one turn (prompt and response), or as many turns of an
episode as form one sequence. Both layouts have the same turns and the same advantages.

Suffixes name the axes: N turns, S rows, L positions, E episodes, T turns of an episode, K groups.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple, Self

import torch

from gem_core.content import Image
from gem_core.errors import ConfigError, DataError
from gem_train.transitions import Transition

__all__ = ["Batch", "batch_of", "drop_cut", "subsample", "token_batches"]


_OF_TOKENS = (
    "ids",
    "attention",
    "turn_of",
    "sampler_logprobs",
    "old_logprobs",
    "reference_logprobs",
)
"""The fields of a batch that have a value for each token, (S, L)."""


@dataclass(frozen=True)
class Batch:
    """Turns, and the rows that hold their tokens.

    Args:
        ids: Token ids, padded on the right, (S, L).
        attention: False at padding, bool, (S, L).
        turn_of: The turn of each sampled token, in [0, N); -1 for prompts and padding; (S, L).
        sampler_logprobs: The sampler's log-probability of each sampled token in nats, 0 elsewhere;
            (S, L). None unless all are known.
        reward: Reward of each turn, (N,).
        done: Whether the turn is the last of its episode, bool, (N,).
        truncated: Whether the episode was truncated at this turn, bool, (N,).
        cut: Whether the response was cut at its token limit, bool, (N,).
        formatted: Whether the environment could parse the action, bool, (N,).
        episode: Episode of the turn, in [0, E), (N,). Every turn of an episode is in the batch.
        turn: Index of the turn in its episode, from 0, (N,).
        group: Group of its episode, in [0, K), (N,).
        chosen: Turns that batch statistics are computed over (see ``subsample``), bool, (N,).
        trained: Turns that the loss is computed over: chosen and not dropped; bool, (N,).
        value: The critic's value of each turn's state, (N,); None without a critic.
        old_logprobs: The policy's log-probability of each sampled token before the first update of
            the step, in nats, 0 elsewhere; (S, L). None unless it is needed.
        reference_logprobs: The same of the reference.
        images: The images of each row, in the order of their tokens, S lists; None without any.
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
    value: torch.Tensor | None = None
    old_logprobs: torch.Tensor | None = None
    reference_logprobs: torch.Tensor | None = None
    images: tuple[Sequence[Image], ...] | None = None

    @property
    def mask(self) -> torch.Tensor:
        """The tokens that the loss is computed over, sampled in a trained turn; bool, (S, L)."""
        return (self.turn_of >= 0) & self.trained[self.turn_of.clamp(min=0)]

    @property
    def lengths(self) -> torch.Tensor:
        """Tokens of each row, (S,)."""
        return self.attention.sum(-1)

    @property
    def episodes(self) -> int:
        """Number of episodes, E."""
        return int(self.episode.max()) + 1

    def to_tokens(self, x_N: torch.Tensor) -> torch.Tensor:
        """Return the value of its turn at each sampled token, and 0 elsewhere; (S, L)."""
        return torch.where(self.turn_of >= 0, x_N[self.turn_of.clamp(min=0)], 0)

    def to_turns(self, x_S_L: torch.Tensor) -> torch.Tensor:
        """Return the sum over the sampled tokens of each turn, (N,)."""
        is_sampled = self.turn_of >= 0
        x_N = x_S_L.new_zeros(len(self.turn))
        return x_N.index_add(0, self.turn_of[is_sampled], x_S_L[is_sampled])

    @property
    def response_tokens(self) -> torch.Tensor:
        """Number of sampled tokens of each turn, (N,)."""
        return torch.bincount(self.turn_of[self.turn_of >= 0], minlength=len(self.turn))

    def table(self, x_N: torch.Tensor) -> torch.Tensor:
        """Return the values of turns by episode and turn, 0 where there is no turn; (E, T + 1).

        The last column is 0: the value after the end of an episode.
        """
        x_E_T = x_N.new_zeros(self.episodes, int(self.turn.max()) + 2)
        x_E_T[self.episode, self.turn] = x_N
        return x_E_T

    def states(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the ends of the states of all turns: rows, positions and turns of one shape.

        A state ends at the last token before the response: a value read there has seen the whole
        prompt and nothing of the action. ``values_S_L[rows, positions]`` are the values of
        ``turns``. A turn without a sampled token is left out.
        """
        before, here = self.turn_of[:, :-1], self.turn_of[:, 1:]
        rows, positions = torch.where((here >= 0) & (here != before))
        return rows, positions, here[rows, positions]

    def values(self, values_S_L: torch.Tensor) -> torch.Tensor:
        """Return the value of each turn's state, 0 for a turn without a sampled token; (N,)."""
        rows, positions, turns = self.states()
        values_N = values_S_L.new_zeros(len(self.turn))
        return values_N.index_put((turns,), values_S_L[rows, positions])

    def select(self, rows: torch.Tensor) -> Self:
        """Return the batch with only these rows, without needless padding; all turns stay.

        Args:
            rows: Indices of rows, (S',).
        """
        width = int(self.lengths[rows].max())

        tables = {name: getattr(self, name) for name in _OF_TOKENS}
        images = None
        if self.images is not None:
            images = _images_or_none(self.images[row] for row in rows.tolist())
        chosen = {n: x if x is None else x[rows, :width] for n, x in tables.items()}
        return replace(self, **chosen, images=images)

    def to(self, device: torch.device | str) -> Self:
        """Return a copy of the batch on a device."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        tensors = {name: x for name, x in found.items() if isinstance(x, torch.Tensor)}
        return replace(self, **{name: x.to(device) for name, x in tensors.items()})


def batch_of(
    transitions: Sequence[Transition],
    *,
    rows: Literal["turns", "episodes"] = "turns",
    pad_id: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Batch:
    """Convert transitions to tensors.

    Args:
        transitions: Turns of whole episodes, in any order; turn i of the batch is transition i.
        rows: ``turns`` for one row per turn. ``episodes`` for one row per sequence of tokens of an
            episode, see ``gem_rollout.training_rows``.
        pad_id: The padding token; nothing reads it.
        dtype: Type of rewards and log-probabilities.

    Raises:
        DataError: There is no transition, a prompt is empty, or turns of an episode are missing.
    """
    _check(transitions)
    made = _rows_of_turns(transitions) if rows == "turns" else _rows_of_episodes(transitions)

    width = max(len(row.ids) for row in made)

    def padded(columns: Iterable[list[Any]], fill: int, kind: torch.dtype) -> torch.Tensor:
        filled = [column + [fill] * (width - len(column)) for column in columns]
        return torch.tensor(filled, dtype=kind)

    def column(name: str, kind: torch.dtype) -> torch.Tensor:
        return torch.tensor([getattr(transition, name) for transition in transitions], dtype=kind)

    lengths = torch.tensor([len(row.ids) for row in made])
    known = all(transition.row.has_logprobs for transition in transitions)
    every = torch.ones(len(transitions), dtype=torch.bool)
    return Batch(
        ids=padded((row.ids for row in made), pad_id, torch.long),
        attention=torch.arange(width) < lengths[:, None],
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
        images=_images_or_none(row.images for row in made),
    )


def _images_or_none(images: Iterable[Sequence[Image]]) -> tuple[Sequence[Image], ...] | None:
    listed = tuple(images)
    return listed if any(listed) else None


def subsample(batch: Batch, size: int, generator: torch.Generator) -> Batch:
    """Choose exactly ``size`` of the chosen turns, without replacement.

    Every update then has the same number of turns, however long the episodes are. Returns are
    still computed from whole episodes; batch statistics and the loss cover the chosen turns.

    Args:
        batch: The batch.
        size: Number of turns to choose, at least 1.
        generator: Random generator on the CPU.

    Raises:
        ConfigError: ``size`` is below 1, or above the number of chosen turns.
    """
    (numbers,) = torch.where(batch.chosen.cpu())
    if not 1 <= size <= len(numbers):
        raise ConfigError(
            f"Cannot choose {size} turns of {len(numbers)}: choose at least 1, and collect more "
            f"episodes if there are too few."
        )
    taken = numbers[torch.randperm(len(numbers), generator=generator)[:size]]
    chosen = torch.zeros_like(batch.chosen)
    chosen[taken.to(chosen.device)] = True
    return replace(batch, chosen=chosen, trained=batch.trained & chosen)


def drop_cut(batch: Batch) -> Batch:
    """Remove turns whose response was cut at its token limit from the loss.

    They stay in returns and statistics, because the episode continued from them.
    """
    return replace(batch, trained=batch.trained & ~batch.cut)


def token_batches(batch: Batch, tokens: int) -> list[torch.Tensor]:
    """Split the rows into parts of at most ``tokens`` tokens, padding included.

    Rows of similar length are put together, longest first, so that a lack of memory shows in the
    first part. Rows without a token to train are left out. The split is deterministic.

    Args:
        batch: The batch.
        tokens: Most tokens of a part: its rows times the longest of them. A longer row is a part by
            itself.

    Returns:
        The row indices of each part, for ``batch.select``.

    Raises:
        ConfigError: ``tokens`` is less than 1.
    """
    if tokens < 1:
        raise ConfigError(f"tokens must be at least 1, got {tokens}.")
    lengths, used = batch.lengths.tolist(), batch.mask.any(-1).tolist()
    order = sorted((row for row, is_used in enumerate(used) if is_used), key=lambda r: -lengths[r])
    splits: list[list[int]] = []
    for row in order:
        if not splits or (len(splits[-1]) + 1) * lengths[splits[-1][0]] > tokens:
            splits.append([])
        splits[-1].append(row)
    return [torch.tensor(split, device=batch.ids.device) for split in splits]


class _Columns(NamedTuple):
    """One value for each token of a row, and the row's images."""

    ids: list[int]
    turn_of: list[int]
    logprobs: list[float]
    images: Sequence[Image] = ()


def _rows_of_turns(transitions: Sequence[Transition]) -> list[_Columns]:
    return [_columns([numbered]) for numbered in enumerate(transitions)]


def _rows_of_episodes(transitions: Sequence[Transition]) -> list[_Columns]:
    turns: dict[int, list[tuple[int, Transition]]] = {}
    in_order = sorted(enumerate(transitions), key=lambda pair: (pair[1].episode, pair[1].turn))
    for number, transition in in_order:
        turns.setdefault(id(transition.row), []).append((number, transition))
    return [_columns(of_row) for of_row in turns.values()]


def _columns(turns: Sequence[tuple[int, Transition]]) -> _Columns:
    """Return the tokens of a row up to the last of these turns, in which only they are sampled."""
    last = turns[-1][1]
    row, first, end = last.row, len(last.row.prompt_ids), last.span[1]
    columns = _Columns(
        row.prompt_ids + row.response_ids[:end],
        [-1] * (first + end),
        [0.0] * (first + end),
        last.images,
    )
    for number, transition in turns:
        start, end = transition.span
        columns.turn_of[first + start : first + end] = [
            number if is_trained else -1 for is_trained in row.mask[start:end]
        ]
        columns.logprobs[first + start : first + end] = row.logprobs[start:end]
    return columns


def _check(transitions: Sequence[Transition]) -> None:
    if not transitions:
        raise DataError("A batch needs at least one transition, got none.")
    turns: dict[int, dict[int, Transition]] = {}
    for transition in transitions:
        if not transition.row.prompt_ids:
            raise DataError(
                f"Turn {transition.turn} of episode {transition.episode} has an empty prompt; a "
                f"prompt needs at least one token."
            )
        of_episode = turns.setdefault(transition.episode, {})
        if transition.turn in of_episode:
            raise DataError(f"Turn {transition.turn} of episode {transition.episode} occurs twice.")
        of_episode[transition.turn] = transition
    for episode, of_episode in turns.items():
        last = len(of_episode) - 1
        if any(n not in of_episode or of_episode[n].done != (n == last) for n in range(last + 1)):
            raise DataError(
                f"Episode {episode} has the turns {sorted(of_episode)}; it must have all turns "
                f"from 0 on, and only the last one may be done. Pass whole episodes; subsample() "
                f"selects some of their turns."
            )
