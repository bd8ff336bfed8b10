"""An MCP server for one PostgreSQL database.

``python -m gem_tools.mcp.postgres_server URL --transport stdio``. The server may do what the role
may with which it connects, so give it a role with no more rights than the agent shall have.
"""

import functools
import select
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal

import anyio
import click
import psycopg
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from psycopg import pq
from psycopg.conninfo import make_conninfo
from pydantic import Field

from gem_tools.mcp.serving import serve, serving_options

__all__ = ["Database", "main", "postgres_server"]

_MOST_ROWS = 200
_MOST_CHARACTERS = 20_000
"""What is shown of a result."""
_MOST_BYTES = 64 << 20
"""What is read of a result, which may have more rows than are shown, before it is refused."""
_LIST_SCHEMAS = """
SELECT nspname AS schema, pg_get_userbyid(nspowner) AS owner FROM pg_namespace
WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY 1
"""
_LIST_RELATIONS = """
SELECT relname AS name, pg_get_userbyid(relowner) AS owner FROM pg_class c
JOIN pg_namespace n ON n.oid = relnamespace
WHERE nspname = $1 AND strpos($2, relkind::text) > 0 ORDER BY 1
"""
_LIST_FUNCTIONS = """
SELECT proname AS name, pg_get_function_arguments(p.oid) AS arguments,
  pg_get_function_result(p.oid) AS result
FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = $1 ORDER BY 1, 2
"""
_FUNCTION = """
SELECT pg_get_functiondef(p.oid) AS definition
FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace
WHERE nspname = $1 AND proname = $2 AND prokind IN ('f', 'p')
"""
_FOUND = """
WITH found AS (
  SELECT c.* FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
  WHERE nspname = $1 AND relname = $2
)
"""
_PARTS = [
    (part, _FOUND + query)
    for part, query in {
        "columns": """
        SELECT attname AS name, format_type(atttypid, atttypmod) AS type,
          attnotnull AS not_null, pg_get_expr(adbin, adrelid) AS default
        FROM found JOIN pg_attribute ON attrelid = found.oid
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE attnum > 0 AND NOT attisdropped ORDER BY attnum""",
        "constraints": """
        SELECT conname AS name, pg_get_constraintdef(c.oid) AS definition
        FROM found JOIN pg_constraint c ON conrelid = found.oid ORDER BY 1""",
        "indexes": """
        SELECT pg_get_indexdef(indexrelid) AS definition
        FROM found JOIN pg_index ON indrelid = found.oid ORDER BY 1""",
        "triggers": """
        SELECT pg_get_triggerdef(t.oid) AS definition
        FROM found JOIN pg_trigger t ON tgrelid = found.oid AND NOT tgisinternal ORDER BY 1""",
        "policies": """
        SELECT polname AS name, pg_get_expr(polqual, polrelid) AS using,
          pg_get_expr(polwithcheck, polrelid) AS with_check
        FROM found JOIN pg_policy ON polrelid = found.oid ORDER BY 1""",
        "view": """
        SELECT pg_get_viewdef(oid) AS definition FROM found WHERE relkind IN ('v', 'm')""",
    }.items()
]
_KINDS = {"table": "rp", "view": "vm", "sequence": "S"}

Kind = Literal["table", "view", "sequence", "function"]
SchemaName = Annotated[str, Field(description="Name of the schema, such as public")]
Statement = Annotated[str, Field(description="SQL; several statements are one transaction")]


