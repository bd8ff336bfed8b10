"""The command that checks adapters."""

import importlib.metadata
import re
import sys
import types
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gem_adapters import check_adapter, harnesses
from gem_adapters.check_adapter import command
from gem_adapters.harnesses import harness_names, load_harness
from gem_adapters.specs import ADAPTERS
from gem_adapters.testing.adapter_checks import BAD_INPUTS, CHECKS
from gem_adapters.testing.adapters import Case, Played
from gem_adapters.testing.stub_adapters import PushStub
from gem_core.errors import ConfigError
from gem_core.registry import Registry
from gem_core.specs import Spec

pytest.importorskip("tokenizers")


class Foreign(PushStub):
    """The harness of another package, of a framework of which no version was tested."""

    name = "foreign"
    distribution = "click"


class Wrong(PushStub):
    """Loses the rewards."""

    name = "wrong"

    def play(self, case: Case) -> list[Played]:
        played = super().play(case)
        for one in played:
            for row in one.rows:
                row.turn_rewards = [0.0 for _ in row.turn_rewards]
        return played


@pytest.fixture(autouse=True)
def others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add a package of others with two harnesses."""
    module = types.ModuleType("acme_adapters")
    module.FOREIGN, module.WRONG, module.NONE = Foreign(), Wrong(), "text"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "acme_adapters", module)


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The name of a harness whose framework is not installed."""
    (tmp_path / "acme_missing.py").write_text("import acme_framework\n")
    monkeypatch.syspath_prepend(tmp_path)
    return "acme_missing:HARNESS"


def run(*args: str) -> Result:
    return CliRunner().invoke(command, args, env={"COLUMNS": "200"})


@pytest.mark.slow
def test_all_runs_every_check_of_what_is_installed_and_names_what_is_missing(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_adapter, "harness_names", lambda: [missing, "acme_adapters:FOREIGN"])
    done = run("all")
    assert done.exit_code == 0, done.output
    assert f"{missing}: skipped, as acme_framework is not installed" in done.stdout
    for name in (*CHECKS, *BAD_INPUTS):
        assert re.search(rf"{name} +│ pass", done.stdout), name
    version = importlib.metadata.version("click")
    assert f"Warning: click {version} is installed" in done.stderr


def test_a_missing_framework_is_an_error_if_it_is_named_or_if_nothing_else_is_there(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_adapter, "harness_names", lambda: [missing])
    done = run("all")
    assert done.exit_code == 1
    assert "nothing was checked" in str(done.exception)
    done = run(missing)
    assert done.exit_code == 1
    assert "acme_framework is not installed" in str(done.exception)


def test_plugins_offer_harnesses_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()
    registry.add(Spec(kind=ADAPTERS, id="foreign", entry_point="acme_adapters:FOREIGN"))
    monkeypatch.setattr(harnesses, "default_registry", lambda: registry)
    assert {"foreign", "trl"} < set(harness_names())
    assert isinstance(load_harness("foreign"), Foreign)


@pytest.mark.slow
def test_a_wrong_adapter_exits_with_1_and_the_field_and_place_that_differ() -> None:
    done = run("acme_adapters:WRONG")
    assert done.exit_code == 1
    assert re.search(r"turn_rewards\[0\] is 0.0 instead of", done.stdout)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("stub.pul", "stub.pull"),
        ("no_such_package.checks:HARNESS", "no module 'no_such_package'"),
        ("acme_adapters:NONE", "must be a Harness; got 'text'"),
        ("acme_adapters:OTHER", "must be a Harness; got None"),
    ],
)
def test_a_wrong_name_is_a_clear_error(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_harness(name)


def test_the_help_shows_examples_and_the_names_of_adapters_are_identifiers() -> None:
    assert "gem-core check-adapter trl" in run("--help").stdout
    assert all(name.isidentifier() for name in harness_names())
