"""One program, many inputs: in every tier, each run is independent of the others."""

import contextlib
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest
from backends import make_backend

from gem_sandbox.warm.sandbox import WarmSandbox
from gem_sandbox.warm.tiers import TIERS
from gem_workers.sandbox import Program

FIRST = "\nfirst = input() == 'first'\n"


@pytest.fixture(scope="module", params=TIERS)
def sandbox(request):
    made = make_backend(f"warm-{request.param}", workers=1)
    yield made
    made.close()


def run_tests(sandbox, source, inputs, **options):
    return sandbox.run_tests(Program(textwrap.dedent(source), **options), inputs)


@pytest.mark.slow
def test_the_results_of_several_batches_come_in_order(sandbox):
    inputs = [str(number) for number in range(60)]
    executions = run_tests(sandbox, "print(int(input()) ** 2)", inputs)
    assert [int(each.stdout) for each in executions] == [number**2 for number in range(60)]


@pytest.mark.slow
def test_failures_in_the_middle_neither_end_nor_shift_the_rest(sandbox):
    inputs = [str(number) for number in range(20)]
    source = "n = int(input()); assert n % 7 != 3; print(n)"
    executions = run_tests(sandbox, source, inputs)
    assert [each.stdout.strip() for each in executions] == [
        "" if number % 7 == 3 else str(number) for number in range(20)
    ]


@pytest.mark.slow
def test_nothing_is_reported_after_the_last_wanted_run(sandbox, subtests):
    program = Program("print(input())")
    for last in (0, 1, 2, 5, 18):
        seen = []

        def stop(index, execution, seen=seen, last=last):
            seen.append((index, execution.stdout.strip()))
            return index == last

        with subtests.test(f"{last}"):
            executions = sandbox.run_tests(program, [str(n) for n in range(20)], stop=stop)
            assert seen == [(number, str(number)) for number in range(last + 1)]
            assert len(executions) == last + 1


def test_what_a_run_does_to_its_streams_does_not_reach_the_next(sandbox):
    source = (
        FIRST
        + """
import fcntl, os, sys
flags = [fcntl.fcntl(number, fcntl.F_GETFL) for number in (1, 2)]
if first:
    for number in (0, 1, 2):
        os.set_blocking(number, False)
print(*(flag & (os.O_NONBLOCK | os.O_APPEND) for flag in flags))
print("" if first else "x" * 300_000)
"""
    )
    _, *others = run_tests(sandbox, source, ["first", "second", "third"])
    for execution in others:
        assert execution.ok, execution.stderr
        assert execution.stdout == f"0 0\n{'x' * 300_000}\n"


def test_a_run_reads_its_own_input_however_much_another_one_left(sandbox):
    source = "import sys\nprint(len(sys.stdin.read()) if input() == 'all' else 'none')"
    inputs = ["none\n" + "y" * 100_000, "all\n" + "z" * 200_000, "all\n"]
    executions = run_tests(sandbox, source, inputs)
    assert [each.stdout.strip() for each in executions] == ["none", "200000", "0"]


def test_a_run_that_attacks_its_parent_does_not_affect_others(sandbox):
    source = (
        FIRST
        + """
import os, signal
if first:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(os.getppid(), number)
        except PermissionError:
            pass
print("done")
"""
    )
    executions = run_tests(sandbox, source, ["first", "second", "third"])
    assert [each.stdout for each in executions[1:]] == ["done\n"] * 2


@pytest.mark.slow
def test_random_numbers_and_threads_are_those_of_a_new_process(sandbox):
    source = """
        import os, random, threading
        print(random.random(), threading.main_thread().native_id == os.getpid())
        thread = threading.Thread(target=lambda: print(threading.get_native_id() > 0))
        thread.start(); thread.join()
        if os.fork() == 0:
            print(random.random()); os._exit(0)
        os.wait()
    """
    executions = run_tests(sandbox, source, [""] * 4)
    drawn = {each.stdout.split()[0] for each in executions}
    assert len(drawn) == 4
    assert all(each.stdout.split()[1:3] == ["True", "True"] for each in executions)


@pytest.mark.slow
def test_what_a_run_left_running_is_gone_before_the_next(sandbox):
    source = (
        FIRST
        + """
import os, time
if first:
    for _ in range(5):
        if os.fork() == 0:
            os.setsid()
            for number in range(10**9):
                open(f"left{number}", "w").close()
print(sorted(name for name in os.listdir(".")))
"""
    )
    _, *others = run_tests(sandbox, source, ["first", *["next"] * 5])
    assert [each.stdout for each in others] == ["['main.py']\n"] * 5


@pytest.mark.slow
def test_the_memory_of_all_processes_counts_in_every_run(sandbox):
    source = """
import os, time
many = input() == "many"
for _ in range(8 if many else 1):
    if os.fork() == 0:
        held = b"x" * (1 << 26)
        time.sleep(60 if many else 0)
        os._exit(0)
os.wait()
print("fitted")
"""
    program = Program(source, memory=1 << 27, timeout=30)
    executions = sandbox.run_tests(program, ["few", "few", "many", "few"])
    assert [each.stdout for each in executions] == ["fitted\n", "fitted\n", "", "fitted\n"]
    assert executions[2].limit == "memory"