class Database:
    """The tools, each a method. A call has a session of its own, so settings end with it.

    Args:
        conninfo: The database, as libpq reads it.
        seconds: How long a call may take; its session is ended then.
    """

    def __init__(self, conninfo: str, seconds: float) -> None:
        self._conninfo, self._seconds = conninfo, seconds

    def list_schemas(self) -> str:
        """List the schemas."""
        return self._shown(_LIST_SCHEMAS)

    def list_objects(self, schema_name: SchemaName, object_type: Kind = "table") -> str:
        """List the tables, views, sequences or functions of a schema."""
        if object_type == "function":
            return self._shown(_LIST_FUNCTIONS, schema_name)
        return self._shown(_LIST_RELATIONS, schema_name, _KINDS[object_type])

    def get_object_details(
        self, schema_name: SchemaName, object_name: str, object_type: Kind = "table"
    ) -> str:
        """Show columns, constraints, indexes, triggers and policies of a table, or a definition."""
        if object_type == "function":
            return self._shown(_FUNCTION, schema_name, object_name)
        parts = {part: self._shown(query, schema_name, object_name) for part, query in _PARTS}
        shown = [f"{part}:\n{text}" for part, text in parts.items() if text != _NOTHING]
        if not shown:
            raise ToolError(f"There is no {object_name!r} in the schema {schema_name!r}.")
        return "\n\n".join(shown)

    def execute_sql(self, sql: Statement) -> str:
        """Run SQL and show the rows of each statement; what it changes is committed.

        If a statement fails, the others of the call have no effect, unless it has COMMIT. Settings
        and temporary tables end with the call.
        """
        return self._shown(sql)

    def explain_query(
        self,
        sql: Annotated[str, Field(description="One query")],
        analyze: Annotated[bool, Field(description="Run it too, and show the times")] = False,  # noqa: FBT002
    ) -> str:
        """Show the plan of a query; what it changes is undone."""
        options = "ANALYZE, BUFFERS" if analyze else "COSTS"
        return self._shown(f"BEGIN; EXPLAIN ({options}) {sql}\n; ROLLBACK")

    def _shown(self, sql: str, *parameters: str) -> str:
        if "\0" in sql or any("\0" in one for one in parameters):
            raise ToolError("SQL has no zero characters.")
        try:
            with (
                psycopg.connect(self._conninfo, autocommit=True) as connection,
                self._limited(connection) as is_late,
            ):
                try:
                    return _results(connection.pgconn, sql, parameters)
                except (psycopg.Error, ToolError):
                    if is_late():
                        message = f"This took over {self._seconds:g} s and was ended."
                        raise ToolError(message) from None
                    raise
        except psycopg.Error as error:
            raise ToolError(str(error).strip()) from None

    def _limited(self, connection: psycopg.Connection[Any]) -> "_Limit":
        return _Limit(self._conninfo, connection.info.backend_pid, self._seconds)


class _Limit:
    """Ends a session that takes too long; SQL can ignore that it is cancelled, but not that."""

    def __init__(self, conninfo: str, session: int, seconds: float) -> None:
        self._conninfo, self._session = conninfo, session
        self._is_late = False
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Callable[[], bool]:
        self._timer.start()
        return lambda: self._is_late

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _end(self) -> None:
        self._is_late = True
        with psycopg.connect(self._conninfo, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [self._session])


_NOTHING = "No rows."
_COPIES = {pq.ExecStatus.COPY_IN, pq.ExecStatus.COPY_OUT, pq.ExecStatus.COPY_BOTH}
_ROWS = {pq.ExecStatus.SINGLE_TUPLE, pq.ExecStatus.TUPLES_OK}


def _results(connection: pq.abc.PGconn, sql: str, parameters: Sequence[str]) -> str:
    """Run statements, and show the rows of each.

    Raises:
        ToolError: One fails, or returns too much.
    """
    table, size, shown, errors = _Table(), 0, list[str](), list[str]()
    for result in _received(connection, sql, parameters):
        if result.status in _COPIES:
            raise ToolError("COPY FROM STDIN and TO STDOUT are not possible here.")
        if result.status == pq.ExecStatus.FATAL_ERROR:
            errors.append(result.error_message.decode(errors="replace").strip())
        elif result.status in _ROWS:
            size += table.add(result)
            if size > _MOST_BYTES:
                raise ToolError("The result is too large; ask for less, for example with LIMIT.")
            if result.status == pq.ExecStatus.TUPLES_OK:
                shown.append(table.text())
                table = _Table()
        else:
            shown.append((result.command_status or b"").decode())
    if errors:
        raise ToolError(errors[0])
    return _cut("\n\n".join(filter(None, shown)) or "Nothing was run.")


