"""The family ``remote``: environments on servers, by address and name.

``remote:HOST:PORT/ID`` is an environment on a server. Written with slashes alone, as in
configurations, it is ``remote/HOST/PORT/ID``. No id is listed, and none is looked up before an
environment is made.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from gem_core.errors import InvalidIdError
from gem_core.specs import EnvSpec

__all__ = ["RemoteFamily", "RemoteSpec"]

_HOST = r"\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+"
_ADDRESS = re.compile(rf"remote:(?P<host>{_HOST})[:/](?P<port>[0-9]{{1,5}})/(?P<name>[^\s?#]+)")


@dataclass(frozen=True, kw_only=True)
class RemoteSpec(EnvSpec):
    """An environment on a server; its id has the address."""

    def __post_init__(self) -> None:
        if _ADDRESS.fullmatch(self.id) is None:
            raise InvalidIdError(
                f"{self.id!r} is not of the form 'remote:HOST:PORT/ID' (for example "
                f"'remote:127.0.0.1:8000/game:Wordle-v0')."
            )

    @property
    def namespace(self) -> str:
        """The namespace of the family."""
        return "remote"

    @property
    def config_path(self) -> str:
        """The id with slashes."""
        return self.id.replace(":", "/")


class RemoteFamily:
    """Environments on servers; see ``gem_core.specs.Family``."""

    def ids(self) -> Iterable[str]:
        return ()

    def spec(self, env_id: str) -> EnvSpec | None:
        found = _ADDRESS.fullmatch(env_id)
        if found is None or int(found["port"]) > 65535:
            raise InvalidIdError(
                f"An environment on a server is 'remote:HOST:PORT/ID' (for example "
                f"'remote:127.0.0.1:8000/game:Wordle-v0'); got {env_id!r}."
            )
        name = found["name"]
        if ":" not in name:
            name = name.replace("/", ":", 1)
        address = f"{found['host']}:{int(found['port'])}"
        return RemoteSpec(
            id=f"remote:{address}/{name}",
            entry_point="gem_serve.remote.env:RemoteEnv",
            kwargs={"address": address, "name": name},
            description=f"{name} on the server at {address}",
        )
