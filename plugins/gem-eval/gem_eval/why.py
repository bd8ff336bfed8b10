"""Groups the failures of a run by environment, agent and cause, with one example each."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from gem_core.errors import ConfigError, near_names
from gem_core.info import shortened
from gem_eval.causes import RULES, Cause, Ending, cause_of
from gem_rollout import Trajectory

__all__ = ["Example", "Failures", "Group", "failures_of", "lines_of"]

_ORDER = {rule.cause: number for number, rule in enumerate(RULES)}


@dataclass(frozen=True)
class Example:
    """An episode that failed.

    Args:
        episode: Index of the episode in its run.
        place: Its place in ``gem-core view RUN``, after the address.
        question: What was asked; empty if the environment says nothing.
        expected: The correct answer; None if it is not known.
        extracted: What was compared with it; None if there was nothing to compare.
        reason: What decided, or what ended the episode; empty if that is not known.
    """

    episode: int
    place: str
    question: str
    expected: str | None
    extracted: str | None
    reason: str


@dataclass(frozen=True)
class Group:
    """The failures of an agent in an environment that have the same cause.

    Args:
        env: Name of the environment.
        agent: Name of the agent.
        cause: The cause; see ``gem_eval.causes``.
        failures: The number of episodes.
        episodes: The number of all episodes of the agent in the environment.
        example: The first of them, if possible one with an answer.
    """

    env: str
    agent: str
    cause: Cause
    failures: int
    episodes: int
    example: Example

    @property
    def share(self) -> float:
        """The share of the episodes of the agent in the environment, 0 to 1."""
        return self.failures / self.episodes

    def to_dict(self) -> dict[str, Any]:
        """Return all fields and the share as plain data."""
        return {**asdict(self), "share": self.share}


@dataclass
class Failures:
    """The failures of a run.

    Args:
        groups: By environment and agent in order of appearance; the most frequent cause first.
        episodes: The number of episodes that were looked at.
        unscored: Environments that do not say whether an episode succeeded, with their numbers of
            episodes without an error, which count as no failures.
        by_return: Environments without ``correct`` in info: there an episode succeeds if its return
            reaches the maximum of the environment's range.
    """

    groups: list[Group] = field(default_factory=list)
    episodes: int = 0
    unscored: Counter[str] = field(default_factory=Counter)
    by_return: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """The number of failures."""
        return sum(group.failures for group in self.groups)


def failures_of(
    trajectories: Iterable[Trajectory],
    *,
    envs: Collection[str] = (),
    agents: Collection[str] = (),
) -> Failures:
    """Return the failures of a run.

    Args:
        trajectories: Its episodes, in the order of its file.
        envs: Names of environments; empty for all.
        agents: Names of agents; empty for all.

    Raises:
        ConfigError: There are no episodes, or none of an environment or agent.
    """
    found = Failures()
    episodes: Counter[tuple[str, str]] = Counter()
    counts: Counter[tuple[str, str, Cause]] = Counter()
    examples: dict[tuple[str, str, Cause], Example] = {}
    judged, returns = set[str](), set[str]()
    names: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for number, one in enumerate(trajectories):
        names[0][one.env_name] = names[1][one.agent] = None
        if (envs and one.env_name not in envs) or (agents and one.agent not in agents):
            continue
        found.episodes += 1
        episodes[one.env_name, one.agent] += 1
        ending = Ending.of(one)
        if not ending.error and ending.success is None:
            found.unscored[one.env_name] += 1
        elif not ending.error:
            (judged if "correct" in ending.info else returns).add(one.env_name)
        caused = cause_of(ending)
        if caused is None:
            continue
        key = one.env_name, one.agent, caused[0]
        counts[key] += 1
        if key not in examples or examples[key].extracted is None:
            example = _example(one, number, ending, caused[1])
            if key not in examples or example.extracted is not None:
                examples[key] = example
    _check(names[0], envs, "environment")
    _check(names[1], agents, "agent")
    if not found.episodes:
        raise ConfigError("The run has no episodes" + (" of these." if names[0] else "."))
    found.by_return = sorted(returns - judged)
    order = list(episodes)
    keys = sorted(counts, key=lambda key: (order.index(key[:2]), -counts[key], _ORDER[key[2]]))
    found.groups = [Group(*key, counts[key], episodes[key[:2]], examples[key]) for key in keys]
    return found


def _example(one: Trajectory, number: int, ending: Ending, reason: str) -> Example:
    said = ending.grading
    place = f"#/episode/0-{number}"
    if said is None:
        shown = reason or f"the return was {one.episode_return:g}"
        return Example(one.index, place, "", None, None, shortened(shown))
    texts = said["question"], said["expected"], said["extracted"]
    return Example(one.index, place, *texts, shortened(reason))


def _check(known: Iterable[str], asked: Iterable[str], what: str) -> None:
    names = list(known)
    for name in asked:
        if names and name not in names:
            raise ConfigError(
                f"The run has no {what} {name!r}.{near_names(name, names)} It has: "
                f"{', '.join(names)}."
            )


def lines_of(found: Failures) -> Iterator[str]:
    """Yield sentences on how many episodes failed, and why."""
    if not found.groups:
        yield f"None of {found.episodes:,} episodes failed."
    else:
        causes: Counter[str] = Counter()
        for group in found.groups:
            causes[group.cause] += group.failures
        parts = ", ".join(f"{cause} {count:,}" for cause, count in causes.most_common())
        yield (
            f"{found.total:,} of {found.episodes:,} episodes failed "
            f"({found.total / found.episodes:.1%}): {parts}."
        )
    if found.by_return:
        yield (
            f"Success is a return at the top of the environment's range, as it does not say "
            f"whether an episode is correct: {', '.join(found.by_return)}."
        )
    for env, count in found.unscored.items():
        yield f"{count:,} episodes of {env} are left out: it does not say whether they succeeded."
