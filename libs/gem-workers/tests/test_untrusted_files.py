"""What cannot be read is refused, whatever is there, and nothing is left open."""

import contextlib
import os
from pathlib import Path

import pytest

from gem_core.errors import ConfigError
from gem_workers.untrusted_files import read_bytes, read_text


def make(place: Path, kind: str) -> None:
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "device":
        place.symlink_to("/dev/null")
    elif kind == "link outside":
        place.symlink_to("/etc/passwd")
    elif kind == "loop":
        place.symlink_to(place.name)
    elif kind == "large":
        place.write_bytes(b"x" * 101)


def test_what_is_not_a_small_file_of_the_folder_is_refused_and_nothing_stays_open(
    tmp_path, subtests
):
    for kind, message in (
        ("folder", "not a regular file"),
        ("pipe", "not a regular file"),
        ("device", "outside the task"),
        ("link outside", "outside the task"),
        ("loop", "cannot be read"),
        ("large", "more than 100 bytes"),
        ("nothing", "is missing"),
    ):
        with subtests.test(kind):
            folder = tmp_path / kind
            folder.mkdir()
            make(folder / "file", kind)
            with pytest.raises(ConfigError, match=message):
                read_bytes(folder, "file", limit=100)
            assert not {str(folder / "file"), "/etc/passwd"} & open_files()


def open_files():
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            found.add(str(entry.readlink()))
    return found


def test_text_is_read_without_its_byte_order_mark(tmp_path):
    (tmp_path / "file").write_bytes(b"\xef\xbb\xbfa")
    assert read_text(tmp_path, "file") == "a"
    (tmp_path / "file").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="UTF-8"):
        read_text(tmp_path, "file")
