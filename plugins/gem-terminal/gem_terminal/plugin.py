"""The specs that gem-terminal adds to the registry. Nothing here imports an environment."""

from pathlib import Path
from typing import Any

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry
from gem_core.specs import COMMANDS, Spec
from gem_terminal.cheats import cheat_specs

__all__ = ["gem_register"]

_HERE = Path(__file__).parent
_DATA = {
    "Harbor": {"data": str(_HERE / "samples")},
    "TerminalBench": {"data": str(_HERE / "samples_terminal_bench")},
}
_QUICK = {"command_timeout": 0.5, "max_turns": 6}
_ENVS: dict[str, tuple[dict[str, Any], str]] = {
    "Sample": ({"tasks": "sample"}, "24 tasks at a terminal, such as mending files and services"),
    "Generated-easy": ({"tasks": "easy"}, "endless tasks at a terminal, drawn from the seed"),
    "Generated-hard": ({"tasks": "hard"}, "the same, with more to do and more to find out"),
    "Harbor": ({"tasks": "harbor"}, "Harbor's task folders, such as those of Terminal-Bench 2"),
    "TerminalBench": ({"tasks": "terminal-bench"}, "task folders of Terminal-Bench 1"),
}


_METADATA = {
    "teaches": "to work in a shell",
    "score": "1 if the task's tests pass, or the part of it that they give; 0 otherwise",
}
_OURS = {
    "needs": "a machine (Linux or Docker)",
    "data": "ours, in gem-terminal",
    "license": "Apache-2.0",
}
_YOURS = {
    "needs": "data=, a machine (Linux or Docker)",
    "data": "yours",
    "license": "yours",
}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the environments, the command and the cheats."""
    for name, (kwargs, description) in _ENVS.items():
        registry.add(
            EnvSpec(
                id=f"terminal:{name}",
                entry_point="gem_terminal.env:TerminalEnv",
                kwargs=kwargs,
                oracle="gem_terminal.oracle:SolutionOracle",
                return_range=(0.0, 1.0),
                check_kwargs=_QUICK | _DATA.get(name, {}),
                metadata=_METADATA | (_YOURS if name in _DATA else _OURS),
                description=description,
            )
        )
    registry.add(
        Spec(
            kind=COMMANDS,
            id="terminal",
            entry_point="gem_terminal.commands:command",
            description="List and check the terminal tasks in a folder",
        )
    )
    registry.add(
        *cheat_specs(),
    )
