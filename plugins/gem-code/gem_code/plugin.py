"""The table of the plugin's environments. Nothing here imports an environment."""

from collections.abc import Iterator
from typing import Any

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry
from gem_tasks.dataset_spec import DatasetSpec

__all__ = ["gem_register"]

_ENTRY_POINT, _ORACLE = "gem_code.env:CodeEnv", "gem_tasks:GoldOracle"
_SAMPLE = "package://gem_code/data/sample.jsonl"
_TRAINING = {
    "CodeContest": ("axon-rl/CodeContest", "problems from programming contests"),
    "Taco8k": ("axon-rl/TACO-8k", "problems from contests and exercise sites (TACO)"),
    "PrimeIntellect15k": ("axon-rl/PrimeIntellect-15k", "problems from several public collections"),
}


_METADATA = {
    "teaches": "to write programs",
    "score": "1 if the program passes all tests, 0 if not; -0.1 for a reply without a program",
    "needs": "a sandbox for Python",
}
_OURS = {"data": "ours, in gem-code", "license": "Apache-2.0"}
_YOURS = {"data": "yours", "license": "yours"}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Register your own problems, the training sets, the evaluation set and the sample."""
    for spec in _specs():
        registry.add(spec)


def _specs() -> Iterator[EnvSpec]:
    yield EnvSpec(
        id="code:Custom",
        entry_point=_ENTRY_POINT,
        description="your own problems, with data= or dataset_name=",
        oracle=_ORACLE,
        return_range=(-0.1, 1.0),
        check_kwargs={"data": _SAMPLE, "solution_key": "solution"},
        metadata=_METADATA | _YOURS,
    )
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
        oracle=_ORACLE,
        data=_SAMPLE,
        solution_key="solution",
        prompt="default",
    )


def _spec(env_id: str, description: str, *, oracle: str | None = None, **kwargs: Any) -> EnvSpec:
    return DatasetSpec(
        id=env_id,
        entry_point=_ENTRY_POINT,
        kwargs=kwargs,
        description=description,
        oracle=oracle,
        return_range=(-0.1, 1.0),
        other_rows="code:Custom",
        metadata=_METADATA | (_OURS if kwargs.get("data") else {}),
    )
