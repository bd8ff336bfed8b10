"""Packages that only parts of a plugin need: errors that name the extra to install."""

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from unittest import mock

import pytest
from cli import gem
from packaging.requirements import Requirement

from gem_core.errors import NotInstalledError
from gem_core.extras import install_command, require
from gem_core.known import known_ids
from gem_core.specs import load_entry_point
from gem_rollout.records.runs import Run

ROOT = Path(__file__).parents[1]
FRAMEWORKS = [
    "RL2",
    "areal",
    "openrlhf",
    "skyrl",
    "slime",
    "tinker_cookbook",
    "torch",
    "transformers",
    "trl",
    "verifiers",
    "verl",
]
NOT_SCRIPTS = {"oat_actor.py"}
"""Oat imports it, in a Python that may not have gem-core."""
RUN = """
import json, runpy, sys
sys.modules.update(dict.fromkeys(json.loads(sys.argv[1])))
said = {}
for script in sys.argv[2:]:
    sys.argv[1:] = []
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        said[script] = end.code
print(json.dumps(said))
"""

METADATA = """\
Metadata-Version: 2.4
Name: acme-agents
Version: 1.0
Provides-Extra: dev
Provides-Extra: gpu
Provides-Extra: most
Requires-Dist: pluggy
Requires-Dist: no_such_thing>=2; extra == 'dev'
Requires-Dist: no-such-thing>=2; extra == 'gpu'
Requires-Dist: faiss_cpu_of_nobody; extra == 'gpu'
Requires-Dist: pluggy>=9999; extra == 'gpu'
Requires-Dist: acme-agents[gpu]; extra == 'most'
Requires-Dist: pluggy>=1; extra == 'fits'
Provides-Extra: fits
"""


PLUGIN = """\
from gem_core import EnvSpec, hookimpl


@hookimpl
def gem_register(registry):
    registry.add(EnvSpec(id="acme:Missing-v0", entry_point="acme_agents:agent", description="x"))
"""


@pytest.fixture
def acme(tmp_path, monkeypatch):
    """Install a distribution with extras, and a package that imports one of them."""
    info = tmp_path / "acme_agents-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text("[gem]\nacme-agents = acme_plugin\n")
    (tmp_path / "acme_agents.py").write_text("import no_such_thing.part\nagent = None\n")
    (tmp_path / "acme_plugin.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("extra", ["gpu", "most"])
def test_what_is_missing_and_what_does_not_fit_are_named_with_the_extra(acme, extra):
    with pytest.raises(NotInstalledError) as caught:
        require(f"acme-agents[{extra}]", "The agent 'acme'")
    assert str(caught.value) == (
        "The agent 'acme' needs no-such-thing>=2 (not installed), faiss_cpu_of_nobody (not "
        f"installed), pluggy>=9999 ({metadata.version('pluggy')} is installed). "
        f"Run: pip install 'acme-agents[{extra}]'"
    )
    assert isinstance(caught.value, ImportError)


def test_what_is_installed_passes(acme):
    require("acme-agents[fits]", "This test")
    require("gem-of-a-folder[any]", "A distribution that was never installed")


def test_an_entry_point_names_the_extra_that_its_module_needs(acme):
    with pytest.raises(NotInstalledError, match=r"acme_agents needs no_such_thing .*agents\[gpu\]"):
        load_entry_point("acme_agents:agent")


@pytest.mark.parametrize(
    ("module", "package", "command"),
    [
        ("no_such_thing.part", "acme_agents.module", "pip install 'acme-agents[gpu]'"),
        ("faiss", "acme_agents", "pip install 'acme-agents[gpu]'"),
        ("such", "acme_agents", "pip install 'acme-agents[gpu]'"),
        ("thin", "acme_agents", ""),
        ("pluggy_of_nobody", "acme_agents", ""),
        ("torch", "gem_train.algorithms.rebn", "pip install 'gem-train[torch]'"),
        ("peft", "gem_train", "pip install 'gem-train[lora]'"),
        ("mcp", "gem_tools.mcp", "pip install 'gem-tools[mcp]'"),
        ("anything", "package_of_nobody", ""),
    ],
)
def test_the_extra_of_a_module_is_found(acme, module, package, command):
    assert install_command(module, package) == command


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "eval"])
def test_a_list_leaves_out_what_is_not_installed_and_says_what_to_install(
    acme, plugins_in, tmp_path, command
):
    plugins_in(acme)
    known = known_ids() | {("environment", "nowhere:One-v0"): "gem-nowhere"}
    words = ["agent=oracle", "episodes=2", "out=run"]
    envs = ["acme:Missing-v0", "nowhere:One-v0", "game:GuessTheNumber-v0-easy"]
    with mock.patch("gem_core.known.known_ids", return_value=known):
        done = gem(command, *envs, *words, cwd=tmp_path)
        alone = gem(command, *envs[:2], *words, "out=none", cwd=tmp_path)
        typed = gem(command, "game:GuessTheNumbr-v0-easy", envs[2], *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list(Run.open(tmp_path / "run").trajectories())) == 2
    assert re.findall(
        "^Left out: environment '(.*?)'.*pip install (.*?)\\.?$", done.stderr, re.MULTILINE
    ) == [
        ("acme:Missing-v0", "'acme-agents[gpu]'"),
        ("nowhere:One-v0", "gem-nowhere"),
    ]
    assert alone.returncode == typed.returncode == 1
    assert "None of the environments is installed" in alone.stderr
    assert "'acme-agents[gpu]'" in alone.stderr
    assert "Did you mean" in typed.stderr
    if command == "eval":
        metrics = json.loads((tmp_path / "run/metrics.json").read_text())
        assert list(metrics["left_out"]) == envs[:2]


