"""The table of the plugin's environments. Nothing here imports an environment."""

from collections.abc import Iterator
from typing import Any

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry
from gem_tasks.dataset_spec import DatasetSpec
from gem_tasks.grader import GraderSpec

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

_GRADERS = {
    "math": ("graders:MathGrader", "1.0 for an answer that is mathematically equal to a gold one"),
    "math-verify": ("graders:MathVerify", "the same, decided by math-verify alone"),
}
_ORACLE = "gem_tasks:GoldOracle"
_SAMPLE, _FIGURES = (f"package://gem_math/data/{name}.jsonl" for name in ("sample", "figures"))
_TEXT, _VISUAL = "gem_math.env:MathEnv", "gem_math.visual:MathVisualEnv"
_CUSTOM = (
    ("math:Custom", _TEXT, _SAMPLE, "your own problems, with data= or dataset_name="),
    ("math:Custom-Visual", _VISUAL, _FIGURES, "the same with images"),
)


_METADATA = {
    "teaches": "to reason to one answer",
    "score": "1 for an answer equal to a gold one, 0 otherwise",
}
_OURS = {"data": "ours, in gem-math", "license": "Apache-2.0"}
_YOURS = {"data": "yours", "license": "yours"}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Register the environments and the graders."""
    for spec in _specs():
        registry.add(spec)
    for name, (place, description) in _GRADERS.items():
        registry.add(GraderSpec(id=name, entry_point=f"gem_math.{place}", description=description))


def _specs() -> Iterator[EnvSpec]:
    for env_id, entry_point, sample, description in _CUSTOM:
        yield EnvSpec(
            id=env_id,
            entry_point=entry_point,
            description=description,
            oracle=_ORACLE,
            return_range=(0.0, 1.0),
            check_kwargs={"data": sample},
            metadata=_METADATA | _YOURS,
        )
    yield _spec("math:Sample", "problems shipped with the package", data=_SAMPLE)
    for name, (dataset, description) in TRAINING.items():
        yield _spec(f"math:{name}", description, dataset_name=dataset)
    yield _spec(
        "math:Geometry3K",
        "geometry problems with a figure",
        entry_point=_VISUAL,
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


def _spec(env_id: str, description: str, *, entry_point: str = _TEXT, **kwargs: Any) -> EnvSpec:
    return DatasetSpec(
        id=env_id,
        entry_point=entry_point,
        kwargs=kwargs,
        description=description,
        oracle=_ORACLE,
        return_range=(0.0, 1.0),
        other_rows="math:Custom" if entry_point == _TEXT else "math:Custom-Visual",
        metadata=_METADATA | (_OURS if kwargs.get("data") else {}),
    )
