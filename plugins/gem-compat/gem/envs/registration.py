"""The ids: those of gem-core and its plugins, and those that ``register`` adds.

Environments that gem-llm has too are made by the classes of this package. Others are gem-core's
own, in a wrapper that adapts the signatures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gem.core import EnvWrapper
from gem.envs.ended import RepeatsItsEnd
from gem.errors import InstallationError, UnknownEnvError
from gem.games import GAMES
from gem.utils.seeds import any_seed
from gem_core import api
from gem_core.errors import ConfigError, DuplicateIdError, UnknownIdError
from gem_core.plugins import default_registry
from gem_core.specs import ENVS, load_entry_point
from gem_core.specs import EnvSpec as CoreSpec

if TYPE_CHECKING:
    from gem.vector.vector_env import VectorEnv

    ENV_REGISTRY: "dict[str, EnvSpec]"

__all__ = ["ENV_REGISTRY", "EnvSpec", "make", "make_vec", "print_envs", "register"]


@dataclass
class EnvSpec:
    """The id of an environment, and how to make it.

    Args:
        id: The id.
        entry_point: ``"package.module:Class"``, or a callable.
        kwargs: Arguments of the entry point, unless ``make`` overrides them.
    """

    id: str
    entry_point: Callable[..., Any] | str
    kwargs: dict[str, Any] = field(default_factory=dict)


class _Counterpart(NamedTuple):
    """The class of this package that takes the place of a plugin's class."""

    entry_point: str
    renamed: Mapping[str, str] = {}
    dropped: tuple[str, ...] = ()
    added: Mapping[str, Any] = {}


_SHOWN = ("only_real_words", "hardcore", "duplicate_numbers")
"""Parameters of games that are in ``EnvSpec.kwargs`` even if they have their defaults."""
_ROWS = {"data": "dataset"}
_COUNTERPARTS = {
    "gem_math.env:MathEnv": _Counterpart(
        "gem.envs.math_env:MathEnv",
        _ROWS,
        ("shuffle",),
        {"question_key": "problem", "answer_key": "answer"},
    ),
    "gem_math.visual:MathVisualEnv": _Counterpart(
        "gem.envs.math_visual_env:MathVisualEnv",
        _ROWS,
        added={"image_key": "images", "question_key": "problem", "answer_key": "answer"},
    ),
    "gem_qa.env:QaEnv": _Counterpart(
        "gem.envs.qa_env:QaEnv",
        _ROWS,
        ("shuffle",),
        {"question_key": "question", "answer_key": "answer"},
    ),
    "gem_code.env:CodeEnv": _Counterpart(
        "gem.envs.code_env:CodeEnv",
        _ROWS,
        ("shuffle", "prompt", "solution_key"),
        {"question_key": "problem", "test_key": "tests"},
    ),
    "gem_rg.env:ReasoningGymEnv": _Counterpart(
        "gem.envs.reasoning_gym:ReasoningGymEnv", added={"size": 500, "seed": 42}
    ),
    "gem_web.env:WebshopEnv": _Counterpart(
        "gem.envs.webshop.webshop:WebshopEnv",
        added={"max_turns": 15, "error_tolerance": 15, "format_error_reward": -0.1},
    ),
    "gem_games.wikigame:WikiGameEnv": _Counterpart("gem.envs.game_env.wikigame:WikiGameEnv"),
    **{
        f"gem_games.{name}:{game.cls}": _Counterpart(
            f"gem.envs.game_env.{name}:{game.cls}",
            {theirs: ours for ours, theirs in game.renamed.items() if theirs is not None},
            added={key: game.parameters[key] for key in _SHOWN if key in game.parameters},
        )
        for name, game in GAMES.items()
    },
}
_PLUGINS = {
    "code": ("gem-code",),
    "eval": ("gem-math", "gem-qa", "gem-code"),
    "game": ("gem-games",),
    "logic": ("gem-qa",),
    "math": ("gem-math",),
    "qa": ("gem-qa",),
    "rg": ("gem-rg",),
    "webshop": ("gem-web",),
}
"""Plugins that have the ids of a namespace."""


_NAME = "ENV_REGISTRY"


def __getattr__(name: str) -> Any:
    if name != _NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    registry = {spec.id: _spec_of(spec) for spec in default_registry().list(ENVS)}
    globals()[name] = registry
    return registry


def _registry() -> "dict[str, EnvSpec]":
    found: dict[str, EnvSpec] = __getattr__(_NAME) if _NAME not in globals() else globals()[_NAME]
    return found


def _spec_of(spec: CoreSpec) -> EnvSpec:
    """Return the spec with which ``make`` makes an environment of gem-core."""
    entry_point = spec.entry_point if isinstance(spec.entry_point, str) else ""
    counterpart = _COUNTERPARTS.get(entry_point)
    if counterpart is None:
        return EnvSpec(spec.id, partial(_make_with_core, spec), dict(spec.kwargs))
    kwargs = {
        counterpart.renamed.get(name, name): value
        for name, value in spec.kwargs.items()
        if name not in counterpart.dropped and value != {}
    }
    return EnvSpec(spec.id, counterpart.entry_point, {**counterpart.added, **kwargs})


