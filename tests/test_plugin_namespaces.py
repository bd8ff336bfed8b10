"""Namespaces that plugins declare: only their plugins are loaded to make one of their ids."""

import json
import os
import shutil
import tomllib
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from shared_fixtures import write_distribution

import gem_core
from gem_core.errors import DuplicateIdError, PluginError, UnknownIdError
from gem_core.installed import installed
from gem_core.plugins import load_plugins
from gem_core.specs import ENVS, FAMILIES

ROOT = Path(__file__).parents[1]
Install = Callable[..., Path]

PROGRAM = """
import json, logging, sys
logging.basicConfig(stream=sys.stdout, format="%(message)s")
import gem_core
from gem_core.plugins import default_registry

def imported():
    ours = {"acme_good", "bad_half", "clash_one", "clash_two", "gem_games", "gem_math"}
    return sorted(ours & sys.modules.keys())

STATEMENT
print(json.dumps(imported()))
"""


@pytest.fixture
def ask(run_python: Callable[..., str]) -> Callable[..., list[str]]:
    """Return what a fresh process prints; the last line lists the plugins that it imported."""

    def run(statement: str, *folders: Path) -> list[str]:
        path = os.pathsep.join(map(str, folders))
        return run_python(PROGRAM.replace("STATEMENT", statement), PYTHONPATH=path).splitlines()

    return run


@pytest.fixture
def acme(install: Install) -> Path:
    return install("acme_good", namespaces=("acme", "acme-family"))


MAKES = [
    "gem_core.spec('acme:Count-v0')",
    "gem_core.spec('acme/Count-v0')",
    "gem_core.make('acme:Count-v0')",
]


@pytest.mark.slow
@pytest.mark.parametrize("statement", MAKES)
def test_only_the_plugin_that_declares_a_namespace_is_imported(
    statement: str, ask: Callable[..., list[str]], acme: Path, install: Install
) -> None:
    assert ask(statement, acme, install("bad_half")) == ['["acme_good"]']


@pytest.mark.slow
def test_what_gem_core_has_itself_imports_no_plugin(
    ask: Callable[..., list[str]], acme: Path
) -> None:
    statement = (
        "gem_core.make_agent('random')\n"
        "from gem_core.resolve import resolve\n"
        "from gem_core.specs import EXECUTORS, WRAPPERS\n"
        "resolve(WRAPPERS, {'id': 'time_limit', 'max_steps': 3}), resolve(EXECUTORS, 'serial')"
    )
    assert ask(statement, acme) == ["[]"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    ["gem_core.list_envs()", "default_registry().kinds()", "gem_core.make_tool('acme-tool')"],
)
def test_listing_and_other_kinds_load_all_and_report_the_broken_ones(
    statement: str, ask: Callable[..., list[str]], acme: Path, install: Install
) -> None:
    broken = "plugin bad-half: ZeroDivisionError: half way"
    (*said, modules) = ask(
        f"gem_core.spec('acme:Count-v0')\n{statement}", acme, install("bad_half")
    )
    assert said == [broken]
    assert {"acme_good", "bad_half"} <= set(json.loads(modules))


@pytest.mark.slow
def test_a_plugin_is_found_from_the_moment_it_is_installed_to_that_it_is_removed(
    ask: Callable[..., list[str]], tmp_path: Path
) -> None:
    statement = (
        "try: print(gem_core.spec('acme:Count-v0').source)\n"
        "except gem_core.GemError as error: print(type(error).__name__)"
    )
    assert ask(statement, tmp_path)[0] == "UnknownIdError"
    groups = {"gem": {"acme": "acme_good"}, "gem.namespaces": {"acme": "acme_good"}}
    write_distribution(tmp_path, "acme", "acme_good", groups)
    assert ask(statement, tmp_path) == ["acme 1.0", '["acme_good"]']
    shutil.rmtree(tmp_path / "acme-1.0.dist-info")
    assert ask(statement, tmp_path)[0] == "UnknownIdError"


def test_an_id_that_the_owner_lacks_is_looked_for_everywhere(
    plugins_in: Callable[..., None], acme: Path, install: Install
) -> None:
    plugins_in(acme, install("bad_half"))
    with pytest.raises(UnknownIdError, match=r"'acme:Count-v0'.* 'bad-half' of .* half way"):
        gem_core.spec("acme:Cuont-v0")


@pytest.mark.parametrize("before", [[], ["clash:Only-one"], ["clash:Only-two"], ["game:*"]])
def test_an_id_of_two_that_declare_its_namespace_can_be_used_from_neither(
    before: list[str], plugins_in: Callable[..., None], install: Install
) -> None:
    plugins_in(*(install(one, namespaces=("clash",)) for one in ("clash_two", "clash_one")))
    for env_id in before:
        assert gem_core.list_envs(env_id) if "*" in env_id else gem_core.spec(env_id)
    for _ in range(2):
        with pytest.raises(DuplicateIdError, match=r"both clash-one 1\.0 and clash-two 1\.0"):
            gem_core.make("clash:Both-v0")
        gem_core.list_envs()


