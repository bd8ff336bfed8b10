"""Make the default image of machines from this host's programs, without a registry.

It has what shells and scripts are made of: ``bash``, the usual commands, Python and Git, as far as
the host has them, with the libraries that they are linked with.
"""

import io
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from glob import iglob
from typing import IO

from gem_core.errors import MachineError
from gem_sandbox.image import image_environment, image_files
from gem_sandbox.machines.local.skeleton import skeleton

__all__ = ["DEFAULT_IMAGE", "default_environment", "write_default_image"]

DEFAULT_IMAGE = "gem-machine"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_COMMANDS = """
[ awk base32 base64 basename bash bc bunzip2 bzcat bzip2 cat chgrp chmod chown chroot cksum
clear cmp column comm cp crontab csplit curl cut dash date dd df diff diff3 dircolors dirname du
echo ed egrep env expand expr factor false fgrep file find flock fmt fold free gawk getent
getopt git grep groups gunzip gzip head hexdump hostname iconv id ionice ip join jq kill killall
less link ln locale logger logname ls lsof lzma m4 make mawk md5sum mkdir mkfifo mknod mktemp
more mount mv nano nc nice nl nohup nproc numfmt od openssl passwd paste patch pathchk perl
pgrep pidof pidwait pinky pkill pr printenv printf ps ptx pwd readlink realpath renice rev rg rm
rmdir rsync runcon script sdiff sed seq setsid sh sha1sum sha224sum sha256sum sha384sum
sha512sum shred shuf sleep sort split sqlite3 ss stat stdbuf strace strings stty su sum sync tac
tail tar tee test time timeout top touch tr tree true truncate tsort tty uname unexpand uniq
unlink unlzma unxz unzip uptime users vi vim.tiny vmstat w wc wget which whereis who whoami
xargs xxd xz xzcat yes zcat zcmp zdiff zgrep zip zless
"""
_FOLDERS = (
    "/usr/lib/file",
    "/usr/lib/git-core",
    "/usr/lib/locale/C.utf8",
    "/usr/lib/terminfo",
    "/usr/lib/*/coreutils",
    "/usr/lib/*/gconv",
    "/usr/lib/*/perl*",
    "/usr/lib/*/libnss_*",
    "/usr/libexec/coreutils",
    "/usr/share/git-core",
    "/usr/share/misc",
    "/usr/share/perl*",
)
"""What commands load when they run."""


def default_environment() -> dict[str, str]:
    """Return the environment variables of the image."""
    own = image_environment()["PATH"].partition(":")[0]
    return {"PATH": _PATH if own in _PATH.split(":") else f"{own}:{_PATH}"}


def write_default_image(file: IO[bytes]) -> None:
    """Write the root file system as a tar archive, for ``docker import``.

    Raises:
        MachineError: This is not Linux.
    """
    if sys.platform != "linux":
        raise MachineError(
            "The default image can only be made on Linux. Name an image that has bash: "
            "MachineSpec(image='debian:stable')."
        )
    with tarfile.open(fileobj=file, mode="w|", dereference=False) as archive:
        for path, mode, content in skeleton():
            _add_entry(archive, path, mode, content)
        for name, path in sorted(_files().items()):
            archive.add(path, name, recursive=False, filter=_owned_by_root)


def _files() -> dict[str, str]:
    """Return the files: path in the image to path on this host."""
    found = {_canonical(name): path for name, path in image_files().items()}
    programs = [path for name in _COMMANDS.split() if (path := shutil.which(name, path=_PATH))]
    for path in programs:
        found[_canonical(path)] = os.path.realpath(path)
    below = [path for pattern in _FOLDERS for top in iglob(pattern) for path in _below(top)]
    found |= {path: path for path in below if _canonical(path) not in found}
    binaries = {os.path.realpath(path) for path in (*programs, *below) if os.path.isfile(path)}
    for path in _linked(binaries):
        found.setdefault(_canonical(path), os.path.realpath(path))
    if "/usr/bin/python3" not in found:
        found["/usr/bin/python3"] = os.path.realpath(sys.executable)
    return found


def _canonical(path: str) -> str:
    """Return a path whose folders are no links, such as ``/bin``."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


def _below(top: str) -> Iterator[str]:
    if os.path.islink(top) or not os.path.isdir(top):
        yield top
        return
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            if stat.S_IFMT(os.lstat(path).st_mode) in {stat.S_IFREG, stat.S_IFLNK}:
                yield path


def _linked(binaries: Iterable[str]) -> set[str]:
    """Return the paths at which programs look for their shared libraries."""
    # Some versions of ldd run the file; these are programs of the host.
    command = ["ldd", *binaries]
    output = subprocess.run(command, check=False, capture_output=True, text=True).stdout  # noqa: S603
    return set(re.findall(r"(?:=> )?(/\S+) \(0x", output))


def _add_entry(archive: tarfile.TarFile, path: str, mode: int, content: str | bytes | None) -> None:
    entry = tarfile.TarInfo(path)
    entry.mode = mode
    if content is None:
        entry.type = tarfile.DIRTYPE
    elif isinstance(content, str):
        entry.type, entry.linkname = tarfile.SYMTYPE, content
    else:
        entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content) if isinstance(content, bytes) else None)


def _owned_by_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry
