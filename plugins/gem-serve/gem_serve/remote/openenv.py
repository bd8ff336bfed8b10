"""Our environments as classes of OpenEnv's form, for programs that import an environment.

Where OpenEnv is installed they derive from its classes, as its ``create_app`` wants it. NeMo-Gym's
``openenv`` resources server imports a class and calls it in its own process. In its configuration::

    env_class: gem_serve.remote.openenv.RemoteEnvironment
    action_class: gem_serve.remote.openenv.TextAction
    reset_kwargs: {seed: 3}

It makes the environment without arguments, so the environment variable ``GEM_REMOTE_ENV`` has the
id: ``remote:HOST:PORT/ID``, or the id of an environment to play in that process.
"""

import functools
import importlib
import os
from collections.abc import Callable
from typing import Any

import pydantic

from gem_core.api import make
from gem_core.background import BackgroundLoop
from gem_core.content import images_of
from gem_core.errors import ConfigError
from gem_core.info import without_grading
from gem_core.maybe_async import is_awaitable
from gem_core.observation import Info, Observation, visible_text
from gem_serve.wire import plain

__all__ = ["RemoteEnvironment", "State", "TextAction", "TextObservation"]


def _class(module: str, name: str, otherwise: type) -> Any:
    """Return a class of OpenEnv, or another one where OpenEnv is not installed."""
    try:
        return getattr(importlib.import_module(f"openenv.core.env_server.{module}"), name)
    except ImportError:
        return otherwise


_Environment: Any = _class("interfaces", "Environment", object)
_Action: Any = _class("types", "Action", pydantic.BaseModel)
_Observation: Any = _class("types", "Observation", pydantic.BaseModel)
_State: Any = _class("types", "State", pydantic.BaseModel)


class TextAction(_Action):  # type: ignore[misc]
    """What the agent says."""

    model_config = pydantic.ConfigDict(extra="forbid")

    text: str
    """As the agent wrote it."""
    metadata: dict[str, Any] = pydantic.Field(default_factory=dict)
    """Ignored."""


class TextObservation(_Observation):  # type: ignore[misc]
    """What the agent sees."""

    text: str
    """The text, with the prefix and suffix that the environment gives."""
    images: list[str] = pydantic.Field(default_factory=list)
    """Images as data URLs."""
    done: bool = False
    """Whether the episode has ended."""
    reward: float | None = None
    """The reward of the last action; None after a reset."""
    metadata: dict[str, Any] = pydantic.Field(default_factory=dict)
    """``info``, ``terminated`` and ``truncated``."""


class State(_State):  # type: ignore[misc]
    """Where the episode is."""

    episode_id: str | None = None
    """The id that ``reset`` was given."""
    step_count: int = 0
    """Actions since the last reset."""


class RemoteEnvironment(_Environment):  # type: ignore[misc]
    """An environment in OpenEnv's form.

    Args:
        env: The id; None for that in ``GEM_REMOTE_ENV``.

    Raises:
        ConfigError: There is no id.
        UnknownIdError: There is no such environment.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, env: str | None = None) -> None:
        super().__init__()
        chosen = env or os.environ.get("GEM_REMOTE_ENV")
        if not chosen:
            raise ConfigError(
                "No environment: set GEM_REMOTE_ENV, such as remote:127.0.0.1:8000/math:Sample."
            )
        self._loop = BackgroundLoop()
        self._env = make(chosen)
        self._state = State()

    @property
    def state(self) -> State:
        """Where the episode is."""
        return self._state

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> TextObservation:
        """Start an episode; see ``Env.reset``."""
        observation, info = self._done(functools.partial(self._env.reset, seed=seed, **options))
        self._state = State(episode_id=episode_id)
        return _observed(observation, info)

    def step(self, action: TextAction, timeout_s: float | None = None, **_: Any) -> TextObservation:
        """Take an action; ``timeout_s`` is ignored, as the environment has its own."""
        step = self._done(functools.partial(self._env.step, action.text))
        self._state.step_count += 1
        shown = _observed(step.observation, step.info)
        shown.reward, shown.done = float(step.reward), step.terminated or step.truncated
        shown.metadata.update(terminated=step.terminated, truncated=step.truncated)
        return shown

    def close(self) -> None:
        """End the environment's session."""
        self._env.close()
        self._loop.close()

    def _done(self, function: Callable[[], Any]) -> Any:
        """Call a function and await its result; the caller may be in an event loop."""

        async def call() -> Any:
            value = function()
            return await value if is_awaitable(value) else value

        return self._loop.run(call())


def _observed(observation: Observation, info: Info) -> TextObservation:
    return TextObservation(
        text=visible_text(observation, info),
        images=plain(images_of(observation)),
        metadata={"info": plain(without_grading(info))},
    )
