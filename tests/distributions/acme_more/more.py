"""A second plugin of a distribution: a tool and a wrapper."""

from gem_core import ToolSpec, WrapperSpec, hookimpl


@hookimpl
def gem_register(registry):
    registry.add(
        ToolSpec(
            id="reverse",
            entry_point="acme.reverse_tool:ReverseTool",
            description="reverses a text",
            examples=("<reverse>abc</reverse>",),
        ),
        WrapperSpec(
            id="shout",
            entry_point="acme.shout:Shout",
            description="shows observations in capitals",
        ),
    )
