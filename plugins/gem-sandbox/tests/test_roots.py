"""Root file systems of machines: made from archives, folders and packages, and named by images."""

import contextlib
import gzip
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from local_machines import write_small_root
from selection import thorough

from gem_core.errors import ConfigError
from gem_sandbox.machines.local.bases import Bases
from gem_sandbox.machines.local.provider import LocalProvider
from gem_sandbox.machines.roots import store
from gem_sandbox.machines.roots.command import command
from gem_sandbox.machines.roots.images_file import read_images, write_images
from gem_sandbox.machines.roots.make import make_root
from gem_sandbox.machines.roots.store import find_root, roots
from gem_workers.machine import MachineSpec

FOLDER, LINK, NAME, DEVICE = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Return the folder of the roots, of a cache and a file of images of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GEM_CORE_IMAGES", str(tmp_path / "config" / "images.yaml"))
    return tmp_path / "cache" / "gem-core" / "roots"


@pytest.fixture
def made(tmp_path):
    """Return a function that makes a root from an archive of these bytes."""

    def make(content, name="a", **options):
        file = tmp_path / "image.tar"
        file.write_bytes(content)
        return make_root(name, f"tar:{file}", **options).folder

    return make


def member(name, content=b"", kind=tarfile.REGTYPE, link="", **more):
    found = tarfile.TarInfo(name)
    found.type, found.linkname, found.size, found.mode = kind, link, len(content), 0o755
    for key, value in more.items():
        setattr(found, key, value)
    return found, io.BytesIO(content)


BASH = member("bin/bash", b"bash")


