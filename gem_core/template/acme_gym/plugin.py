"""What this plugin registers. Nothing here imports an environment."""

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the environment."""
    registry.add(
        EnvSpec(
            id="acme-gym:Echo-v0",
            entry_point="acme_gym.echo:EchoEnv",
            kwargs={"length": 5},
            description="repeat a text backwards",
            oracle="acme_gym.echo:EchoOracle",
            return_range=(0.0, 1.0),
            metadata={
                "teaches": "to copy exactly",
                "score": "1 for the text backwards, 0 otherwise",
                "data": "generated here",
                "license": "Apache-2.0",
            },
        ),
    )
