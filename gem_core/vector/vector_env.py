"""``VectorEnv``: many environments behind one ``reset`` and ``step``."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from gem_core.env import Env
from gem_core.errors import ConfigError, EnvironmentFault, GemError
from gem_core.lifetimes import Lifetime
from gem_core.observation import Action, Info, Observation
from gem_core.seeding import check_seed, child_seed
from gem_core.vector.executor import Executor
from gem_core.vector.slot import Autoreset, Fault, OnError, Slot

__all__ = ["BatchStep", "VectorEnv"]


class BatchStep(NamedTuple):
    """Steps of several environments: five lists of equal length, in the order of the actions."""

    observations: list[Observation]
    rewards: list[float]
    terminated: list[bool]
    truncated: list[bool]
    infos: list[Info]


class VectorEnv:
    """Several environments behind one ``step``, each with its own random stream.

    A vector belongs to the process that made it: a fork of it can neither use nor close it. One
    that is dropped is closed.

    A seed gives the same episodes under every executor. ``step`` waits for all environments that
    it steps; with ``send`` and ``recv`` fast environments go on while slow ones work.

    ``autoreset`` defines what follows the end of an episode:

    - ``same_step``: the environment is reset in the same step. The step has the reward and flags of
      the old episode, and the observation and info of the new one. Observation and info of the old
      episode are in ``info["final_observation"]`` (Gymnasium: ``final_obs``) and
      ``info["final_info"]``.
    - ``next_step``: the next step ignores its action and returns the first observation of the new
      episode, with reward 0 and both flags false.
    - ``off``: there is no automatic reset; call ``reset(indices=[...])``.

    ``on_error`` defines what follows an error in ``step``:

    - ``raise``: ``EnvironmentFault`` is raised, with the index and the error. The other
      environments have taken their steps, which are in ``fault.completed`` by index.
    - ``truncate``: the episode is truncated with reward 0, and ``info["error"]`` (under
      ``same_step`` within ``final_info``) describes the error. The other episodes go on.

    Args:
        make_envs: One function per environment, which makes it.
        executor: Runs the environments.
        autoreset: ``same_step``, ``next_step`` or ``off``.
        on_error: ``raise`` or ``truncate``.
        seed: Seed of the first ``reset`` that has none.

    Raises:
        ConfigError: There are no environments, or ``autoreset`` or ``on_error`` is unknown.
    """

    def __init__(
        self,
        make_envs: Sequence[Callable[[], Env]],
        *,
        executor: Executor,
        autoreset: Autoreset = "same_step",
        on_error: OnError = "raise",
        seed: int | None = None,
    ) -> None:
        if not make_envs:
            raise ConfigError("A vector needs at least one environment.")
        if autoreset not in {"same_step", "next_step", "off"}:
            raise ConfigError(f"autoreset is 'same_step', 'next_step' or 'off'; got {autoreset!r}.")
        if on_error not in {"raise", "truncate"}:
            raise ConfigError(f"on_error is 'raise' or 'truncate'; got {on_error!r}.")
        self.num_envs = len(make_envs)
        self._seed = None if seed is None else check_seed(seed)
        self._in_flight: set[int] = set()
        self._interrupted = False
        self._executor = executor
        executor.start(
            [
                functools.partial(Slot, make_env, autoreset=autoreset, on_error=on_error)
                for make_env in make_envs
            ]
        )
        # At exit, a step that hangs would keep the program from ending.
        self._lifetime = Lifetime(self, executor.close, what="vector", at_exit=False)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        indices: Sequence[int] | None = None,
    ) -> tuple[list[Observation], list[Info]]:
        """Start an episode in every environment, or in those of ``indices``.

        Args:
            seed: A non-negative int, from which a seed of each environment is derived by its
                index; or a sequence of one seed per environment that is reset.
            options: Keyword arguments for the environments' ``reset``, such as ``{"idx": 3}``: one
                mapping for all, or a sequence of one per environment that is reset.
            indices: Indices of the environments to reset; None for all.

        Returns:
            Observations and infos, in the order of ``indices``.
        """
        which = list(range(self.num_envs) if indices is None else self._check(indices))
        if seed is None and indices is None:
            seed, self._seed = self._seed, None
        if isinstance(seed, Sequence):
            seeds = _one_each(seed, which, "seeds")
        else:
            seeds = [None if seed is None else child_seed(seed, index) for index in which]
        if options is None or isinstance(options, Mapping):
            each_options = [dict(options or {}) for _ in which]
        else:
            each_options = [dict(one) for one in _one_each(options, which, "options")]
        each = [{**o, "seed": s} for o, s in zip(each_options, seeds, strict=True)]
        firsts = self._call_all("reset", which, each)
        return [first[0] for first in firsts], [first[1] for first in firsts]

    def step(self, actions: Sequence[Action] | Mapping[int, Action]) -> BatchStep:
        """Step every environment, or those in a mapping, and wait for all of them.

        Args:
            actions: One action per environment, or a mapping from index to action.

        Raises:
            EnvironmentFault: An environment raised, and ``on_error`` is ``raise``.
            ConfigError: The number of actions is wrong, or there is no such index.
        """
        indices, arguments = self._split(actions)
        return _batch(indices, self._run("step", indices, arguments))

    def send(self, actions: Sequence[Action] | Mapping[int, Action]) -> None:
        """Begin to step every environment, or those in a mapping, without waiting.

        Raises:
            GemError: The last step of one of them has not been received.
        """
        self._check_open()
        indices, arguments = self._split(actions)
        busy = self._in_flight.intersection(indices)
        if busy:
            raise GemError(f"Environments {sorted(busy)} have a step in progress: recv it first.")
        self._in_flight.update(indices)
        self._executor.submit("step", zip(indices, arguments, strict=True))

    def recv(
        self, *, min_envs: int = 1, timeout: float | None = None
    ) -> tuple[list[int], BatchStep]:
        """Return finished steps; wait until there are at least ``min_envs``.

        Args:
            min_envs: Fewest steps to return, from 1 to the number of steps in progress.
            timeout: Seconds after which to return even fewer; None for no limit.

        Returns:
            The indices of the environments, and their steps in the same order.

        Raises:
            EnvironmentFault: As in ``step``.
            GemError: Fewer than ``min_envs`` steps are in progress.
            TimeoutError: No step has finished within ``timeout``.
        """
        self._check_open()
        if not 1 <= min_envs <= len(self._in_flight):
            raise GemError(
                f"recv(min_envs={min_envs}) needs that many steps in progress, and there are "
                f"{len(self._in_flight)}: send actions first."
            )
        results = self._executor.collect(min_envs, timeout)
        indices = [index for index, _ in results]
        self._in_flight.difference_update(indices)
        return indices, _batch(indices, [value for _, value in results])

    def sample_random_actions(self) -> list[Action]:
        """Return a random action of every environment."""
        return self.call("sample_random_action")

    def call(self, method: str, *args: Any) -> list[Any]:
        """Call a method of every environment and return the results."""
        return self._call_all("call", range(self.num_envs), [(method, *args)] * self.num_envs)

    def snapshot(self) -> list[Any]:
        """Return the state of every environment, also in the middle of an episode."""
        return self._call_all("snapshot", range(self.num_envs), [None] * self.num_envs)

    def restore(self, snapshot: Sequence[Any]) -> None:
        """Restore a snapshot of a vector of the same environments."""
        states = _one_each(snapshot, range(self.num_envs), "states")
        self._call_all("restore", range(self.num_envs), states)

    def close(self) -> None:
        """Close every environment and end all threads and processes; may be called twice.

        A step that hangs delays this by some seconds; then its process is killed, or its thread is
        left behind with a ``RuntimeWarning``. In a fork of the process this does nothing.

        Raises:
            GemError: An environment raised when it was closed; the others are closed all the same.
        """
        self._lifetime.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _split(
        self, actions: Sequence[Action] | Mapping[int, Action]
    ) -> tuple[Sequence[int], Iterable[Action]]:
        """Return the indices of the environments to step, and their actions."""
        if isinstance(actions, Mapping):
            return self._check(list(actions)), actions.values()
        if isinstance(actions, str) or len(actions) != self.num_envs:
            got = "a string" if isinstance(actions, str) else f"{len(actions)} actions"
            raise ConfigError(
                f"step needs a list of {self.num_envs} actions or a dict from index to action; "
                f"got {got}."
            )
        return range(self.num_envs), actions

    def _check(self, indices: Sequence[int]) -> Sequence[int]:
        """Return the indices if they are valid and distinct."""
        for index in indices:
            if type(index) is not int or not 0 <= index < self.num_envs:
                raise ConfigError(
                    f"There is no environment {index!r}; indices are 0 to {self.num_envs - 1}."
                )
        if len(set(indices)) < len(indices):
            raise ConfigError(f"An index occurs more than once: {list(indices)}.")
        return indices

    def _check_open(self) -> None:
        self._lifetime.check()
        if self._interrupted:
            raise GemError("This vector was interrupted in a step: close it and make a new one.")

    def _run(self, method: str, indices: Sequence[int], arguments: Iterable[Any]) -> list[Any]:
        """Call a method of several slots; return the results, faults included, in order."""
        self._check_open()
        if self._in_flight:
            raise GemError(
                f"Steps of {len(self._in_flight)} environments are in progress: recv them first."
            )
        self._interrupted = True
        values = self._executor.run(method, zip(indices, arguments, strict=True))
        self._interrupted = False
        return values

    def _call_all(self, method: str, indices: Sequence[int], arguments: Iterable[Any]) -> list[Any]:
        """Call a method of several slots and return the results in order."""
        values = self._run(method, indices, arguments)
        _check_faults(indices, values)
        return values


def _batch(indices: Sequence[int], values: list[Any]) -> BatchStep:
    """Turn steps into columns."""
    _check_faults(indices, values)
    columns = zip(*values, strict=True) if values else ((),) * len(BatchStep._fields)
    return BatchStep(*map(list, columns))


def _check_faults(indices: Sequence[int], values: Sequence[Any]) -> None:
    if Fault not in map(type, values):
        return
    results = dict(zip(indices, values, strict=True))
    index, fault = next((i, value) for i, value in results.items() if isinstance(value, Fault))
    error = fault.error
    message = f"Environment {index} raised {type(error).__name__}: {error}"
    completed = {i: value for i, value in results.items() if not isinstance(value, Fault)}
    raise EnvironmentFault(message, index, completed) from error


def _one_each(values: Sequence[Any], which: Sequence[int], what: str) -> list[Any]:
    if len(values) != len(which):
        raise ConfigError(
            f"{len(which)} {what} are needed, one per environment; got {len(values)}."
        )
    return list(values)
