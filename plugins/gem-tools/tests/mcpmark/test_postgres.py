"""Tasks in PostgreSQL: what an episode has, what an agent cannot do, and what is left."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg
import pytest
from mcp.server.mcpserver.exceptions import ToolError
from needs import missing

import gem_core
from gem_core.errors import DataError, NotInstalledError
from gem_tasks.grader import GraderError
from gem_tools.mcp.postgres_server import Database
from gem_tools.mcpmark import MCPMarkOracle
from gem_tools.mcpmark.services import postgres
from gem_tools.mcpmark.services.postgres import PostgresService

if problem := PostgresService.missing():
    missing("postgres", problem)

pytestmark = pytest.mark.slow

VERIFIES = """
import psycopg, sys
with psycopg.connect(autocommit=True) as database:
    found = database.execute({query!r}).fetchall()
sys.exit(0 if found == {expected!r} else f"found {{found}}")
"""
COUNTS = VERIFIES.format(query="SELECT count(*) FROM t", expected=[(1,)])


def call(sql, name="execute_sql"):
    arguments = json.dumps({"sql": sql})
    return (
        f"<tool_call> <tool_name>{name}</tool_name> <arguments>{arguments}</arguments> </tool_call>"
    )


def does(env, sql):
    """Return what a call shows."""
    return env.step(call(sql)).observation


@pytest.fixture(scope="module")
def sample():
    with gem_core.make("mcp:Postgres-Sample") as env:
        yield env


@pytest.fixture(scope="module")
def own(sample, tmp_path_factory):
    """Make an environment with a task of one's own, in the cluster of the sample."""
    made = []

    def make(program=COUNTS, state="CREATE TABLE t (x int);"):
        root = tmp_path_factory.mktemp("task")
        folder = root / "tasks/things/one"
        folder.mkdir(parents=True)
        (folder / "description.md").write_text("Do it.")
        (folder / "verify.py").write_text(program)
        (root / "things.sql").write_text(state)
        env = gem_core.make(
            "mcp:Postgres-Sample", tasks=root / "tasks", environments=root, shuffle=False
        )
        made.append(env)
        env.reset(seed=0)
        return env

    yield make
    for env in made:
        env.close()


def test_the_oracle_does_each_of_twelve_tasks_and_nothing_done_is_worth_nothing(sample, subtests):
    agent = MCPMarkOracle()
    assert len(sample.unwrapped.rows) == 12
    for index in range(12):
        observation, info = sample.reset(idx=index)
        with subtests.test(info["task_name"]):
            agent.reset(sample)
            step = sample.step(agent.act(observation, info))
            while not step.terminated:
                step = sample.step(agent.act(step.observation, step.info))
            assert step.reward == 1.0, step.info["verification"]
            sample.reset(idx=index)
            step = sample.step("Done.")
            assert (step.reward, step.info.get("ended_by")) == (0.0, None)


def test_an_agent_reaches_its_database_only(own):
    env, other = own(), own()
    victim = other.unwrapped.places["database"]
    for attempt in (
        "CREATE ROLE mine",
        "ALTER ROLE CURRENT_USER SUPERUSER",
        "GRANT pg_read_server_files TO CURRENT_USER",
        "COPY t TO PROGRAM 'id'",
        "COPY t FROM '/etc/passwd'",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT lo_import('/etc/passwd')",
        "CREATE EXTENSION dblink",
        "CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION f()",
        f"DROP DATABASE {victim}",
        f"ALTER DATABASE {victim} CONNECTION LIMIT 0",
        "DROP DATABASE template1",
        "ALTER SYSTEM SET work_mem = '1GB'",
        "SET temp_file_limit = -1",
        "BEGIN; PREPARE TRANSACTION 'x'",
        "SELECT rolpassword FROM pg_authid",
    ):
        step = env.step(call(attempt))
        assert step.info["tool_success_counter"] == 0, (attempt, step.observation)
    places = {**env.unwrapped.places}
    for database in (victim, "postgres", "template1"):
        with pytest.raises(psycopg.OperationalError, match="no pg_hba"):
            psycopg.connect(
                host=places["host"],
                dbname=database,
                user=places["user"],
                password=places["password"],
            )


