"""Hydra: every registered spec as a config option, straight from the registry.

A search-path plugin appends ``gem://`` to every Hydra application, so that
``+env=game/GuessTheNumber-v0-easy`` composes anywhere. An option holds the id and all parameters
with their values, so that an override of a parameter that does not exist is an error.

=============  =====================  =========================================
group          option                 its place in the config
=============  =====================  =========================================
``env``        ``game/Wordle-v0``     ``env``
``agent``      ``oracle``             ``agent.oracle``
``tools``      ``search``             ``tools.search``
``wrappers``   ``concat``             ``wrappers.concat``
``sandbox``    ``warm``               ``sandbox``
``machine``    ``local``              ``machine``
=============  =====================  =========================================

Groups whose options land under their own name take lists: ``wrappers=[concat,time_limit]``. Plugins
declare further groups with a ``Kind``.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigLoadError, ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import MISSING, OmegaConf

from gem_core.errors import GemError
from gem_core.notices import results_alone
from gem_core.plugins import default_registry
from gem_core.specs import Kind, Spec

__all__ = ["GemConfigSource", "GemSearchPathPlugin", "option_key", "plain_parameters"]


def _groups() -> dict[str, Kind[Any]]:
    """Return the kind of spec of each group."""
    return {kind.group: kind for kind in default_registry().kinds() if kind.group}


class GemSearchPathPlugin(SearchPathPlugin):
    """Appends ``gem://`` to the search path of every Hydra application."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        search_path.append("gem-core", "gem://")


class GemConfigSource(ConfigSource):
    """Serves the registry's specs as configs."""

    def __init__(self, provider: str, path: str) -> None:
        super().__init__(provider, path)
        self._found: dict[str, Spec] = {}
        """Specs by config path, as Hydra asks for each of them several times."""
        self._missing, self._advice = "", ""
        """The last config path of a group of ours that no spec has, and what to write instead."""

    def __repr__(self) -> str:
        """Return the text that Hydra prints below its message about a missing config."""
        return super().__repr__() + (self._advice and f"\n\n{self._advice}\n")

    @staticmethod
    def scheme() -> str:
        return "gem"

    def load_config(self, config_path: str) -> ConfigResult:
        spec = self._find(config_path)
        if spec is None:
            raise ConfigLoadError(f"gem-core has no config {config_path!r}.")
        group = config_path.partition("/")[0]
        package = f"{group}.{option_key(spec.id)}" if _groups()[group].several else None
        try:
            config = OmegaConf.create({"id": spec.id, **_options(spec)})
        except GemError as error:
            raise ConfigLoadError(str(error)) from error
        return ConfigResult(
            config=config,
            path=f"gem://{config_path}",
            provider=self.provider,
            header={"package": package},
        )

    def available(self) -> bool:
        return True

    def is_group(self, config_path: str) -> bool:
        return config_path == "" or config_path in _groups()

    def is_config(self, config_path: str) -> bool:
        return self._find(config_path) is not None

    def _find(self, config_path: str) -> Spec | None:
        group, _, option = config_path.removesuffix(".yaml").partition("/")
        if group not in _groups() or not option:
            return None
        try:
            spec = self._found.get(config_path) or default_registry().find(_groups()[group], option)
        except GemError as error:
            self._missing, self._advice = config_path, str(error)
            return None
        self._found[config_path] = spec
        return spec

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """Return the groups, or the options of a group; an option is a whole id with its slash.

        So completion, ``glob(game/*)`` and error messages all show whole ids. For the message about
        an option that does not exist, it is the near ones.
        """
        if config_path == "":
            return sorted(_groups()) if results_filter != ObjectType.CONFIG else []
        if config_path not in _groups() or results_filter == ObjectType.GROUP:
            return []
        options = [spec.config_path for spec in default_registry().list(_groups()[config_path])]
        group, _, missing = self._missing.partition("/")
        self._missing = ""
        return get_close_matches(missing, options, 5) if group == config_path else options


def option_key(spec_id: str) -> str:
    """Return the key of an option in a list group: its id, as an identifier."""
    return re.sub(r"\W", "_", spec_id)


def _options(spec: Spec) -> dict[str, Any]:
    with results_alone():
        found = spec.parameters()
    values = {n: MISSING if one is inspect.Parameter.empty else one for n, one in found.items()}
    return {name: value for name, value in values.items() if _is_plain(value)}


def plain_parameters(spec: Spec) -> dict[str, Any]:
    """Return the parameters of a spec that have values which YAML can express.

    Raises:
        EntryPointError: The entry point cannot be loaded.
    """
    return {name: value for name, value in _options(spec).items() if value != MISSING}


def _is_plain(value: Any) -> bool:
    plain: Callable[[Any], bool] = _is_plain
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and plain(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(plain, value))
    return value is None or isinstance(value, str | int | float | bool)
