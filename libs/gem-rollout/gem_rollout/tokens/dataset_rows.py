"""Rows of a dataset that stand for episodes, and the environments that play them.

A row is ``{"env": id, "env_kwargs": {}, "seed": int, "index": int}``: episode ``index`` of a run
with this seed. ``collect`` with the same seed plays the same episodes.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from gem_core.agent import Agent
from gem_core.config import factory_from_config
from gem_core.env import Env
from gem_core.errors import ConfigError
from gem_core.factory import EnvFactory
from gem_core.plugins import default_registry
from gem_core.seeded_env import check_single_agent
from gem_core.seeding import check_seed, child_seed
from gem_core.specs import ENVS, check_kwargs
from gem_rollout.answer_instruction import instructed
from gem_rollout.commands.environments import envs_by_name
from gem_rollout.episodes.episode import Episode, name_of
from gem_rollout.episodes.policy import FaultPolicy
from gem_rollout.episodes.pool import close_quietly
from gem_rollout.episodes.runner import Runner
from gem_rollout.episodes.threads import Threads
from gem_rollout.records.trajectory import Trajectory
from gem_rollout.tokens.session import TokenSession

__all__ = ["EnvRow", "RowEnvs", "env_rows", "row_of"]

_GROUPS = {"env", "tools", "wrappers", "sandbox"}
"""The groups of Hydra's options that a row's environment is composed of."""

_PARTS = ("env", "envs", "mixture", "tools", "wrappers", "tool_use", "answer_instruction", "seed")
"""The keys of a configuration that environments are made of."""


@dataclass(frozen=True)
class EnvRow:
    """An episode to play.

    Args:
        env: Id of the environment, or its name in the configuration of ``RowEnvs``.
        seed: Seed of the run.
        index: Number of the episode in the run.
        env_kwargs: Parameters of the environment.
    """

    env: str
    seed: int
    index: int = 0
    env_kwargs: dict[str, Any] = field(default_factory=dict)


def env_rows(
    env: str, n: int, *, seed: int = 0, env_kwargs: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Return the first ``n`` episodes of a run as rows.

    Args:
        env: Id of the environment.
        n: Number of rows, at least 1.
        seed: Seed of the run.
        env_kwargs: Parameters of the environment.

    Raises:
        ConfigError: ``n`` or ``seed`` is invalid.
        UnknownIdError: There is no such environment.
        UnknownKwargError: It does not take a parameter.
    """
    if type(n) is not int or n < 1:
        raise ConfigError(f"The number of rows must be a positive int; got {n!r}.")
    kwargs = dict(env_kwargs or {})
    spec = default_registry().find(ENVS, env)
    check_kwargs(spec.load(), kwargs, f"environment {env!r}")
    number = check_seed(seed)
    return [asdict(EnvRow(env, number, index, kwargs)) for index in range(n)]


def row_of(mapping: Mapping[str, Any]) -> EnvRow:
    """Return the row that a mapping describes; other keys are ignored.

    ``env_kwargs`` may be a mapping or its JSON, as some formats of datasets cannot hold mappings
    with different keys.

    Raises:
        ConfigError: A key is missing, or a value is not possible.
    """
    missing = [key for key in ("env", "seed") if mapping.get(key) is None]
    if missing:
        raise ConfigError(
            f"The row has no {' and no '.join(missing)}; its keys are "
            f"{', '.join(map(str, mapping)) or 'none'}. Make rows with env_rows(env, n, seed=0)."
        )
    env, index, kwargs = mapping["env"], mapping.get("index"), mapping.get("env_kwargs")
    if not isinstance(env, str) or not env:
        raise ConfigError(f"env must be the id of an environment; got {env!r}.")
    if isinstance(kwargs, str):
        try:
            kwargs = json.loads(kwargs)
        except ValueError as error:
            raise ConfigError(f"env_kwargs is not JSON: {error}; got {kwargs!r}.") from error
    if not isinstance(kwargs or {}, Mapping):
        raise ConfigError(f"env_kwargs must be a mapping; got {kwargs!r}.")
    numbers = {}
    for name, value in (("seed", mapping["seed"]), ("index", 0 if index is None else index)):
        try:
            numbers[name] = check_seed(value)
        except ConfigError:
            raise ConfigError(f"{name} must be a non-negative int; got {value!r}.") from None
    return EnvRow(env, numbers["seed"], numbers["index"], dict(kwargs or {}))


