"""The services of a ``docker-compose.yaml``: the agent's, and others that share its root.

The others are processes of the agent's machine. A service with another image or build needs a
container engine, and the task is refused.
"""

import contextlib
import math
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import yaml
from pydantic import AfterValidator, BeforeValidator, Field

from gem_core.errors import ConfigError
from gem_terminal.fields import Amount, Count, Fields, Number, Scalar, Size, User, Variables
from gem_terminal.services import ServiceProcess
from gem_terminal.task import UnsupportedTaskError
from gem_workers.untrusted_files import read_text

__all__ = ["Compose", "Service", "parse_yaml", "read_compose", "read_yaml"]

_NEEDS_ENGINE = ("cap_add", "devices", "gpus", "privileged", "runtime")
_NO_EFFECT = (
    *("stdin_open", "tty", "init", "restart", "pull_policy", "ports", "expose", "networks"),
    *("links", "logging", "stop_grace_period", "stop_signal"),
)
_AGENTS = ("main", "client")
"""What the service of the agent is called: by Harbor, and by Terminal-Bench 1."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?")
_LONGEST = 3600.0
"""Seconds that a service may take to be healthy."""
_MOST = 100
"""The number of services that a machine may have."""
_IDLE = ("sleep infinity", "tail -f /dev/null", "sleep 365d", "bash", "sh")


def _without_variable(value: Any) -> str | None:
    """Return a limit as a text; None if there is none, or a variable has it."""
    return None if not value or "$" in str(value) else str(value)


def _number(value: Any) -> float | None:
    text = _without_variable(value)
    return None if text is None else float(text)


def _texts(values: Any) -> Any:
    """Return environment variables as a table of texts; those of a list have ``=`` in them."""
    if isinstance(values, list):
        values = {name: value for name, _, value in (str(line).partition("=") for line in values)}
    if not isinstance(values, dict):
        raise ValueError("must be a list or a table")  # noqa: TRY004 - pydantic adds the path
    return {str(key): "" if value is None else str(value) for key, value in values.items()}


def _seconds(value: Any) -> Any:
    """Return a duration such as ``1m30s`` in seconds."""
    match = _DURATION.fullmatch(str(value)[:40])
    if not match or not any(match.groups()):
        raise ValueError("must be a duration such as '5s' or '1m30s'")
    hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000


def _dependencies(value: Any) -> Any:
    """Return the services that must start first, with what is awaited of each."""
    if isinstance(value, list):
        return {str(name): "service_started" for name in value}
    if not isinstance(value, dict):
        raise ValueError("must be a list or a table")  # noqa: TRY004 - pydantic adds the path
    return {
        str(name): str((each or {}).get("condition", "service_started"))
        if isinstance(each, dict | None)
        else "service_started"
        for name, each in value.items()
    }


_Duration = Annotated[Amount, BeforeValidator(_seconds)]


class _Health(Fields):
    test: str | Annotated[list[Scalar], Field(min_length=1)] = ""
    interval: _Duration = 30.0
    timeout: _Duration = 30.0
    retries: Count = 3
    start_period: _Duration = 0.0
    start_interval: _Duration = 5.0
    disable: bool = False

    @property
    def command(self) -> str:
        """What is run to find out; empty for nothing."""
        kind, *words = self.test if isinstance(self.test, list) else ["CMD-SHELL", self.test]
        if self.disable or kind == "NONE":
            return ""
        return shlex.join(map(str, words)) if kind == "CMD" else " ".join(map(str, words))


class _Limits(Fields):
    cpus: Annotated[Number | None, BeforeValidator(_number)] = None
    memory: Annotated[Size | None, BeforeValidator(_without_variable)] = None


class _Reservations(Fields):
    devices: Any = None


class _Resources(Fields):
    limits: _Limits = _Limits()
    reservations: _Reservations = _Reservations()


class _Deploy(Fields):
    resources: _Resources = _Resources()


class _Build(Fields):
    short_for = "context"
    context: str = "."
    dockerfile: str = "Dockerfile"


class Service(Fields):
    """A service of a compose file; by itself, one that says nothing about its container."""

    image: Annotated[str, AfterValidator(lambda name: _without_variable(name) or "")] = ""
    build: _Build | None = None
    command: str | list[Scalar] = ""
    entrypoint: str | list[Scalar] = ""
    environment: Annotated[Variables, BeforeValidator(_texts)] = Field(default_factory=dict)
    working_dir: str = ""
    user: User = ""
    deploy: _Deploy = _Deploy()
    volumes: list[Any] = Field(default_factory=list)
    hostname: str = ""
    container_name: str = ""
    healthcheck: _Health = _Health()
    depends_on: Annotated[dict[str, str], BeforeValidator(_dependencies)] = Field(
        default_factory=dict
    )

    @property
    def user_name(self) -> str:
        """The user without the group; empty if it does not say."""
        return self.user.partition(":")[0]

    @property
    def limits(self) -> _Limits:
        """The processors and the memory that it may use."""
        return self.deploy.resources.limits

    @property
    def context(self) -> str | None:
        """The folder of the Dockerfile, relative to the compose file; None without a build."""
        context = None if self.build is None else self.build.context
        return "." if context and "$" in context else context

    def unread(self, path: str = "") -> tuple[str, ...]:
        """Return the fields that have an effect, and not here: not volumes with the logs alone."""
        found = super().unread(path)
        others = [one for one in self.volumes if not isinstance(one, str) or one[:2] != "${"]
        return (
            *(name for name in found if name.removeprefix(path) not in _NO_EFFECT),
            *([f"{path}volumes"] if others else ()),
        )


class _Compose(Fields):
    services: dict[str, Any] = Field(default_factory=dict)
    name: Any = None
    version: Any = None
    networks: Any = None
    volumes: Any = None


class Compose(NamedTuple):
    """What a compose file says.

    Args:
        service: The agent's service.
        processes: All services with what they start, in the order in which they start; empty if
            the agent's is the only one.
        unread: The paths of the fields that are not used.
    """

    service: Service = Service()
    processes: tuple[ServiceProcess, ...] = ()
    unread: tuple[str, ...] = ()


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Merges one mapping at a time: merged lists of merged lists grow exponentially."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge" and not isinstance(value, yaml.MappingNode):
                raise yaml.constructor.ConstructorError(problem="'<<' merges several mappings")
        super().flatten_mapping(node)


def read_yaml(folder: Path, name: str) -> Any:
    """Return the content of a YAML file.

    Raises:
        ConfigError: It cannot be read, or is not YAML.
    """
    return parse_yaml(read_text(folder, name), str(folder / name))


def parse_yaml(text: str, what: str) -> Any:
    """Return the value of a YAML text that anybody may have written.

    Args:
        text: The text.
        what: What it is, for the message.

    Raises:
        ConfigError: It is not YAML.
    """
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - it is a safe one
    except Exception as error:  # `!!int ""` is an IndexError, `!!bool x` a KeyError, and so on
        reason = " ".join(str(error).split())
        raise ConfigError(f"{what} cannot be parsed as YAML: {reason[:300]}") from error


def read_compose(folder: Path, name: str, variables: Mapping[str, str]) -> Compose:
    """Read the services of a compose file.

    Args:
        folder: The folder of the compose file.
        name: The file's name.
        variables: The values of ``${NAME}``.

    Raises:
        ConfigError: The file is missing or malformed.
        UnsupportedTaskError: A service needs a container engine.
    """
    top = _Compose.checked(read_yaml(folder, name), name)
    path = f"{name}: services."
    services = {
        key: Service.checked(values, f"{path}{key}", variables)
        for key, values in top.services.items()
    }
    main = _agents(services, name)
    unread = [each for key, one in services.items() for each in one.unread(f"{path}{key}.")]
    _refuse_engine(services[main], name)
    _refuse_start(services[main], name)
    processes = tuple(_processes(services, main, name))
    is_alone = len(processes) == 1 and not processes[0].healthcheck
    return Compose(
        services[main], () if is_alone else processes, (*top.unread(f"{name}: "), *unread)
    )


def _agents(services: Mapping[str, Service], name: str) -> str:
    """Return the name of the agent's service."""
    if len(services) == 1:
        return next(iter(services))
    found = next((one for one in _AGENTS if one in services), "")
    if not found or len(services) > _MOST:
        raise UnsupportedTaskError(
            f"{name} has {len(services)} services, and none of them is 'main' or 'client'."
            if not found
            else f"{name} has {len(services)} services, more than {_MOST}."
        )
    return found


