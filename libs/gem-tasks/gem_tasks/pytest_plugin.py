"""The pytest fixture ``fake_hub``: a dataset hub on loopback.

A test with this fixture loads its datasets from that hub::

    def test_it_asks_the_question(fake_hub):
        fake_hub.add("acme/sums", {"train": [{"problem": "1 + 1?", "answer": "2"}]})
        env = make("acme:Sums")
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from gem_tasks.testing.fake_hub import FakeHub

__all__ = ["fake_hub"]


@pytest.fixture
def fake_hub(tmp_path: Path) -> "Iterator[FakeHub]":
    """Serve datasets to this process from loopback, with an empty cache; see ``FakeHub``."""
    from gem_tasks.testing.fake_hub import FakeHub  # noqa: PLC0415 - most test runs need no hub

    with FakeHub() as hub, hub.in_process(tmp_path / "hugging-face"):
        yield hub
