"""Bugs of a repository that tests notice: drawn, tried, and kept or not."""

import functools
import json
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from random import Random

from gem_core.errors import ConfigError
from gem_swe.edits import Edit, applied
from gem_swe.mutations import Mutation, mutations_of
from gem_swe.observations import Failure, Observed, failures
from gem_swe.repository import Repository, unknowable_in
from gem_swe.trial import try_tests

__all__ = [
    "Bug",
    "UnusableError",
    "bug_of",
    "difficulty_of",
    "draw_bug",
    "mutations_in",
    "symptom",
    "why_unusable",
]

_HASH_SEEDS = (0, 1, 2)
"""The runs that must be alike differ in these."""
_LEAST_ANSWERS = 2
"""If all that fails had the same answer, giving always that one, as in the statement, would do."""
_MOST_FAILING = 0.9
"""The largest share of the tests that may fail."""
_DRAWS = 200


class UnusableError(ConfigError):
    """No task can be made of a bug."""


@dataclass(frozen=True)
class Bug:
    """Edits that make some tests of a repository fail, the same ones in every run.

    Args:
        repository: The repository as it should be.
        mutations: The bugs, one for each place.
        edits: All edits.
        failures: What fails with all of them.
        single_failures: What fails with each mutation alone.
        distance: The number of calls from the code of the statement's observation to the changed
            function, 0 for a change in the function that is called; the largest of all mutations.
    """

    repository: Repository
    mutations: tuple[Mutation, ...]
    edits: tuple[Edit, ...]
    failures: tuple[Failure, ...]
    single_failures: tuple[tuple[Failure, ...], ...]
    distance: int

    @property
    def failing(self) -> tuple[str, ...]:
        """The ids of the tests that fail, in order."""
        return tuple(sorted({one.test for one in self.failures}))

    @property
    def files(self) -> dict[str, bytes]:
        """The files of the repository with the bugs."""
        return applied(self.repository.files, self.edits)

    @property
    def signature(self) -> tuple[tuple[str, int, str], ...]:
        """What fails, and what comes instead: bugs that agree in this cannot be told apart."""
        return tuple((one.test, one.number, one.got) for one in self.failures)

    @property
    def difficulty(self) -> float:
        """How hard it is; see ``difficulty_of``."""
        return difficulty_of(self.repository.lines, self.distance, len(self.mutations))


def difficulty_of(lines: int, distance: int, bugs: int) -> float:
    """Return how hard it is to find bugs: a number from about 0, without an upper end.

    The binary logarithm of the size in hundreds of lines, plus the number of calls from the symptom
    to its cause, plus two for each bug after the first.

    Args:
        lines: The number of lines of source.
        distance: The number of calls between symptom and cause.
        bugs: The number of bugs.
    """
    return round(math.log2(max(lines, 100) / 100) + distance + 2 * (bugs - 1), 2)


@functools.lru_cache(maxsize=16)
def _mutations(key: tuple[tuple[str, bytes], ...]) -> tuple[Mutation, ...]:
    return tuple(one for path, content in key for one in mutations_of(path, content))


def mutations_in(repository: Repository) -> tuple[Mutation, ...]:
    """Return all bugs of one place of a repository."""
    return _mutations(tuple((path, repository.files[path]) for path in repository.source))


def draw_bug(
    repositories: Sequence[Repository], random: Random, *, bugs: int, distances: range
) -> Bug:
    """Return a bug of one of some repositories, drawn from a random stream.

    Args:
        repositories: The repositories.
        random: The stream.
        bugs: The number of places that are changed, each in a function of its own.
        distances: The distances between symptom and cause that are allowed.

    Raises:
        ConfigError: None was found.
    """
    for _ in range(_DRAWS):
        repository = random.choice(repositories)
        by_operator: dict[str, list[Mutation]] = {}
        for one in mutations_in(repository):
            by_operator.setdefault(one.operator, []).append(one)
        kinds = sorted(by_operator)
        chosen = [random.choice(by_operator[random.choice(kinds)]) for _ in range(bugs)]
        places = {(one.path, one.function) for one in chosen}
        if len(places) < bugs or (bugs > 1 and len({path for path, _ in places}) == 1):
            continue
        try:
            return bug_of(repository, chosen, distances=distances)
        except UnusableError:
            continue
    names = ", ".join(one.name for one in repositories)
    raise ConfigError(f"{names} gave no bug of this kind in {_DRAWS} draws.")


