"""The services of a task, as processes of one machine.

Each has its name and an address of the loopback network: ``127.0.0.2`` for the first, and so on. An
agent can stop and change them, as it can all processes of its machine. They are started anew on
each machine that grades, with the files of the agent that are carried there.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from gem_core.errors import MachineError
from gem_workers.machine import Machine, MachineSpec

__all__ = ["HasServices", "ServiceProcess", "begin_services"]

_START = """\
command -v "$1" > /dev/null || { echo "$1: not found" >&2; exit 127; }
setsid "$@" < /dev/null > %s 2>&1 &"""
_LONGEST = 600.0
"""Seconds that a service may take that has to end before others start."""


@dataclass(frozen=True, kw_only=True)
class ServiceProcess:
    """A service of a task.

    Args:
        name: The name of the service.
        others: Further names of its address.
        command: The command and its arguments; empty for the agent's own service, which starts
            nothing.
        env: Environment variables.
        workdir: The directory in which it starts; empty for the machine's.
        user: The user that runs it; empty for the user of the image.
        must_end: Whether it has to end with status 0 before others start.
        healthcheck: A command that must succeed before others start; it may wait until it does.
        health_timeout: Seconds that it may take.
    """

    name: str
    others: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = ""
    user: str = ""
    must_end: bool = False
    healthcheck: str = ""
    health_timeout: float = 60.0


class HasServices(Protocol):
    """A task, as far as its services go."""

    @property
    def machine(self) -> MachineSpec:
        """The machine, whose user is that of services which name none."""

    @property
    def services(self) -> tuple[ServiceProcess, ...]:
        """The services, in the order in which they start."""


def begin_services(machine: Machine, task: HasServices) -> None:
    """Name the services of a task, and start them in order.

    Raises:
        MachineError: One does not end with status 0, or its health check has failed.
    """
    if not task.services:
        return
    lines = [
        shlex.quote(f"127.0.0.{number} {' '.join([each.name, *each.others])}")
        for number, each in enumerate(task.services, start=1)
    ]
    added = [f"grep -qxF {line} /etc/hosts || echo {line} >> /etc/hosts" for line in lines]
    machine.run("\n".join(added), user="root", cwd="/")
    for service in task.services:
        _begin(machine, replace(service, user=service.user or task.machine.user))


def _begin(machine: Machine, service: ServiceProcess) -> None:
    log = f"/var/log/service-{service.name}.log"
    command = shlex.join(service.command)
    if service.must_end:
        _check(machine, service, command, _LONGEST, "does not end well")
    elif command:
        machine.run(f"mkdir -p /var/log; : > {log}; chmod 666 {log}", user="root", cwd="/")
        start = f"set -- {command}\n{_START % log}"
        _check(machine, service, start, _LONGEST, "cannot be started")
    if service.healthcheck:
        _check(machine, service, service.healthcheck, service.health_timeout, "is not healthy")


def _check(
    machine: Machine, service: ServiceProcess, command: str, timeout: float, problem: str
) -> None:
    result = machine.run(command, timeout=timeout, **_options(service))
    if not result.ok:
        log = machine.run(f"tail -n 5 /var/log/service-{service.name}.log", cwd="/").stdout
        said = (log or result.stderr or result.stdout).strip()[-500:]
        raise MachineError(f"The service {service.name!r} {problem}: {said or 'no output'}")


def _options(service: ServiceProcess) -> dict[str, Any]:
    return {
        "env": service.env,
        "cwd": service.workdir or None,
        "user": service.user or None,
    }
