"""What goes from an agent's machine to the one that grades: data, and nothing that tools read."""

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_workers.carried_files import CarriedFiles
from gem_workers.machine import FileChange

NAMES = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=8
).filter(lambda name: name not in {".", ".."})
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


def carried(path, kind="file", *, target="", in_image=False, workdir="/app", **options):
    files = CarriedFiles(workdir, **options)
    kept = files.keeps(FileChange(path, kind, in_image, target))
    assert not (kept and files.left)
    return kept


@pytest.mark.parametrize(
    "path",
    [
        "/app/answer.txt",
        "/app/.git/refs/heads/main",
        "/app/.env",
        "/app/site/index.html",
        "/app/deep/json.py",
        "/app/solution.py",
        "/data/x\ny",
        "/home/ada/report.csv",
        "/home/ada/notes.txt",
        "/tmp/out",
        "/var/www/index.html",
    ],
)
def test_data_is_carried(path):
    assert carried(path)


@pytest.mark.parametrize(
    "path",
    [
        "/answer.txt",
        "/bin/ls",
        "/etc/alternatives/editor",
        "/etc/hosts",
        "/etc/ld.so.preload",
        "/etc/profile.d/x.sh",
        "/etc/ssl/openssl.cnf",
        "/home",
        "/home/ada",
        "/home/ada/.gitconfig",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/logs/verifier/reward.txt",
        "/opt/tool/x",
        "/root",
        "/home/ada/.local/lib/python3.11/site-packages/x.pth",
        "/run/x",
        "/solution/solve.sh",
        "/tests/test.sh",
        "/usr/lib/python3.11/encodings/utf_8/__init__.py",
        "/usr/local/bin/cat\n",
        "/usr/local/bin/python3",
        "/var/lib/dpkg/status",
        "/appendix/x",
    ],
)
def test_what_is_no_data_is_left_behind(path):
    assert not carried(path)
    assert not carried(path, "deleted", in_image=True)


@pytest.mark.parametrize(
    "path",
    [
        "/app/.git/commondir",
        "/app/.git/config",
        "/app/.git/hooks/post-checkout",
        "/app/.pytest.ini",
        "/app/HEAD",
        "/app/__pycache__/helper.cpython-311.pyc",
        "/app/conftest.py",
        "/app/evil.dist-info/entry_points.txt",
        "/app/json.py",
        "/app/json/__init__.py",
        "/app/numpy.cpython-311-x86_64-linux-gnu.so",
        "/app/pytest/__init__.py",
        "/app/pytest_cov.py",
        "/app/setup.cfg",
        "/app/sitecustomize.py",
        "/app/sitecustomize/x.py",
        "/app/sub/conftest.py",
        "/app/usercustomize.so",
        "/tmp/re.py",
    ],
)
def test_what_tools_read_is_left_behind_unless_the_instruction_names_its_path(path):
    options = {"modules": {"numpy"}}
    assert not carried(path, **options)
    assert carried(path, instruction=f"Mend {path}, please.", **options)
    assert carried(path, declared=[path], **options)
    assert not carried(path, instruction=f"Not {path}.old or x{path}.", **options)


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o6777])
def test_programs_that_run_as_their_owner_are_left_behind(mode):
    files = CarriedFiles("/app")
    assert not files.keeps(FileChange("/app/shell", "file", False, mode=mode))
    assert files.keeps(FileChange("/app/shared", "folder", False, mode=mode | 0o1000))
    assert files.keeps(FileChange("/app/tool", "file", False, mode=mode & 0o777))


def test_a_path_may_be_named_from_the_working_directory():
    assert carried("/app/sub/conftest.py", instruction="Write `sub/conftest.py`.")
    assert not carried("/app/sub/conftest.py", instruction="Write conftest.py.")


def test_a_named_path_is_carried_unless_it_is_the_systems():
    assert carried("/challenge/x.txt", instruction="Write /challenge/x.txt.")
    assert not carried("/challenge/x.txt", instruction="Look at /challenge.")
    assert not carried("/etc/passwd", instruction="Look at /etc/passwd.")
    assert not carried("/usr/bin/python3", instruction="Use /usr/bin/python3.")
    assert not carried("/tests/x", instruction="Not /tests/x!")


