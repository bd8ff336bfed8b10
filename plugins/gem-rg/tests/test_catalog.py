"""The family lists every task of reasoning-gym without importing it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import gem_core
from gem_core.errors import UnknownIdError
from gem_rg import catalog, datasets, family


@pytest.mark.slow
def test_every_task_of_reasoning_gym_is_listed_and_no_other():
    assert sorted(catalog.DESCRIPTIONS) == datasets.task_names()
    assert gem_core.list_envs("rg:*") == [f"rg:{name}" for name in sorted(catalog.DESCRIPTIONS)]


def test_descriptions_are_one_line_each_and_all_different():
    texts = list(catalog.DESCRIPTIONS.values())
    assert all(15 <= len(text) <= 75 and "\n" not in text for text in texts)
    assert len(set(texts)) == len(texts)


def test_the_page_on_the_tasks_has_a_row_for_each():
    page = Path(__file__).parents[3] / "docs" / "reasoning-gym.md"
    rows = re.findall(r"^\| `rg:(\w+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == list(catalog.DESCRIPTIONS)


@pytest.mark.slow
def test_only_the_workers_import_reasoning_gym():
    code = """
import sys, gem_core
assert len(gem_core.find_envs("rg:*")) > 100
gem_core.spec("rg:leg_counting")
assert "gem_rg.env" not in sys.modules and "gem_workers.pool" not in sys.modules
env = gem_core.make("rg:leg_counting")
env.reset()
assert env.step(env.solution()).reward == 1.0
heavy = {"reasoning_gym", "sympy", "numpy"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_error_for_an_unknown_task_suggests_near_names():
    with pytest.raises(UnknownIdError, match=r"Did you mean 'rg:leg_counting'"):
        gem_core.make("rg:leg_countin")


def test_tasks_of_another_version_can_be_made_though_they_are_not_listed(monkeypatch):
    fewer = {name: text for name, text in catalog.DESCRIPTIONS.items() if name != "maze"}
    monkeypatch.setattr(family, "DESCRIPTIONS", fewer)
    monkeypatch.setattr(family, "VERSION", "0.1.24")
    family._uncatalogued.cache_clear()
    try:
        resolver = family.ReasoningGymFamily()
        assert "rg:maze" not in resolver.ids()
        assert resolver.spec("rg:no_such_task") is None
        env = gem_core.make(resolver.spec("rg:maze"))
        env.reset()
        assert env.step(env.solution()).reward == 1.0
    finally:
        family._uncatalogued.cache_clear()