def bug_of(
    repository: Repository, mutations: Sequence[Mutation], *, distances: range = range(1000)
) -> Bug:
    """Return the bug that some mutations make together.

    Of use are bugs with which some tests fail and others pass, alike in three runs with other seeds
    of hashes, and of which each part makes some test fail when it is alone.

    Args:
        repository: The repository.
        mutations: The bugs of one place.
        distances: The distances between symptom and cause that are allowed.

    Raises:
        UnusableError: It is of no use; the message says why.
    """
    edits = tuple(edit for one in mutations for edit in one.edits)
    files = applied(repository.files, edits)
    probed, expected = repository.probed, repository.expected
    first = try_tests(files, probed, traced=_places(mutations))
    found = failures(probed, expected, first)
    if why := why_unusable(repository, found):
        raise UnusableError(why)
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(try_tests, files, probed, hash_seed=seed) for seed in _HASH_SEEDS[1:]]
        parts = [
            pool.submit(
                try_tests, applied(repository.files, one.edits), probed, traced=_places([one])
            )
            for one in mutations
            if len(mutations) > 1
        ]
    if any(failures(probed, expected, one.result()) != found for one in runs):
        raise UnusableError("the tests differ from run to run")
    observed = [one.result() for one in parts] or [first]
    singles = [tuple(failures(probed, expected, one)) for one in observed]
    symptoms = (symptom(repository, single) for single in singles)
    shown = [one for one in symptoms if one is not None]
    if len(shown) < len(singles):
        raise UnusableError("no failure can be shown")
    hidden = sorted({one.test for one in found})
    if unknowable_in(repository, files, found, hidden=hidden, shown=shown):
        raise UnusableError("a text that is expected stands nowhere any more")
    distance = max(
        _depths(part).get((one.test, one.number), 1) - 1
        for one, part in zip(shown, observed, strict=True)
    )
    if distance not in distances:
        raise UnusableError("the symptom is nearer to the cause, or further away")
    return Bug(repository, tuple(mutations), edits, tuple(found), tuple(singles), distance)


def symptom(repository: Repository, found: Sequence[Failure]) -> Failure | None:
    """Return the failure that a statement shows: the shortest one whose code says all it needs.

    Args:
        repository: The repository.
        found: What fails.
    """

    def length(failure: Failure) -> tuple[int, str, int]:
        probe = repository.probed.probes[failure.test][failure.probe or 0]
        code = "\n".join([*probe.before, probe.expression])
        return len(code) + len(failure.got) + len(failure.expected), failure.test, failure.number

    plain = [one for one in found if _is_plain(repository, one)]
    return min(plain, key=length, default=None)


def _is_plain(repository: Repository, failure: Failure) -> bool:
    if failure.probe is None:
        return False
    probe = repository.probed.probes[failure.test][failure.probe]
    return not probe.is_repeated and "self." not in "".join([*probe.before, probe.expression])


def why_unusable(repository: Repository, found: Sequence[Failure]) -> str:
    """Return why failures are too few or too many to make a task of them; empty if they are not."""
    failing = {one.test for one in found}
    if not found:
        return "no test fails"
    if len(_answers(repository, found)) < _LEAST_ANSWERS:
        return "one answer fits all that fails"
    if len(failing) > _MOST_FAILING * len(repository.probed.probes):
        return "nearly all tests fail"
    return ""


def _answers(repository: Repository, found: Sequence[Failure]) -> set[str]:
    """Return what is expected where a test fails: values, and the classes of errors."""
    expected = (repository.expected[one.test][one.number][1] for one in found)
    return {
        json.dumps(one["raised"] if isinstance(one, dict) and "raised" in one else one)
        for one in expected
    }


def _places(mutations: Sequence[Mutation]) -> Mapping[str, list[str]]:
    """Return the functions that are changed, by file."""
    places: dict[str, list[str]] = {}
    for one in mutations:
        places.setdefault(one.path, []).append(one.function)
    return places


def _depths(observed: Observed) -> dict[tuple[str, int], int]:
    """Return at which depth of calls each observation reached a changed function."""
    return {
        (test, number): note[2]
        for test, notes in observed.items()
        for number, note in enumerate(notes)
        if isinstance(note, list) and len(note) > 2 and note[2]
    }
