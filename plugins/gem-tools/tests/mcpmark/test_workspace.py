"""The folder of a task may hold whatever an agent makes in it."""

import io
import tarfile

import pytest

from gem_tools.mcpmark.workspace import Workspace

DEEPER_THAN_CALLS = 1200


def test_a_workspace_is_copied_with_links_and_empty_folders():
    workspace, other = Workspace(), Workspace()
    (workspace.path / "a/empty").mkdir(parents=True)
    (workspace.path / "a/file").write_text("text")
    (workspace.path / "link").symlink_to("a")
    other.unpack(workspace.pack())
    found = {str(path.relative_to(other.path)) for path in other.path.rglob("*")}
    assert found - {"link/empty", "link/file"} == {"a", "a/empty", "a/file", "link"}
    assert str((other.path / "link").readlink()) == "a"
    assert (other.path / "a/file").read_text() == "text"
    workspace.close()
    other.close()


@pytest.mark.slow
def test_folders_are_as_deep_as_an_agent_likes():
    workspace = Workspace()
    at = workspace.path
    for _ in range(DEEPER_THAN_CALLS):
        at = at / "d"
        at.mkdir()
    with tarfile.open(fileobj=io.BytesIO(workspace.pack())) as archive:
        assert len(archive.getnames()) == DEEPER_THAN_CALLS + 1
    workspace.fill(None)
    assert not list(workspace.path.iterdir())
    path = workspace.path
    workspace.close()
    assert not path.exists()
