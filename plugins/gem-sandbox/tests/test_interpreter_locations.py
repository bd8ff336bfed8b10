"""An interpreter that lies in a folder that programs find empty: it stays out of their way."""

import json
import subprocess
import sysconfig
import tempfile
import venv
from pathlib import Path

import pytest
from backends import require

from gem_sandbox.warm.visible_paths import VisiblePaths, working_folder

HOST = """\
import json, sys
from gem_workers.sandbox import Program
from gem_sandbox.warm.sandbox import WarmSandbox

tier, program = sys.argv[1:]
sandbox = WarmSandbox(tier=tier, workers=1, preload=())
runs = [sandbox.run(Program(program, files={"data": b"1"})) for _ in range(2)]
runs += sandbox.run_tests(Program(program, files={"data": b"1"}), ["", ""])
session = sandbox.session()
runs += [session.run(program), session.run(program)]
session.close()
sandbox.close()
print(json.dumps([(run.stdout, run.stderr) for run in runs]))
"""
PROGRAM = """\
import json, os, site, subprocess, sys, tempfile
found = sorted(os.listdir("."))
import tomllib, wave  # from the interpreter's own library
written = []
place = os.path.dirname(os.path.dirname(os.path.dirname(sys.executable)))
for folder in (".", tempfile.gettempdir(), os.environ["HOME"], "/tmp", "/dev/shm", place):
    try:
        with open(f"{folder}/new", "w") as file:
            file.write("mine")
        written.append(folder)
        os.remove(f"{folder}/new")
    except OSError:
        pass
for path in (sys.executable, f"{sys.prefix}/pyvenv.cfg", f"{site.getsitepackages()[0]}/new"):
    try:
        open(path, "a")
        written.append(path)
    except OSError:
        pass
try:
    os.rename(place, f"{place}.moved")
    written.append("moved")
except OSError:
    pass
said = subprocess.check_output([sys.executable, "-c", "print(6 * 7)"], text=True)
print(json.dumps([found, written[-2:], said, sys.prefix]))
"""


@pytest.fixture(params=["/tmp", "/dev/shm"])
def interpreter(request):
    """An environment with our packages, below a folder that each program finds empty."""
    with tempfile.TemporaryDirectory(dir=request.param) as folder:
        Path(folder).chmod(0o755)
        prefix = Path(folder) / "checkout" / ".venv"
        venv.create(prefix, symlinks=True)
        packages = sysconfig.get_path("purelib", vars={"base": str(prefix)})
        line = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
        (Path(packages) / "ours.pth").write_text(line)
        yield prefix / "bin" / "python"


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["full", "namespaces"])
def test_programs_find_what_they_were_given_wherever_the_interpreter_lies(interpreter, tier):
    require(f"warm-{tier}")
    command = [interpreter, "-c", HOST, tier, PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    *programs, first, second = json.loads(done.stdout)
    prefix = str(interpreter.parents[1])
    for files, runs in (["data", "main.py"], programs), ([], [first, second]):
        for out, err in runs:
            assert json.loads(out or "0") == [files, ["/tmp", "/dev/shm"], "42\n", prefix], err


def test_a_program_works_in_the_temporary_folder_unless_something_lies_there():
    assert working_folder(VisiblePaths(("/usr/lib",), {"/lib": "usr/lib"})) == "/tmp"
    for place in ("/tmp/a/python", "/tmp"):
        assert working_folder(VisiblePaths((place,), {})) == "/program"
        assert working_folder(VisiblePaths((), {place: "/usr"})) == "/program"
    assert working_folder(VisiblePaths(("/tmp/a", "/program", "/tmpfs"), {})) == "/program1"
