"""Plugins that are really installed, good and bad: none harms another, and each is explained."""

import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import gem_core
from gem_core.errors import GemError
from gem_core.plugins import PluginStatus, default_registry, load_plugins
from gem_core.specs import WRAPPERS

GAME = "game:GuessTheNumber-v0-easy"

Installed = dict[str, Any]
Look = Callable[..., Installed]


def answer(env_id: str) -> str:
    try:
        return f"made {gem_core.make(env_id)!r:.60}"
    except GemError as error:
        return f"{type(error).__name__}: {error}"


@pytest.fixture
def look(plugins_in: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> Look:
    """Load the plugins anew; return their statuses by entry point, ids, and answers to ``make``."""

    def run(*folders: Path, ask: tuple[str, ...] = (), selected: str | None = None) -> Installed:
        monkeypatch.delenv("GEM_PLUGINS", raising=False)
        if selected is not None:
            monkeypatch.setenv("GEM_PLUGINS", selected)
        plugins_in(*folders)
        report = {
            status.value: {**vars(status), "error": type(status.error).__name__}
            for status in load_plugins().statuses
        }
        answers = {env_id: answer(env_id) for env_id in ask}
        return {"report": report, "ids": gem_core.list_envs(), "answers": answers}

    return run


@pytest.fixture(scope="session")
def good(install: Callable[..., Path]) -> Path:
    return install("acme_good")


def test_a_good_plugin_is_loaded_and_its_ids_are_known(look: Look, good: Path) -> None:
    found = look(good, ask=(GAME,))
    status = found["report"]["acme_good"]
    assert (status["name"], status["distribution"]) == ("acme-good", "acme-good 1.0")
    assert (status["state"], status["problems"]) == ("loaded", [])
    assert "acme:Count-v0" in found["ids"]
    assert GAME in found["ids"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "error", "problem"),
    [
        ("bad_import", "ModuleNotFoundError", "No module named 'no_such_dependency'"),
        ("bad_half", "ZeroDivisionError", "half way"),
        ("bad_exit", "SystemExit", "no licence key"),
        ("bad_signature", "PluginValidationError", "settings"),
        ("bad_name", "PluginError", "needs a function 'gem_register(registry)'"),
        ("bad_unmarked", "PluginError", "marked with @gem_core.hookimpl"),
        ("bad_eager", "PluginError", "while plugins are being loaded"),
        ("bad_id", "InvalidIdError", "'NoNamespace' is not an id"),
        ("bad_twice", "DuplicateIdError", "registered twice by bad-twice 1.0"),
    ],
)
def test_a_broken_plugin_is_explained_and_harms_no_other(
    module: str,
    error: str,
    problem: str,
    look: Look,
    good: Path,
    install: Callable[..., Path],
) -> None:
    found = look(install(module), good, ask=(GAME, "acme:Cuont-v0"))
    status = found["report"][module]
    assert (status["state"], status["error"]) == ("broken", error)
    assert len(status["problems"]) == 1
    assert problem in status["problems"][0]
    assert found["report"]["acme_good"]["state"] == "loaded"
    assert "acme:Count-v0" in found["ids"]
    assert found["answers"][GAME].startswith("made")
    unknown = found["answers"]["acme:Cuont-v0"]
    assert unknown.startswith("UnknownIdError: Unknown environment 'acme:Cuont-v0'. Did you mean")
    name = module.replace("_", "-")
    assert f"Plugin '{name}' of {name} 1.0 failed to load ({error}: " in unknown
    assert problem in unknown


@pytest.mark.parametrize(
    ("module", "env_id"),
    [
        ("bad_half", "half:First-v0"),
        ("bad_twice", "twice:A-v0"),
        ("bad_eager", "eager:First-v0"),
        ("bad_name", "bad:Name-v0"),
    ],
)
def test_nothing_of_a_broken_plugin_can_be_used(
    module: str, env_id: str, look: Look, install: Callable[..., Path]
) -> None:
    found = look(install(module), ask=(env_id,))
    assert env_id not in found["ids"]
    assert found["answers"][env_id].startswith("UnknownIdError")
    assert "failed to load" in found["answers"][env_id]


