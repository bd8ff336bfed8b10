"""A PostgreSQL cluster of this process's own, on a socket in a temporary folder.

It starts when it is first used and ends with its last user, or with the process. All environments
of a process share it; each database in it is reached by the role of the same name, and by no other.
"""

import contextlib
import glob
import itertools
import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from gem_core.errors import GemError
from gem_core.lifetimes import Lifetime, Lock

__all__ = [
    "Cluster",
    "ClusterError",
    "Template",
    "callables",
    "drop",
    "find_binaries",
    "shared_cluster",
]

_START_SECONDS = 60.0
_RUN = Path(__file__).with_name("run_cluster.py")
_ROLES = (
    "CREATE ROLE app NOLOGIN",
    "CREATE ROLE postgres SUPERUSER LOGIN PASSWORD {}",
    "CREATE ROLE dumper LOGIN BYPASSRLS IN ROLE pg_read_all_data PASSWORD {}",
    "REVOKE ALL ON DATABASE postgres FROM PUBLIC",
)
_PROGRAMS = "initdb", "postgres", "psql", "pg_dump", "pg_restore"


class ClusterError(GemError):
    """PostgreSQL does not start, or has ended."""


class Template(NamedTuple):
    """A database from which others are copied.

    Args:
        database: Its name.
        callables: Its functions, operators and casts, as texts.
    """

    database: str
    callables: frozenset[str]


def find_binaries() -> Path | None:
    """Return the folder of PostgreSQL's programs, the newest version; None if there is none."""
    folders = [Path(path).parent for path in (shutil.which("postgres"),) if path]
    found = glob.glob("/usr/lib/postgresql/*/bin") + glob.glob("/usr/pgsql-*/bin")  # noqa: PTH207
    folders += sorted(map(Path, found), key=_version, reverse=True)
    for folder in folders:
        if all(os.access(folder / name, os.X_OK) for name in _PROGRAMS):
            return folder
    return None


def _version(folder: Path) -> int:
    digits = "".join(filter(str.isdigit, folder.parent.name))
    return int(digits or 0)


