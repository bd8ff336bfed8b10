"""The table of the plugin's environments. Nothing here imports an environment."""

from collections.abc import Iterator
from typing import Any

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]

_TRAINING = {
    "CodeContest": ("axon-rl/CodeContest", "problems from programming contests"),
    "Taco8k": ("axon-rl/TACO-8k", "problems from contests and exercise sites (TACO)"),
    "PrimeIntellect15k": ("axon-rl/PrimeIntellect-15k", "problems from several public collections"),
}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Register the training sets, the evaluation set and the sample."""
    for spec in _specs():
        registry.add(spec)


def _specs() -> Iterator[EnvSpec]:
    for name, (dataset, description) in _TRAINING.items():
        yield _spec(f"code:{name}", description, dataset_name=dataset, split="train")
    yield _spec(
        "eval:CodeContest",
        "held-out problems from programming contests",
        dataset_name="axon-rl/CodeContest",
        split="test",
        shuffle=False,
    )
    yield _spec(
        "code:Sample",
        "problems from easy to hard, shipped with the package",
        oracle="gem_tasks:GoldOracle",
        data="package://gem_code/data/sample.jsonl",
        solution_key="solution",
        prompt="default",
    )


def _spec(env_id: str, description: str, *, oracle: str | None = None, **kwargs: Any) -> EnvSpec:
    return EnvSpec(
        id=env_id,
        entry_point="gem_code.env:CodeEnv",
        kwargs=kwargs,
        description=description,
        oracle=oracle,
        return_range=(-0.1, 1.0),
    )