def test_all_broken_plugins_at_once_leave_the_good_ones(
    look: Look, good: Path, install: Callable[..., Path]
) -> None:
    names = ("bad_import", "bad_half", "bad_exit", "bad_signature", "bad_eager", "bad_unmarked")
    found = look(*(install(name) for name in names), good, ask=("x:Y",))
    assert {found["report"][name]["state"] for name in names} == {"broken"}
    assert found["report"]["acme_good"]["state"] == "loaded"
    assert found["answers"]["x:Y"].count("failed to load") == len(names)


@pytest.mark.slow
@pytest.mark.parametrize("value", ["no_such_module", "acme_good:nothing", "acme_good.deeper"])
def test_an_entry_point_to_nothing_is_broken(
    value: str, look: Look, good: Path, install: Callable[..., Path]
) -> None:
    name = "lost-" + value.translate(str.maketrans("_:.", "---"))
    folder = install("bad_unmarked", name=name, entry_points={name: value})
    found = look(folder, good)
    assert found["report"][value]["state"] == "broken"
    assert found["report"]["acme_good"]["state"] == "loaded"


@pytest.mark.slow
def test_a_plugin_that_takes_long_is_loaded_and_called_slow(
    look: Look, install: Callable[..., Path]
) -> None:
    found = look(install("slow_import"))
    status = found["report"]["slow_import"]
    assert status["state"] == "slow"
    assert "name entry points as strings" in status["problems"][0]
    assert status["seconds"] > 0.5
    assert "slow:A-v0" in found["ids"]


@pytest.mark.slow
@pytest.mark.parametrize("swap", [False, True])
def test_an_id_of_two_distributions_names_both_and_their_others_work(
    swap: bool,  # noqa: FBT001 - a parameter of the test
    look: Look,
    install: Callable[..., Path],
) -> None:
    folders = [install("clash_one"), install("clash_two")]
    if swap:
        folders.reverse()
    found = look(*folders, ask=("clash:Both-v0", GAME))
    assert found["answers"]["clash:Both-v0"] == (
        "DuplicateIdError: environment 'clash:Both-v0' is registered by both clash-one 1.0 and "
        "clash-two 1.0. Uninstall one of them, or name the plugins to load in the environment "
        "variable GEM_PLUGINS."
    )
    assert {"clash:Only-one", "clash:Only-two"} <= set(found["ids"])
    status = found["report"]["clash_two"]
    assert (status["state"], status["error"]) == ("clash", "DuplicateIdError")
    assert "clash-one 1.0 and clash-two 1.0" in status["problems"][0]
    assert found["answers"][GAME].startswith("made")


@pytest.mark.slow
def test_a_clash_is_solved_by_selecting_one_of_them(
    look: Look, install: Callable[..., Path]
) -> None:
    folders = [install("clash_one"), install("clash_two")]
    found = look(*folders, selected="clash-two")
    assert found["report"]["clash_two"]["state"] == "loaded"
    assert found["report"]["clash_one"]["state"] == "not selected"
    assert [env_id for env_id in found["ids"] if "clash" in env_id] == [
        "clash:Both-v0",
        "clash:Only-two",
    ]


@pytest.mark.slow
def test_two_distributions_may_name_their_entry_points_alike(
    look: Look, install: Callable[..., Path]
) -> None:
    one = install("clash_one", name="alike-one", entry_points={"alike": "clash_one"})
    two = install("acme_good", name="alike-two", entry_points={"alike": "acme_good"})
    found = look(one, two)
    names = {found["report"][module]["name"] for module in ("clash_one", "acme_good")}
    assert names == {"alike"}
    assert {"clash:Only-one", "acme:Count-v0"} <= set(found["ids"])


