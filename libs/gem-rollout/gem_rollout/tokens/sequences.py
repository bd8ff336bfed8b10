"""The tokens of an episode: the ids that a model was given and those that it sampled."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gem_core.agent import Generation
from gem_core.content import Image
from gem_core.errors import DataError
from gem_rollout.tokens.chat_content import images_of_messages

__all__ = ["TokenSequence", "sequences_of"]


@dataclass
class TokenSequence:
    """The prompts and completions of successive turns that a model saw as one text.

    Args:
        agent: Name of the agent.
        ids: Token ids.
        mask: For each token, whether it was sampled, and its log-probability is known if those of
            others of the reply are.
        logprobs: For each token, its log-probability in nats; None if it was not sampled or the
            agent did not report it.
        versions: For each token, the version of the policy that sampled it; None if it was not
            sampled or its version is unknown.
        spans: ``(turn, start, end)`` for each turn, whose sampled tokens are ``ids[start:end]``.
        images: For each of these turns, the images that are new in its prompt.
    """

    agent: str
    ids: list[int] = field(default_factory=list)
    mask: list[bool] = field(default_factory=list)
    logprobs: list[float | None] = field(default_factory=list)
    versions: list[int | None] = field(default_factory=list)
    spans: list[tuple[int, int, int]] = field(default_factory=list)
    images: list[list[Image]] = field(default_factory=list)

    def add(
        self,
        turn: int,
        given: list[int],
        sampled: list[int],
        logprobs: Sequence[float | None],
        versions: Sequence[int | None] = (),
    ) -> None:
        """Append the tokens of a turn; ``logprobs`` and ``versions`` may be empty."""
        start = len(self.ids) + len(given)
        self.ids += given
        self.ids += sampled
        self.mask += [False] * len(given)
        self.mask += [one is not None for one in logprobs] or [True] * len(sampled)
        self.logprobs += [None] * len(given)
        self.logprobs += logprobs or [None] * len(sampled)
        self.versions += [None] * len(given)
        self.versions += versions or [None] * len(sampled)
        self.spans.append((turn, start, start + len(sampled)))


def sequences_of(turns: Iterable[tuple[str, Generation | None]]) -> list[TokenSequence]:
    """Join the tokens of an episode's turns.

    Args:
        turns: The agent and the generation of each turn; turns without a generation are skipped.

    Raises:
        DataError: Some generations of an agent have token ids and others do not, or the numbers of
            tokens and their log-probabilities or versions differ.
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
        logprobs, versions = generation.logprobs or [], generation.versions or []
        for name, values in (("log-probabilities", logprobs), ("versions", versions)):
            if values and len(values) != len(sampled):
                raise DataError(
                    f"Turn {number} has {len(sampled)} sampled tokens and {len(values)} {name}; "
                    f"there must be one per token, or none."
                )
        if agent not in current or not generation.extends:
            current[agent] = TokenSequence(agent)
            found.append(current[agent])
        current[agent].add(number, given, sampled, logprobs, versions)
        current[agent].images.append(images_of_messages(generation.messages))
    for agent, number in without.items():
        if agent in current:
            raise DataError(
                f"Turn {number} of {agent!r} has no token ids, but other turns have: the tokens of "
                f"this episode are incomplete. Leave it out of training on tokens."
            )
    return found
