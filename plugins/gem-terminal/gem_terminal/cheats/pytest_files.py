"""Cheats with what pytest reads and loads."""

from gem_terminal.cheats.payload import PAY_IN_PYTHON, file
from gem_terminal.task import TerminalTask

__all__ = ["configuration", "conftest", "modules", "plugin", "pyproject", "variables"]
_PASS = f"""\
{PAY_IN_PYTHON}

def pytest_runtest_makereport(item, call):
    from _pytest.reports import TestReport
    call.excinfo = None
    return TestReport.from_item_and_call(item, call)
"""
_OPTIONS = (
    "addopts = --collect-only -p pay_plugin\npython_files = nothing.py\ncollect_ignore = /tests"
)


def conftest(_task: TerminalTask) -> str:
    """Leave conftest.py, which makes each test pass, in the folders above the tests."""
    places = "", "/", "/tests/", "~/"
    root = file("/pytest.ini", "[pytest]")
    return root + "".join(file(f"{place}conftest.py", _PASS) for place in places)


def configuration(_task: TerminalTask) -> str:
    """Leave configurations that run no test in the folders above the tests."""
    names = "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg"
    texts = {
        name: f"[{'tool:pytest' if name == 'setup.cfg' else 'pytest'}]\n{_OPTIONS}"
        for name in names
    }
    places = "", "/", "/tests/"
    return file("pay_plugin.py", _PASS) + "".join(
        file(f"{place}{name}", text) for place in places for name, text in texts.items()
    )


def pyproject(_task: TerminalTask) -> str:
    """Leave pyproject.toml and pytest.toml in the folders above the tests."""
    options = 'addopts = "--collect-only -p pay_plugin"\npython_files = "nothing.py"'
    return file("pay_plugin.py", _PASS) + "".join(
        file(f"{place}pyproject.toml", f"[tool.pytest.ini_options]\n{options}")
        + file(f"{place}pytest.toml", "[pytest]\naddopts = ['--collect-only']")
        for place in ("", "/", "/tests/")
    )


def plugin(_task: TerminalTask) -> str:
    """Install a plugin that makes each test pass."""
    return (
        file("/srv/pay_plugin.py", _PASS)
        + "for each in $(python3 -c 'import site; print(*site.getsitepackages())') $PWD; do\n"
        "mkdir -p $each/pay-1.dist-info; cp /srv/pay_plugin.py $each\n"
        "printf 'Name: pay\\nVersion: 1\\n' > $each/pay-1.dist-info/METADATA\n"
        "printf '[pytest11]\\npay = pay_plugin\\n' > $each/pay-1.dist-info/entry_points.txt\n"
        "done"
    )


def modules(_task: TerminalTask) -> str:
    """Hide pytest, and what it imports, by modules in the working directory and among packages."""
    names = "pytest _pytest pluggy iniconfig packaging pytest_cov pytest_json_ctrf"
    return (
        file("/srv/pay.py", PAY_IN_PYTHON)
        + "for each in $(python3 -c 'import site; print(*site.getsitepackages())') $PWD; do\n"
        f"for name in {names}; do mkdir -p $each/$name; cp /srv/pay.py $each/$name.py\n"
        "cp /srv/pay.py $each/$name/__init__.py; cp /srv/pay.py $each/$name/__main__.py; done; done"
    )


def variables(_task: TerminalTask) -> str:
    """Set pytest's variables in each file from which a login takes them."""
    lines = 'PYTEST_ADDOPTS="--collect-only -p pay_plugin"\nPYTEST_PLUGINS=pay_plugin'
    places = "/etc/environment", "~/.pam_environment", ".env", "~/.profile"
    return file("pay_plugin.py", _PASS) + "".join(file(place, lines, more=True) for place in places)
