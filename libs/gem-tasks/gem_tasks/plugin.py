"""The specs that gem-tasks adds to the registry. Nothing here imports an environment."""

from gem_core import hookimpl
from gem_core.registry import Registry
from gem_core.specs import COMMANDS, FAMILIES, Spec
from gem_tasks.grader import GraderSpec

__all__ = ["gem_register"]

_GRADERS = {
    "correctness": ("rewards:correctness", "the environment's own reward, as a part of rewards"),
    "format": ("rewards:Format", "1.0 if the response has the form of an answer"),
    "length": ("rewards:Length", "0.0 for a short response, down to -1.0 for a long one"),
    "judge": ("judge:Judge", "asks an agent, such as a model behind an endpoint, for a score"),
    "text": ("text_grader:same_text", "1.0 for the text of a gold answer, in any case and spacing"),
}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the graders, the family of hub datasets, and the command."""
    registry.add(
        Spec(
            kind=COMMANDS,
            id="data",
            entry_point="gem_tasks.data_command:command",
            description="Check the data that environments read",
        ),
    )
    registry.add(
        Spec(
            kind=FAMILIES,
            id="hf",
            entry_point="gem_tasks.hub_family:HubFamily",
            description="every dataset of questions on the hub, as hf:org/name",
        ),
    )
    for name, (place, description) in _GRADERS.items():
        registry.add(GraderSpec(id=name, entry_point=f"gem_tasks.{place}", description=description))
