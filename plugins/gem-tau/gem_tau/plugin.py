"""The specs that gem-tau adds to the registry. Nothing here imports an environment."""

from pathlib import Path

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry
from gem_core.specs import COMMANDS, Spec

__all__ = ["gem_register"]

_ENVS: dict[str, tuple[str, str]] = {
    "tau:Retail-Sample": ("retail-sample", "200 generated dialogues of a shop's assistant"),
    "tau:Airline-Sample": ("airline-sample", "200 generated dialogues of an airline's assistant"),
    "tau:Retail": ("retail", "tasks of tau-bench and its successors for a shop, with data="),
    "tau:Airline": ("airline", "tasks of tau-bench and its successors for an airline, with data="),
    "tau:Telecom": ("telecom", "tasks of tau2-bench for a mobile operator, with data="),
    "tau:Mock": ("mock", "tasks of tau2-bench that test itself, with data="),
}
_HERE = Path(__file__).parent
_FOLDERS = {"data": str(_HERE / "folder_samples")}
_DATA = dict.fromkeys(("tau:Retail", "tau:Airline", "tau:Telecom", "tau:Mock"), _FOLDERS)
_LIMITS = {"tau:Telecom": {"max_turns": 60}}  # two parties look for a fault
_WORLDS = {"data": str(_HERE / "world_samples"), "trust": True}


_METADATA = {
    "teaches": "to serve a customer by a policy, with tools over a database",
    "score": "1 if the database and what was said are as expected, 0 otherwise",
}
_WORLD = {
    "teaches": "to use tools that change a database",
    "score": "the task's own score, from 0 to 1",
    "needs": "data=, trust=True",
}
_OURS = {"data": "generated here", "license": "Apache-2.0"}
_YOURS = {"data": "yours", "license": "yours"}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the environments and the command."""
    for name, (tasks, description) in _ENVS.items():
        registry.add(
            EnvSpec(
                id=name,
                entry_point="gem_tau.env:make_dialogue",
                kwargs={"tasks": tasks, **_LIMITS.get(name, {})},
                oracle="gem_tau.oracle:DialogueOracle",
                return_range=(0.0, 1.0),
                check_kwargs=_DATA.get(name, {}),
                metadata=_METADATA | ({"needs": "data="} | _YOURS if name in _DATA else _OURS),
                description=description,
            )
        )
    registry.add(
        EnvSpec(
            id="tools:Folder",
            entry_point="gem_tau.worlds:ToolWorldEnv",
            oracle="gem_tau.worlds:WorldOracle",
            return_range=(0.0, 1.0),
            check_kwargs=_WORLDS,
            metadata=_WORLD | _YOURS,
            description="worlds of tools that change a database, with data= and trust=True",
        )
    )
    registry.add(
        Spec(
            kind=COMMANDS,
            id="tau",
            entry_point="gem_tau.commands:command",
            description="Check dialogues over a database, and the users in them",
        )
    )