def test_an_agent_cannot_spoil_the_next_episode(own):
    env = own()
    name = env.unwrapped.places["database"]
    does(env, f"ALTER ROLE {name} PASSWORD 'x'; ALTER ROLE {name} SET search_path = nowhere")
    env.reset(seed=0)
    does(env, f"ALTER DATABASE {name} IS_TEMPLATE true; ALTER DATABASE {name} CONNECTION LIMIT 0")
    env.reset(seed=0)
    does(env, "INSERT INTO t VALUES (1)")
    assert env.step("Done.").reward == 1.0


def test_what_takes_too_long_is_ended_whatever_it_catches(own):
    env = own()

    places = env.unwrapped.places
    hasty, database = (Database(places["url"], seconds) for seconds in (0.3, 60.0))
    stubborn = (
        "DO $$ BEGIN LOOP BEGIN PERFORM pg_sleep(1000); EXCEPTION WHEN query_canceled THEN NULL; "
        "END; END LOOP; END $$"
    )
    for sql in (stubborn, "SET statement_timeout = 0; SELECT pg_sleep(1e9)"):
        with pytest.raises(ToolError, match=r"took over 0\.3 s"):
            hasty.execute_sql(sql)
    with pytest.raises(ToolError, match="too large"):
        database.execute_sql("SELECT repeat('x', 1000000) FROM generate_series(1, 100000)")
    with pytest.raises(ToolError, match="COPY"):
        database.execute_sql("COPY t FROM STDIN")
    assert database.execute_sql("SELECT 1 AS a; SELECT NULL AS b") == (
        "a\n1\n(1 row)\n\nb\nNULL\n(1 row)"
    )


FUNCTION = "CREATE FUNCTION public.count(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1'"
OPERATOR = (
    "CREATE FUNCTION yes(integer, integer) RETURNS boolean LANGUAGE sql AS 'SELECT true'; "
    "CREATE OPERATOR public.= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = yes)"
)


@pytest.mark.parametrize("trick", [FUNCTION, OPERATOR], ids=["function", "operator"])
def test_what_replaces_postgresqls_own_is_worth_nothing(own, trick):
    env = own()
    assert "CREATE" in does(env, trick)
    does(env, "INSERT INTO t VALUES (1)")
    step = env.step("Done.")
    assert step.reward == 0.0
    assert "instead of PostgreSQL's own" in step.info["ended_by"]


def test_functions_of_the_agent_run_with_its_rights_when_programs_call_them(own):
    program = VERIFIES.format(query="SELECT x FROM t", expected=[("postgres",)])
    env = own(program)
    does(
        env,
        "DROP TABLE t; CREATE FUNCTION who() RETURNS text LANGUAGE plpgsql AS $$ BEGIN "
        "RETURN pg_read_file('/etc/hostname'); END $$; CREATE VIEW t AS SELECT who() AS x",
    )
    step = env.step("Done.")
    assert step.reward == 0.0
    assert "permission denied" in step.info["verification"]


def test_a_program_writes_to_a_copy_that_the_agent_cannot_reach(own):
    program = (
        "import psycopg\nwith psycopg.connect(autocommit=True) as d:\n"
        "    d.execute('INSERT INTO t VALUES (7)')\n    d.execute('CREATE TABLE mine ()')\n"
    )
    env = own(program)
    does(env, "CREATE TABLE more (x int); ALTER TABLE t OWNER TO CURRENT_USER")
    assert env.step("Done.").reward == 1.0
    places = env.unwrapped.places
    with psycopg.connect(places["url"]) as database:
        assert database.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_a_program_that_fails_by_itself_is_a_fault_and_one_that_has_looked_is_not(own):
    with pytest.raises(GraderError, match="fails without an agent too"):
        own("raise RuntimeError('nothing was read')").step("Done.")
    env = own("import psycopg\nd = psycopg.connect()\nd.execute('SELECT * FROM missing')")
    step = env.step("Done.")
    assert step.reward == 0.0
    assert "UndefinedTable" in step.info["ended_by"]


