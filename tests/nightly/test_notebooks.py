"""The notebooks of the tutorials are those of their pages, and run from top to bottom."""

import os
import sys
from pathlib import Path

import pytest
from doc_pages import run, with_free_ports

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs/tutorials").glob("*.ipynb"))
NAMES = [path.stem for path in NOTEBOOKS]


def test_the_notebooks_are_up_to_date(tmp_path):
    run([sys.executable, "docs/generate_notebooks.py", "--output", str(tmp_path)], ROOT)
    written = {path.stem: path.read_text() for path in tmp_path.glob("*.ipynb")}
    assert written == {path.stem: path.read_text() for path in NOTEBOOKS}, "run `make docs`"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    import nbclient
    import nbformat

    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    notebook = nbformat.reads(with_free_ports(path.read_text()), as_version=4)
    nbformat.validate(notebook)
    notebook.cells = [
        cell for cell in notebook.cells if "install" not in cell.metadata.get("tags", [])
    ]
    client = nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    printed = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    assert [out for out in printed if out.output_type == "error"] == []
    assert any(out.output_type == "stream" for out in printed)
