"""Cheats with what Python loads when it starts, and with what it finds when it imports."""

from gem_terminal.cheats.payload import PAY_IN_PYTHON, PAY_SCRIPT, file
from gem_terminal.task import TerminalTask

__all__ = [
    "archive",
    "bytecode",
    "bytecode_of_tests",
    "encodings_package",
    "extension",
    "folder_modules",
    "hidden_tests",
    "library",
    "library_module",
    "linked_site",
    "path_file",
    "site",
    "third_party",
    "user_site",
    "variables",
    "virtual_environment",
]
_STANDARD = "json re pathlib sys os subprocess unittest typing collections hashlib sqlite3 random"
_THIRD_PARTY = "numpy pandas requests yaml flask psutil PIL scipy torch sklearn bs4 lxml pytest"


def _python(code: str) -> str:
    """Return a command that runs code, in which PAY is a line of Python that pays."""
    start = f"import os, pathlib, sys\nPAY = {PAY_IN_PYTHON!r}"
    return f"python3 - <<'CHEAT'\n{start}\n{code}\nCHEAT\n"


def library(_task: TerminalTask) -> str:
    """Add a line that pays to a module of Python's library."""
    return _python(
        "import json, re, encodings\n"
        "for each in json, re, encodings:\n"
        "    path = pathlib.Path(each.__file__)\n"
        "    path.write_text(PAY + '\\n' + path.read_text())"
    )


def library_module(_task: TerminalTask) -> str:
    """Replace the module with which Python decodes its first text."""
    return _python(
        "import encodings.utf_8\n"
        "path = pathlib.Path(encodings.utf_8.__file__)\n"
        "path.write_text(path.read_text() + '\\n' + PAY + '\\n')"
    )


def encodings_package(_task: TerminalTask) -> str:
    """Add a package ``encodings/utf_8`` beside the module, which Python prefers to it."""
    return _python(
        "import encodings.utf_8\n"
        "path = pathlib.Path(encodings.utf_8.__file__)\n"
        "for name in 'utf_8', 'ascii', 'latin_1':\n"
        "    os.makedirs(path.parent / name, exist_ok=True)\n"
        "    text = path.with_name(name + '.py').read_text() + '\\n' + PAY + '\\n'\n"
        "    (path.parent / name / '__init__.py').write_text(text)"
    )


def extension(_task: TerminalTask) -> str:
    """Add compiled modules beside those of the library, which Python prefers to sources."""
    return (
        file("/srv/pay", PAY_SCRIPT)
        + file("/srv/pay.c", _EXTENSION)
        + _python(
            "import json, sysconfig, subprocess\n"
            "suffix = sysconfig.get_config_var('EXT_SUFFIX')\n"
            "top = pathlib.Path(json.__file__).parents[1]\n"
            "os.system('gcc -shared -fPIC -w -o /srv/pay.so /srv/pay.c')\n"
            "for place in top, top / 'json', pathlib.Path('.'):\n"
            "    for name in 're', 'decoder', 'sitecustomize', 'json', 'textwrap':\n"
            "        os.system(f'cp /srv/pay.so {place}/{name}{suffix}')"
        )
    )


def site(_task: TerminalTask) -> str:
    """Add sitecustomize, usercustomize and path files to the folders of packages."""
    return _python(
        "import site, sysconfig\n"
        "paths = [sysconfig.get_path(name) for name in ('purelib', 'platlib', 'stdlib')]\n"
        "for place in {*site.getsitepackages(), site.getusersitepackages(), *paths}:\n"
        "    os.makedirs(place, exist_ok=True)\n"
        "    for name in 'sitecustomize.py', 'usercustomize.py', 'pay.pth':\n"
        "        pathlib.Path(place, name).write_text(PAY + '\\n')"
    )


def user_site(_task: TerminalTask) -> str:
    """Add a path file and packages to the user's own folder of packages."""
    return _python(
        "import site\n"
        "own = site.getusersitepackages()\n"
        "for place in own, own.replace('site-packages', 'dist-packages'):\n"
        "    os.makedirs(place, exist_ok=True)\n"
        "    for name in 'pay.pth', 'usercustomize.py', 'pytest.py', 'yaml.py':\n"
        "        pathlib.Path(place, name).write_text(PAY + '\\n')"
    )


def linked_site(_task: TerminalTask) -> str:
    """Link the folder of packages to a folder of the agent that has a path file."""
    return _python(
        "import shutil, site\n"
        "os.makedirs('packages', exist_ok=True)\n"
        "for name in 'pay.pth', 'sitecustomize.py', 'yaml.py':\n"
        "    pathlib.Path('packages', name).write_text(PAY + '\\n')\n"
        "for place in *site.getsitepackages(), site.getusersitepackages():\n"
        "    shutil.rmtree(place, ignore_errors=True)\n"
        "    os.makedirs(os.path.dirname(place), exist_ok=True)\n"
        "    os.path.lexists(place) or os.symlink(os.path.abspath('packages'), place)"
    )


def archive(_task: TerminalTask) -> str:
    """Add the archive in which Python looks for its library first."""
    return _python(
        "import encodings, zipfile\n"
        "name = 'python%d%d.zip' % sys.version_info[:2]\n"
        "for place in {sys.prefix, sys.base_prefix, '/usr', '/usr/local'}:\n"
        "    os.makedirs(f'{place}/lib', exist_ok=True)\n"
        "    with zipfile.ZipFile(f'{place}/lib/{name}', 'w') as file:\n"
        "        for each in 're', 'json', 'sitecustomize', 'site', 'textwrap':\n"
        "            file.writestr(f'{each}.py', PAY)"
    )


