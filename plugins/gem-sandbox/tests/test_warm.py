"""The warm sandbox behaves like an interpreter, in every tier that works here."""

import ast
import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from backends import make_backend
from commands import Command
from selection import some, thorough

from gem_core.errors import ConfigError
from gem_sandbox.guest.process_tree import children, descendants
from gem_sandbox.warm import WarmSandbox
from gem_sandbox.warm.tiers import TIERS
from gem_workers.sandbox import Program, Sandbox, SandboxSession, make_sandbox

_MANY_THREADS = """
import threading
for _ in range(99): threading.Thread(target=threading.Event().wait, daemon=True).start()
"""


@pytest.fixture(scope="module", params=TIERS)
def sandbox(request):
    made = make_backend(f"warm-{request.param}", workers=2, preload=["numpy"])
    yield made
    made.close()


def run(sandbox, source, **options):
    return sandbox.run(Program(textwrap.dedent(source), **options))


@pytest.mark.slow
def test_the_sandbox_is_made_by_its_id():
    sandbox = make_sandbox("warm", workers=1)
    assert isinstance(sandbox, Sandbox)
    assert sandbox.isolated
    assert run(sandbox, "import sympy\nprint(sympy.sqrt(16))").stdout == "4\n"
    assert isinstance(sandbox.session(), SandboxSession)


@pytest.mark.slow
def test_a_program_reads_its_input_and_prints(sandbox):
    execution = run(sandbox, "print(sum(map(int, input().split())))", stdin="1 2 3")
    assert execution.ok
    assert execution.stdout == "6\n"
    assert execution.stderr == ""
    assert execution.duration > 0
    assert execution.peak_memory > 1 << 20
    assert execution.cpu_time is not None


def test_a_program_is_main_with_its_arguments(sandbox):
    source = "import sys\nprint(__name__, sys.argv[1:], __file__ == sys.argv[0])"
    execution = run(sandbox, source, arguments=["a", "b c"])
    assert execution.stdout == "__main__ ['a', 'b c'] True\n"


def test_files_lie_in_the_working_directory(sandbox):
    source = """
        from pathlib import Path
        import helper
        print(helper.name, Path("data/x.bin").read_bytes())
        print(sorted(path.name for path in Path().iterdir()))
    """
    files = {"helper.py": b"name = 'helper'", "data/x.bin": b"\xff\x00"}
    execution = run(sandbox, source, files=files)
    first, listed = execution.stdout.splitlines()
    assert first == "helper b'\\xff\\x00'"
    assert ast.literal_eval(listed) == ["data", "helper.py", "main.py"]


def test_a_traceback_shows_the_programs_lines_and_nothing_of_ours(sandbox):
    execution = run(sandbox, "def f():\n    return 1 / 0\nf()\n")
    assert execution.exit_status == 1
    lines = execution.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert "    return 1 / 0" in lines
    assert execution.stderr.count("File ") == 2
    assert "gem" not in execution.stderr.replace("/tmp/gem-sandbox-", "")


@pytest.mark.slow
def test_the_exit_status_is_that_of_an_interpreter(sandbox, subtests):
    for source, status in (
        ("", 0),
        ("import sys; sys.exit(7)", 7),
        ("import sys; sys.exit('words')", 1),
        ("raise ValueError('x')", 1),
        ("def", 1),
        ("import os; os._exit(9)", 9),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 128 + signal.SIGTERM),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL),
        ("import os; os.abort()", 128 + signal.SIGABRT),
        ("raise KeyboardInterrupt", 128 + signal.SIGINT),
        ("import atexit; atexit.register(print, 'bye'); raise SystemExit(3)", 3),
    ):
        with subtests.test(source):
            assert run(sandbox, source).exit_status == status


def test_what_was_opened_or_registered_is_finished_at_the_end(sandbox):
    source = """
        import atexit, threading, time
        atexit.register(print, "atexit")
        late = open(1, "w", closefd=False)
        late.write("never flushed by the program\\n")
        threading.Thread(target=lambda: (time.sleep(0.05), print("thread"))).start()
        class Last:
            def __del__(self): print("del")
        last = Last()
        print("main")
    """
    execution = run(sandbox, source)
    assert execution.ok, execution
    assert sorted(execution.stdout.splitlines()) == [
        "atexit",
        "del",
        "main",
        "never flushed by the program",
        "thread",
    ]


def test_input_at_its_end_raises_as_in_an_interpreter(sandbox):
    assert run(sandbox, "input()").stderr.endswith("EOFError: EOF when reading a line\n")


def test_output_that_is_not_utf8_is_replaced(sandbox):
    execution = run(sandbox, r"import os; os.write(1, b'\xff\xfea'); os.write(2, b'\x80')")
    assert execution.stdout == "��a"
    assert execution.stderr == "�"


