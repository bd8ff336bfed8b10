"""The one service of a ``docker-compose.yaml``; tasks with more of them cannot be run here."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gem_core.errors import ConfigError
from gem_terminal.fields import Fields, number_of, size_of, variables_of
from gem_terminal.task import UnsupportedTaskError
from gem_workers.untrusted_files import read_text

__all__ = ["Service", "parse_yaml", "read_compose", "read_yaml"]

_NEEDS_ENGINE = ("cap_add", "devices", "gpus", "privileged", "runtime")
_IDLE = ("sleep infinity", "tail -f /dev/null", "sleep 365d", "bash", "sh")


@dataclass(frozen=True, kw_only=True)
class Service:
    """What a service of a compose file says about its container.

    Args:
        image: The image's name; empty if it is built, or named by a variable.
        context: The folder of the Dockerfile, relative to that of the compose file; None if no
            image is built.
        env: Environment variables.
        workdir: The working directory; empty if it does not say.
        user: The user; empty if it does not say.
        cpus: The processors that it may use; None if it does not say.
        memory: The bytes of memory that it may use; None if it does not say.
        unread: Names of fields that are not used.
    """

    image: str
    context: str | None
    env: Mapping[str, str]
    workdir: str
    user: str
    cpus: float | None
    memory: int | None
    unread: tuple[str, ...]


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


def read_compose(folder: Path, name: str, variables: Mapping[str, str]) -> Service:
    """Return the service of a compose file.

    Args:
        folder: The folder of the compose file.
        name: The file's name.
        variables: The values of ``${NAME}``.

    Raises:
        ConfigError: The file is missing or malformed.
        UnsupportedTaskError: There are several services, or one needs a container engine.
    """
    top = Fields(read_yaml(folder, name), name)
    services = top.table("services").rest()
    if len(services) != 1:
        raise UnsupportedTaskError(
            f"{name} has {len(services)} services; a machine has room for one."
        )
    [(service_name, values)] = services.items()
    fields = Fields(values, f"{name}: services.{service_name}")
    for key in _NEEDS_ENGINE:
        if fields.anything(key):
            raise UnsupportedTaskError(f"{name} needs a container engine: {key}.")
    context, unread = _context(fields)
    image = fields.text("image")
    _check_command(fields, name)
    env = _environment(fields, variables)
    cpus, memory, not_read = _limits(fields)
    for key in ("container_name", "build", "stdin_open", "tty", "init", "restart", "pull_policy"):
        fields.anything(key)
    return Service(
        image="" if "$" in image else image,
        context=context,
        env=env,
        workdir=fields.text("working_dir"),
        user=(fields.user("user") or "").partition(":")[0],
        cpus=cpus,
        memory=memory,
        unread=(*top.left(), *unread, *not_read, *_without_log_volumes(fields)),
    )


def _context(fields: Fields) -> tuple[str | None, tuple[str, ...]]:
    build = fields.take("build", "a folder or a table", str, dict)
    if build is None:
        return None, ()
    table = Fields({"context": build} if isinstance(build, str) else build, "build")
    context = table.text("context", ".")
    dockerfile = table.text("dockerfile", "Dockerfile")
    if posixpath.normpath(dockerfile) != "Dockerfile":
        raise UnsupportedTaskError(
            f"The image is built from {dockerfile!r}, not from 'Dockerfile'."
        )
    return "." if "$" in context else context, table.left()


def _check_command(fields: Fields, name: str) -> None:
    """Refuse a command that does more than keep the container alive."""
    for key in ("command", "entrypoint"):
        value = fields.take(key, "a text or a list", str, list)
        words = value if isinstance(value, list) else [value or "bash"]
        line = " ".join(map(str, words)).strip()
        if line and not line.endswith(_IDLE):
            raise UnsupportedTaskError(f"{name} starts the container with {line[:80]!r}.")


def _limits(fields: Fields) -> tuple[float | None, int | None, tuple[str, ...]]:
    deploy = fields.table("deploy")
    resources = deploy.table("resources")
    limits, reserved = resources.table("limits"), resources.table("reservations")
    if reserved.anything("devices"):
        raise UnsupportedTaskError("The task reserves devices, such as a GPU.")
    cpus, memory = (str(limits.anything(key) or "$") for key in ("cpus", "memory"))
    left = (*deploy.left(), *resources.left(), *limits.left(), *reserved.left())
    return (
        None if "$" in cpus else number_of(cpus, "limits.cpus"),
        None if "$" in memory else size_of(memory, "limits.memory"),
        left,
    )


def _environment(fields: Fields, variables: Mapping[str, str]) -> dict[str, str]:
    values = fields.take("environment", "a list or a table", list, dict, default={})
    if isinstance(values, list):
        pairs = [str(line).partition("=") for line in values]
        values = {name: value for name, _, value in pairs}
    texts = {str(key): "" if value is None else str(value) for key, value in values.items()}
    return variables_of(texts, variables, "environment")


def _without_log_volumes(fields: Fields) -> tuple[str, ...]:
    """Return the fields left, without volumes that only bring the logs to the host."""
    volumes = fields.items("volumes")
    others = [volume for volume in volumes if not str(volume).startswith("${")]
    return fields.left() + (("volumes",) if others else ())
