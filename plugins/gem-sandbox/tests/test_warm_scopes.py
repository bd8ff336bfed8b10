"""Programs that run one after another in the same isolation scope: each finds it like new."""

import contextlib
import textwrap

import pytest
from backends import make_backend
from selection import thorough

from gem_sandbox.warm.tiers import TIERS
from gem_workers.sandbox import Program

TIMES = 3 if thorough() else 1


@pytest.fixture(scope="module", params=TIERS)
def sandbox(request):
    made = make_backend(f"warm-{request.param}", workers=1)
    yield made
    made.close()


LOOK = """\
import os
def about(path):
    status = os.lstat(path)
    times = status.st_atime, status.st_mtime
    return oct(status.st_mode), status.st_nlink, min(times) > 1e9, os.listxattr(path)
print(about(".") + (sorted(os.listdir(".")),))
print([(about(name), open(name).read()[:9]) for name in sorted(os.listdir("."))])
try:
    print(sorted(os.listdir("/dev/shm")), about("/dev/shm"))
except PermissionError:
    pass
"""

CHANGES = {
    "nothing": "print(1)",
    "an error, for which its source is read": "1 / 0",
    "a file": "open('new', 'w').write('mine')",
    "a folder": "os.makedirs('new/inner')",
    "a hidden name": "os.symlink('/etc', '.new')",
    "a file without a name": "os.link(__file__, 'new'); os.remove('new')",
    "a file that is named again": """
        unnamed = os.open('.', os.O_TMPFILE | os.O_RDWR)
        os.link(f'/proc/self/fd/{unnamed}', 'new', follow_symlinks=True)""",
    "a socket": "import socket; socket.socket(socket.AF_UNIX).bind('new')",
    "its own source, written anew": "open(__file__, 'w').write('mine')",
    "its own source, longer": "os.truncate(__file__, 1 << 20)",
    "its own source, gone": "os.remove(__file__)",
    "its own source as a folder": "os.remove(__file__); os.makedirs('main.py/inner')",
    "its own source, not to be written": "os.chmod(__file__, 0o400)",
    "a mark on its source": "os.setxattr(__file__, 'user.mark', b'mine')",
    "a mark on its folder": "os.setxattr('.', 'user.mark', b'mine')",
    "the mode of its folder": "os.chmod('.', 0o777)",
    "the times of its folder": "os.utime('.', (1, 1))",
    "shared memory": "open('/dev/shm/new', 'w').write('mine')",
    "the mode of shared memory": "os.chmod('/dev/shm', 0o777)",
    "a file by another process": "os.fork() or os.setsid() or open('new', 'w').write('mine')",
    "a folder that is entered by a process that stays": """
        os.mkdir('new')
        if os.fork() == 0:
            os.chdir('new')
            while True:
                pass""",
}


@pytest.mark.slow
@pytest.mark.parametrize("of_itself", [False, True], ids=["its files", "its own source"])
def test_a_program_finds_nothing_of_earlier_ones(sandbox, of_itself, subtests):
    look, other = Program(LOOK), Program(LOOK, files={"data.txt": b"data"})
    found, found_beside = sandbox.run(look), sandbox.run(other)
    assert found.ok, found
    assert "data.txt" in found_beside.stdout
    for name, change in CHANGES.items():
        if name.startswith("its own source") == of_itself:
            with subtests.test(name):
                check_that_nothing_is_left(sandbox, change, [look, other], [found, found_beside])


def check_that_nothing_is_left(sandbox, change, programs, executions):
    """Look for what a program leaves, also where it has run twice, for tests and for sessions."""
    (look, other), (found, found_beside) = programs, executions
    guarded = f"import os\ntry:\n{textwrap.indent(textwrap.dedent(change), '    ')}\n"
    changing = Program(f"{guarded}except OSError:\n    pass\n" if "/ 0" not in change else change)
    for _ in range(TIMES):
        sandbox.run(changing)
        assert sandbox.run(look).stdout == found.stdout
        sandbox.run(changing)
        sandbox.run(changing)
        assert sandbox.run(other).stdout == found_beside.stdout
        assert sandbox.run(look).stdout == found.stdout
    sandbox.run(changing)
    tested = sandbox.run_tests(look, ["a", "b"])
    assert [each.stdout for each in tested] == [found.stdout] * 2
    sandbox.run(changing)
    with contextlib.closing(sandbox.session()) as session:
        listed = session.run("import os; print(os.listdir('.'), os.listxattr('.'))")
    assert listed.stdout == "[] []\n"


@pytest.mark.slow
def test_access_times_of_a_folder_do_not_come_from_earlier_programs(sandbox):
    """The kernel reports a change of only the last access time like a read, not like a change."""
    source = """
        import ctypes, os
        class Time(ctypes.Structure):
            _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]
        omitted = (1 << 30) - 2
        times = (Time * 2)(Time(12345, 0), Time(0, omitted))
        libc = ctypes.CDLL(None)
        print(libc.utimensat(-100, os.getcwd().encode(), times, 0), os.stat(".").st_atime)
    """
    setting = Program(textwrap.dedent(source))
    look = Program("import os; print(os.stat('.').st_atime > 1e9)")
    for _ in range(3):
        sandbox.run(setting)
        assert sandbox.run(look).stdout == "True\n"


@pytest.mark.slow
def test_a_session_that_has_left_files_leaves_none_to_programs(sandbox):
    look = Program(LOOK)
    found = sandbox.run(look)
    for _ in range(2):
        session = sandbox.session()
        session.run("open('new', 'w').write('mine')")
        session.close()
        assert sandbox.run(look).stdout == found.stdout


@pytest.mark.slow
def test_programs_with_several_inputs_leave_no_files_to_other_programs(sandbox):
    look = Program(LOOK)
    found = sandbox.run(look)
    for source in ("print(input())", "open('new', 'w').write(input())"):
        for _ in range(3):
            sandbox.run_tests(Program(source, files={"data.txt": b"data"}), ["a", "b", "c"])
            assert sandbox.run(look).stdout == found.stdout
