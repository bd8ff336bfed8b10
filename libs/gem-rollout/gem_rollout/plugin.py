"""The specs that gem-rollout adds to the registry."""

from gem_core import WrapperSpec, hookimpl
from gem_core.registry import Registry
from gem_core.specs import COMMANDS, Spec
from gem_rollout.commands.suites import BUILT_IN, SUITES

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the command ``run``, a wrapper and suites."""
    registry.add(
        Spec(
            kind=COMMANDS,
            id="run",
            entry_point="gem_rollout.commands.run:command",
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
    for name, (envs, settings, description) in BUILT_IN.items():
        registry.add(
            Spec(
                kind=SUITES,
                id=name,
                entry_point="gem_rollout.commands.suites:Suite",
                kwargs={"envs": envs, "settings": settings},
                description=description,
            )
        )
