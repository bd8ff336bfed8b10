"""What gem-sandbox registers. Nothing here imports a sandbox."""

from gem_core import CommandSpec, SandboxSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the sandboxes, and the command that says which of them work here."""
    registry.add(
        SandboxSpec(
            id="warm",
            entry_point="gem_sandbox.warm:WarmSandbox",
            description="warm interpreters, forked for each run behind walls of their own",
        )
    )
    registry.add(
        SandboxSpec(
            id="docker",
            entry_point="gem_sandbox.docker:DockerSandbox",
            description="Docker containers without network, kept warm",
        )
    )
    registry.add(
        SandboxSpec(
            id="process",
            entry_point="gem_sandbox.process:ProcessSandbox",
            description="plain processes, without isolation: for trusted programs only",
        )
    )
    registry.add(
        CommandSpec(
            id="doctor",
            entry_point="gem_sandbox.doctor:command",
            description="say which sandboxes work here, and what the others need",
        )
    )