def test_forks_and_snapshots_have_the_database(own):
    env = own()
    does(env, "INSERT INTO t VALUES (1); ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    does(env, "ALTER TABLE t FORCE ROW LEVEL SECURITY")
    snapshot = env.snapshot()
    fork = env.fork()
    does(fork, "ALTER TABLE t DISABLE ROW LEVEL SECURITY; INSERT INTO t VALUES (2)")
    assert "(2 rows)" in does(fork, "SELECT x FROM t")
    assert does(env, "SELECT x FROM t") == "No rows."
    does(env, "DROP TABLE t")
    env.restore(snapshot)
    assert "(1 row)" in does(env, "ALTER TABLE t DISABLE ROW LEVEL SECURITY; SELECT x FROM t")
    fork.close()


def test_sixteen_environments_have_databases_of_their_own(sample):
    envs = [sample.spawn(seed=seed) for seed in range(16)]

    def play(env):
        env.reset(idx=0)
        does(env, f"CREATE TABLE mine AS SELECT {id(env)} AS number")

    threads = [threading.Thread(target=play, args=[env]) for env in envs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for env in envs:
        assert str(id(env)) in does(env, "SELECT number FROM mine")
        env.close()


def test_missing_states_and_tasks_of_other_services_are_listed_before_an_episode(tmp_path):
    for name in ("chinook/a", "chinook/b", "lego/roles"):
        folder = tmp_path / "tasks/postgres/standard" / name
        folder.mkdir(parents=True)
        (folder / "description.md").write_text(
            "Create a role with CREATE ROLE." if "roles" in name else "Do it."
        )
        (folder / "verify.py").write_text("import no_such_driver" if name.endswith("b") else "")
    with pytest.raises(DataError) as caught:
        gem_core.make("mcp:MCPMark", data=tmp_path, service="postgres")
    lines = str(caught.value).splitlines()
    assert "'chinook/a' starts from one of chinook.sql, chinook.dump, chinook.backup" in lines[0]
    assert "'lego/roles' cannot be done here: description.md has 'create role'" in lines[2]
    assert lines[3].startswith("3 of 3 tasks")
    (tmp_path / "chinook.sql").write_text("")
    with pytest.raises(DataError, match="no_such_driver"):
        gem_core.make(
            "mcp:MCPMark",
            data=tmp_path,
            service="postgres",
            environments=tmp_path,
            select="chinook",
        )


def test_a_machine_without_postgresql_reads_what_to_install(monkeypatch):
    monkeypatch.setattr(postgres, "find_binaries", lambda: None)
    with pytest.raises(NotInstalledError, match="apt-get install postgresql"):
        gem_core.make("mcp:Postgres-Sample")


STARTS = """
import os, sys, time, gem_core
env = gem_core.make("mcp:Postgres-Sample")
env.reset(seed=0)
print(env.unwrapped.places["host"], flush=True)
if sys.argv[1] == "exit":
    if not os.fork(): os._exit(0)
    os.wait()
    assert os.path.exists(env.unwrapped.places["host"])
    sys.exit()
time.sleep(1000)
"""


@pytest.mark.parametrize("end", ["kill", "interrupt", "exit"])
def test_nothing_is_left_of_a_cluster(end):
    command = [sys.executable, "-c", STARTS, end]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        host = Path(process.stdout.readline().decode().strip())
        postmaster = int((host / "data/postmaster.pid").read_text().split()[0])
        if end != "exit":
            process.send_signal(signal.SIGKILL if end == "kill" else signal.SIGINT)
        process.wait(60)
    until = time.monotonic() + 60
    while (host.exists() or Path(f"/proc/{postmaster}").exists()) and time.monotonic() < until:
        time.sleep(0.05)
    assert not host.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(postmaster, 0)
