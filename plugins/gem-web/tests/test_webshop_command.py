"""``gem-core webshop``."""

import subprocess
import sys

import pytest
from click.testing import CliRunner
from small_shop import public_item, write_public_files

import gem_core
from gem_core.errors import DataError
from gem_web.commands import command


def run(*arguments):
    return CliRunner().invoke(command, [str(one) for one in arguments], catch_exceptions=False)


def test_index_writes_a_catalogue_that_environments_read(tmp_path):
    people = {"B01": [{"instruction": "a lamp", "instruction_attributes": ["bright"]}] * 4}
    folder = write_public_files(tmp_path / "data", [public_item()], people=people)
    done = run("index", folder, tmp_path / "shop")
    assert done.exit_code == 0
    assert "1 products, goals: 1 test, 3 train" in done.output
    env = gem_core.make("webshop:test-text", data=str(tmp_path / "shop"))
    assert "a lamp" in env.reset(seed=0)[1]["prefix"]


@pytest.mark.slow
def test_index_refuses_to_replace_without_force(tmp_path):
    folder = write_public_files(tmp_path / "data", [public_item()])
    run("index", folder, tmp_path / "shop")
    with pytest.raises(DataError, match="--force"):
        run("index", folder, tmp_path / "shop")
    assert run("index", folder, tmp_path / "shop", "--force").exit_code == 0


@pytest.mark.slow
def test_sample_writes_the_catalogue_of_webshop_sample(tmp_path):
    assert "1000 products" in run("sample", tmp_path / "shop").output
    stored = gem_core.make("webshop:train-text_rich", data=str(tmp_path / "shop"))
    memory = gem_core.make("webshop:Sample")
    for idx in range(3):
        assert stored.reset(idx=idx)[1]["prefix"] == memory.reset(idx=idx)[1]["prefix"]


@pytest.mark.slow
def test_a_killed_conversion_leaves_no_catalogue(tmp_path):
    arguments = ["webshop", "sample", str(tmp_path / "shop"), "--products", "100000"]
    process = subprocess.Popen([sys.executable, "-m", "gem_core", *arguments])
    try:
        process.wait(timeout=0.5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    assert not (tmp_path / "shop").exists()