def test_source_and_input_may_hold_surrogates(sandbox):
    assert run(sandbox, "print('\ud83d')").exit_status == 1
    assert run(sandbox, "a\0b").exit_status == 1
    assert run(sandbox, "print(len(input()))", stdin="\ud83d").stdout == "1\n"


def test_standard_streams_can_be_opened_by_number_and_name(sandbox):
    assert run(sandbox, "print(open(0).read())", stdin="héllo").stdout == "héllo\n"
    if sandbox.tier != "confined":
        source = "print(open('/proc/self/fd/0').read())"
        assert run(sandbox, source, stdin="x" * 100_000).stdout == "x" * 100_000 + "\n"


@pytest.mark.slow
def test_threads_processes_and_deep_recursion_work(sandbox):
    source = """
        import sys, subprocess, threading, multiprocessing
        threads = [threading.Thread(target=print, args=(n,)) for n in range(8)]
        for t in threads: t.start()
        for t in threads: t.join()
        print(subprocess.run([sys.executable, "-c", "print('child')"], capture_output=True).stdout)
        sys.setrecursionlimit(50_000)
        def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
        print(depth(20_000))
    """
    execution = run(sandbox, source)
    assert execution.ok, execution
    assert execution.stdout.splitlines()[-2:] == ["b'child\\n'", "20000"]


def test_a_pool_of_processes_works_where_shared_memory_can_be_private(sandbox):
    source = """
        import multiprocessing
        with multiprocessing.get_context("fork").Pool(2) as pool: print(pool.map(abs, [-1, -2]))
    """
    execution = run(sandbox, source)
    if sandbox.tier == "confined":
        assert "PermissionError" in execution.stderr
    else:
        assert execution.stdout == "[1, 2]\n"


@pytest.mark.slow
def test_random_numbers_are_not_shared_between_runs(sandbox):
    source = "import random, os\nprint(random.random(), os.urandom(4))"
    assert len({run(sandbox, source).stdout for _ in range(4)}) == 4
    source = "import numpy\nprint(numpy.random.random())"
    assert len({run(sandbox, source).stdout for _ in range(3)}) == 3


@pytest.mark.slow
def test_libraries_can_be_imported_preloaded_or_not(sandbox):
    source = "import click, numpy\nprint(numpy.arange(4).sum(), click.unstyle('text'))"
    assert run(sandbox, source).stdout == "6 text\n"
    assert run(sandbox, "n = __import__('numpy')\nprint(n.ones(3).sum())").stdout == "3.0\n"


def test_no_module_of_ours_is_loaded_in_programs(sandbox):
    source = "import sys; print([name for name in sys.modules if name.startswith('gem')])"
    assert run(sandbox, source).stdout == "[]\n"


def test_the_checkout_of_the_host_is_not_visible(sandbox):
    here = Path(__file__).resolve()
    execution = run(sandbox, f"print(open({str(here)!r}).read())")
    assert execution.exit_status == 1
    assert execution.stdout == ""


def test_names_are_supplied_only_when_asked_for(sandbox):
    source = "print(sqrt(16), Counter('aab')['a'], deque([1]), math.pi > 3, np.ones(2).sum())"
    assert "NameError: name 'sqrt'" in run(sandbox, source).stderr
    assert run(sandbox, source, supply_names=True).stdout == "4.0 2 deque([1]) True 2.0\n"


def test_supplied_names_neither_hide_the_programs_nor_run_it_twice(sandbox):
    source = (
        "print('once')\ndef log(x): return x\nprint(log(1), 'sqrt' in globals())\nundefined_name"
    )
    execution = run(sandbox, source, supply_names=True)
    assert execution.stdout == "once\n1 False\n"
    assert execution.stderr.endswith("NameError: name 'undefined_name' is not defined\n")


@pytest.mark.slow
def test_a_limit_that_is_met_is_reported(sandbox, subtests):
    limits = {"timeout": 30.0, "memory": 1 << 28, "file_size": 1 << 20, "processes": 16}
    for source, limit, *timeout in (
        ("while True: pass", "wall_time", 0.3),
        ("import time; time.sleep(60)", "wall_time", 0.3),
        ("while True: print('x' * 1000)", "output"),
        ("import sys\nwhile True: sys.stderr.write('x' * 1000)", "output"),
        ("x = bytearray(1 << 30)", "memory"),
        ("x = [bytes(1 << 20) for _ in range(1 << 20)]", "memory"),
        ("open('f', 'wb').write(bytes(1 << 21))", "file_size"),
        ("import os\nwhile True: os.fork()", "processes"),
        ("import os, time\nfor _ in range(99): os.fork() or time.sleep(9)", "processes"),
        (_MANY_THREADS, "processes"),
    ):
        with subtests.test(source):
            found = run(sandbox, source, **(limits | ({"timeout": timeout[0]} if timeout else {})))
            assert not found.ok
            assert found.limit == limit
            assert found.exit_status != 0