def _received(
    connection: pq.abc.PGconn, sql: str, parameters: Sequence[str]
) -> Iterator[pq.abc.PGresult]:
    """Send statements and yield the results, of which each has at most one row."""
    try:
        if parameters:
            connection.send_query_params(sql.encode(), [one.encode() for one in parameters])
        else:
            connection.send_query(sql.encode())
    except UnicodeEncodeError:
        raise ToolError("The SQL is not valid Unicode.") from None
    connection.set_single_row_mode()
    while True:
        while connection.is_busy():
            select.select([connection.socket], [], [], 1.0)
            connection.consume_input()
        result = connection.get_result()
        if result is None:
            return
        yield result


class _Table:
    """The rows of a result, as lines with separators; only the first are kept."""

    def __init__(self) -> None:
        self._lines, self._count, self._size = list[str](), 0, 0

    def add(self, result: pq.abc.PGresult) -> int:
        """Add the rows of a result, and return their size in bytes."""
        size = 0
        if not self._lines and result.nfields:
            names = [result.fname(column) or b"" for column in range(result.nfields)]
            self._lines.append(" | ".join(name.decode(errors="replace") for name in names))
        for row in range(result.ntuples):
            values = [result.get_value(row, column) for column in range(result.nfields)]
            size += sum(len(value or b"") for value in values) + 1
            self._count += 1
            if self._count <= _MOST_ROWS and self._size < _MOST_CHARACTERS:
                self._size += size
                cut = (b"NULL" if value is None else value[:_MOST_CHARACTERS] for value in values)
                self._lines.append(" | ".join(value.decode(errors="replace") for value in cut))
        return size

    def text(self) -> str:
        """Return the lines, and how many rows there are."""
        if not self._count:
            return _NOTHING
        kept = len(self._lines) - 1
        more = f", of which {kept:,} are shown" if kept < self._count else ""
        rows = "1 row" if self._count == 1 else f"{self._count:,} rows"
        return "\n".join([*self._lines, f"({rows}{more})"])


def _cut(text: str) -> str:
    if len(text) <= _MOST_CHARACTERS:
        return text
    return f"{text[:_MOST_CHARACTERS]}\n... and {len(text) - _MOST_CHARACTERS:,} characters more"


_READING = "list_schemas", "list_objects", "get_object_details", "explain_query"
_WRITING = ("execute_sql",)


def postgres_server(seconds: float = 30.0, **connection: str) -> MCPServer[Any]:
    """Return a server for a database.

    Args:
        seconds: How long a call may take.
        connection: Parameters of libpq: ``host``, ``database``, ``user``, ``password``; or ``url``.
    """
    url = connection.pop("url", "")
    if "database" in connection:
        connection["dbname"] = connection.pop("database")
    database = Database(make_conninfo(url, **connection), seconds)
    server: MCPServer[Any] = MCPServer("postgres")
    for name in (*_READING, *_WRITING):
        notes = ToolAnnotations(read_only_hint=name in _READING)
        tool = _in_thread(getattr(database, name))
        server.add_tool(tool, annotations=notes, structured_output=False)
    return server


def _in_thread(method: Callable[..., str]) -> Callable[..., Any]:
    """Return an asynchronous tool: a call that waits for the database must not stop others."""

    @functools.wraps(method)
    async def tool(*args: Any, **given: Any) -> str:
        return await anyio.to_thread.run_sync(functools.partial(method, *args, **given))

    return tool


@click.command()
@click.argument("url")
@serving_options("/mcp")
def main(url: str, **options: Any) -> None:
    """Serve the database at URL, such as postgresql://USER:PASSWORD@HOST/NAME."""
    serve(postgres_server(url=url), **options)


if __name__ == "__main__":
    main()
