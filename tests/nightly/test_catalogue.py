"""The catalogue: what is said about each environment, and what agents get in it."""

import json
import sys
from pathlib import Path

import pytest

import gem_core
from gem_core import EnvSpec, find_envs

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import generate_architecture  # noqa: E402
import generate_catalogue  # noqa: E402
import generate_known  # noqa: E402
import measure  # noqa: E402

SPECS = [spec for spec in find_envs("*") if spec.source]
FACTS = {"teaches", "score", "data", "license"}


def test_every_environment_says_what_it_teaches_pays_and_where_its_data_are_from() -> None:
    silent = {spec.id: FACTS - set(spec.metadata) for spec in SPECS if FACTS - set(spec.metadata)}
    assert silent == {}


def test_every_environment_whose_data_are_installed_has_a_floor_and_a_ceiling() -> None:
    measured = measure.read_scores()
    assert set(measured) == {spec.id for spec in SPECS if measure.plays(spec)}, (
        "run `python docs/measure.py ID ...`"
    )
    for row in measured.values():
        assert row["random"]["return"] < row["oracle"]["return"]


@pytest.mark.parametrize(
    "env_id", ["game:GuessTheNumber-v0-easy", "game:Wordle-v0-easy", "qa:Sample"]
)
def test_the_command_measures_the_figures_of_the_page(env_id: str) -> None:
    known = measure.read_scores()[env_id]
    assert measure.measured(gem_core.spec(env_id), known["episodes"]) == known


def test_a_figure_is_within_the_range_of_returns_of_its_environment() -> None:
    for env_id, row in measure.read_scores().items():
        low, high = gem_core.spec(env_id).return_range
        assert low <= row["random"]["return"] <= row["oracle"]["return"] <= high


def test_measuring_some_environments_keeps_the_figures_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "scores.json"
    file.write_text(json.dumps({"acme:Old": {"episodes": 3}}))
    words = ["qa:Sample", "--episodes", "2", "--output", str(file)]
    monkeypatch.setattr(sys, "argv", ["measure.py", *words])
    measure.main()
    scores = measure.read_scores(file)
    assert scores["acme:Old"] == {"episodes": 3}
    assert scores["qa:Sample"]["episodes"] == 2


def test_the_catalogue_names_every_environment_that_no_other_page_lists() -> None:
    page = (ROOT / "docs" / "catalogue.md").read_text()
    families = {spec.namespace for spec in SPECS}
    assert all(f"\n## {family}\n" in page for family in families)
    for spec in (spec for spec in SPECS if spec.namespace not in generate_catalogue.LISTED):
        ends = [spec.id[place:] for place, letter in enumerate(spec.id) if letter == "-"]
        assert any(f"`{name}`" in page for name in (spec.id, *ends)), spec.id


def test_facts_of_another_plugin_are_shown_with_the_environment() -> None:
    spec = EnvSpec(
        id="acme:Coin",
        entry_point="acme:Coin",
        kwargs={"dataset_name": "acme/coins"},
        metadata={"data": "https://huggingface.co/datasets/acme/coins", "license": "MIT"},
    )
    link = "[acme/coins](https://huggingface.co/datasets/acme/coins)"
    assert generate_catalogue._fact(spec, "data") == f"{link}; MIT"


def test_the_distribution_of_every_id_is_known():
    known = json.loads(generate_known.PLACE.read_text(encoding="utf-8"))
    assert known == generate_known.table(), "run `make docs`"


def test_the_picture_of_the_architecture_is_that_of_the_imports():
    page = generate_architecture.PLACE.read_text(encoding="utf-8")
    assert generate_architecture.drawn() in page, "run `make docs`"