def packed(*members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for one, content in members:
            content.seek(0)
            archive.addfile(one, content)
    return file.getvalue()


def saved(*layers, config=None):
    """Return what ``docker save`` writes of an image."""
    manifest = [{"Config": "c", "Layers": [f"blobs/{n}" for n in range(len(layers))]}]
    return packed(
        *(member(f"blobs/{n}", layer) for n, layer in enumerate(layers)),
        member("c", json.dumps({"config": config}).encode()),
        member("manifest.json", json.dumps(manifest).encode()),
    )


def files(folder):
    found = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(str(path.relative_to(folder)) for path in found)


def ran(*arguments):
    return CliRunner().invoke(command, arguments, env={"COLUMNS": "200"})


def test_an_archive_of_a_container(made):
    folder = made(
        packed(
            BASH,
            member("usr/lib/os-release", b'PRETTY_NAME="Some 1"\n'),
            member("etc/a", b"a", mode=0o4711),
            member("etc/b", kind=NAME, link="etc/a"),
            member("lib", kind=LINK, link="usr/lib"),
            member("dev/null", kind=DEVICE, devmajor=1, devminor=3),
            member(os.fsdecode(b"etc/\xff\n"), b"any"),
            member(".wh.file", b"of a name like that of a deleted file"),
        )
    )
    assert files(folder) == [
        ".wh.file", "bin/bash", "etc/a", "etc/b", os.fsdecode(b"etc/\xff\n"), "lib",
        "usr/lib/os-release",
    ]  # fmt: skip
    assert (folder / "etc/a").samefile(folder / "etc/b")
    assert (folder / "etc/a").stat().st_mode & 0o7777 == 0o4711
    root = find_root("a")
    assert (root.system, root.made_by, root.workdir) == ("Some 1", "tar", "/")


def test_an_image_that_was_saved(made):
    below = packed(BASH, member("d/old", b"1"), member("e/gone", b"1"), member("e/kept", b"1"))
    above = packed(member("d/new", b"2"), member("d/.wh..wh..opq"), member("e/.wh.gone"))
    config = {"Env": ["PATH=/bin", "EMPTY"], "WorkingDir": "/e", "User": "7:8"}
    folder = made(saved(below, gzip.compress(above), packed(), config=config))
    assert files(folder) == ["bin/bash", "d/new", "e/kept"]
    root = find_root("a")
    assert (dict(root.env), root.workdir, root.user) == ({"PATH": "/bin", "EMPTY": ""}, "/e", "7")


def test_a_layout_of_oci(made):
    def blob(name):
        return {"digest": f"sha256:{name}"}

    manifest = {"layers": [blob("layer")], "config": blob("config")}
    content = {
        "oci-layout": {},
        "index.json": {"manifests": [blob("manifest")]},
        "blobs/sha256/manifest": manifest,
        "blobs/sha256/config": {"config": {"Env": ["A=1"]}},
    }
    layout = [member(name, json.dumps(value).encode()) for name, value in content.items()]
    folder = made(packed(*layout, member("blobs/sha256/layer", gzip.compress(packed(BASH)))))
    assert files(folder) == ["bin/bash"]
    assert find_root("a").env == {"A": "1"}


def test_links_lead_to_where_they_lead_inside_of_the_root(made, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    up = "../" * 30
    folder = made(
        packed(
            BASH,
            member("lib", kind=LINK, link="usr/lib"),
            member("usr/lib", kind=FOLDER),
            member("lib/a", b"a"),
            member("far", kind=LINK, link=str(outside)),
            member("far/b", b"b"),
            member("up", kind=LINK, link=f"{up}usr"),
            member("up/c", b"c"),
            member("/absolute", b"d"),
        )
    )
    assert [(folder / one).read_text() for one in ("usr/lib/a", "usr/c", "absolute")] == [*"acd"]
    assert (folder / str(outside).lstrip("/") / "b").read_text() == "b"
    assert files(outside) == ["kept"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no archive"),
        (b"text" * 1000, "no archive"),
        (packed(), "is empty"),
        (gzip.compress(packed(BASH, member("a", os.urandom(5000))))[:3000], "no archive"),
        (packed(BASH, member("a", b"a" * 5000))[:2000], "no archive"),
        (packed(BASH, member("../x", b"x")), r"outside of the root: '\.\./x'"),
        (packed(BASH, member("a/../../x", b"x")), "outside of the root"),
        (packed(BASH, member("x", kind=NAME, link="../../etc/passwd")), "outside of the root"),
        (packed(BASH, member("x", kind=NAME, link="gone")), "lacks 'gone'"),
        (packed(BASH, member("x", kind=b"Z")), "'x', of a kind"),
        (packed(BASH, member("a", b"a"), member("a/b", b"b")), "cannot be made"),
        (packed(BASH, member("a" * 300, b"a")), "cannot be made"),
        (packed(member("a", b"a")), "no bash"),
        (packed(member("bin", kind=LINK, link="/usr/bin")), "no bash"),  # which this host has
        (packed(member("usr", kind=LINK, link="/usr")), "no bash"),
        (packed(member("bin/bash", kind=LINK, link="/gone")), "no bash"),
        (packed(member("bin/bash", kind=FOLDER)), "no bash"),
        (
            packed(
                member("oci-layout", b"{}"),
                member("index.json", b'{"manifests": [{"digest": "a:b"}]}'),
                member("blobs/a/b", b'{"manifests": [{"digest": "a:b"}]}'),
            ),
            "leads to itself",
        ),
        (saved(packed(BASH), packed(member(".wh..."))), "outside of the root"),
        (saved(b"no layer"), "no archive"),
        (saved(packed(BASH), config=[1]), "no archive"),
        (packed(member("manifest.json", b"[]")), "0 images"),
        (packed(member("manifest.json", b'[{"Layers": ["x"], "Config": "c"}]')), "'./x' not found"),
    ],
)
def test_an_archive_that_cannot_be_used_is_named_and_leaves_nothing(
    made, cache, tmp_path, content, why
):
    with pytest.raises(ConfigError, match=why) as caught:
        made(content)
    assert "\n" not in str(caught.value)
    assert list(cache.iterdir()) == []
    assert {one.name for one in tmp_path.iterdir()} == {"cache", "image.tar"}


def test_a_source_or_name_that_cannot_be_is_refused_before_anything_is_made(cache, tmp_path):
    for name, source, why in (
        ("a", "bookworm", "--from is one of"),
        ("a", "docker:", "--from is one of"),
        ("a", "tar:missing.tar", "no file 'missing.tar'"),
        ("a", "folder:missing", "no folder 'missing'"),
        ("a", f"folder:{tmp_path}", "the cache itself"),
        ("../a", "folder:missing", "letters, digits"),
        (".a", "folder:missing", "letters, digits"),
    ):
        with pytest.raises(ConfigError, match=why):
            make_root(name, source)
    with pytest.raises(ConfigError, match="Packages can be added"):
        make_root("a", "tar:x", packages=["git"])
    assert not roots()
    assert not cache.exists() or not list(cache.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may use debootstrap")
def test_packages_need_root():
    with pytest.raises(ConfigError, match=r"needs (root|mmdebstrap).*--from tar:FILE"):
        make_root("a", "debian:bookworm")


def test_a_root_is_replaced_only_if_asked(made):
    made(packed(BASH, member("first", b"1")))
    with pytest.raises(ConfigError, match=r"a root 'a' already.*--force"):
        made(packed(BASH))
    assert files(made(packed(BASH, member("second", b"2")), force=True)) == ["bin/bash", "second"]


def test_a_root_is_there_while_the_one_before_it_is_removed(made, monkeypatch):
    made(packed(BASH, member("first", b"1")))
    removed = store.remove_folder

    def interrupted(folder):
        if folder.endswith("-old"):
            raise KeyboardInterrupt
        removed(folder)

    monkeypatch.setattr(store, "remove_folder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        made(packed(BASH, member("second", b"2")), force=True)
    assert files(find_root("a").folder) == ["bin/bash", "second"]


@pytest.mark.usefixtures("local")
def test_a_build_starts_from_the_root_that_is_there_now(tmp_path):
    root, task = tmp_path / "root", tmp_path / "task"
    root.mkdir()
    task.mkdir()
    write_small_root(root)
    shutil.copy2(root / "usr/bin/bash", root / "usr/bin/sh")
    (task / "Dockerfile").write_text("FROM some\nRUN read x </version; echo $x >/built\n")
    for version in ("1\n", "2\n"):
        (root / "version").write_text(version)
        os.utime(root, (0, 0))  # as archives set it
        with LocalProvider(images={"*": str(root)}) as provider:
            machine = provider.start(MachineSpec(build=str(task), workdir="/"))
            with machine:
                assert machine.run("read x </built; echo $x").stdout == version


def test_what_a_killed_process_left_is_removed_by_the_next_one(made, cache, monkeypatch):
    program = (
        "import sys, time\n"
        "from gem_sandbox.machines.roots.store import new_folder\n"
        "with new_folder() as folder:\n"
        "    print(folder, flush=True)\n"
        "    time.sleep(60)\n"
    )
    left = []
    for number in (signal.SIGINT, signal.SIGKILL):
        with subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            left.append(Path(process.stdout.readline().decode().strip()))
            monkeypatch.setattr("gem_sandbox.machines.roots.store._ABANDONED", -1.0)
            made(packed(BASH), force=True)
            assert left[-1].is_dir()  # as it is being made
            process.send_signal(number)
    assert [one.exists() for one in left] == [False, True]
    made(packed(BASH), force=True)
    assert [one.name for one in cache.iterdir()] == ["a"]


@pytest.mark.usefixtures("local")
def test_a_machine_starts_from_a_root_and_has_its_files(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    write_small_root(source)
    (source / "dev").mkdir()
    (source / "dev" / "file").write_text("left out")
    (source / "made").write_text("of the folder")
    make_root("small", f"folder:{source}")
    with LocalProvider(images={"some:*": "small"}) as provider:
        machine = provider.start(MachineSpec(image="some:1", workdir="/"))
        with machine:
            assert machine.run("read x <made; echo $x; echo new >made", user="root").stdout == (
                "of the folder\n"
            )
    assert (find_root("small").folder / "made").read_text() == "of the folder"
    assert not (find_root("small").folder / "dev" / "file").exists()


@pytest.mark.usefixtures("local")
def test_a_root_that_machines_have_is_neither_removed_nor_replaced(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    write_small_root(source)
    (source / "made").write_text("by the first")
    make_root("small", f"folder:{source}")
    with (
        LocalProvider(images={"*": "small"}) as provider,
        provider.start(MachineSpec(image="some", workdir="/")) as machine,
    ):
        problem = str(ran("remove", "small").exception)
        assert "cannot be removed or made again while machines use it" in problem
        with pytest.raises(ConfigError, match="while machines use it"):
            make_root("small", f"folder:{source}", force=True)
        assert machine.run("read x <made; echo $x").stdout == "by the first\n"
    make_root("small", f"folder:{source}", force=True)
    assert ran("remove", "small").exit_code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_a_folder_of_several_file_systems_is_copied_as_it_is(tmp_path):
    source = tmp_path / "source"
    program = (
        "mount -t tmpfs none a && mount -t tmpfs none b || exit 9\n"
        "for x in a b; do echo $x >$x/file; ln $x/file $x/other; done\n"
        f'exec {sys.executable} -m gem_core machine root a --from "folder:$PWD"'
    )
    for name in ("a", "b", "bin"):
        (source / name).mkdir(parents=True)
    (source / "bin" / "bash").touch()
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", program],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 9 or done.stderr.startswith("unshare:"):
        pytest.skip(f"nothing can be mounted here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    found = find_root("a").folder
    assert [(found / x / "file").read_text() for x in "ab"] == ["a\n", "b\n"]
    assert (found / "a/file").samefile(found / "a/other")


def test_the_most_specific_name_counts(made):
    for name in ("any", "pythons", "exact"):
        made(packed(BASH), name)
    bases = Bases({"*": "any", "python:*": "pythons", "python:3.13": "exact", "busybox": "exact"})
    for name, root, is_exact in (
        ("python:3.13", "exact", True),
        ("docker.io/library/python:3.13", "exact", True),
        ("python:3.13@sha256:0123", "exact", True),
        ("python:3.14", "pythons", False),
        ("python", "pythons", False),
        ("index.docker.io/library/python:latest", "pythons", False),
        ("busybox:latest", "exact", True),
        ("docker.io/busybox", "exact", True),
        ("busybox:1", "any", False),
        ("localhost:5000/python", "any", False),
        ("python3", "any", False),
    ):
        found = bases.find(name)
        assert (found.root, found.is_exact) == (root, is_exact), name
        assert bool(found.description) != is_exact, name
    assert bases.find("python:3.14").description == (
        "the root 'pythons' for python:3.14, by 'python:*'"
    )
    assert Bases({"python:*": "pythons"}).find("debian") is None


def test_a_root_that_is_missing_is_named_with_the_file(tmp_path):
    write_images({"a:*": "gone", "b": str(tmp_path / "gone")})
    for name, why in (("a:1", r"images\.yaml: 'a:\*': .*'gone'"), ("b", "'b' stands for .*gone")):
        with pytest.raises(ConfigError, match=why):
            Bases().find(name)


def test_what_is_mapped_while_a_root_is_made_is_kept(tmp_path, monkeypatch):
    archive = tmp_path / "a.tar"
    archive.write_bytes(packed(BASH))

    def slow(*arguments, **options):
        write_images({"other": "b"})  # as another command does
        return make_root(*arguments, **options)

    monkeypatch.setattr("gem_sandbox.machines.roots.command.make_root", slow)
    assert ran("root", "a", "--from", f"tar:{archive}", "--for", "x").exit_code == 0
    assert read_images() == {"other": "b", "x": "a"}


def test_a_link_to_the_file_of_images_stays_and_what_is_no_file_is_not_replaced(
    tmp_path, monkeypatch
):
    file, real = tmp_path / "config" / "images.yaml", tmp_path / "real.yaml"
    file.parent.mkdir()
    file.symlink_to(real)
    write_images({"a": "b"})
    assert (file.is_symlink(), real.read_text()) == (True, "a: b\n")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setenv("GEM_CORE_IMAGES", str(pipe))
    with pytest.raises(ConfigError, match=r"pipe cannot be written: it is no file"):
        write_images({"a": "b"})
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: b\n*: c\n", ":2 is no YAML"),
        ("a: b\n'c: d\n", r":\d is no YAML"),
        ("a: b\n3.13: c\n", ":2 must map"),
        ("a: b\nc:\n  - d\n", ":2 must map"),
        ("- a\n", " must map"),
    ],
)
def test_a_malformed_file_of_images_is_named_with_its_line(tmp_path, text, line):
    file = tmp_path / "config" / "images.yaml"
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(ConfigError, match=f"images.yaml{line}"):
        read_images()
    assert ran("images", "x", "/").exit_code != 0
    assert file.read_text() == text


def test_the_commands(tmp_path):
    archive = tmp_path / "a.tar"
    archive.write_bytes(packed(BASH))
    assert "There are none" in ran("roots").output
    result = ran("root", "a", "--from", f"tar:{archive}", "--for", "*", "--for", "python:3.13")
    assert result.exit_code == 0
    assert read_images() == {"*": "a", "python:3.13": "a"}
    (row,) = json.loads(ran("roots", "--format", "json").stdout)["roots"]
    assert (row["name"], row["images"]) == ("a", ["*", "python:3.13"])
    assert ran("images", "debian", "a").exit_code == 0
    assert ran("images", "--remove", "*").exit_code == 0
    assert isinstance(ran("images", "debian", "b").exception, ConfigError)
    assert isinstance(ran("images", "debian", "/missing").exception, ConfigError)
    assert json.loads(ran("images", "--format", "json").stdout)["images"] == {
        "debian": "a",
        "python:3.13": "a",
    }
    refused = ran("remove", "a").exception
    assert isinstance(refused, ConfigError)
    assert "debian, python:3.13" in str(refused)
    assert ran("remove", "a", "a", "--force").exit_code == 0
    assert (roots(), read_images()) == ([], {})


@pytest.mark.slow
@pytest.mark.usefixtures("local")
def test_a_root_of_debian(cache):
    if not thorough():
        pytest.skip("it takes a minute, and is made in the nightly run")
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("needs root and mmdebstrap: apt-get install mmdebstrap")
    try:
        root = make_root("debian", "debian:bookworm", packages=["python3"])
    except ConfigError as error:
        if "Temporary failure" in str(error) or "Failed to fetch" in str(error):
            pytest.skip(f"the mirror does not answer: {error}")
        raise
    assert (root.system.startswith("Debian GNU/Linux 12"), len(list(cache.iterdir()))) == (True, 1)
    with LocalProvider(images={"debian:*": "debian"}) as provider:
        assert not provider.image(MachineSpec(image="debian:bookworm")).base.description
        with provider.start(MachineSpec(image="debian:bookworm", workdir="/")) as machine:
            assert machine.run("python3 -c 'print(6 * 7)'").stdout == "42\n"
            assert machine.run("dpkg-query -W -f '${Version}' bash").ok


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_what_is_made(cache, number):
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("needs root and mmdebstrap: apt-get install mmdebstrap")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # a mirror that never answers
        mirror = f"http://127.0.0.1:{silent.getsockname()[1]}/debian"
        arguments = ["machine", "root", "a", "--from", "debian:bookworm", "--mirror", mirror]
        program = [sys.executable, "-m", "gem_core", *arguments]
        with subprocess.Popen(program, stderr=subprocess.DEVNULL) as process:
            connection, _ = silent.accept()
            with connection:
                process.send_signal(number)
                assert process.wait() != 0
                end = time.monotonic() + 10
                while _programs_of(cache) and time.monotonic() < end:
                    time.sleep(0.05)
                assert not _programs_of(cache)
    if number == signal.SIGINT:
        assert list(cache.iterdir()) == []


def _programs_of(folder):
    """Return the command lines of the processes that are told of a folder."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(file.read_bytes().decode(errors="replace"))
    return [line for line in found if str(folder) in line]