def _processes(services: Mapping[str, Service], main: str, name: str) -> Iterator[ServiceProcess]:
    """Yield the agent's service, which has the machine's own address, and the others in order."""
    for key, service in services.items():
        if not _NAME.fullmatch(key):
            raise ConfigError(f"{name}: {key!a:.80} is not the name of a service.")
        for needed in service.depends_on:
            if needed not in services:
                raise ConfigError(f"{name}: {key!r} depends on {needed!a:.80}, which is not there.")
        if key != main:
            _refuse_engine(service, name)
            _refuse_other_root(key, service, services[main], name)
    awaited = {
        needed
        for service in services.values()
        for needed, condition in service.depends_on.items()
        if condition == "service_completed_successfully"
    }
    own = _process(main, services[main])
    yield replace(own, command=(), healthcheck="", user="", workdir="", env={})
    for key in _in_order(services, name):
        if key == main:
            if own.healthcheck:
                yield replace(own, command=())
        else:
            yield replace(_process(key, services[key]), must_end=key in awaited)


def _process(name: str, service: Service) -> ServiceProcess:
    health = service.healthcheck
    tries = max(1, health.retries) + math.ceil(
        health.start_period / max(0.1, health.start_interval)
    )
    pause, timeout = min(health.interval, max(1.0, health.start_interval)), health.timeout or 30.0
    check = ""
    if health.command:
        command = f"timeout {timeout:g} bash -c {shlex.quote(health.command)}"
        check = f"for i in $(seq {tries}); do {command} && exit 0; sleep {pause:g}; done; exit 1"
    return ServiceProcess(
        name=name,
        others=tuple(
            one
            for one in dict.fromkeys((service.hostname, service.container_name))
            if one != name and _NAME.fullmatch(one)
        ),
        command=(*_words(service.entrypoint), *_words(service.command)),
        env=service.environment,
        workdir=service.working_dir,
        user=service.user_name,
        healthcheck=check,
        health_timeout=min(_LONGEST, tries * (timeout + pause)),
    )