def test_a_file_named_config_is_data_outside_of_repositories():
    assert carried("/app/config")
    assert not carried("/app/config", in_image=True)  # perhaps that of a repository
    assert not carried("/srv/shop.git/config")


def test_a_module_that_the_image_has_already_hides_nothing_new():
    assert carried("/app/json.py", in_image=True)
    assert not carried("/app/json.py")


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        ("other.txt", True),
        ("../data/x", True),
        ("/data/x", True),
        (".", True),
        ("/usr/bin/python3", False),
        ("/etc/alternatives/awk", False),
        ("/tests/expected.txt", False),
        ("../tests", False),
        ("../../logs", False),
        ("/proc/1/cwd", False),
        ("link/../../etc", False),
        ("sub/../x", False),
        ("/dev/zero", False),
        ("/", False),
    ],
)
def test_links_are_carried_if_they_stay_inside(target, kept):
    assert carried("/app/link", "link", target=target) is kept


@given(PATHS, st.lists(st.sampled_from(["..", ".", "a", "tests", ""]), max_size=6).map("/".join))
def test_no_link_leads_outside_whatever_its_folders_are(path, target):
    """Each name may be a link itself, but only to the roots: leading dots are all that counts."""
    if carried(f"/app/{path}", "link", target=target):
        whole = posixpath.normpath(posixpath.join(posixpath.dirname(f"/app/{path}"), target))
        assert whole.startswith(("/app", "/data", "/tmp"))


@pytest.mark.parametrize("kind", ["other"])
def test_devices_pipes_and_sockets_are_never_carried(kind):
    assert not carried("/app/x", kind)
    assert not carried("/app/x", kind, declared=["/app/x"])
    assert not carried("/app/x", kind, everything=True)


@pytest.mark.parametrize(
    "workdir", ["/", "/usr", "/etc/nginx", "/usr/lib/python3.11", "/var/lib/x"]
)
def test_a_working_directory_of_the_system_is_not_carried(workdir):
    assert not carried(posixpath.join(workdir, "x"), workdir=workdir)
    assert carried("/data/x", workdir=workdir)


def test_other_working_directories_are_carried():
    assert carried("/usr/src/app/x", workdir="/usr/src/app")
    assert carried("/opt/app/x", workdir="/opt/app")


def test_what_the_environment_of_the_image_names_is_left_behind():
    env = {
        "PATH": "/app/.venv/bin:/app/bin:/usr/bin",
        "LD_LIBRARY_PATH": "/data/lib",
        "BASH_ENV": "/app/setup.sh",
        "PYTHONPATH": "/app/src",
        "HOME": "/app/home",
    }
    for path in (
        "/app/.venv/bin/python",
        "/app/.venv/lib/python3.11/site-packages/x.pth",
        "/app/.venv/pyvenv.cfg",
        "/app/bin/cat",
        "/data/lib/libc.so.6",
        "/app/setup.sh",
        "/app/src/json.py",
        "/app/home/.sqliterc",
    ):
        assert not carried(path, env=env), path
    assert carried("/app/src/mine.py", env=env)


def test_a_declared_path_is_carried_wherever_it_is():
    assert carried("/etc/hosts", declared=["/etc/hosts"])
    assert carried("/etc/nginx/conf.d/a.conf", declared=["/etc/nginx/"])
    assert not carried("/etc/nginx.conf", declared=["/etc/nginx"])
    assert not carried("/tests/test.sh", declared=["/tests/test.sh"])


def test_everything_leaves_the_programs_of_the_image_and_the_graders_files():
    assert carried("/etc/hosts", everything=True)
    assert carried("/usr/local/bin/tool", everything=True)
    assert not carried("/usr/bin/python3", in_image=True, everything=True)
    assert not carried("/tests/x", everything=True)


@given(PATHS)
def test_would_keep_says_what_keeps_does_with_a_new_file(path):
    files = CarriedFiles("/app")
    would = files.would_keep(f"/{path}")
    assert files.left == []
    assert would == files.keeps(FileChange(f"/{path}", "file", False))
