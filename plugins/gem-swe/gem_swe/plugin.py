"""The specs that gem-swe adds to the registry. Nothing here imports an environment."""

from pathlib import Path
from typing import Any

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry
from gem_core.specs import COMMANDS, Spec
from gem_tasks.dataset_spec import DatasetSpec

__all__ = ["gem_register"]

_ENTRY_POINT, _ORACLE = "gem_swe.env:SweEnv", "gem_terminal.oracle:SolutionOracle"
_SAMPLE = str(Path(__file__).parent / "sample.jsonl")
_QUICK = {"command_timeout": 0.5, "max_turns": 6}
_ENVS: dict[str, tuple[dict[str, Any], str]] = {
    "Sample": ({"tasks": "sample"}, "100 bugs and missing functions in five small repositories"),
    "Generated-easy": ({"tasks": "easy"}, "endless bugs in these, drawn from the seed"),
    "Generated-hard": ({"tasks": "hard"}, "the same, two at a time and far from what they cause"),
    "Custom": ({"tasks": "rows"}, "your repository (gem-core swe make), or rows of SWE-bench"),
}
_METADATA = {
    "teaches": "to find and mend bugs in a repository",
    "score": "1 if all hidden tests pass, 0 otherwise",
    "needs": "a machine (Linux or Docker)",
}
_OURS = {"data": "ours, in gem-swe", "license": "Apache-2.0"}
_YOURS = {"data": "yours", "license": "yours"}
_HUB = {
    "Gym": (
        "2,438 issues of eleven repositories, with an image each",
        {
            "dataset_name": "SWE-Gym/SWE-Gym",
            "split": "train",
            "image": "xingyaoww/sweb.eval.x86_64.{owner}_s_{name}:latest",
        },
    ),
    "Verified": (
        "500 issues of twelve repositories, with an image each, to test with",
        {
            "dataset_name": "princeton-nlp/SWE-bench_Verified",
            "split": "test",
            "image": "swebench/sweb.eval.x86_64.{owner}_1776_{name}:latest",
        },
    ),
}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the environments and the command."""
    for name, (kwargs, description) in _ENVS.items():
        is_custom = name == "Custom"
        registry.add(
            EnvSpec(
                id=f"swe:{name}",
                entry_point=_ENTRY_POINT,
                kwargs=kwargs,
                oracle=_ORACLE,
                return_range=(0.0, 1.0),
                check_kwargs=_QUICK | ({"data": _SAMPLE} if is_custom else {}),
                metadata=_METADATA | (_YOURS if is_custom else _OURS),
                description=description,
            )
        )
    for name, (description, kwargs) in _HUB.items():
        registry.add(
            DatasetSpec(
                id=f"swe:{name}",
                entry_point=_ENTRY_POINT,
                kwargs={"tasks": "rows", **kwargs},
                oracle=_ORACLE,
                return_range=(0.0, 1.0),
                other_rows="swe:Custom",
                metadata=_METADATA | {"needs": "images of a container engine"},
                description=description,
            )
        )
    registry.add(
        Spec(
            kind=COMMANDS,
            id="swe",
            entry_point="gem_swe.command:command",
            description="Make tasks of software engineering of a repository of yours",
        )
    )