def _words(line: str | list[str | int | float]) -> list[str]:
    words = None
    if isinstance(line, list):
        words = [str(word) for word in line]
    else:
        with contextlib.suppress(ValueError):
            words = shlex.split(line)
    if words is None or any("\0" in word for word in words):
        raise ConfigError(f"A command of a service cannot be parsed: {str(line)[:80]!r}.")
    return words


def _in_order(services: Mapping[str, Service], name: str) -> list[str]:
    """Return the names of services, each after those that it depends on."""
    pending, order = dict(services), list[str]()
    while pending:
        ready = [key for key, one in pending.items() if not pending.keys() & one.depends_on.keys()]
        if not ready:
            raise ConfigError(f"{name}: the services {sorted(pending)[:5]} depend on one another.")
        order += ready
        for key in ready:
            del pending[key]
    return order


def _refuse_other_root(key: str, service: Service, main: Service, name: str) -> None:
    """Refuse a service that does not start from the files of the agent's."""
    start = f"{name}: the service {key[:40]!r}"
    context, own = service.context, main.context or "."
    if context is not None and posixpath.normpath(context) != posixpath.normpath(own):
        raise UnsupportedTaskError(
            f"{start} is built from {context[:80]!r}, not from the folder of the agent's machine: "
            f"it needs a container engine."
        )
    if context is None and (not service.image or service.image != main.image):
        raise UnsupportedTaskError(
            f"{start} has the image {service.image[:80]!r}, which is not the root of the machine: "
            f"it needs a container engine."
        )
    if not (service.command or service.entrypoint):
        raise UnsupportedTaskError(f"{start} does not say what it starts.")


def _refuse_engine(service: Service, name: str) -> None:
    """Refuse a service that needs a container engine."""
    for key in _NEEDS_ENGINE:
        if (service.model_extra or {}).get(key):
            raise UnsupportedTaskError(f"{name} needs a container engine: {key}.")
    if service.deploy.resources.reservations.devices:
        raise UnsupportedTaskError("The task reserves devices, such as a GPU.")
    if service.build and posixpath.normpath(service.build.dockerfile) != "Dockerfile":
        raise UnsupportedTaskError(
            f"The image is built from {service.build.dockerfile!r}, not from 'Dockerfile'."
        )


def _refuse_start(service: Service, name: str) -> None:
    """Refuse a service of the agent that does more than keep a container alive."""
    for value in (service.command, service.entrypoint):
        words = value if isinstance(value, list) else [value or "bash"]
        line = " ".join(map(str, words)).strip()
        if line and not line.endswith(_IDLE):
            raise UnsupportedTaskError(f"{name} starts the container with {line[:80]!r}.")
