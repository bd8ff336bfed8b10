"""Tasks in a PostgreSQL database."""

import contextlib
import copy
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import quote

import psycopg

from gem_core.errors import DataError
from gem_core.lifetimes import Lifetime
from gem_tools.mcpmark.services.cluster import (
    Cluster,
    ClusterError,
    Template,
    callables,
    drop,
    find_binaries,
    shared_cluster,
)
from gem_tools.mcpmark.services.service import Service

__all__ = ["PostgresService"]

_SUFFIXES = ".sql", ".dump", ".backup", ""
"""How the names of initial states end; a folder has ``.sql`` files, or is pg_dump's."""
_PREPARES = "prepare_environment.py"
_PREPARE_SECONDS = 300
_SESSIONS = 20
"""Maximum number of an agent's sessions."""
_GROWTH = 1 << 30
"""By how many bytes a database may grow in an episode."""
_ROLES = ("create role", "create user", "pg_roles", "pg_user")


class PostgresService(Service):
    """A database of its own in a private cluster, which all environments of the process share.

    The agent's role owns its database and what is in it, and is no superuser: it reaches no other
    database, no files and no programs of the server, and cannot create roles, which would be
    everybody's. Programs verify a copy, as a role that may do what the agent's may.

    The initial state of a task is ``CATEGORY.sql``, ``CATEGORY.dump``, ``CATEGORY.backup``
    (custom format) or a folder ``CATEGORY`` of SQL files among the environments; then
    ``prepare_environment.py`` of the task runs, if there is one. Both are trusted.
    """

    name = "postgres"
    servers: ClassVar[Mapping[str, Any]] = {
        "postgres": {
            "server": "gem_tools.mcp.postgres_server:postgres_server",
            "arguments": {
                "host": "{host}",
                "database": "{database}",
                "user": "{user}",
                "password": "{password}",
            },
        }
    }

    programs = ("verify.py", _PREPARES)

    def __init__(self, environments: Path | None) -> None:
        super().__init__(environments)
        self._cluster = shared_cluster()
        number = self._cluster.number()
        self._database, self._checked = f"agent_{number}", f"check_{number}"
        self._password = secrets.token_hex(16)
        self._admins: list[psycopg.Connection[Any]] = []
        self._template: Template | None = None
        self._row: Mapping[str, Any] = {}
        self._sessions = 0
        self._objection = ""
        self._lifetime = Lifetime(
            self, _end, self._cluster, self._admins, self._database, what="database"
        )

    @classmethod
    def missing(cls) -> str:
        if find_binaries() is None:
            return "Tasks in PostgreSQL need its programs. Run: apt-get install postgresql"
        return ""

    @property
    def places(self) -> Mapping[str, str]:
        return {
            "host": self._cluster.host,
            "database": self._database,
            "user": self._database,
            "password": self._password,
            "url": self.variables["DATABASE_URL"],
        }

    @property
    def variables(self) -> Mapping[str, str]:
        return _variables(self._cluster, self._database, self._database, self._password)

    def refusal(self, row: Mapping[str, Any]) -> str:
        for name in ("verify.py", "description.md"):
            path = Path(row["folder"]) / name
            text = path.read_text(encoding="utf-8", errors="replace").lower()
            for words in _ROLES:
                if words in text:
                    return (
                        f"{name} has {words!r}, but roles are common to all databases of a "
                        f"cluster, and the agent's may create none."
                    )
        return ""

    def state_of(self, row: Mapping[str, Any]) -> Path | None:
        if self.environments is None:
            return None
        paths = [self.environments / f"{row['category']}{suffix}" for suffix in _SUFFIXES]
        for path in paths:
            if path.exists():
                return path
        if (Path(row["folder"]) / _PREPARES).is_file():
            return None
        names = ", ".join(path.name for path in paths[:-1])
        raise DataError(
            f"The task {row['name']!r} starts from one of {names} or a folder "
            f"{row['category']!r} in {str(self.environments)!r}, and none is there."
        )

    def set_up(self, row: Mapping[str, Any]) -> None:
        self._lifetime.check()
        self._row = {name: row[name] for name in ("name", "category", "folder")}
        self._template = self._template_of(row)
        self._replace(self._template.database)

    def _template_of(self, row: Mapping[str, Any]) -> Template:
        state = self.state_of(row)
        prepares = Path(row["folder"]) / _PREPARES
        key = (state, prepares if prepares.is_file() else None)

        def load(database: str) -> None:
            try:
                if state is not None:
                    self._load(state, database)
                if key[1] is not None:
                    self._prepare(prepares, database)
            except ClusterError as error:
                raise DataError(
                    f"The initial state of the task {row['name']!r} is defective: {error}"
                ) from error

        return self._cluster.template(key, load)

    def _load(self, state: Path, database: str) -> None:
        loader = ("postgres", self._cluster.password)
        files = sorted(state.glob("*.sql")) if state.is_dir() else [state]
        if (state / "toc.dat").exists() or state.suffix in {".dump", ".backup"}:
            options = ["--no-owner", "--no-privileges", "--exit-on-error", "-d", database]
            self._cluster.run("pg_restore", *options, str(state), who=loader)
            return
        if not files:
            raise DataError(f"There are no .sql files in {str(state)!r}.")
        for file in files:
            options = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database, "-f", str(file)]
            self._cluster.run("psql", *options, who=loader)

    def _prepare(self, program: Path, database: str) -> None:
        variables = _variables(self._cluster, database, "postgres", self._cluster.password)
        try:
            done = subprocess.run(  # noqa: S603 - trusted
                [sys.executable, str(program)],
                cwd=program.parent,
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PREPARE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise DataError(f"{str(program)!r} took over {_PREPARE_SECONDS} s.") from None
        if done.returncode:
            said = " ".join(done.stderr.decode(errors="replace").split())
            raise DataError(f"{str(program)!r} fails: {said[-500:]}")

    def _replace(self, template: str) -> None:
        """Make the agent's database a copy of another."""
        admin = self._admin
        drop(admin, self._database)
        # The agent may have changed its role.
        password = f"ALTER ROLE {self._database} LOGIN PASSWORD '{self._password}'"
        for statement in (password, f"ALTER ROLE {self._database} RESET ALL"):
            admin.execute(statement.encode())
        self._copy(template, self._database)

    def _copy(self, template: str, database: str) -> None:
        admin = self._admin
        how = " STRATEGY FILE_COPY" if admin.info.server_version >= 150000 else ""
        text = f"CREATE DATABASE {database} OWNER {database} TEMPLATE {template}{how}"
        admin.execute(text.encode())

    @property
    def _admin(self) -> psycopg.Connection[Any]:
        """This environment's connection as the cluster's administrator."""
        self._lifetime.check()
        if not self._admins:
            admin = self._cluster.connect()
            own = self._database
            for statement in (
                f"CREATE ROLE {own} LOGIN CONNECTION LIMIT {_SESSIONS} IN ROLE app",
                f"CREATE ROLE {self._checked} LOGIN PASSWORD '{self._password}' IN ROLE {own}",
                f"ALTER ROLE {self._checked} SET search_path = public",
            ):
                admin.execute(statement.encode())
            self._admins.append(admin)
        elif self._admins[0].closed:
            self._admins[0] = self._cluster.connect()
        return self._admins[0]

    @contextlib.contextmanager
    def _still(self) -> Iterator[None]:
        """Keep everybody out of the agent's database."""
        admin = self._admin
        admin.execute(f"ALTER DATABASE {self._database} ALLOW_CONNECTIONS false".encode())
        try:
            admin.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                "WHERE datname = %s AND pid <> pg_backend_pid()",
                [self._database],
            )
            yield
        finally:
            admin.execute(f"ALTER DATABASE {self._database} ALLOW_CONNECTIONS true".encode())

    @contextlib.contextmanager
    def copy_for_verification(self) -> Iterator[Self]:
        if objection := self._too_large():
            yield self._twin(self._database, objection)
            return
        drop(self._admin, self._checked)
        with self._still():
            self._copy(self._database, self._checked)
        try:
            yield self._twin(self._checked)
        finally:
            drop(self._admin, self._checked)

    def _twin(self, database: str, objection: str = "") -> Self:
        twin = copy.copy(self)
        vars(twin).update(_database=database, _objection=objection)
        return twin

    def _too_large(self) -> str:
        assert self._template is not None  # noqa: S101 - an episode has begun
        sizes = "SELECT pg_database_size(%s) - pg_database_size(%s)"
        found = self._admin.execute(sizes, [self._database, self._template.database]).fetchone()
        if found is not None and found[0] > _GROWTH:
            return (
                f"The database has grown by {found[0] >> 20:,} MiB; {_GROWTH >> 20:,} are allowed."
            )
        return ""

    def objection(self) -> str:
        if self._objection:
            return self._objection
        assert self._template is not None  # noqa: S101 - an episode has begun
        with self._cluster.connect(self._database) as inside:
            found = sorted(callables(inside) - self._template.callables)
        self._sessions = self._count_sessions()
        if found:
            return (
                f"The database has the {found[0]}, which is used instead of PostgreSQL's own, so "
                f"what a program reads in it means nothing."
            )
        return ""

    def was_seen(self) -> bool:
        return self._count_sessions() > self._sessions

    def _count_sessions(self) -> int:
        """Return how many sessions the database has had; they are counted when they end."""
        admin = self._admin
        active = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
        until = time.monotonic() + 10
        while admin.execute(active, [self._database]).fetchone() != (0,):
            if time.monotonic() > until:
                return sys.maxsize  # somebody is looking still
            time.sleep(0.002)
        total = "SELECT sessions FROM pg_stat_database WHERE datname = %s"
        found = admin.execute(total, [self._database]).fetchone()
        return int(found[0]) if found else 0

    def pack(self) -> bytes:
        if self._template is None:
            return b""
        as_dumper = ("dumper", self._cluster.password)
        dump = self._cluster.run("pg_dump", "-Fc", "-Z1", "-d", self._database, who=as_dumper)
        return json.dumps(self._row).encode() + b"\n" + dump

    def unpack(self, packed: bytes) -> None:
        if not packed:
            return
        row, _, dump = packed.partition(b"\n")
        self._row = json.loads(row)
        self._template = self._template_of(self._row)
        self._replace(self._cluster.template(None, lambda _: None).database)
        # As the agent's role: what is restored may call the agent's functions.
        options = "--no-owner", "--exit-on-error", "-d", self._database
        agent = (self._database, self._password)
        self._cluster.run("pg_restore", *options, who=agent, given=dump)

    def close(self) -> None:
        self._lifetime.end()


def _variables(cluster: Cluster, database: str, user: str, password: str) -> dict[str, str]:
    """Return the variables of a program: the benchmark's, and libpq's."""
    values = {"HOST": cluster.host, "PORT": "5432", "DATABASE": database, "PASSWORD": password}
    place = quote(cluster.host, safe="")
    return {
        **{f"POSTGRES_{name}": value for name, value in values.items()},
        **{f"PG{name}": value for name, value in values.items()},
        "POSTGRES_USERNAME": user,
        "PGUSER": user,
        "DATABASE_URL": f"postgresql://{user}:{password}@/{database}?host={place}",
    }


def _end(_cluster: Cluster, admins: list[psycopg.Connection[Any]], database: str) -> None:
    checked = database.replace("agent", "check")
    for admin in admins:
        with contextlib.suppress(psycopg.Error):
            for name in (checked, database):
                drop(admin, name)
            for name in (checked, database):
                admin.execute(f"DROP ROLE IF EXISTS {name}".encode())
        admin.close()
