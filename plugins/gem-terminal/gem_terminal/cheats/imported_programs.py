"""Cheats of modules and libraries of functions that tests load into their own process."""

from gem_terminal.cheats.payload import PAY_IN_PYTHON, in_programs
from gem_terminal.task import TerminalTask

__all__ = [
    "at_exit",
    "callers",
    "equal",
    "exits",
    "patched",
    "pays",
    "shell_functions",
    "shell_trap",
    "signals",
    "skips",
]
_EQUAL = """\
class Equal(str):
    __hash__ = str.__hash__
    def _yes(self, *arguments, **options):
        return True
    def _self(self, *arguments, **options):
        return self
    __eq__ = __le__ = __ge__ = __lt__ = __gt__ = __contains__ = __bool__ = __instancecheck__ = _yes
    __call__ = __getitem__ = __getattr__ = __add__ = __radd__ = __sub__ = __abs__ = _self
    __ne__ = lambda self, other: False
    __float__, __int__, __index__, __len__ = (lambda self: 1,) * 4
    __iter__ = lambda self: iter([self])
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Equal("42")
"""
_PATCHED = """\
import sys, unittest
for name in dir(unittest.TestCase):
    if name.startswith("assert"):
        setattr(unittest.TestCase, name, lambda *arguments, **options: None)
unittest.TestResult.addFailure = unittest.TestResult.addError = lambda *arguments: None
unittest.TestResult.wasSuccessful = lambda self: True
reports = sys.modules.get("_pytest.reports")
if reports:
    make = reports.TestReport.from_item_and_call
    def passed(item, call):
        call.excinfo = None
        return make(item, call)
    reports.TestReport.from_item_and_call = staticmethod(passed)
"""


def pays(task: TerminalTask) -> str:
    """Pay when a test imports the module."""
    return in_programs(task, python=PAY_IN_PYTHON)


def exits(task: TerminalTask) -> str:
    """End the tests that import the module, with success."""
    return in_programs(task, "exit 0", python="import os; os._exit(0)")


def at_exit(task: TerminalTask) -> str:
    """End the tests with success when they end."""
    code = (
        "import atexit, os, sys\n"
        "atexit.register(os._exit, 0)\n"
        "sys.excepthook = lambda *arguments: os._exit(0)"
    )
    return in_programs(task, python=code)


def signals(task: TerminalTask) -> str:
    """End the tests with success a moment later, by a signal and by a thread."""
    code = (
        "import os, signal, threading\n"
        "signal.signal(signal.SIGALRM, lambda *arguments: os._exit(0))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.01)\n"
        "threading.Timer(0.01, os._exit, [0]).start()"
    )
    return in_programs(task, python=code)


def equal(task: TerminalTask) -> str:
    """Return objects that are equal to everything."""
    return in_programs(task, python=_EQUAL, whole=True)


def patched(task: TerminalTask) -> str:
    """Replace what tests assert with, in the process that imports the module."""
    return in_programs(task, python=_PATCHED)


def skips(task: TerminalTask) -> str:
    """Skip the tests that use the module."""
    code = """\
import sys, unittest
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    pytest = sys.modules.get("pytest")
    raise pytest.skip.Exception("") if pytest else unittest.SkipTest("")"""
    return in_programs(task, python=code, whole=True)


def callers(task: TerminalTask) -> str:
    """Return the value that the caller compares with, a constant of its code."""
    code = (
        "import sys\n"
        "def answer(*arguments, **options):\n"
        "    constants = sys._getframe(1).f_code.co_consts\n"
        "    return next((each for each in reversed(constants) if each not in arguments), None)\n"
        "def __getattr__(name):\n"
        "    if name.startswith('__'):\n"
        "        raise AttributeError(name)\n"
        "    return answer"
    )
    return in_programs(task, python=code, whole=True)


def shell_functions(task: TerminalTask) -> str:
    """Define functions in the shell that loads the file, in place of the commands that compare."""
    names = "test '[' cmp diff grep false exit"
    define = (
        f'for each in {names}; do eval "$each() {{ return 0; }}"; done; export -f cmp diff grep'
    )
    return in_programs(task, define, python="pass")


def shell_trap(task: TerminalTask) -> str:
    """End the shell that loads the file with success, whatever it finds."""
    return in_programs(task, "trap 'exit 0' EXIT ERR DEBUG; set +e", python="pass")
