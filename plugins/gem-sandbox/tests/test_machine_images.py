"""Machines from a Dockerfile, without a container engine."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from local_machines import has_users
from selection import thorough

from gem_core.errors import ConfigError, MachineError, SnapshotError
from gem_sandbox.machines.local.layers import layers, layers_folder, remove_layers
from gem_sandbox.machines.local.provider import LocalProvider
from gem_workers.machine import MachineSpec

pytestmark = pytest.mark.usefixtures("local")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return layers_folder()


@pytest.fixture
def context(tmp_path):
    """Return a function that writes a folder with a Dockerfile and files."""

    def write(dockerfile, files=()):
        folder = tmp_path / "context"
        folder.mkdir(exist_ok=True)
        for name, content in {**dict(files), "Dockerfile": dockerfile}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return MachineSpec(build=str(folder), workdir="/app")

    return write


def started(provider, spec):
    provider.prepare(spec)
    return provider.start(spec)


FILES = {
    "a.txt": "a\n",
    "b.txt": "b\n",
    "tree/c.txt": "c\n",
    "tree/in/d.txt": "d\n",
    "run.sh": "echo run\n",
    ".dockerignore": "*.log\n!keep.log\nsecret\n",
    "x.log": "x",
    "keep.log": "k",
    "secret/s": "s",
}
PRINT = "cd / && find app -type f | sort | while read f; do echo $f $(head -c 20 $f); done"


@pytest.mark.slow
def test_instructions_do_what_they_do_in_docker(provider, context, subtests):
    for lines, expected in (
        ("COPY a.txt /app/", "app/a.txt a"),
        ("COPY a.txt /app/renamed", "app/renamed a"),
        ("COPY a.txt b.txt /app/", "app/a.txt a\napp/b.txt b"),
        ("COPY *.txt /app/", "app/a.txt a\napp/b.txt b"),
        ("COPY tree /app/new", "app/new/c.txt c\napp/new/in/d.txt d"),
        ("COPY tree/ /app/", "app/c.txt c\napp/in/d.txt d"),
        ("WORKDIR /app\nCOPY tree/in .", "app/d.txt d"),
        ('COPY ["a.txt", "/app/with space"]', "app/with space"),
        ("COPY a.txt /app", "app/a.txt a"),
        ("COPY <<one.txt <<'two' /app/\n$PWD\none.txt\n$X\ntwo", "app/one.txt\napp/two $X"),
        ('ENV X=a\nCOPY --chmod=755 <<"EOF" a.txt /app/\n$X\nEOF', "app/EOF $X\napp/a.txt a"),
        ("ENV X=y\nCOPY <<EOF /app/new\n${X}z\nEOF", "app/new yz"),
        ("RUN <<EOF\nmkdir -p /app\necho b > /app/$(echo a)\nEOF", "app/a b"),
        ("RUN mkdir -p /app && cat <<'EOF' > /app/a\n$b\nEOF", "app/a $b"),
        (
            "RUN <<EOF\n#!/bin/bash\nmkdir -p /app; [[ a ]] && echo ${0##*/} >/app/a\nEOF",
            "app/a script",
        ),
        ('SHELL ["/bin/bash", "-ec"]\nRUN mkdir -p /app; [[ a ]]; echo a >/app/a', "app/a a"),
        ("ADD a.txt /app/", "app/a.txt a"),
        ("ADD pack.tar.gz /app", "app/packed p"),
        ("COPY *.log /app/", "app/keep.log k"),
        ("ENV A=1 B='2 3'\nRUN echo $A$B > /app/f", "app/f 12 3"),
        ("ENV SAID it's here\nRUN echo $SAID > /app/f", "app/f it's here"),
        ("ARG X=4\nENV Y=${X}5\nRUN echo $X$Y > /app/f", "app/f 445"),
        ("ENV D=/app/deep\nWORKDIR $D\nWORKDIR er\nRUN pwd > f", "app/deep/er/f /app/deep/er"),
        ('RUN ["sh", "-c", "echo exec > /app/f"]', "app/f exec"),
        ("RUN echo a \\\n  b \\\n# comment\n  c > /app/f", "app/f a b c"),
        (
            "COPY --chmod=600 a.txt /app/\nRUN stat -c %a /app/a.txt > /app/f",
            "app/a.txt a\napp/f 600",
        ),
        ("COPY run.sh /app/\nRUN bash /app/run.sh > /app/f && rm /app/run.sh", "app/f run"),
        ("CMD x\nEXPOSE 80\nLABEL a=b\nENTRYPOINT y\nCOPY a.txt /app/", "app/a.txt a"),
        ("RUN apt-get update && apt-get install -y bash && rm -rf /var/lib/apt/lists/*", ""),
    ):
        with subtests.test(lines):
            spec = context(f"FROM debian:12\nRUN mkdir -p /app\n{lines}\n", FILES)
            packed = f"{spec.build}/pack.tar.gz"
            with tarfile.open(packed, "w:gz") as archive:
                member = tarfile.TarInfo("packed")
                member.size = 1
                archive.addfile(member, __import__("io").BytesIO(b"p"))
            with started(provider, spec) as machine:
                found = machine.run(PRINT).stdout
            assert [line.rstrip() for line in found.splitlines()] == expected.splitlines()


@pytest.mark.slow
def test_what_cannot_be_carried_out_is_refused_with_the_line(provider, context, subtests):
    for dockerfile, message in (
        ("FROM a\nFROM b\n", "one FROM"),
        ("RUN true\n", "one FROM"),
        ("FROM a\nONBUILD RUN x\n", "line 2: ONBUILD"),
        ("FROM a\nCOPY --from=b /x /y\n", "line 2: COPY --from=b"),
        ("FROM a\n\nADD https://example.org/x /x\n", "line 3: ADD of a remote file"),
        (
            "FROM a\nRUN --mount=type=bind,source=a.txt,target=/a true\n",
            "line 2: RUN --mount=type=bind",
        ),
        ("FROM a\nCOPY missing.txt /app/\n", "line 2: COPY: there is no 'missing.txt'"),
        ("FROM a\nCOPY --chmod=u+x a.txt /app/\n", "line 2: --chmod=u\\+x is not a mode"),
        ("FROM a\nRUN pip install .\n", "line 2: RUN ended"),
        ("FROM a\nCOPY a.txt\n", "line 2: COPY needs a source and a destination"),
        ('FROM a\nCOPY ["a.txt"]\n', "line 2: COPY needs a source and a destination"),
        ("FROM a\nCOPY 'a.txt /app/\n", "line 2: the quotes of COPY do not match"),
        ("FROM a\nENV A='b\n", "line 2: the quotes of ENV do not match"),
        ("FROM a\nUSER\n", "line 2: USER needs an argument"),
        ("FROM\n", "line 1: FROM needs an argument"),
        ("ARG OTHER\nFROM $BASE\n", "line 2: the image of FROM is a variable that has no value"),
        ("FROM a\nRUN echo said >&2; exit 3\n", "line 2: RUN ended with exit status 3.*said"),
        ("FROM a\nUSER nobody-known\nRUN true\n", "line 3.*no such user"),
        ("FROM a\nRUN apt-get install -y no-such-package-here\n", "line 2: RUN ended"),
    ):
        with subtests.test(dockerfile):
            spec = context(dockerfile, {"a.txt": "a"})
            with pytest.raises(ConfigError, match=f"(?s)Dockerfile.*{message}"):
                provider.prepare(spec)


@pytest.mark.slow
def test_patterns_of_dockerignore_mean_what_they_mean_in_docker(provider, context, subtests):
    for ignored, left in (
        ("*.log", "in/a.log in/b.txt"),
        ("**/*.log", "in/b.txt"),
        ("in/*\n!in/b.txt", "a.log in/b.txt"),
        ("/in/", "a.log"),
        ("in/[ab].???", "a.log"),
        ("# nothing", "a.log in/a.log in/b.txt"),
    ):
        with subtests.test(ignored):
            files = {
                "a.log": "",
                "in/a.log": "",
                "in/b.txt": "",
                ".dockerignore": f"Dockerfile\n{ignored}",
            }
            with started(provider, context("FROM a\nCOPY . /app/\n", files)) as machine:
                found = machine.run(
                    "find . -type f ! -name '.*' -printf '%P\n' | sort | xargs"
                ).stdout
            assert found.strip() == left


@pytest.mark.parametrize("ignored", ["[z-a]", b"\xff\xfe"])
def test_a_dockerignore_that_cannot_be_read_is_named(provider, context, ignored):
    with pytest.raises(ConfigError, match="dockerignore"):
        provider.prepare(context("FROM a\n", {".dockerignore": ignored}))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "workdir", "user"),
    [
        ("", "/", "root"),
        ("WORKDIR /srv\nWORKDIR in\nUSER nobody:nogroup", "/srv/in", "nobody"),
        ("ENV AT=/opt\nARG WHO=65534\nWORKDIR $AT/x\nUSER $WHO", "/opt/x", "65534"),
    ],
)
def test_a_machine_has_the_directory_and_the_user_of_its_image(
    provider, context, lines, workdir, user
):
    spec = replace(context(f"FROM a\n{lines}\n"), workdir="", user="")
    with started(provider, spec) as machine:
        assert (machine.spec.workdir, machine.spec.user) == (workdir, user)
        if not has_users(machine):
            pytest.skip("a machine has one user here")
        with machine.fork() as copy:
            found = copy.run("pwd; id -un")
    names = {"65534": "nobody"}
    assert found.stdout.split() == [workdir, names.get(user, user)]


def test_options_of_from_are_not_its_image(context, tmp_path):
    spec = context("FROM --platform=linux/amd64 special:1 AS one\n")
    with (
        LocalProvider(images={"special:*": str(tmp_path / "missing")}) as provider,
        pytest.raises(ConfigError, match="missing"),
    ):
        provider.prepare(spec)


LINES = [
    "FROM debian", "FROM $BASE", "FROM --platform=x a AS b", "FROM", "ARG BASE=a", "ARG 'x",
    "ENV A=b", "ENV A it's", "ENV 'x=",
    "ENV PATH=/nowhere", "ENV A=\x01", "WORKDIR /app", "WORKDIR $A",
    "WORKDIR ../..", "WORKDIR /etc/hostname", "USER nobody", "USER $NONE", 'USER "root"',
    "RUN true", "RUN false", "RUN [", "RUN []", 'RUN ["echo", 1]', "RUN \\", "RUN echo \0",
    "RUN <<X\necho\nX",
    "COPY . /app", "COPY f", "COPY f /usr/bin/bash", "COPY f /proc/x", "COPY f[ /x", "COPY 'f /x",
    'COPY ["f", "/x y"]', "COPY [", "COPY loop /x", "COPY out /x", "COPY ../f /x", "COPY $NONE /x",
    "COPY --chown=unknown f /x", "COPY --chmod=u+x f /x", "ADD f /app/", "ADD bad.tar /x", "CMD",
    "ONBUILD RUN x", "SHELL []", "é", "# escape=`", "", "\t",
]  # fmt: skip


@pytest.mark.slow
@settings(
    max_examples=100 if thorough() else 20, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(
    lines=st.lists(st.sampled_from(LINES), min_size=1, max_size=4),
    has_base=st.booleans(),
    ignored=st.sampled_from(["", "*", "[z-a]", "!f", "[", "/", ".."]),
)
def test_any_dockerfile_is_built_or_refused(provider, context, lines, has_base, ignored):
    files = {"f": "1", "bad.tar": "no archive", ".dockerignore": ignored}
    spec = context("\n".join(["FROM a"] * has_base + lines), files)
    for name, target in {"loop": "loop", "out": "/etc/passwd"}.items():
        Path(spec.build, name).unlink(missing_ok=True)
        Path(spec.build, name).symlink_to(target)
    with contextlib.suppress(ConfigError, MachineError):
        started(provider, spec).close()


@pytest.mark.slow
def test_a_copied_folder_keeps_its_links_and_empty_folders(provider, context):
    spec = context("FROM a\nCOPY --chmod=750 tree /app/tree\n", {"tree/f": "1"})
    tree = Path(spec.build, "tree")
    (tree / "empty").mkdir()
    (tree / "dangling").symlink_to("../../nowhere")
    with started(provider, spec) as machine:
        found = machine.run("find tree -printf '%p %y %l %m\n' | sort").stdout
    assert found.splitlines() == [
        "tree d  750",
        "tree/dangling l ../../nowhere 777",
        "tree/empty d  750",
        "tree/f f  750",
    ]


@pytest.mark.slow
def test_names_of_files_may_be_any_bytes(provider, context):
    spec = context("FROM a\nCOPY . /app/\n")
    Path(spec.build, os.fsdecode(b"\xff")).write_text("1")
    Path(spec.build, "link").symlink_to(os.fsdecode(b"\xfe"))
    with started(provider, spec) as machine:
        assert machine.run("cat $'\\377'; readlink link | od -An -tx1").stdout == "1 fe 0a\n"


@pytest.mark.slow
def test_the_owner_of_what_is_copied(provider, context):
    with provider.start(MachineSpec()) as machine:
        if not machine.run("touch f && chown 7:8 f").ok:
            pytest.skip("all files of a machine belong to one user here")
    spec = context("FROM a\nCOPY --chown=7:8 tree /app/tree\n", FILES)
    Path(spec.build, "tree/link").symlink_to("c.txt")
    with started(provider, spec) as machine:
        found = machine.run("find tree -printf '%U:%G\n' | sort | uniq -c | xargs").stdout
    assert found == "5 7:8\n"


def test_a_link_to_a_folder_is_no_source(provider, context):
    spec = context("FROM a\nCOPY link /app/\n")
    Path(spec.build, "link").symlink_to("/etc")
    with pytest.raises(ConfigError, match="line 2: COPY: 'link' is a link to a folder"):
        provider.prepare(spec)


@pytest.mark.slow
def test_an_image_is_built_once_and_again_after_a_change(provider, context, cache):
    dockerfile = "FROM a\nCOPY a.txt /app/\nRUN date +%s%N > /app/built\n"
    with started(provider, context(dockerfile, {"a.txt": "1"})) as machine:
        first = machine.read("/app/built")
    with LocalProvider() as other, started(other, context(dockerfile, {"a.txt": "1"})) as machine:
        assert machine.read("/app/built") == first
    assert len(list(cache.iterdir())) == 1
    with started(provider, context(dockerfile, {"a.txt": "2"})) as machine:
        assert machine.read("/app/built") != first
        assert machine.read("/app/a.txt") == b"2"
    assert len(list(cache.iterdir())) == 2


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"x" * 100, b"{}", None])
def test_a_damaged_layer_is_built_again(context, cache, damage):
    spec = context("FROM a\nRUN mkdir -p /app && echo 1 > /app/f\nRUN echo 2 > /app/g\n")
    for _ in range(2):
        with LocalProvider() as provider, started(provider, spec) as machine:
            assert machine.read("/app/f") == b"1\n"
        assert len(layers()) == 2
        lowest = next(one.key for one in layers() if not one.below)
        if damage is None:
            shutil.rmtree(cache / lowest / "files")
        else:
            (cache / lowest / "layer.json").write_bytes(damage)


@pytest.mark.slow
def test_images_with_equal_first_lines_share_their_layers(provider, context):
    head = "FROM a\nRUN mkdir -p /app && date +%s%N > /app/stamp\n"
    stamps = set()
    for number in range(3):
        lines = f"COPY f /app/\nRUN echo {number} >> /app/f && rm -f /app/none\n"
        with started(provider, context(head + lines, {"f": str(number)})) as machine:
            stamps.add(machine.read("/app/stamp"))
            assert machine.read("/app/f") == f"{number}{number}\n".encode()
    assert len(stamps) == 1
    assert sorted(len(one.below) for one in layers()) == [0, 1, 1, 1]
    assert {one.step for one in layers() if not one.below} == {head.splitlines()[1]}


@pytest.mark.slow
def test_a_change_of_a_file_that_no_step_copies_builds_nothing(provider, context):
    lines = "FROM a\nCOPY f /app/\nRUN date +%s%N > /app/stamp\n"
    with started(provider, context(lines, {"f": "1", "other": "1"})) as machine:
        first = machine.read("/app/stamp")
    with started(provider, context(lines, {"f": "1", "other": "2"})) as machine:
        assert machine.read("/app/stamp") == first


@pytest.mark.slow
def test_layers_are_removed_one_by_one(provider, context):
    spec = context("FROM a\nRUN mkdir -m 0 /sealed\nRUN mkdir /app && date +%s%N > /app/stamp\n")
    with started(provider, spec) as machine:
        first = machine.read("/app/stamp")
    assert all(one.size > 0 for one in layers())
    remove_layers([one.key for one in layers() if not one.below])
    assert len(layers()) == 1
    with LocalProvider() as other, started(other, spec) as machine:
        assert machine.read("/app/stamp") != first
    with pytest.raises(ConfigError, match="cannot be removed"):
        remove_layers(["../layers"])


@pytest.mark.slow
@pytest.mark.parametrize("overlay", [True, False])
def test_a_layer_hides_what_is_below_it(context, overlay):
    spec = context(
        "FROM a\n"
        "RUN mkdir -p /app/d/in /app/e && cd /app && echo 1 | tee d/f e/f > gone && ln -s f l\n"
        "RUN rm /app/gone && rm -r /app/d && mkdir /app/d && echo 2 > /app/d/g\n"
        "RUN rm -r /app/e && echo file > /app/e && rm /app/l && mkdir /app/l\n"
    )
    with LocalProvider(overlay=overlay) as provider, started(provider, spec) as machine:
        listed = machine.run("find . -mindepth 1 | sort | xargs; cat e").stdout
        assert listed == "./d ./d/g ./e ./l\nfile\n"
        machine.run("echo 3 > gone; rm e; mkdir e; echo 3 > e/f")
        found = []
        machine.snapshot(keep=lambda one: bool(found.append(one)))
        known = {one.path: one.in_image for one in found}
        assert (known["/app/gone"], known["/app/e"], known["/app/e/f"]) == (False, True, False)


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_no_error(context, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    spec = context("FROM a\nRUN mkdir -p /app && echo 1 > /app/f\n")
    with LocalProvider() as provider, started(provider, spec) as machine:
        assert machine.read("/app/f") == b"1\n"


@pytest.mark.slow
def test_two_processes_build_the_same_image_at_the_same_time(context, cache):
    spec = context("FROM a\nRUN mkdir -p /app && sleep 0.2 && echo 1 > /app/f\n")
    script = (
        "import gem_workers.machine\n"
        f"spec = gem_workers.machine.MachineSpec(build={spec.build!r}, workdir='/app')\n"
        "print(gem_workers.make_machine('local', spec).read('/app/f'))\n"
    )
    command = [sys.executable, "-c", script]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    assert [one.communicate(timeout=60)[0] for one in both] == [b"b'1\\n'\n"] * 2
    assert len(list(cache.iterdir())) == 1


@pytest.mark.slow
def test_snapshots_and_forks_hold_what_was_written_over_the_image(provider, context):
    spec = context(
        "FROM a\nENV MARK=from-image\nRUN mkdir -p /app/d && echo 1 > /app/f && echo 2 > /app/d/g\n"
    )
    with started(provider, spec) as machine:
        machine.shell().send("echo $MARK > seen; rm f; rm -rf d; mkdir d; echo 3 > d/new")
        changes = []
        kept = machine.snapshot(keep=lambda one: changes.append(one) or one.path == "/app/seen")
        assert {one.path: (one.kind, one.in_image) for one in changes} == {
            "/app": ("folder", True),
            "/app/seen": ("file", False),
            "/app/f": ("deleted", True),
            "/app/d": ("replaced", True),
            "/app/d/new": ("file", False),
        }
        with machine.fork() as copy, provider.start(spec, kept) as fresh:
            show = "cat seen; find . -type f | sort"
            assert copy.run(show).stdout == "from-image\n./d/new\n./seen\n"
            assert fresh.run(show).stdout == "from-image\n./d/g\n./f\n./seen\n"


@pytest.mark.slow
def test_a_snapshot_keeps_its_image_when_the_dockerfile_changes(provider, context):
    spec = context("FROM a\nRUN mkdir -p /app && echo 1 > /app/f\n")
    with started(provider, spec) as machine:
        kept = machine.snapshot()
        assert context("FROM a\nRUN mkdir -p /app && echo 2 > /app/f\n") == spec
        provider.prepare(spec)
        with machine.fork() as copy, provider.start(spec, kept) as again:
            assert copy.read("/app/f") == again.read("/app/f") == b"1\n"
    with provider.start(spec) as machine:
        assert machine.read("/app/f") == b"2\n"
    with LocalProvider() as other, pytest.raises(SnapshotError, match="built again meanwhile"):
        other.start(spec, kept)


def test_names_of_images_stand_for_folders(context, tmp_path):
    spec = context("FROM special:1\nRUN true\n")
    with (
        LocalProvider(images={"special:*": str(tmp_path / "missing")}) as provider,
        pytest.raises(ConfigError, match="root file system"),
    ):
        provider.prepare(spec)
    with pytest.raises(ConfigError, match="build_network"):
        LocalProvider(build_network="bridge")
    with pytest.raises(ConfigError, match="installed"):
        LocalProvider(installed="maybe")


def test_a_build_reaches_the_network_of_the_host_only_if_it_may(context, cache, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://user:hidden-password@proxy.invalid:1")
    monkeypatch.setenv("PIP_INDEX_URL", "https://hidden-password@index.invalid/simple")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        spec = context(
            'FROM a\nSHELL ["/bin/bash", "-c"]\n'
            f"RUN exec 3<>/dev/tcp/127.0.0.1/{port} && mkdir -p /app && echo reached >/app/seen\n"
            'RUN case "$http_proxy$PIP_INDEX_URL" in *hidden*hidden*) ;; *) exit 1 ;; esac\n'
        )
        with (
            LocalProvider(build_network="none") as provider,
            pytest.raises(ConfigError, match="line 3: RUN"),
        ):
            provider.prepare(spec)
        with LocalProvider() as provider, started(provider, spec) as machine:
            assert machine.run("cat /app/seen; env | grep -c hidden").stdout == "reached\n0\n"
            assert not machine.run(f"exec 3<>/dev/tcp/127.0.0.1/{port}").ok
    kept = [path.read_bytes() for path in cache.rglob("*") if path.is_file()]
    assert kept
    assert not any(b"hidden-password" in content for content in kept)


@pytest.mark.slow
def test_packages_that_are_there_are_left_out_unless_asked(context):
    spec = context(
        "FROM a\nRUN apt-get update && apt-get install -y --no-install-recommends bash\n"
    )
    with LocalProvider(build_network="none") as provider:
        provider.prepare(spec)
    with (
        LocalProvider(build_network="none", installed="run") as provider,
        pytest.raises(ConfigError, match="line 2: RUN"),
    ):
        provider.prepare(spec)


@pytest.mark.slow
def test_only_packages_that_are_there_in_this_version_are_left_out(provider, context, subtests):
    for command, is_left_out in (
        ("pip install made", True),
        ("pip3 install -q 'made==1.2' && true", True),
        ("pip install made==1.3", False),
        ("pip install 'made>=1'", True),
        ("pip install 'made>=2'", False),
        ("pip install made[extra]", False),
        ("pip install bash", False),
        ("pip install -r made", False),
        ("apt-get install -y bash=5.2", False),
        ("apt-get install -y bash made", False),
        ("apt-get install -y bash && false", False),
        ("apt-get install -y until; true", False),  # a word of the shell, not a program
        ("setpriv --reuid=65534 uvx made; true", False),
        ("git clone https://example.org/x; true", False),
        ("curl -s localhost:1 || true", True),
        ("pip show nosuch || true", True),
        ("apt-get -y install --no-install-recommends bash", True),
        ("apt-get update; apt-get install -y made; true", False),
    ):
        with subtests.test(command):
            spec = context(
                "FROM a\nENV PYTHONPATH=/lib/of/ours\n"
                "COPY METADATA /lib/of/ours/made-1.2.dist-info/\n"
                f"RUN {command}\n",
                {"METADATA": "Metadata-Version: 2.1\nName: made\nVersion: 1.2\n"},
            )
            if is_left_out:
                provider.prepare(spec)
            else:
                with pytest.raises(ConfigError, match=r"line 4: RUN (ended|needs a network)"):
                    provider.prepare(spec)


@pytest.mark.slow
def test_a_build_goes_on_after_the_last_command_whose_lines_are_the_same(provider, context):
    head = "FROM a\nENV AT=/app\nWORKDIR $AT\nUSER nobody\nUSER root\nRUN date +%s%N > stamp\n"

    def build(lines, files=None):
        with started(provider, context(f"{head}{lines}\n", files or {})) as machine:
            return machine.run("cd /app; cat stamp; cat rest").stdout.split()

    stamp, rest = build("RUN echo 1 > rest")
    assert rest == "1"
    assert build("RUN echo 2 > rest") == [stamp, "2"]
    assert build("COPY rest .", {"rest": "3"}) == [stamp, "3"]
    assert build("COPY rest .", {"rest": "4"}) == [stamp, "4"]
    head = head.replace("date", "echo; date")
    assert build("COPY rest .", {"rest": "4"})[0] != stamp


@pytest.mark.slow
def test_a_built_image_starts_as_fast_as_any(provider, context):
    """The image is unpacked once, not for each machine: its files are the same ones."""
    spec = context("FROM a\nRUN mkdir /app && head -c 3000000 /dev/urandom > /app/large\n")
    provider.prepare(spec)
    seen = set()
    for _ in range(3):
        with provider.start(spec) as machine:
            seen.add(machine.run("stat -c %Y-%Z large; md5sum < large").stdout)
            time.sleep(0.01)
    assert len(seen) == 1


def test_a_machine_of_a_root_without_names_finds_itself(provider, tmp_path):
    root = tmp_path / "root"
    for name in ("etc", "usr"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        if os.path.lexists(f"/{name}"):
            (root / name).symlink_to(f"usr/{name}")
    with (
        LocalProvider(folders={"/usr": "/usr"}) as made,
        started(made, MachineSpec(image=str(root))) as machine,
    ):
        assert machine.run("getent hosts localhost machine").ok


def test_a_build_ends_after_its_time_and_keeps_the_steps_that_are_done(provider, context, tmp_path):
    spec = context("FROM a\nRUN date +%N >/done\nRUN sleep 60\n")
    with pytest.raises(ConfigError, match="line 3: RUN ended with the limit wall_time"):
        provider.prepare(replace(spec, build_timeout=1.0))
    assert len(layers()) == 1


def test_an_image_is_built_again_when_a_layer_was_removed_meanwhile(provider, context):
    spec = context("FROM a\nRUN echo made >/made\n")
    started(provider, spec).close()
    remove_layers([one.key for one in layers()])
    with provider.start(spec) as machine:
        assert machine.run("cat /made").stdout == "made\n"
