"""The specs that gem-sandbox registers; no sandbox is imported here."""

from gem_core import hookimpl
from gem_core.registry import Registry
from gem_core.specs import COMMANDS, Spec
from gem_workers.machine import MACHINES
from gem_workers.sandbox import SANDBOXES

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the sandboxes, the providers of machines, and the command that says what works."""
    registry.add(
        Spec(
            kind=SANDBOXES,
            id="warm",
            entry_point="gem_sandbox.warm:WarmSandbox",
            description="warm Python interpreters, forked for each run and isolated by the kernel",
        )
    )
    registry.add(
        Spec(
            kind=SANDBOXES,
            id="docker",
            entry_point="gem_sandbox.docker:DockerSandbox",
            description="Docker containers without network, reused between runs",
        )
    )
    registry.add(
        Spec(
            kind=SANDBOXES,
            id="process",
            entry_point="gem_sandbox.process:ProcessSandbox",
            description="plain processes without isolation, for trusted programs only",
        )
    )
    registry.add(
        Spec(
            kind=MACHINES,
            id="local",
            entry_point="gem_sandbox.machines.local.provider:LocalProvider",
            description="machines in namespaces of the kernel, which start in milliseconds",
        )
    )
    registry.add(
        Spec(
            kind=MACHINES,
            id="docker",
            entry_point="gem_sandbox.machines.docker.provider:DockerProvider",
            description="containers of an engine, of any image that has bash",
        )
    )
    registry.add(
        Spec(
            kind=MACHINES,
            id="process",
            entry_point="gem_sandbox.machines.process:ProcessProvider",
            description="folders and plain processes without isolation, for trusted programs only",
        )
    )
    registry.add(
        Spec(
            kind=COMMANDS,
            id="doctor",
            entry_point="gem_sandbox.doctor:command",
            description="Report which sandboxes and machines work here, and plugins with a problem",
        )
    )
    registry.add(
        Spec(
            kind=COMMANDS,
            id="machine",
            entry_point="gem_sandbox.machines.roots.command:command",
            description="Make root file systems of machines, which stand for images of tasks",
        )
    )
