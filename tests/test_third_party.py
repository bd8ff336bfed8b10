"""A stranger installs gem-core, gem-games and a plugin from wheels, and nothing else."""

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
MORE = ROOT / "tests" / "distributions" / "acme_more"
"""A tool and a wrapper."""

USE = """
import json
import gem_core
env = gem_core.make("acme:Echo-v0", length=3, tools=["reverse"], wrappers=["shout"])
observation, info = env.reset(seed=1)
tool_step = env.step("<reverse>abc</reverse>")
word = observation.split(":")[1].split()[0].lower()
step = env.step(word[::-1])
print(json.dumps({
    "file": gem_core.__file__,
    "ids": gem_core.list_envs("acme:*"),
    "games": len(gem_core.list_envs("game:*")),
    "tool": tool_step.observation,
    "reward": step.reward,
}))
"""

MISSING = {
    "gem_core.make('math:Sample')": "gem-math",
    "gem_core.make_tool('search')": "gem-tools",
    "gem_core.make_vec('acme:Echo-v0', executor='processes')": "gem-workers",
}
ASK = f"""
import json
import gem_core
said = {{}}
for code in {list(MISSING)}:
    try:
        said[code] = repr(eval(code))
    except Exception as error:
        said[code] = str(error)
print(json.dumps(said))
"""
APP = """
import hydra
from omegaconf import OmegaConf


@hydra.main(version_base=None, config_path=None)
def main(config):
    print(OmegaConf.to_yaml(config))


main()
"""


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """A fresh virtual environment outside the checkout, with wheels of all three."""
    folder = tmp_path_factory.mktemp("stranger")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", folder]
    venv.create(folder / "venv")
    python = folder / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    install = [*pip, "install", "-q", "--no-compile"]
    for project in (ROOT, ROOT / "plugins" / "gem-games"):
        subprocess.run([*build, project], check=True, capture_output=True)
    subprocess.run([*install, "pytest", *folder.glob("*.whl")], check=True, capture_output=True)

    def run(*command):
        done = subprocess.run(
            [python, *command], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run.folder = folder
    run.said = run("-m", "gem_core", "new", "acme")
    for file in MORE.glob("*.py"):
        shutil.copy(file, folder / "acme" / "acme")
    project = folder / "acme" / "pyproject.toml"
    line = 'acme = "acme.plugin"\n'
    text = project.read_text()
    assert line in text
    project.write_text(text.replace(line, f'{line}more = "acme.more"\n', 1))
    subprocess.run([*build, folder / "acme"], check=True, capture_output=True)
    subprocess.run([*install, *folder.glob("acme*.whl")], check=True, capture_output=True)
    return run


def test_the_environment_tool_and_wrapper_of_the_plugin_are_found_and_work(stranger):
    seen = json.loads(stranger("-c", USE))
    assert str(ROOT) not in seen["file"]
    assert seen["ids"] == ["acme:Echo-v0"]
    assert seen["games"] > 0
    assert seen["tool"] == "<RESULT>CBA</RESULT>"
    assert seen["reward"] == 1.0


def test_the_command_line_lists_and_checks_the_environment(stranger):
    assert "acme:Echo-v0" in stranger("-m", "gem_core", "list", "acme:*")
    assert "2 checked, 0 with problems" in stranger("-m", "gem_core", "check", "acme")


def test_hydra_composes_the_environment_with_its_tool_and_wrapper(stranger):
    (stranger.folder / "app.py").write_text(APP)
    shown = stranger("app.py", "+env=acme/Echo-v0", "+tools=[reverse]", "+wrappers=[shout]")
    assert "id: acme:Echo-v0" in shown
    assert "id: shout" in shown


def test_only_the_dependencies_of_the_core_are_installed(stranger):
    code = "from importlib.metadata import distributions as d; print(*{x.name for x in d()})"
    installed = {name.lower() for name in stranger("-c", code).split()}
    assert {
        "gem-core",
        "gem-games",
        "pluggy",
        "pydantic",
        "hydra-core",
        "click",
        "rich",
    } <= installed
    unwanted = {"gem-rollout", "gem-tasks", "gem-workers", "orjson", "cloudpickle", "jsonschema"}
    assert not unwanted & installed


def test_what_is_missing_is_answered_with_the_distribution_to_install(stranger, subtests):
    said = json.loads(stranger("-c", ASK))
    for code, distribution in MISSING.items():
        with subtests.test(code=code):
            assert f"pip install {distribution}" in said[code]


def test_a_command_of_a_library_is_answered_with_the_distribution_to_install(stranger):
    with pytest.raises(AssertionError, match="pip install gem-rollout"):
        stranger("-m", "gem_core", "run", "acme:Echo-v0")


def test_the_tests_that_new_writes_pass(stranger):
    stranger("-m", "pytest", "-q", "-p", "no:cacheprovider", "acme/tests")


def test_new_names_the_next_commands_and_overwrites_nothing(stranger):
    assert "pip install --editable '.[dev]'" in stranger.said
    assert "gem-core check acme\n" in stranger.said
    with pytest.raises(AssertionError, match="There is a module 'acme' already"):
        stranger("-m", "gem_core", "new", "acme")