@pytest.mark.slow
def test_memory_of_many_processes_is_added_up(sandbox):
    source = """
        import os, time
        for _ in range(6):
            if os.fork() == 0:
                block = bytearray(os.urandom(1)) * (60 << 20)
                time.sleep(99)
        time.sleep(99)
    """
    execution = run(sandbox, source, memory=200 << 20, timeout=60)
    assert execution.limit == "memory"


@pytest.mark.slow
def test_no_process_outlives_the_deadline(sandbox):
    mark = f"gem-sandbox-test-{os.getpid()}"
    source = f"""
        import os, signal, sys, time
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for _ in range(3):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    sleep = "import time; time.sleep(99)"
                    os.execv(sys.executable, [sys.executable, "-c", sleep, {mark!r}])
                os._exit(0)
        time.sleep(99)
    """
    execution = run(sandbox, source, timeout=0.5)
    assert execution.limit == "wall_time"
    assert _wait_until_none(mark)


def _wait_until_none(mark):
    for _ in range(1000):
        if subprocess.run(["pgrep", "-f", mark], capture_output=True, check=False).returncode:
            return True
        time.sleep(0.05)
    return False


def test_a_program_is_run_for_each_input_in_a_process_of_its_own(sandbox):
    source = """
        import builtins, os
        builtins.count = getattr(builtins, "count", 0) + 1
        open("left", "a").write("x")
        print(int(input()) ** 2, builtins.count, len(open("left").read()), os.listdir())
    """
    program = Program(textwrap.dedent(source))
    executions = sandbox.run_tests(program, ["1", "2", "nonsense", "4"])
    assert [each.exit_status for each in executions] == [0, 0, 1, 0]
    outputs = [each.stdout for each in executions if each.ok]
    assert [text.split()[0] for text in outputs] == ["1", "4", "16"]
    assert {text.partition(" ")[2] for text in outputs} == {outputs[0].partition(" ")[2]}
    assert outputs[0].startswith("1 1 1 ")


@pytest.mark.slow
def test_a_run_at_its_limit_does_not_spoil_the_next_input(sandbox):
    program = Program("import os, time\nn = int(input())\nos.fork()\ntime.sleep(n)", timeout=2)
    limits = [each.limit for each in sandbox.run_tests(program, ["0", "99", "0"])]
    assert limits == [None, "wall_time", None]


@pytest.mark.slow
def test_a_program_that_leaves_very_deep_folders_does_not_harm_the_next(sandbox):
    source = """
        import os
        for _ in range(1100):
            os.mkdir("d" * 100)
            os.chdir("d" * 100)
        os.chmod(".", 0)
        print("made")
    """
    program = Program(textwrap.dedent(source))
    executions = sandbox.run_tests(program, ["", ""])
    assert [each.stdout for each in executions] == ["made\n"] * 2


@pytest.mark.slow
def test_a_session_that_closes_all_its_pipes_is_ended_in_time(sandbox):
    session = sandbox.session()
    try:
        assert session.run("x = 1").ok
        source = "import os, time; os.closerange(3, 20); time.sleep(6000)"  # longer than a test
        assert session.run(source, timeout=0.5).limit == "wall_time"
        assert "started from an empty state" in session.run("print(x)").stderr
    finally:
        session.close()


@pytest.mark.slow
def test_more_sessions_than_workers_live_side_by_side(sandbox):
    sessions = [sandbox.session() for _ in range(5)]
    try:
        for number, session in enumerate(sessions):
            session.run(f"x = {number}")
        assert [each.run("print(x)").stdout for each in sessions] == [f"{n}\n" for n in range(5)]
    finally:
        for session in sessions:
            session.close()


@pytest.mark.slow
def test_many_concurrent_runs_succeed(sandbox):
    count = 200 if thorough() else 60

    async def main():
        programs = [Program(f"print({n} * 2)") for n in range(count)]
        beats = []

        async def beat():
            while True:
                beats.append(1)
                await asyncio.sleep(0.01)

        heart = asyncio.create_task(beat())
        executions = await asyncio.gather(*(sandbox.arun(program) for program in programs))
        heart.cancel()
        return executions, beats

    executions, beats = asyncio.run(main())
    assert [each.stdout for each in executions] == [f"{n * 2}\n" for n in range(count)]
    assert len(beats) > 5, "the event loop was blocked"


