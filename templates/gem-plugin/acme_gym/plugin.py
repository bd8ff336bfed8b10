"""What this plugin registers. Nothing here imports an environment."""

from gem_core import EnvSpec, ToolSpec, WrapperSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the environment, the tool and the wrapper."""
    registry.add(
        EnvSpec(
            id="acme:Echo-v0",
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
        ToolSpec(
            id="reverse",
            entry_point="acme_gym.reverse_tool:ReverseTool",
            description="reverses a text",
            examples=("<reverse>abc</reverse>",),
        ),
        WrapperSpec(
            id="shout",
            entry_point="acme_gym.shout:Shout",
            description="shows observations in capitals",
        ),
    )
