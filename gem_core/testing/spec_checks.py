"""The checks of gem-core's own kinds of specs; each takes the id of one."""

import click
from click.testing import CliRunner

from gem_core.factory import make_factory
from gem_core.plugins import default_registry
from gem_core.specs import COMMANDS, EXECUTORS, FAMILIES, TOOLS, WRAPPERS
from gem_core.testing.env_checks import check_env
from gem_core.testing.example import example_spec
from gem_core.testing.report import Report, require
from gem_core.testing.tool_checks import TOOL_CHECKS, check_tool
from gem_core.vector import VectorEnv

__all__ = ["check_command", "check_executor", "check_family", "check_tool_spec", "check_wrapper"]

_WRAPPER_CHECKS = ("types", "determinism", "randomness", "snapshots", "ends")


def check_tool_spec(tool_id: str) -> Report:
    """Check a tool, with the calls that its spec gives as examples."""
    examples = default_registry().find(TOOLS, tool_id).examples
    if examples:
        return check_tool(tool_id, calls=examples)
    report = check_tool(tool_id, calls=(), checks=[c for c in TOOL_CHECKS if c != "calls"])
    report.unchecked.append("its calls, as its ToolSpec has no examples")
    return report


def check_wrapper(wrapper_id: str) -> Report:
    """Check a small environment that it wraps."""
    spec = default_registry().find(WRAPPERS, wrapper_id)
    return check_env(make_factory(example_spec(), wrappers=[spec]), checks=_WRAPPER_CHECKS)


def check_executor(executor_id: str) -> None:
    """Check that environments of a vector play the same steps as one alone."""
    executor = default_registry().make(EXECUTORS, executor_id)
    factory = make_factory(example_spec())
    with VectorEnv([factory] * 3, executor=executor) as vector:
        observations, _ = vector.reset(seed=[5, 6, 7])
        batch = vector.step(observations)
    alone = factory()
    for index, seed in enumerate((5, 6, 7)):
        first, _ = alone.reset(seed=seed)
        step = alone.step(first)
        require(
            (first, step.observation) == (observations[index], batch.observations[index]),
            f"environment {index} of a vector plays differently from one alone",
        )


def check_family(namespace: str) -> None:
    """Check that a family has the environments that it lists."""
    family = default_registry().make(FAMILIES, namespace)
    for env_id in list(family.ids())[:3]:
        require(family.spec(env_id) is not None, f"it lists {env_id!r} and does not have it")


def check_command(name: str) -> None:
    """Check that a command shows its help."""
    command = default_registry().find(COMMANDS, name).load()
    require(isinstance(command, click.Command), "its entry point must be a click.Command")
    result = CliRunner().invoke(command, ["--help"])  # type: ignore[arg-type]
    require(result.exit_code == 0, f"--help ended with status {result.exit_code}")
