"""Catalogues are read by any thread, and by forks over their own connections."""

import subprocess
import sys

import pytest
from small_shop import small_shop

from gem_web.store import write_catalogue

PROGRAM = """
import gc, os, sys, threading
from pathlib import Path
from gem_web.store import _Database, load_catalogue

catalogue = load_catalogue(Path(folder))
count, ended = len(catalogue.products), threading.Event()

def read():
    while not ended.is_set():
        database.rows("SELECT record FROM products")

database = _Database(Path(folder) / "catalogue.sqlite")
threads = [threading.Thread(target=read) for _ in range(2)]
for thread in threads: thread.start()
for _ in range(5):
    child = os.fork()
    if not child:
        assert [catalogue.products[number].asin for number in range(2)]
        assert database.rows("SELECT count(*) FROM products") == [(count,)]
        sys.exit()  # the ordinary end
    print(os.waitpid(child, 0)[1])
ended.set()
for thread in threads: thread.join()
print(database.rows("SELECT count(*) FROM products") == [(count,)])
"""


@pytest.mark.slow
def test_forks_read_a_catalogue_while_threads_of_their_parent_do(tmp_path):
    folder, shop = tmp_path / "shop", small_shop()
    goals = {split: shop.goals(split).tasks for split in shop.splits}
    write_catalogue(folder, shop.products, lambda: goals, origin="by hand")
    ran = subprocess.run(
        [sys.executable, "-c", f"folder = {str(folder)!r}\n{PROGRAM}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.split() == ["0"] * 5 + ["True"]