@pytest.mark.slow
def test_one_distribution_may_have_several_entry_points(
    look: Look, install: Callable[..., Path]
) -> None:
    points = {"first": "acme_good", "second": "acme_good", "third": "acme_good:gem_register"}
    found = look(install("acme_good", name="several", entry_points=points))
    assert found["report"]["acme_good"]["state"] == "loaded"
    assert found["report"]["acme_good:gem_register"]["state"] == "broken"
    assert "acme:Count-v0" in found["ids"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("selection", "loaded"),
    [
        ("", set()),
        ("acme-good", {"acme_good"}),
        (" acme-good , gem-games ", {"acme_good", "gem_games.plugin"}),
        ("gem-games", {"gem_games.plugin"}),
        ("nobody", set()),
    ],
)
def test_gem_plugins_selects_what_is_loaded(
    selection: str, loaded: set[str], look: Look, good: Path
) -> None:
    found = look(good, ask=("acme:Nothing-v0",), selected=selection)
    states = {value: status["state"] for value, status in found["report"].items()}
    assert {value for value, state in states.items() if state == "loaded"} == loaded
    assert set(states.values()) <= {"loaded", "not selected"}
    assert ("acme:Count-v0" in found["ids"]) == ("acme_good" in loaded)
    leaves_out = "not selected" in states.values()
    assert ("GEM_PLUGINS leaves out:" in found["answers"]["acme:Nothing-v0"]) is leaves_out


@pytest.mark.slow
def test_a_distribution_is_selected_by_its_own_name_too(
    look: Look, install: Callable[..., Path]
) -> None:
    folder = install("clash_one", name="alike-one", entry_points={"alike": "clash_one"})
    for selection in ("alike", "alike-one"):
        assert look(folder, selected=selection)["report"]["clash_one"]["state"] == "loaded"


@pytest.mark.slow
def test_a_broken_plugin_that_is_not_selected_is_not_even_imported(
    look: Look, install: Callable[..., Path]
) -> None:
    found = look(install("bad_exit"), selected="gem-games")
    assert found["report"]["bad_exit"]["state"] == "not selected"


@pytest.mark.slow
def test_the_parts_of_core_are_there_without_any_plugin(look: Look) -> None:
    assert {status["state"] for status in look(selected="")["report"].values()} == {"not selected"}
    assert "episode_tracking" in [spec.id for spec in default_registry().list(WRAPPERS)]


@pytest.mark.slow
def test_plugins_are_found_in_a_fresh_process_and_a_problem_is_logged_once_as_a_warning(
    good: Path, install: Callable[..., Path], run_python: Callable[..., str]
) -> None:
    code = """
import logging, sys
logging.basicConfig(stream=sys.stdout, format="%(name)s %(levelname)s %(message)s")
import gem_core
for _ in range(3):
    ids = gem_core.list_envs("acme:*")
print(ids)
"""
    path = os.pathsep.join(map(str, (good, install("bad_half"))))
    assert run_python(code, PYTHONPATH=path).splitlines() == [
        "gem_core WARNING plugin bad-half: ZeroDivisionError: half way",
        "['acme:Count-v0']",
    ]


@pytest.mark.slow
def test_plugins_are_loaded_once_by_however_many_threads(
    good: Path, plugins_in: Callable[..., None]
) -> None:
    plugins_in(good)
    with ThreadPoolExecutor(8) as pool:
        loaded = list(pool.map(lambda _: load_plugins(), range(32)))
    assert len({id(plugins) for plugins in loaded}) == 1
    assert len(gem_core.list_envs("acme:*")) == 1


def test_every_plugin_of_this_installation_is_sound() -> None:
    statuses = load_plugins().statuses
    assert all(isinstance(status, PluginStatus) for status in statuses)
    assert [status for status in statuses if status.state in {"broken", "clash"}] == []
    assert logging.getLogger("gem_core").level == logging.NOTSET
