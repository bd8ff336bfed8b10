"""The tokens of an episode: what a model was given and what it sampled, in its own ids."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from gem_core.agent import Generation
from gem_core.errors import DataError

__all__ = ["TokenSequence", "sequences_of"]


@dataclass
class TokenSequence:
    """Tokens that a model saw as one text: the prompts and samples of successive turns.

    Args:
        agent: Whose tokens they are.
        ids: Token ids.
        mask: For each, whether it was sampled.
        logprobs: For each, its log-probability in nats; None where it was not sampled, or where
            the agent did not say.
        spans: ``(turn, start, end)`` of what was sampled in each turn: ``ids[start:end]``.
    """

    agent: str
    ids: list[int] = field(default_factory=list)
    mask: list[bool] = field(default_factory=list)
    logprobs: list[float | None] = field(default_factory=list)
    spans: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, turn: int, given: list[int], sampled: list[int], logprobs: list[float]) -> None:
        """Append the tokens of a turn; ``logprobs`` may be empty."""
        start = len(self.ids) + len(given)
        self.ids += given
        self.ids += sampled
        self.mask += [False] * len(given) + [True] * len(sampled)
        self.logprobs += [None] * len(given)
        self.logprobs += logprobs or [None] * len(sampled)
        self.spans.append((turn, start, start + len(sampled)))


def sequences_of(turns: Iterable[tuple[str, Generation | None]]) -> list[TokenSequence]:
    """Put the tokens of an episode together.

    Args:
        turns: Who acted in each turn, and the generation; turns without one are passed over.

    Raises:
        DataError: Some generations of an agent have token ids and others have none, or there are
            not as many log-probabilities as tokens.
    """
    found: list[TokenSequence] = []
    current: dict[str, TokenSequence] = {}
    without: dict[str, int] = {}
    for number, (agent, generation) in enumerate(turns):
        if generation is None:
            continue
        given, sampled = generation.prompt_ids, generation.token_ids
        if given is None or sampled is None:
            without.setdefault(agent, number)
            continue
        logprobs = generation.logprobs or []
        if logprobs and len(logprobs) != len(sampled):
            raise DataError(
                f"Turn {number} has {len(sampled)} sampled tokens and {len(logprobs)} "
                f"log-probabilities; there must be one for each, or none."
            )
        if agent not in current or not generation.extends:
            current[agent] = TokenSequence(agent)
            found.append(current[agent])
        current[agent].add(number, given, sampled, logprobs)
    for agent, number in without.items():
        if agent in current:
            raise DataError(
                f"Turn {number} of {agent!r} has no token ids, though other turns have: the tokens "
                f"of this episode are not known. Leave it out of what reads tokens."
            )
    return found
