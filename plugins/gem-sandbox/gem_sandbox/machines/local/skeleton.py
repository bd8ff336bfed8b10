"""The default root file system of a machine: empty folders, links into ``/usr``, and ``/etc``.

Nothing of the host but ``/usr`` and a few files of ``/etc`` that everybody may read is visible.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

__all__ = ["HOSTS", "Entry", "skeleton"]

Entry = tuple[str, int, str | bytes | None]
"""A path, its mode, and the target of a link, the content of a file, or None for a folder."""

_FOLDERS = (
    "home",
    "media",
    "mnt",
    "opt",
    "srv",
    "var",
    "var/lib",
    "var/log",
    "var/cache",
    "var/mail",
)
_MOUNT_POINTS = ("dev", "proc", "sys", "usr")
_OPEN = ("tmp", "var/tmp", "run", "run/lock")
_SHARED = (
    "adduser.conf", "alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf",
    "debian_version", "default/locale", "default/useradd", "deluser.conf", "environment",
    "fonts", "gai.conf", "gitconfig", "group", "issue", "java-17-openjdk", "java-21-openjdk",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.gen", "localtime",
    "login.defs", "lsb-release", "machine-id", "magic", "mime.types", "nanorc", "networks",
    "nsswitch.conf", "os-release", "pam.conf", "pam.d", "passwd", "perl", "profile",
    "profile.d", "protocols", "python3", "python3.11", "python3.12", "python3.13", "rpc",
    "security", "services", "shells", "skel", "ssl/certs", "ssl/openssl.cnf", "sudoers",
    "sudoers.d", "timezone", "vim", "wgetrc", "xattr.conf",
)  # fmt: skip
"""What machines see of ``/etc``."""
_LINKED = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
_LARGEST, _MOST = 1 << 20, 1 << 23
_USERS = (
    (
        "/etc/passwd",
        b"root:x:0:0::/root:/bin/bash\nnobody:x:65534:65534::/:/usr/sbin/nologin\n",
    ),
    ("/etc/group", b"root:x:0:\nnogroup:x:65534:\n"),
)
"""Users of machines where the host's are not for everybody to read."""
HOSTS = b"127.0.0.1 localhost machine\n::1 localhost\n"
"""The names that a machine has for itself."""


def skeleton() -> list[Entry]:
    """Return the entries, folders before what they contain."""
    entries: list[Entry] = [
        (f"/{name}", 0o755, None) for name in (*_MOUNT_POINTS, *_FOLDERS, "etc")
    ]
    entries += [(f"/{name}", 0o1777, None) for name in _OPEN]
    entries.append(("/root", 0o700, None))
    entries += [
        (f"/{name}", 0o777, f"usr/{name}") for name in _LINKED if Path("/usr", name).is_dir()
    ]
    entries += _shared()
    found = {path for path, _, _ in entries}
    entries += [(path, 0o644, content) for path, content in _USERS if path not in found]
    entries.append(("/etc/hostname", 0o644, b"machine\n"))
    entries.append(("/etc/hosts", 0o644, HOSTS))
    return entries


def _shared() -> Iterator[Entry]:
    """Return the shared entries of ``/etc``, as far as there are not too many bytes."""
    total = 0
    seen = {"/etc"}
    for name in _SHARED:
        for path in _below(Path("/etc", name)):
            for folder in reversed(path.parents):
                if str(folder) not in seen and folder != Path("/"):
                    seen.add(str(folder))
                    yield str(folder), 0o755, None
            entry = _entry(path)
            if entry is None or entry[0] in seen:
                continue
            total += len(entry[2]) if isinstance(entry[2], bytes) else 0
            if total > _MOST:
                return
            seen.add(entry[0])
            yield entry


def _below(path: Path) -> Iterator[Path]:
    yield path
    if path.is_dir() and not path.is_symlink():
        for folder, folders, files in os.walk(path):
            yield from (Path(folder, name) for name in sorted([*folders, *files]))


def _entry(path: Path) -> Entry | None:
    """Return an entry of the host's; None for what not everybody may read."""
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return str(path), 0o777, str(path.readlink())
        if stat.S_ISDIR(status.st_mode):
            return str(path), 0o755, None
        readable = stat.S_ISREG(status.st_mode) and status.st_mode & 0o004
        if not readable or status.st_size > _LARGEST:
            return None
        return str(path), stat.S_IMODE(status.st_mode), path.read_bytes()
    except OSError:
        return None