@pytest.mark.parametrize("lists_first", [False, True])
def test_a_namespace_that_is_declared_belongs_to_those_who_declare_it(
    lists_first: bool,  # noqa: FBT001 - a parameter of the test
    plugins_in: Callable[..., None],
    install: Install,
) -> None:
    plugins_in(install("clash_one", namespaces=("clash",)), install("clash_two"))
    if lists_first:
        gem_core.list_envs()
    assert gem_core.spec("clash:Both-v0").source == "clash-one 1.0"
    with pytest.raises(UnknownIdError, match="belongs to clash-one"):
        gem_core.spec("clash:Only-two")
    status = next(one for one in load_plugins().statuses if one.value == "clash_two")
    assert (status.state, type(status.error)) == ("broken", PluginError)
    assert '[project.entry-points."gem.namespaces"] clash = ' in status.problems[0]


def test_an_owner_that_is_not_selected_owns_nothing(
    plugins_in: Callable[..., None], install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEM_PLUGINS", "clash-two")
    plugins_in(install("clash_one", namespaces=("clash",)), install("clash_two"))
    assert gem_core.spec("clash:Both-v0").source == "clash-two 1.0"


def test_a_program_cannot_take_an_id_whose_plugin_is_not_loaded_yet(
    plugins_in: Callable[..., None], acme: Path
) -> None:
    plugins_in(acme)
    with pytest.raises(DuplicateIdError, match=r"by both acme-good 1\.0 and this program"):
        gem_core.register("acme:Count-v0", "collections:Counter")


def test_threads_that_make_and_list_load_every_plugin_once(
    plugins_in: Callable[..., None], acme: Path, install: Install
) -> None:
    plugins_in(acme, install("clash_one", namespaces=("clash",)), install("clash_two"))
    asked: list[Callable[[], Any]] = [
        lambda: gem_core.spec("acme:Count-v0").source,
        lambda: gem_core.spec("clash:Only-one").source,
        lambda: gem_core.make_tool("acme-tool"),
        lambda: gem_core.list_envs("acme:*"),
    ]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: asked[number % 4](), range(64)))
    assert answers == ["acme-good 1.0", "clash-one 1.0", {}, ["acme:Count-v0"]] * 16
    assert [one for one in load_plugins().statuses if one.state == "clash"] == []


def test_a_plugin_in_a_zip_file_is_found(
    acme: Path, tmp_path: Path, ask: Callable[..., list[str]]
) -> None:
    with zipfile.ZipFile(tmp_path / "acme.zip", "w") as file:
        for path in acme.rglob("*"):
            file.write(path, path.relative_to(acme))
    assert ask(MAKES[0], tmp_path / "acme.zip") == ['["acme_good"]']


def test_the_plugins_that_are_found_are_those_of_importlib(
    acme: Path, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (acme, install("clash_one"), install("clash_one", namespaces=("clash",))):
        monkeypatch.syspath_prepend(folder)
    found = {(one.name, value) for one in installed() for value in one.plugins}
    points = metadata.entry_points(group="gem")
    assert found == {
        (f"{one.dist.name} {one.dist.version}", one.value) for one in points if one.dist
    }
    declared = {(one.name, namespace) for one in installed() for namespace in one.namespaces}
    points = metadata.entry_points(group="gem.namespaces")
    assert declared == {
        (f"{one.dist.name} {one.dist.version}", one.name) for one in points if one.dist
    }


def test_a_file_that_is_not_text_hides_no_other_plugin(
    acme: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd-1.0.dist-info").mkdir()
    (tmp_path / "odd-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff[gem]\n=\xff\n[")
    for folder in (acme, tmp_path):
        monkeypatch.syspath_prepend(folder)
    assert "acme-good 1.0" in [one.name for one in installed()]


def test_every_distribution_of_the_project_declares_its_namespaces() -> None:
    registry = load_plugins().registry
    found: dict[str, set[str]] = {}
    for spec in [*registry.list(ENVS), *registry.list(FAMILIES)]:
        found.setdefault(spec.source.partition(" ")[0], set()).add(spec.namespace or spec.id)
    projects = {file.parent.name: file for file in ROOT.glob("*/*/pyproject.toml")}
    assert "gem-games" in found
    for name in found.keys() & projects.keys():
        points = tomllib.loads(projects[name].read_text())["project"]["entry-points"]
        assert set(points["gem.namespaces"]) == found[name], name
        assert set(points["gem.namespaces"].values()) == set(points["gem"].values()), name