@pytest.mark.slow
def test_a_program_has_as_many_processes_as_allowed_in_every_run(sandbox, subtests):
    source = """
import os, time
children = 0
try:
    while children < 20:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        children += 1
except BlockingIOError:
    print(1 + children)
"""
    for processes in (1, 2, 5):
        program = Program(source, processes=processes, timeout=30)
        for inputs in ([""], ["", "", ""]):
            with subtests.test(f"{processes} in {len(inputs)} runs"):
                executions = sandbox.run_tests(program, inputs)
                assert [each.stdout for each in executions] == [f"{processes}\n"] * len(inputs)


@pytest.mark.slow
def test_programs_of_two_zygotes_are_not_counted_together(sandbox):
    """In the tier without namespaces, they are different users."""
    program = Program(
        "import os, time\nif os.fork() == 0:\n    time.sleep(60)\ntime.sleep(0.5)\nprint('both')",
        processes=2,
        timeout=30,
    )
    other = WarmSandbox(tier=sandbox.tier, workers=1, preload=("json",))
    with contextlib.closing(other), ThreadPoolExecutor(2) as threads:
        executions = list(threads.map(lambda one: one.run(program), [sandbox, other]))
    assert [each.stdout for each in executions] == ["both\n"] * 2


LOOK = """
import os
def look(folder):
    for at, folders, files in sorted(os.walk(folder)):
        yield at, sorted(folders), {name: open(f"{at}/{name}").read() for name in sorted(files)}
here = os.path.dirname(os.path.abspath(__file__))
try:
    others = ["/dev/shm"] if os.listdir("/dev/shm") == [] else ["there is something"]
except PermissionError:
    others = []
"""

CHANGES = {
    "makes a file": "open('new', 'w').write('mine')",
    "makes a folder": "os.makedirs('new/inner')",
    "makes a link": "os.symlink('/etc', 'new')",
    "links a file again": "os.link('main.py', 'new')",
    "writes a file anew": "open('data.txt', 'w').write('mine')",
    "cuts a file": "os.truncate('data.txt', 0)",
    "writes through memory": """
        import mmap
        with open('data.txt', 'r+b') as file:
            mmap.mmap(file.fileno(), 0)[:4] = b'mine'""",
    "writes by a descriptor that only names a file": """
        name = os.open('data.txt', os.O_PATH)
        os.write(os.open(f'/proc/self/fd/{name}', os.O_WRONLY), b'mine')""",
    "replaces its own source": """
        open('new', 'w').write('print(1)')
        os.replace('new', 'main.py')""",
    "removes its own source": "os.remove('main.py')",
    "exchanges two files": """
        os.rename('data.txt', 'x')
        os.rename('a/b/deep.txt', 'data.txt')
        os.rename('x', 'a/b/deep.txt')""",
    "writes deep below": "open('a/b/deep.txt', 'a').write('mine')",
    "makes a file in between": "open('a/new', 'w').write('mine')",
    "removes a folder": """
        os.remove('a/b/deep.txt')
        os.rmdir('a/b')""",
    "takes rights away": "os.chmod('data.txt', 0)",
    "hides a folder": "os.chmod('a', 0)",
    "uses shared memory": "[open(f'{folder}/new', 'w').write('mine') for folder in others]",
}


@pytest.mark.slow
def test_every_run_finds_the_original_files(sandbox, subtests):
    for name, change in CHANGES.items():
        with subtests.test(name):
            check_that_files_are_restored(sandbox, change)


def check_that_files_are_restored(sandbox, change):
    files = {"data.txt": b"data", "a/b/deep.txt": b"deep"}
    source = (
        LOOK
        + "first = input() == 'change'\n"
        + "if first:\n"
        + textwrap.indent(textwrap.dedent(change), "    ")
        + "\nelse:\n    print([*look(here), *(os.listdir(folder) for folder in others)])\n"
        + "    print([oct(os.stat(name).st_mode) for name in ('data.txt', 'a', 'main.py')])"
    )
    inputs = ["look", "change", "look", "look"]
    before, changed, *after = run_tests(sandbox, source, inputs, files=files)
    assert changed.ok, changed
    assert before.ok, before
    assert [each.stdout for each in after] == [before.stdout] * 2


READ = """
import sys
print(sys.stdin.buffer.tell(), sys.stdin.readline(), sys.stdin.read())
sys.stdin.seek(0)
print(sys.stdin.buffer.raw.tell(), sys.stdin.readline(), sys.stdin.buffer.tell())
"""


def test_standard_input_begins_at_its_beginning(sandbox):
    said = "0 one\n two\nthree\n0 one\n 13\n"
    text = "one\ntwo\nthree"
    assert [each.stdout for each in run_tests(sandbox, READ, [text] * 3)] == [said] * 3
    assert sandbox.run(Program(READ, stdin=text)).stdout == said


def test_objects_in_reference_cycles_are_finalized(sandbox):
    source = """
    class Node:
        def __del__(self):
            print("finished", self.said)
    node = Node()
    node.me, node.said = node, input()
    """
    executions = run_tests(sandbox, source, ["a", "b"])
    assert [each.stdout for each in executions] == ["finished a\n", "finished b\n"]
    program = Program(textwrap.dedent(source), stdin="c")
    assert sandbox.run(program).stdout == "finished c\n"