class RowEnvs:
    """Makes the environments of rows, with the tools and wrappers of a configuration.

    Args:
        config: What Hydra composed (``tools``, ``wrappers``, ``tool_use``, ``answer_instruction``,
            and ``env``, ``envs`` or ``mixture``), or a list of overrides such as
            ``["tools=[python]"]``. A row whose ``env`` is the name of one of its environments plays
            that one; any other row names an id.

    Raises:
        ConfigError: The configuration cannot be used; a line for each problem.
    """

    def __init__(self, config: Mapping[str, Any] | Sequence[str] | None = None) -> None:
        if isinstance(config, str):
            raise ConfigError(f"Overrides are a list of strings; got {config!r}.")
        if config is not None and not isinstance(config, Mapping):
            config = _composed(list(config))
        self._config: Mapping[str, Any] = config or {}
        has_env = any(self._config.get(key) for key in ("env", "envs", "mixture"))
        self._named = envs_by_name(self._config) if has_env else {}
        self._made: dict[str, EnvFactory] = {}

    @property
    def config(self) -> dict[str, Any]:
        """The parts of the configuration that environments are made of, as dicts and lists."""
        from omegaconf import OmegaConf  # noqa: PLC0415 - a row without a configuration needs none

        parts = {key: self._config[key] for key in _PARTS if self._config.get(key) is not None}
        return {
            key: OmegaConf.to_container(value, resolve=True)
            if OmegaConf.is_config(value)
            else value
            for key, value in parts.items()
        }

    def factory(self, row: Mapping[str, Any] | EnvRow) -> EnvFactory:
        """Return the factory of a row's environment.

        Raises:
            ConfigError: The row is invalid, or a part of the configuration is.
            UnknownIdError: There is no such environment.
            UnknownKwargError: It does not take a parameter.
        """
        row = row if isinstance(row, EnvRow) else row_of(row)
        if row.env in self._named and not row.env_kwargs:
            return self._named[row.env]
        key = json.dumps([row.env, row.env_kwargs], sort_keys=True, default=repr)
        if key not in self._made:
            spec = default_registry().find(ENVS, row.env)
            check_kwargs(spec.load(), row.env_kwargs, f"environment {row.env!r}")
            rest = {name: value for name, value in self._config.items() if name != "mixture"}
            config = {**rest, "env": {"id": row.env, **row.env_kwargs}}
            self._made[key] = instructed(factory_from_config(config), self._config)
        return self._made[key]

    def make(self, row: Mapping[str, Any] | EnvRow) -> Env:
        """Return a new environment for a row.

        Raises:
            ConfigError: See ``factory``; or the environment is for several agents.
        """
        env = self.factory(row)()
        try:
            check_single_agent(env, "a token session")
        except ConfigError:
            env.close()
            raise
        return env

    def session(
        self,
        row: Mapping[str, Any] | EnvRow,
        tokenizer: Any,
        *,
        sample: int = 0,
        **options: Any,
    ) -> TokenSession:
        """Return a session for a row.

        Args:
            row: The row.
            tokenizer: A tokenizer of transformers.
            sample: Number of the episode among those of this row.
            **options: Further arguments of ``TokenSession``.

        Raises:
            ConfigError: See ``factory``.
        """
        row = row if isinstance(row, EnvRow) else row_of(row)
        self.factory(row)
        return TokenSession(
            lambda: self.make(row),
            tokenizer,
            seed=row.seed,
            index=row.index,
            sample=sample,
            **options,
        )

    async def play(
        self,
        row: Mapping[str, Any] | EnvRow,
        agent: Agent,
        *,
        sample: int = 0,
        policy: FaultPolicy | None = None,
    ) -> Trajectory:
        """Play the episode of a row with an agent, for trainers that pass text.

        Args:
            row: The row.
            agent: The agent.
            sample: Number of the episode among those of this row.
            policy: Deadlines; errors are recorded.

        Raises:
            ConfigError: See ``make``.
        """
        row = row if isinstance(row, EnvRow) else row_of(row)
        env, policy, threads = self.make(row), policy or FaultPolicy(), Threads()
        trajectory = Trajectory(name_of(env), "policy", row.index, child_seed(row.seed, row.index))
        trajectory.group, trajectory.sample = row.index, sample
        trajectory.started_at = time.time()
        episode = Episode(env, agent, trajectory, row.index, policy, run_seed=row.seed)
        try:
            runner = Runner(threads, policy.turn_deadline)
            await runner.run(episode, episode.reset, episode.play)
            return episode.finish()
        finally:
            if not episode.abandoned:
                close_quietly(env)
            threads.close()


def _composed(overrides: list[str]) -> Mapping[str, Any]:
    """Compose a configuration with Hydra from overrides such as ``tools=[python]``."""
    from hydra import compose, initialize  # noqa: PLC0415 - half of the import's time
    from hydra.core.global_hydra import GlobalHydra  # noqa: PLC0415
    from hydra.errors import HydraException  # noqa: PLC0415
    from omegaconf.errors import OmegaConfBaseException  # noqa: PLC0415

    instance = GlobalHydra.instance()
    before = instance.hydra
    instance.clear()
    try:
        with initialize(version_base="1.3", config_path=None):
            return compose(overrides=[_added(override) for override in overrides])
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(f"The overrides cannot be used: {error}") from error
    finally:
        instance.hydra = before


def _added(override: str) -> str:
    """Return an override with the sign by which Hydra adds it to an empty configuration."""
    if override.startswith(("+", "~")):
        return override
    is_choice = override.partition("=")[0].partition("@")[0] in _GROUPS
    return f"+{override}" if is_choice else f"++{override}"