class _CoreEnv(RepeatsItsEnd):
    """An environment of gem-core, with gem-llm's signatures and seeds."""

    def __init__(self, spec: CoreSpec, **kwargs: Any) -> None:
        self._made_from = (spec, kwargs)
        super().__init__(api.make(spec, **kwargs))

    def reset(self, seed: int | None = None, **kwargs: Any) -> Any:
        return super().reset(any_seed(seed), **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.fork()

    def __reduce__(self) -> Any:
        spec, kwargs = self._made_from
        return _restored, (spec, kwargs, self.snapshot())


def _restored(spec: CoreSpec, kwargs: dict[str, Any], snapshot: bytes) -> _CoreEnv:
    env = _CoreEnv(spec, **kwargs)
    env.restore(snapshot)
    return env


def _make_with_core(spec: CoreSpec, *, seed: int | None = None, **kwargs: Any) -> EnvWrapper:
    return _CoreEnv(spec, seed=any_seed(seed), **kwargs)


def register(env_id: str, entry_point: Callable[..., Any] | str, **kwargs: Any) -> None:
    """Register an environment in this process.

    Args:
        env_id: Any text.
        entry_point: ``"package.module:Class"``, imported on first use, or a callable.
        kwargs: Arguments of the entry point.

    Raises:
        DuplicateIdError: The id is taken; it is a ValueError.
    """
    if env_id in _registry():
        raise DuplicateIdError(f"The environment {env_id!r} is already registered.")
    _registry()[env_id] = EnvSpec(env_id, entry_point, kwargs)


def make(env_id: str, **kwargs: Any) -> Any:
    """Make an environment without wrappers; call ``reset`` to start its first episode.

    Args:
        env_id: An id such as ``game:GuessTheNumber-v0``.
        kwargs: Parameters; they override the registered ones.

    Raises:
        UnknownEnvError: The id is not registered; it is a ValueError.
        InstallationError: The plugin that has the id is not installed; it is an ImportError.
        EntryPointError: The environment cannot be imported; it is an ImportError.
    """
    spec = _find(env_id)
    maker = spec.entry_point
    target = load_entry_point(maker) if isinstance(maker, str) else maker
    env = target(**{**spec.kwargs, **kwargs})
    env.env_id, env.entry_point = spec.id, spec.entry_point
    return env


def _find(env_id: str) -> EnvSpec:
    spec = _registry().get(env_id)
    if spec is not None:
        return spec
    try:
        return _spec_of(default_registry().find(ENVS, env_id))
    except UnknownIdError as error:
        plugins = _PLUGINS.get(env_id.partition(":")[0], ())
        missing = [name for name in plugins if not _is_installed(name)]
        if missing:
            raise InstallationError(
                f"{env_id!r} may need {' or '.join(missing)}, which is not installed. "
                f"Install it with: pip install {' '.join(missing)}"
            ) from error
        raise UnknownEnvError(str(error)) from error


def _is_installed(distribution: str) -> bool:
    from importlib import util  # noqa: PLC0415 - only for an unknown id

    return util.find_spec(distribution.replace("-", "_")) is not None


def print_envs() -> None:
    """Print id, entry point and parameters of every environment."""
    if not _registry():
        print("No environments registered.")
    else:
        print("Detailed registered environments:")
    for spec in _registry().values():
        core = spec.entry_point.args[0] if isinstance(spec.entry_point, partial) else spec
        print(f"  - {spec.id}:")
        print(f"      Entry point: {core.entry_point}")
        print(f"      Kwargs: {spec.kwargs}")


def make_vec(
    env_ids: str | Sequence[str],
    wrappers: Sequence[Callable[[Any], Any]] | None = None,
    vec_kwargs: Sequence[Mapping[str, Any]] | None = None,
    async_mode: bool = False,
    seed: int | None = 0,
    **kwargs: Any,
) -> "VectorEnv":
    """Make several environments behind one ``step``; see ``VectorEnv``.

    Args:
        env_ids: One id per environment; a text is a single environment.
        wrappers: Functions from an environment to the wrapped one, the innermost first.
        vec_kwargs: Parameters per environment; they override ``kwargs``.
        async_mode: Step in threads.
        seed: Environment i is made with seed + i; None for no seeds.
        kwargs: Parameters of every environment.

    Raises:
        ConfigError: ``vec_kwargs`` is not of the same length; it is a ValueError.
        UnknownEnvError: See ``make``.
    """
    from gem.vector.async_vector_env import AsyncVectorEnv  # noqa: PLC0415 - threads and numpy
    from gem.vector.sync_vector_env import SyncVectorEnv  # noqa: PLC0415 - as above

    ids = [env_ids] if isinstance(env_ids, str) else list(env_ids)
    each = [{}] * len(ids) if vec_kwargs is None else list(vec_kwargs)
    if len(each) != len(ids):
        raise ConfigError(f"vec_kwargs has {len(each)} entries for {len(ids)} environments.")
    makers = []
    for index, (env_id, own) in enumerate(zip(ids, each, strict=True)):
        seeded = {} if seed is None else {"seed": seed + index}
        makers.append(partial(_make_stack, env_id, wrappers or (), {**seeded, **kwargs, **own}))
    return (AsyncVectorEnv if async_mode else SyncVectorEnv)(ids, makers)


def _make_stack(
    env_id: str, wrappers: Sequence[Callable[[Any], Any]], kwargs: Mapping[str, Any]
) -> Any:
    env = make(env_id, **kwargs)
    for wrapper in wrappers:
        env = wrapper(env)
    return env
