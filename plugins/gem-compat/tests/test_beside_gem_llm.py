"""gem-llm, installed before or after gem-compat or removed again, is noticed, and the remedy works.

Both are installed as wheels in a new environment. The gem-llm of these tests is made here: files
of the same names as gem-llm's, without its content.
"""

import base64
import hashlib
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[3]
THEIRS = [
    "gem/__init__.py",
    "gem/core.py",
    "gem/envs/__init__.py",
    "gem/envs/registration.py",
    "gem/utils/seeding.py",
]
IMPORT = """
try:
    import gem
    print("imported")
except ImportError as error:
    print(type(error).__name__, error)
"""


def make_gem_llm(folder):
    """Write a wheel named gem-llm with a package gem."""
    info = "gem_llm-0.1.0.dist-info"
    files = dict.fromkeys(THEIRS, "MARK = 'theirs'\n")
    files[f"{info}/METADATA"] = "Metadata-Version: 2.1\nName: gem-llm\nVersion: 0.1.0\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    lines = []
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        lines.append(f"{name},sha256={digest.decode()},{len(text)}\n")
    files[f"{info}/RECORD"] = "".join([*lines, f"{info}/RECORD,,\n"])
    wheel = folder / "gem_llm-0.1.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The wheels of gem-compat and of the gem-llm of these tests."""
    out = tmp_path_factory.mktemp("wheels")
    folder = ROOT / "plugins" / "gem-compat"
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("gem_compat-*.whl")), make_gem_llm(out)


class Environment:
    """A virtual environment that has our other distributions and what they depend on."""

    def __init__(self, folder):
        venv.create(folder, with_pip=False)
        self.python = folder / "bin" / "python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        site = folder / "lib" / version / "site-packages"
        sources = [ROOT, *ROOT.glob("libs/*"), *ROOT.glob("plugins/*")]
        paths = [path for path in sources if path.name != "gem-compat"]
        paths.append(Path(sysconfig.get_path("purelib")))
        (site / "ours.pth").write_text("".join(f"{path}\n" for path in paths))

    def pip(self, *arguments):
        command = [sys.executable, "-m", "pip", "--python", self.python, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def install(self, wheel, *options):
        self.pip("install", "--no-index", "--no-deps", "--ignore-installed", *options, wheel)

    def run(self, *arguments):
        done = subprocess.run(
            [self.python, *arguments], capture_output=True, text=True, check=False, cwd="/"
        )
        return done.stdout + done.stderr


@pytest.fixture
def environment(tmp_path):
    return Environment(tmp_path / "venv")


def test_alone_it_is_imported_and_is_a_sound_plugin(environment, wheels):
    compat, _ = wheels
    environment.install(compat)
    assert environment.run("-c", IMPORT) == "imported\n"
    assert "broken" not in environment.run("-m", "gem_core", "plugins")


def test_installed_after_gem_llm_its_import_says_what_to_do(environment, wheels):
    compat, theirs = wheels
    environment.install(theirs)
    environment.install(compat)
    said = environment.run("-c", IMPORT)
    assert said.startswith("InstallationError gem-compat and gem-llm are both installed")
    assert "pip uninstall gem-llm gem-compat" in said


def test_gem_llm_installed_later_is_reported_by_gem_core(environment, wheels):
    compat, theirs = wheels
    environment.install(compat)
    environment.install(theirs)
    code = "import gem; print(gem.MARK)"  # none of our code is left in what is imported
    assert environment.run("-c", code) == "theirs\n"
    warned = environment.run("-c", "import gem_core; gem_core.make('game:Wordle-v0-easy')")
    assert "plugin gem-compat: InstallationError: gem-compat and gem-llm are both inst" in warned
    doctor = environment.run("-m", "gem_core", "doctor", "--json")
    assert '"gem-compat"' in doctor
    assert "pip uninstall gem-llm gem-compat" in doctor


def test_after_gem_llm_was_removed_the_empty_package_says_what_to_do(environment, wheels):
    compat, theirs = wheels
    environment.install(compat)
    environment.install(theirs)
    environment.pip("uninstall", "--yes", "gem-llm")
    said = environment.run("-c", IMPORT)
    assert said.startswith("InstallationError The package 'gem' in ")
    assert "__init__.py, core.py, envs/registration.py are missing" in said
    assert "pip install --force-reinstall --no-deps gem-compat" in said
    warned = environment.run("-c", "import gem_core; gem_core.make('game:Wordle-v0-easy')")
    assert "plugin gem-compat: InstallationError: The package 'gem' in " in warned
    environment.pip("install", "--no-index", "--force-reinstall", "--no-deps", compat)
    assert environment.run("-c", IMPORT) == "imported\n"
    play = "import gem; print(gem.make('game:Wordle-v0-easy').reset()[1].keys())"
    assert environment.run("-c", play) == "dict_keys(['suffix'])\n"
