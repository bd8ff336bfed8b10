"""Commands of ``gem-core`` that Hydra configures, and their parts."""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_rollout.commands.agents import agent_makers
    from gem_rollout.commands.command import (
        FAIL_ON_ERROR,
        INTERRUPTED,
        RUN_FOLDER,
        CommandKeys,
        HydraCommand,
        Job,
        check_values,
        plain_config,
    )
    from gem_rollout.commands.environments import (
        env_factories,
        env_parameters,
        env_sources,
        envs_by_name,
    )

__all__ = [
    "FAIL_ON_ERROR",
    "INTERRUPTED",
    "RUN_FOLDER",
    "CommandKeys",
    "HydraCommand",
    "Job",
    "agent_makers",
    "check_values",
    "env_factories",
    "env_parameters",
    "env_sources",
    "envs_by_name",
    "plain_config",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "agents": ("agent_makers",),
        "command": (
            "FAIL_ON_ERROR",
            "INTERRUPTED",
            "RUN_FOLDER",
            "CommandKeys",
            "HydraCommand",
            "Job",
            "check_values",
            "plain_config",
        ),
        "environments": ("env_factories", "env_parameters", "env_sources", "envs_by_name"),
    },
)
