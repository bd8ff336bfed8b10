"""Catalogues in folders: what was written is read back, whole or not at all."""

import json
import multiprocessing
import resource
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path

import pytest
from small_shop import do, small_shop

import gem_core
from gem_core.errors import DataError
from gem_web.env import WebshopEnv
from gem_web.store import load_catalogue, write_catalogue


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("shops") / "shop"
    write(path)
    return path


def write(path, **options):
    shop = small_shop()
    goals = {split: shop.goals(split).tasks for split in shop.splits}
    return write_catalogue(path, shop.products, lambda: goals, origin="by hand", **options)


def test_a_stored_catalogue_has_the_same_products_goals_and_search(folder):
    stored, shop = load_catalogue(folder), small_shop()
    assert [asdict(one) for one in stored.products] == [asdict(one) for one in shop.products]
    assert stored.splits == shop.splits
    for split in shop.splits:
        assert [asdict(one) for one in stored.goals(split).tasks] == [
            asdict(one) for one in shop.goals(split).tasks
        ]
    for query in ("orlo shirt 4", "mug", "x"):
        assert stored.search(query) == shop.search(query)
    assert stored.number_of("B000000004") == 4
    assert stored.number_of("B9") is None
    assert [one.asin for one in stored.products[1:3]] == ["B000000001", "B000000002"]


def test_episodes_are_the_same_as_in_memory(folder):
    stored, memory = WebshopEnv(data=str(folder)), WebshopEnv(data=small_shop())
    for seed in range(5):
        assert stored.reset(seed=seed) == memory.reset(seed=seed)
        for action in (
            "search[orlo shirt]",
            "click[next >]",
            "click[b000000018]",
            "click[buy now]",
        ):
            assert do(stored, action) == do(memory, action)


def test_environments_of_a_process_share_a_folder(folder):
    one, other = (gem_core.make("webshop:train-text", data=str(folder)) for _ in range(2))
    assert one.unwrapped.catalogue is other.unwrapped.catalogue


@pytest.mark.slow
def test_threads_and_forked_processes_read_the_same_catalogue(folder):
    env = WebshopEnv(data=str(folder))
    env.reset(seed=0)
    found = []
    threads = [threading.Thread(target=lambda: found.append(play(env.fork(), 1))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found += pool.map(play_in, [folder] * 4)
    assert found == [play(env, 1)] * 8


def play_in(folder):
    return play(WebshopEnv(data=str(folder)), 1)


def play(env, seed):
    env.reset(seed=seed)
    return do(env, "search[shirt]", "click[next >]").observation


@pytest.mark.slow
def test_a_catalogue_is_replaced_only_when_asked(tmp_path):
    write(tmp_path / "shop")
    with pytest.raises(DataError, match="exists already; --force"):
        write(tmp_path / "shop")
    assert write(tmp_path / "shop", overwrite=True)["products"] == 25
    (tmp_path / "other").mkdir()
    with pytest.raises(DataError, match="no catalogue to replace"):
        write(tmp_path / "other", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "shop"]


def test_two_products_with_one_asin_are_refused(tmp_path):
    products = [small_shop().products[0]] * 2
    with pytest.raises(DataError, match="Two products have the asin B000000000"):
        write_catalogue(tmp_path / "shop", products, dict, origin="by hand")
    assert list(tmp_path.iterdir()) == []


FULL = """
import resource, sys
sys.dont_write_bytecode = True  # the limit would cut the compiled modules, too
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from test_store import write
write(Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_a_full_disk_is_named_and_leaves_nothing(tmp_path):
    command = [sys.executable, "-c", FULL, str(tmp_path / "shop"), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "was not written" in done.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 4096


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: (path / "catalogue.json").unlink(), "has no catalogue"),
        (lambda path: (path / "catalogue.json").write_text("{"), "cannot be read"),
        (lambda path: edit(path, version=9), "version 9.*reads.*version 1"),
        (lambda path: edit(path, products=24), "damaged: it has 24 products"),
        (lambda path: (path / "catalogue.sqlite").write_bytes(b"x" * 4096), "cannot be read"),
        (lambda path: (path / "index" / "params.index.json").unlink(), "index .*cannot be read"),
    ],
)
def test_a_damaged_catalogue_is_named(tmp_path, damage, message):
    write(tmp_path / "shop")
    damage(tmp_path / "shop")
    with pytest.raises(DataError, match=message):
        load_catalogue(tmp_path / "shop")


def edit(path, **fields):
    manifest = json.loads((path / "catalogue.json").read_text())
    (path / "catalogue.json").write_text(json.dumps({**manifest, **fields}))


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_a_path_without_a_catalogue_says_how_to_write_one(tmp_path, name):
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match=r"is not a folder.*gem-core webshop index"):
        gem_core.make("webshop:test-html", data=str(tmp_path / name))
