"""A plugin as it should be."""

from gem_core import BaseEnv, EnvSpec, Step, ToolSpec, hookimpl
from gem_core.registry import Registry
from gem_core.specs import FAMILIES, Spec

__all__ = ["gem_register"]


class CountEnv(BaseEnv):
    """Counts to a number."""

    def __init__(self, *, length: int) -> None:
        self.length = length

    def start(self):
        self.count = 0
        return "Count.", {}

    def step(self, action):
        self.count += 1
        return Step(str(self.count), 0.0, self.count == self.length, False, {})


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add an environment, a tool and a family."""
    registry.add(
        EnvSpec(id="acme:Count-v0", entry_point="acme_good:CountEnv", kwargs={"length": 5}),
        ToolSpec(id="acme-tool", entry_point="collections:Counter"),
        Spec(kind=FAMILIES, id="acme-family", entry_point="no_such_module:Family"),
    )