class Cluster:
    """A cluster; made by ``shared_cluster``.

    The role ``gem`` administers it. ``postgres`` loads initial states, which ``app`` owns then.
    ``dumper`` reads everything.
    """

    def __init__(self, binaries: Path) -> None:
        self.binaries = binaries
        self.password = secrets.token_hex(16)
        base = tempfile.gettempdir()
        if len(base) > 60:
            base = "/tmp"  # noqa: S108 - mkdtemp makes a private folder
        self._folder = tempfile.mkdtemp(prefix="gem-postgres-", dir=base)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._starting = Lock()
        self._lifetime = Lifetime(
            self, _end, self._folder, self._processes, what="PostgreSQL cluster"
        )
        self._templates: dict[Hashable, Template] = {}
        self._loading: dict[Hashable, Lock] = {}
        self._names = itertools.count(1)

    @property
    def host(self) -> str:
        """The folder of the socket, which clients take for a host."""
        self._lifetime.check()
        return self._folder

    def number(self) -> int:
        """Return a number for names of databases, which nobody else gets."""
        return next(self._names)

    def connect(self, database: str = "postgres", user: str = "gem") -> psycopg.Connection[Any]:
        """Connect as one of the cluster's own roles; each statement is a transaction.

        Raises:
            ClusterError: The cluster does not start.
        """
        self.start()
        return self._connected(database, user)

    def start(self) -> None:
        """Start the cluster, unless it runs.

        Raises:
            ClusterError: It does not start, or has ended.
        """
        host = self.host
        with self._starting:
            if self._processes:
                if self._processes[0].poll() is not None:
                    raise ClusterError("PostgreSQL has ended; make the environment anew.")
                return
            user = _unprivileged() if os.geteuid() == 0 else ""
            if user:
                shutil.chown(host, user)
            process = subprocess.Popen(  # noqa: S603 - ours
                [sys.executable, "-I", "-S", str(_RUN), host, str(self.binaries), user],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._processes.append(process)
            assert process.stdin is not None  # noqa: S101 - a pipe
            process.stdin.write(f"{self.password}\n".encode())
            process.stdin.flush()
            self._make_roles(process)

    def _make_roles(self, process: "subprocess.Popen[bytes]") -> None:
        until = time.monotonic() + _START_SECONDS
        while (admin := self._reached()) is None:
            if process.poll() is not None or time.monotonic() > until:
                assert process.stderr is not None  # noqa: S101 - a pipe
                process.kill()
                said = process.stderr.read().decode(errors="replace").strip()
                raise ClusterError(f"PostgreSQL does not start: {said or 'it hangs'}")
            time.sleep(0.02)
        with admin:
            for statement in _ROLES:
                admin.execute(sql.SQL(statement).format(sql.Literal(self.password)))

    def _reached(self) -> psycopg.Connection[Any] | None:
        with contextlib.suppress(psycopg.OperationalError):
            return self._connected("postgres", "gem")
        return None

    def _connected(self, database: str, user: str) -> psycopg.Connection[Any]:
        return psycopg.connect(
            host=self.host, dbname=database, user=user, password=self.password, autocommit=True
        )

    def template(self, key: Hashable, load: Callable[[str], None]) -> Template:
        """Return the template of an initial state, which is loaded once.

        Args:
            key: The state.
            load: Fills the database of the name that it is given, as ``postgres``.
        """
        with self._loading.setdefault(key, Lock()):
            if key not in self._templates:
                name = f"template_{self.number()}"
                with self.connect() as admin:
                    admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
                    try:
                        load(name)
                        with self.connect(name) as inside:
                            inside.execute("REASSIGN OWNED BY postgres TO app")
                            self._templates[key] = Template(name, callables(inside))
                    except BaseException:
                        drop(admin, name)
                        raise
            return self._templates[key]

    def run(self, program: str, *arguments: str, who: tuple[str, str], given: bytes = b"") -> bytes:
        """Run one of PostgreSQL's programs, and return its output.

        Args:
            program: Its name.
            arguments: Its arguments.
            who: The role, and its password.
            given: Its input.

        Raises:
            ClusterError: It fails.
        """
        done = subprocess.run(  # noqa: S603 - PostgreSQL's
            [str(self.binaries / program), *arguments],
            env={**_environment(), "PGHOST": self.host, "PGUSER": who[0], "PGPASSWORD": who[1]},
            input=given,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise ClusterError(f"{program} fails: {said[:2000]}")
        return done.stdout


def drop(admin: psycopg.Connection[Any], database: str) -> None:
    """Drop a database, whoever uses it."""
    name = sql.Identifier(database)
    with contextlib.suppress(psycopg.errors.InvalidCatalogName):
        # Its owner may have made it a template.
        admin.execute(sql.SQL("ALTER DATABASE {} IS_TEMPLATE false").format(name))
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def callables(connection: psycopg.Connection[Any]) -> frozenset[str]:
    """Return what a program may call without knowing: what has the name of a part of PostgreSQL.

    These are functions and operators with the name of one in ``pg_catalog``, and casts that need
    not be written.
    """
    connection.execute("SET search_path = ''")
    found = connection.execute(_CALLABLES).fetchall()
    return frozenset(text for (text,) in found)


_CALLABLES = """
SELECT 'function ' || p.oid::pg_catalog.regprocedure::text
FROM pg_catalog.pg_proc AS p
WHERE p.oid >= 16384
  AND p.proname IN (SELECT proname FROM pg_catalog.pg_proc WHERE oid < 16384)
UNION ALL
SELECT 'operator ' || o.oid::pg_catalog.regoperator::text
FROM pg_catalog.pg_operator AS o
WHERE o.oid >= 16384
  AND o.oprname IN (SELECT oprname FROM pg_catalog.pg_operator WHERE oid < 16384)
UNION ALL
SELECT 'cast of ' || c.castsource::pg_catalog.regtype::text || ' to '
  || c.casttarget::pg_catalog.regtype::text
FROM pg_catalog.pg_cast AS c
WHERE c.oid >= 16384 AND c.castcontext <> 'e'
"""


def _environment() -> dict[str, str]:
    """Return the environment without the variables that point clients elsewhere."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


def _unprivileged() -> str:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            pwd.getpwnam(name)
            return name
    raise ClusterError("PostgreSQL refuses to run as root, and there is no user 'nobody'.")


def _end(folder: str, processes: "list[subprocess.Popen[bytes]]") -> None:
    for process in processes:
        assert process.stdin is not None  # noqa: S101 - a pipe
        assert process.stderr is not None  # noqa: S101 - a pipe
        with contextlib.suppress(OSError):
            process.stdin.write(b"end\n")
            process.stdin.flush()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        for pipe in (process.stdin, process.stderr):
            with contextlib.suppress(OSError):
                pipe.close()
    shutil.rmtree(folder, ignore_errors=True)


_shared: "weakref.ref[Cluster] | None" = None
_lock = Lock()


def shared_cluster() -> Cluster:
    """Return the cluster of this process; it ends when nobody holds it any more."""
    global _shared  # noqa: PLW0603 - one for the process
    with _lock:
        cluster = _shared() if _shared is not None else None
        if cluster is None or not cluster._lifetime.is_open:  # noqa: SLF001 - of this module
            binaries = find_binaries()
            if binaries is None:
                raise ClusterError("PostgreSQL is not installed.")
            cluster = Cluster(binaries)
            _shared = weakref.ref(cluster)
        return cluster
