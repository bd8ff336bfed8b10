"""The table of the plugin's environments. Nothing here imports an environment."""

from collections.abc import Iterator
from typing import Any

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["EVALUATION", "TRAINING", "gem_register"]

TRAINING = {
    "ASDiv2K": ("axon-rl/ASDIV-2k", "elementary school word problems"),
    "GSM8K": ("axon-rl/GSM-8k", "multi-step word problems"),
    "Math12K": ("axon-rl/MATH-12k", "competition problems of all levels"),
    "Math8K-3to5": ("axon-rl/MATH-lvl3to5-8k", "competition problems of levels 3 to 5"),
    "Orz57K": ("axon-rl/ORZ-57k", "problems from Open-Reasoner-Zero"),
    "DeepScaleR40K": ("axon-rl/DeepScaleR-40K", "competition problems from DeepScaleR"),
}
"""The training sets by the name in their id ``math:NAME``, each with a description."""

EVALUATION = {
    "MATH500": ("math", "500 competition problems from MATH"),
    "AMC": ("amc", "problems from the American Mathematics Competitions"),
    "OlympiadBench": ("olympiad_bench", "olympiad problems"),
    "Minerva": ("minerva", "quantitative problems from undergraduate science"),
    "AIME24": ("aime24", "problems from the AIME 2024"),
}
"""The splits of ``axon-rl/math-eval`` by the name in their id ``eval:NAME``, with a description."""


@hookimpl
def gem_register(registry: Registry) -> None:
    """Register the environments."""
    for spec in _specs():
        registry.add(spec)


def _specs() -> Iterator[EnvSpec]:
    sample = "package://gem_math/data/sample.jsonl"
    yield _spec("math:Sample", "problems shipped with the package", data=sample)
    for name, (dataset, description) in TRAINING.items():
        yield _spec(f"math:{name}", description, dataset_name=dataset)
    yield _spec(
        "math:Geometry3K",
        "geometry problems with a figure",
        entry_point="gem_math.visual:MathVisualEnv",
        dataset_name="axon-rl/geometry3k",
        split="train",
    )
    for name, (split, description) in EVALUATION.items():
        yield _spec(
            f"eval:{name}",
            description,
            dataset_name="axon-rl/math-eval",
            split=split,
            shuffle=False,
        )


def _spec(
    env_id: str, description: str, *, entry_point: str = "gem_math.env:MathEnv", **kwargs: Any
) -> EnvSpec:
    return EnvSpec(
        id=env_id,
        entry_point=entry_point,
        kwargs=kwargs,
        description=description,
        oracle="gem_tasks:GoldOracle",
        return_range=(0.0, 1.0),
    )