def test_gem_core_all_has_every_plugin_and_extra_that_the_install_page_does_not_leave_out():
    own = dict(_projects())
    plugins = {name for name in own if name not in {"gem-core", "gem-compat"}}
    has = _installed_by(own, "gem-core", "all")
    page = (ROOT / "docs/install.md").read_text("utf-8")
    for name in plugins:
        extras = set(own[name].get("optional-dependencies", {})) - {"dev"}
        assert (name, "") in has
        for extra in extras:
            assert ((name, extra) in has) != (f"`{name}[{extra}]`" in page), (name, extra)


def _projects():
    for file in [ROOT / "pyproject.toml", *ROOT.glob("[lp]*/gem-*/pyproject.toml")]:
        table = tomllib.loads(file.read_text("utf-8"))["project"]
        yield table["name"], table


def _installed_by(own, name, extra):
    """Return the pairs of our distributions and extras that an extra, or ``""``, installs."""
    table = own[name]
    lines = table["optional-dependencies"][extra] if extra else table["dependencies"]
    found = {(name, extra)}
    for one in map(Requirement, lines):
        for nested in ("", *one.extras) if one.name in own else ():
            if (one.name, nested) not in found:
                found |= _installed_by(own, one.name, nested)
    return found


@pytest.mark.slow
def test_an_example_without_its_framework_names_what_to_install():
    folder = ROOT / "examples" / "trainers"
    scripts = [*folder.glob("*.py"), ROOT / "examples" / "train_minimal.py"]
    scripts = [str(one) for one in scripts if one.name not in NOT_SCRIPTS]
    words = [sys.executable, "-c", RUN, json.dumps(FRAMEWORKS), *scripts]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    said = json.loads(done.stdout)
    assert sorted(said) == sorted(scripts)
    for line in said.values():
        named = re.fullmatch(
            r"This script needs the module '(\w+)' \(not installed\)\. Run: pip install (.+)", line
        )
        assert named, line
        assert named[1] in FRAMEWORKS
        for distribution, extra in re.findall(r"'([\w-]+)\[(\w+)\]'", named[2]):
            assert extra in metadata.metadata(distribution).get_all("Provides-Extra")


def test_the_example_of_oat_without_its_argument_says_how_to_start_it():
    script = ROOT / "examples" / "trainers" / "oat_episodes.py"
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("usage: python oat_episodes.py MODEL")
