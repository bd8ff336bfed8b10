"""The specs that gem-rollout adds to the registry."""

from gem_core import CheckSpec, CommandSpec, FamilySpec, KindSpec, WrapperSpec, hookimpl
from gem_core.registry import Registry
from gem_rollout.suites import SUITES, SuiteSpec

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the command ``run``, the check of agents, a wrapper, a family and suites."""
    registry.add(
        CheckSpec(
            id="agent",
            entry_point="gem_rollout.agent_checks:check_agent",
            description="Checks that an agent keeps its contract",
        ),
        CommandSpec(
            id="run",
            entry_point="gem_rollout.run_command:command",
            description="Play episodes and print a table of results",
        ),
    )
    registry.add(
        WrapperSpec(
            id="answer_instruction",
            entry_point="gem_rollout.answer_instruction:AnswerInstruction",
            description="tells how to answer, if the task does not say so",
        )
    )
    registry.add(
        FamilySpec(
            id="conformance",
            entry_point="gem_rollout.conformance:Conformance",
            description="environments that the conformance suite of adapters plays",
        )
    )
    registry.add(
        KindSpec(
            id="suites",
            entry_point="gem_rollout.suites:SuiteSpec",
            description="environments to play together, with settings",
        )
    )
    for name, (envs, settings, description) in SUITES.items():
        registry.add(
            SuiteSpec(id=name, kwargs={"envs": envs, "settings": settings}, description=description)
        )
