"""A pytest fixture: a dataset hub on loopback.

A test that takes the fixture ``fake_hub`` loads its datasets from a hub on loopback::

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
    """Serve datasets on loopback to this process, with an empty cache; see ``FakeHub``."""
    from gem_tasks.testing.fake_hub import FakeHub  # noqa: PLC0415 - most test runs need no hub

    with FakeHub() as hub, hub.in_process(tmp_path / "hugging-face"):
        yield hub
