"""gem-llm, installed before or after gem-compat or removed again, is noticed, and the remedy works.

Both are wheels in a new environment; pip carries out the remedies. The gem-llm of these tests is
made here: files of the same names as gem-llm's, without its content.
"""

import base64
import hashlib
import shutil
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
LIST = "import gem_core; gem_core.list_envs()"


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


@pytest.fixture
def wheels(tmp_path):
    """The wheels of gem-compat and of the gem-llm of these tests."""
    folder = ROOT / "plugins" / "gem-compat"
    code = f"from hatchling.build import build_wheel; build_wheel({str(tmp_path)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return next(tmp_path.glob("gem_compat-*.whl")), make_gem_llm(tmp_path)


class Environment:
    """A virtual environment that has our other distributions and what they depend on."""

    def __init__(self, folder):
        venv.create(folder, with_pip=False)
        self.python = folder / "bin" / "python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        self.site = folder / "lib" / version / "site-packages"
        sources = [ROOT, *ROOT.glob("libs/*"), *ROOT.glob("plugins/*")]
        paths = [path for path in sources if path.name != "gem-compat"]
        paths.append(Path(sysconfig.get_path("purelib")))
        (self.site / "ours.pth").write_text("".join(f"{path}\n" for path in paths))

    def pip(self, *arguments):
        command = [self.python, "-m", "pip", "--disable-pip-version-check", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        assert done.returncode == 0, done.stdout + done.stderr

    def install(self, wheel):
        """Unpack a wheel, as pip installs one that has no programs."""
        shutil.unpack_archive(wheel, self.site, "zip")

    def run(self, *arguments):
        done = subprocess.run(
            [self.python, *arguments], capture_output=True, text=True, check=False, cwd="/"
        )
        return done.stdout + done.stderr


@pytest.mark.slow
def test_gem_llm_is_noticed_beside_gem_compat_and_the_remedy_works(wheels, tmp_path, subtests):
    compat, theirs = wheels
    environment = Environment(tmp_path / "venv")
    environment.install(theirs)
    environment.install(compat)
    with subtests.test("the import says what to do if gem-compat was installed after gem-llm"):
        said = environment.run("-c", IMPORT)
        assert said.startswith("InstallationError gem-compat and gem-llm are both installed")
        assert "pip uninstall gem-llm gem-compat" in said

    environment.pip("uninstall", "--yes", "gem-llm")
    with subtests.test("the empty package says what to do after gem-llm was removed"):
        said = environment.run("-c", IMPORT + LIST)
        assert "InstallationError The package 'gem' in " in said
        assert "__init__.py, core.py, envs/registration.py are missing" in said
        assert "pip install --force-reinstall --no-deps gem-compat" in said
        assert "plugin gem-compat: InstallationError: The package 'gem' in " in said

    environment.pip("install", "--no-index", "--force-reinstall", "--no-deps", compat)
    with subtests.test("alone gem-compat is imported, plays, and is a sound plugin"):
        play = "print(gem.make('game:Wordle-v0-easy').reset()[1].keys())"
        assert environment.run("-c", IMPORT + play) == "imported\ndict_keys(['suffix'])\n"
        assert "broken" not in environment.run("-m", "gem_core", "plugins")

    environment.install(theirs)
    with subtests.test("gem-core reports a gem-llm that was installed later"):
        code = "import gem; print(gem.MARK)\n"  # none of our code is left in what is imported
        said = environment.run("-c", code + LIST)
        assert "theirs\n" in said
        assert "plugin gem-compat: InstallationError: gem-compat and gem-llm are both inst" in said
        doctor = environment.run("-m", "gem_core", "doctor", "--format=json")
        assert '"gem-compat"' in doctor
        assert "pip uninstall gem-llm gem-compat" in doctor