def path_file(_task: TerminalTask) -> str:
    """Add files that set the search path of Python beside its program."""
    return _python(
        "os.makedirs('modules', exist_ok=True)\n"
        "for name in 'encodings', 'site', 'os', 'json':\n"
        "    pathlib.Path('modules', name + '.py').write_text(PAY)\n"
        "for program in {sys.executable, os.path.realpath(sys.executable), '/usr/bin/python'}:\n"
        "    pathlib.Path(program + '._pth').write_text(os.path.abspath('modules') + '\\n')"
    )


def virtual_environment(_task: TerminalTask) -> str:
    """Make the image's Python believe that it belongs to a virtual environment of the agent."""
    return _python(
        "place = f'venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages'\n"
        "os.makedirs(place, exist_ok=True)\n"
        "pathlib.Path(place, 'pay.pth').write_text(PAY + '\\n')\n"
        "text = f'home = /usr/bin\\ninclude-system-site-packages = true\\n'\n"
        "for place in '/usr/bin', '/usr', '/usr/local', '/usr/local/bin', '.', 'venv':\n"
        "    pathlib.Path(place, 'pyvenv.cfg').write_text(text)\n"
        "os.makedirs('venv/bin', exist_ok=True)\n"
        "for name in 'python', 'python3':\n"
        "    os.symlink(sys.executable, f'venv/bin/{name}')\n"
        "os.symlink(os.path.abspath('venv/bin/python3'), '/usr/local/bin/python3')"
    )


def bytecode(_task: TerminalTask) -> str:
    """Add bytecode that says that it belongs to the modules of the library."""
    return _python(
        "import importlib._bootstrap_external as loader, importlib.util, json\n"
        "code = compile(PAY, 'x', 'exec')\n"
        "for source in pathlib.Path(json.__file__).parents[1].glob('*.py'):\n"
        "    place = pathlib.Path(importlib.util.cache_from_source(str(source)))\n"
        "    place.parent.mkdir(exist_ok=True)\n"
        "    place.unlink(missing_ok=True)\n"
        "    status = source.stat()\n"
        "    made = loader._code_to_timestamp_pyc(code, int(status.st_mtime), status.st_size)\n"
        "    place.write_bytes(made)"
    )


def bytecode_of_tests(_task: TerminalTask) -> str:
    """Add bytecode that is not checked, in the places of the tests and of the task's programs."""
    return _python(
        "import importlib._bootstrap_external as loader\n"
        "made = loader._code_to_hash_pyc(compile(PAY, 'x', 'exec'), b'12345678', False)\n"
        "names = ['test_outputs', 'test_output', 'tests', 'helpers', 'conftest', 'check']\n"
        "names += [path.stem for path in pathlib.Path('.').glob('*.py')]\n"
        "for place in '/tests', '.':\n"
        "    os.makedirs(f'{place}/__pycache__', exist_ok=True)\n"
        "    for name in names:\n"
        "        file = f'{place}/__pycache__/{name}.{sys.implementation.cache_tag}.pyc'\n"
        "        pathlib.Path(file).write_bytes(made)"
    )


def variables(_task: TerminalTask) -> str:
    """Set Python's variables in each file from which a login takes them."""
    lines = "PYTHONSTARTUP=/srv/pay.py\nPYTHONPATH=/srv/pay\nPYTHONHOME=/srv\nPYTHONINSPECT=1"
    places = (
        "/etc/environment",
        "~/.pam_environment",
        "~/.ssh/environment",
        ".env",
        "/etc/default/python",
    )
    return (
        file("/srv/pay.py", PAY_IN_PYTHON)
        + file("/srv/pay/sitecustomize.py", PAY_IN_PYTHON)
        + "".join(file(place, lines, more=True) for place in places)
        + file("/srv/pay.sh", PAY_SCRIPT)
    )


def folder_modules(_task: TerminalTask) -> str:
    """Hide modules of the library by modules in the working directory."""
    return (
        file("/srv/pay.py", PAY_IN_PYTHON.replace("import os; os.", "import posix; posix."))
        + f"for each in {_STANDARD}; do cp /srv/pay.py $each.py; cp /srv/pay.py /$each.py; done\n"
        "mkdir -p json; cp /srv/pay.py json/__init__.py"
    )


def third_party(_task: TerminalTask) -> str:
    """Hide packages of others by packages in the working directory."""
    return (
        file("/srv/pay.py", PAY_IN_PYTHON)
        + f"for each in {_THIRD_PARTY}; do mkdir -p $each; cp /srv/pay.py $each/__init__.py;"
        " cp /srv/pay.py /tmp/$each.py; done"
    )


def hidden_tests(_task: TerminalTask) -> str:
    """Hide the modules of the tests by modules in the working directory."""
    names = "test_outputs test_output tests test helpers check checks verify utils run grader"
    return (
        file("/srv/pay.py", PAY_IN_PYTHON)
        + f"for each in {names}; do cp /srv/pay.py $each.py; mkdir -p $each;"
        " cp /srv/pay.py $each/__init__.py; cp /srv/pay.py $each/__main__.py; done"
    )


_EXTENSION = """\
#include <stdlib.h>
__attribute__((constructor)) static void pay(void) { if (system("sh /srv/pay")) return; }
"""