@pytest.mark.slow
def test_threads_share_a_sandbox(sandbox):
    outputs = {}

    def call(number):
        outputs[number] = run(sandbox, f"print({number})").stdout

    threads = [threading.Thread(target=call, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == {number: f"{number}\n" for number in range(20)}


@pytest.mark.slow
def test_callers_that_wait_are_served_whatever_they_send(sandbox):
    """Also programs of a megabyte, which are too long to be sent by another thread."""

    def call(number):
        padding = "#" * ((1 << 20) if number % 3 == 0 else 10) + "\n"
        return sandbox.run(Program(f"{padding}print({number})")).stdout

    with ThreadPoolExecutor(12) as threads:
        assert list(threads.map(call, range(36))) == [f"{number}\n" for number in range(36)]


@pytest.mark.slow
def test_callers_that_give_up_while_they_wait_lose_no_slots(sandbox):
    async def call(number):
        return (await sandbox.arun(Program(f"print({number})"))).stdout

    async def main():
        for pause in some((0, 0.001, 0.002, 0.004, 0.008, 0.016)):
            tasks = [asyncio.create_task(call(number)) for number in range(12)]
            await asyncio.sleep(pause)
            for task in tasks[::2]:
                task.cancel()
            said = await asyncio.gather(*tasks, return_exceptions=True)
            assert said[1::2] == [f"{number}\n" for number in range(1, 12, 2)]

    asyncio.run(main())


@pytest.mark.slow
def test_a_cancelled_run_is_killed_and_its_slot_is_free(sandbox):
    async def main():
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(sandbox.arun(Program("while True: pass")), 0.1)
        return await sandbox.arun(Program("print(1)"))

    assert asyncio.run(main()).stdout == "1\n"


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "scopes"), [(1, 1), (2, 2), (3, 2)])
def test_the_runs_of_one_caller_alternate_between_two_scopes(workers, scopes):
    """While a program runs in one, the other is prepared for the next program."""
    sandbox = make_backend("warm-namespaces", workers=workers)
    source = "import os; print(os.readlink('/proc/self/ns/pid'))"
    found = [run(sandbox, source).stdout for _ in range(10)]
    sandbox.close()
    assert "" not in found
    assert len(set(found)) == scopes
    assert found[-scopes:] * 2 == found[-2 * scopes :]


@pytest.mark.slow
def test_a_killed_zygote_is_replaced(sandbox):
    others = children(os.getpid())
    fresh = make_backend(f"warm-{sandbox.tier}", workers=2, preload=())  # has zygotes of its own
    with contextlib.closing(fresh):
        assert run(fresh, "print(1)").ok
        for _ in range(2):
            zygotes = set(children(os.getpid())).difference(others)
            assert zygotes
            for pid in zygotes:
                os.kill(pid, signal.SIGKILL)
            assert run(fresh, "print(2)").stdout == "2\n"


def test_a_sandbox_can_be_used_after_stop_raised_and_after_a_refused_program(sandbox):
    with pytest.raises(ZeroDivisionError):
        sandbox.run_tests(Program("print(1)"), ["", ""], stop=lambda *_: 1 / 0)
    with pytest.raises(ConfigError, match="language"):
        sandbox.run(Program("", language="cobol"))
    assert run(sandbox, "print(1)").ok


_HOST = """
import os, sys, time
from gem_workers.sandbox import Program
from gem_sandbox.warm import WarmSandbox
sandbox = WarmSandbox(workers=2, tier=sys.argv[1], preload=())
assert sandbox.run(Program("print(1)")).stdout == "1\\n"
session = sandbox.session()
session.run("x = 1")
pid = os.fork()
if pid == 0:
    own = WarmSandbox(workers=2, tier=sys.argv[1], preload=())
    ok = own.run(Program("print(2)")).stdout == "2\\n"
    os._exit(0 if ok else 1)
assert os.waitpid(pid, 0)[1] == 0
assert session.run("print(x)").stdout == "1\\n"
print("ready", flush=True)
if sys.argv[2] == "busy":
    sandbox.run(Program("import time; time.sleep(99)", timeout=99))
sys.stdin.readline()
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["ends", "busy"])
def test_a_host_may_fork_and_leaves_nothing_when_it_ends_or_is_killed(sandbox, way):
    command = [sys.executable, "-W", "error", "-c", _HOST, sandbox.tier, way]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with Command(command, **pipes) as host:
        assert host.stdout.readline() == "ready\n"
        time.sleep(0.3 if way == "busy" else 0)
        family = descendants(host.pid)
        assert family
        if way == "busy":
            host.kill()
        host.stdin.close()
        host.wait(60)
    assert host.returncode == (-signal.SIGKILL if way == "busy" else 0)
    for _ in range(1000):
        if not any(Path(f"/proc/{pid}").exists() for pid in family):
            break
        time.sleep(0.05)
    assert not [pid for pid in family if Path(f"/proc/{pid}").exists()]


def test_invalid_arguments_are_refused(subtests):
    for options in ({"workers": 0}, {"preload": "numpy"}, {"tier": "none"}):
        with subtests.test(str(options)), pytest.raises(ConfigError):
            WarmSandbox(**options)
