"""The specs that gem-web adds to the registry. Nothing here imports an environment."""

from gem_core import AgentSpec, EnvSpec, hookimpl
from gem_core.registry import Registry
from gem_core.specs import COMMANDS, Spec

__all__ = ["gem_register"]

_ENTRY_POINT = "gem_web.env:WebshopEnv"
_ORACLE = "gem_web.agents:WebshopOracle"
_SPLITS = ("train", "test")
_MODES = ("html", "text", "text_rich")


_METADATA = {
    "teaches": "to search, compare and buy in a shop of web pages",
    "score": "0 to 1 for how well the purchase fits; -0.1 for each invalid action",
}
_OURS = {"data": "generated here", "license": "Apache-2.0"}
_YOURS = {"needs": "data=", "data": "yours", "license": "yours"}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the environments, the agent and the command."""
    registry.add(
        EnvSpec(
            id="webshop:Sample",
            entry_point=_ENTRY_POINT,
            kwargs={"data": "sample", "observation_mode": "text_rich"},
            oracle=_ORACLE,
            return_range=(-1.5, 1.0),
            metadata=_METADATA | _OURS,
            description="a generated shop of 1,000 products: find, choose options, buy",
        )
    )
    for split in _SPLITS:
        for mode in _MODES:
            registry.add(
                EnvSpec(
                    id=f"webshop:{split}-{mode}",
                    entry_point=_ENTRY_POINT,
                    kwargs={"split": split, "observation_mode": mode},
                    oracle=_ORACLE,
                    return_range=(-1.5, 1.0),
                    check_kwargs={"data": "sample"},
                    metadata=_METADATA | _YOURS,
                    description=f"WebShop, goals to {split} with, pages as {mode}; with data=",
                )
            )
    registry.add(
        AgentSpec(
            id="webshop-first-hit",
            entry_point="gem_web.agents:FirstHitAgent",
            description="searches for the customer's words and buys the first product",
            env="webshop:Sample",
        )
    )
    registry.add(
        Spec(
            kind=COMMANDS,
            id="webshop",
            entry_point="gem_web.commands:command",
            description="Convert the files of WebShop into a catalogue",
        )
    )
