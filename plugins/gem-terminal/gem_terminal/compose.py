"""The one service of a ``docker-compose.yaml``; tasks with more of them cannot be run here."""

import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BeforeValidator, Field

from gem_core.errors import ConfigError
from gem_terminal.fields import Fields, Number, Scalar, Size, User, Variables
from gem_terminal.task import UnsupportedTaskError
from gem_workers.untrusted_files import read_text

__all__ = ["Service", "parse_yaml", "read_compose", "read_yaml"]

_NEEDS_ENGINE = ("cap_add", "devices", "gpus", "privileged", "runtime")
_NO_EFFECT = ("container_name", "stdin_open", "tty", "init", "restart", "pull_policy")
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


def read_compose(
    folder: Path, name: str, variables: Mapping[str, str]
) -> tuple[Service, tuple[str, ...]]:
    """Return the service of a compose file, and the paths of the fields that are not used.

    Args:
        folder: The folder of the compose file.
        name: The file's name.
        variables: The values of ``${NAME}``.

    Raises:
        ConfigError: The file is missing or malformed.
        UnsupportedTaskError: There are several services, or one needs a container engine.
    """
    top = _Compose.checked(read_yaml(folder, name), name)
    if len(top.services) != 1:
        raise UnsupportedTaskError(
            f"{name} has {len(top.services)} services; a machine has room for one."
        )
    [(service_name, values)] = top.services.items()
    path = f"{name}: services.{service_name}"
    service = Service.checked(values, path, variables)
    _refuse_engine(service, name)
    return service, (*top.unread(f"{name}: "), *service.unread(f"{path}."))


def _refuse_engine(service: Service, name: str) -> None:
    """Refuse a service that needs a container engine, or does more than keep a container alive."""
    for key in _NEEDS_ENGINE:
        if (service.model_extra or {}).get(key):
            raise UnsupportedTaskError(f"{name} needs a container engine: {key}.")
    if service.deploy.resources.reservations.devices:
        raise UnsupportedTaskError("The task reserves devices, such as a GPU.")
    if service.build and posixpath.normpath(service.build.dockerfile) != "Dockerfile":
        raise UnsupportedTaskError(
            f"The image is built from {service.build.dockerfile!r}, not from 'Dockerfile'."
        )
    for value in (service.command, service.entrypoint):
        words = value if isinstance(value, list) else [value or "bash"]
        line = " ".join(map(str, words)).strip()
        if line and not line.endswith(_IDLE):
            raise UnsupportedTaskError(f"{name} starts the container with {line[:80]!r}.")
