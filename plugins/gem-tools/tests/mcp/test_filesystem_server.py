"""The server for a folder: its tools, and that nothing outside of the folder is in reach."""

import base64
import importlib
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_tools.mcp import MCPTool

few = settings(max_examples=100 if thorough() else 50)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture(scope="module")
def server():
    return importlib.import_module("gem_tools.mcp.filesystem_server")


@pytest.fixture
def folder(tmp_path, server):
    root = tmp_path / "root"
    (root / "notes").mkdir(parents=True)
    (root / "notes/a.txt").write_text("first\nsecond\n")
    (root / "b.bin").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "secret.txt").write_text("secret")
    (root / "way_out").symlink_to(tmp_path)
    return server.Folder(root)


@pytest.mark.slow
def test_a_process_serves_a_folder_over_stdio(tmp_path, call):
    (tmp_path / "pixel.png").write_bytes(PNG)
    command = [sys.executable, "-m", "gem_tools.mcp.filesystem_server", str(tmp_path)]
    tool = MCPTool([*command, "--transport", "stdio"])
    assert call(tool, "write_file", path="a.txt", content="hello").ok
    assert (tmp_path / "a.txt").read_text() == "hello"
    assert call(tool, "list_directory").output == "a.txt\npixel.png"
    (image,) = call(tool, "read_image", path="pixel.png").info["images"]
    assert image.data == PNG
    outside = call(tool, "read_file", path="../../etc/passwd")
    tool.close()
    assert not outside.ok
    assert "is outside the folder" in outside.output


@pytest.mark.slow
def test_reading_listing_and_searching(folder):
    assert folder.read_file("notes/a.txt") == "first\nsecond\n"
    assert folder.list_directory() == "b.bin\nnotes/\nway_out/"
    assert folder.list_directory("notes") == "a.txt"
    assert "notes/a.txt" in folder.directory_tree().splitlines()
    assert folder.search_files("*.txt") == "notes/a.txt"
    assert folder.search_text("second") == "notes/a.txt:2: second"
    assert folder.get_file_info("notes/a.txt") == {"kind": "file", "size": 13, "lines": 2}
    assert folder.get_file_info("notes") == {"kind": "folder", "entries": 1}


def test_writing_moving_copying_and_deleting(folder):
    folder.create_directory("deep/er")
    folder.write_file("deep/er/c.txt", "one two one")
    assert "-one two one" in folder.edit_file("deep/er/c.txt", "two", "three")
    folder.copy_file("deep/er/c.txt", "c.txt")
    folder.move_file("deep/er/c.txt", "d.txt")
    assert folder.read_file("c.txt") == folder.read_file("d.txt") == "one three one"
    folder.delete_file("deep/er")
    assert folder.list_directory("deep") == "The folder is empty."


@pytest.mark.slow
def test_what_cannot_be_done_is_refused_with_the_reason(server, folder, subtests):
    for name, arguments, said in [
        ("read_file", ["none.txt"], "There is no 'none.txt'"),
        ("read_file", ["notes"], "is not a file"),
        ("read_file", ["b.bin"], "not text in UTF-8"),
        ("read_file", ["a\x00b"], "is not a path"),
        ("write_file", ["none/x.txt", ""], "There is no folder 'none'"),
        ("write_file", ["notes", ""], "is a folder"),
        ("edit_file", ["notes/a.txt", "s", "x"], "occurs 2 times"),
        ("edit_file", ["notes/a.txt", "", "x"], "occurs 0 times"),
        ("list_directory", ["b.bin"], "is not a folder"),
        ("create_directory", ["b.bin"], "a file has that name"),
        ("create_directory", ["b.bin/x"], "a file has that name"),
        ("move_file", ["notes/a.txt", "b.bin"], "already exists"),
        ("move_file", [".", "x"], "cannot be moved"),
        ("move_file", ["notes", "notes/inner"], "There is no folder"),
        ("copy_file", ["notes/a.txt", "b.bin"], "already exists"),
        ("delete_file", ["notes"], "is not empty"),
        ("delete_file", ["."], "is not empty"),
    ]:
        with (
            subtests.test(name=name, arguments=arguments, said=said),
            pytest.raises(server.ToolError, match=said),
        ):
            getattr(folder, name)(*arguments)


@pytest.mark.slow
def test_no_path_leads_out_of_the_folder(server, folder, subtests):
    for path in [
        "..",
        "../secret.txt",
        "notes/../../secret.txt",
        "way_out/secret.txt",
        "/etc/passwd",
    ]:
        for name in ["read_file", "list_directory", "delete_file", "get_file_info"]:
            with (
                subtests.test(path=path, name=name),
                pytest.raises(server.ToolError, match="is outside the folder"),
            ):
                getattr(folder, name)(path)


@pytest.mark.slow
@few
@given(st.lists(st.sampled_from(["..", ".", "notes", "way_out", "a.txt", "~", "//", "x"])))
def test_any_path_ends_inside_the_folder_or_is_refused(server, tmp_path_factory, parts):
    top = tmp_path_factory.getbasetemp() / "paths"
    root = top / "root"
    if not root.exists():
        (root / "notes").mkdir(parents=True)
        (root / "way_out").symlink_to(top)
    folder = server.Folder(root)
    try:
        place = folder._resolved("/".join(parts))
    except server.ToolError:
        return
    assert Path(place).resolve().is_relative_to(root.resolve())


@pytest.mark.slow
def test_listings_do_not_follow_links_and_end_somewhere(folder):
    assert "secret" not in folder.search_files("*secret*")
    assert "secret" not in folder.search_text("secret")
    for number in range(1100):
        (folder.root / f"many{number}").touch()
    assert folder.list_directory().endswith("... and 103 more")
