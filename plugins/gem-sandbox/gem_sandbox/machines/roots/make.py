"""Make root file systems from package mirrors, engines, registries, archives and folders."""

import datetime as dt
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gem_core.errors import ConfigError, MachineError, SandboxError
from gem_sandbox.machines.local.bases import Base
from gem_sandbox.machines.local.copy_tree import copy_tree
from gem_sandbox.machines.local.host_network import build_network
from gem_sandbox.machines.local.images import BuiltImage
from gem_sandbox.machines.local.provider import LocalProvider
from gem_sandbox.machines.roots.store import Root, add_root, find_root, has_root, new_folder
from gem_sandbox.machines.roots.unpack_image import ImageSettings, apply_changes, unpack_image
from gem_workers.machine import MachineSpec

if TYPE_CHECKING:
    import docker

__all__ = ["EXTRAS", "SOURCES", "make_root"]

EXTRAS = {
    "python": ("python3", "python3-pip", "python3-venv"),
    "pytest": ("python3-pytest",),
    "git": ("git",),
    "curl": ("curl", "ca-certificates"),
    "build": ("build-essential",),
}
"""Groups of Debian packages by their names for users."""
SOURCES = ("debian", "ubuntu", "docker", "tar", "folder")
_URI = re.compile(r"https?://\S+")
_PASSWORD = re.compile(r"//[^/@\s]+@")
_SUITE = re.compile(r"[a-z][a-z0-9.-]*")
_OUTPUT = 2_000
_LIMIT, _SECONDS = 4 << 30, 1800.0


class _Made(NamedTuple):
    made_by: str
    settings: ImageSettings = ImageSettings()


def make_root(
    name: str,
    source: str,
    *,
    packages: Sequence[str] = (),
    pip: Sequence[str] = (),
    mirror: str = "",
    force: bool = False,
    say: Callable[[str], object] = lambda _: None,
) -> Root:
    """Make a root file system, and put it into the cache.

    Args:
        name: Its name.
        source: ``debian:SUITE``, ``ubuntu:SUITE``, ``docker:IMAGE``, ``tar:FILE`` or
            ``folder:DIR``.
        packages: Packages of the distribution to install; only for the first two.
        pip: Requirements to install with pip, from the index that this host uses.
        mirror: The address of the package mirror; empty for the one that this host uses.
        force: Whether to make it in the place of one with this name.
        say: Is told what is done.

    Raises:
        ConfigError: The name is taken or not allowed, the source is not known, or it fails; the
            message says what to do.
    """
    kind, _, rest = source.partition(":")
    if kind not in SOURCES or not rest:
        raise ConfigError(
            f"--from is one of debian:bookworm, ubuntu:noble, docker:IMAGE, tar:FILE and "
            f"folder:DIR; got {source!r}."
        )
    if packages and kind not in {"debian", "ubuntu"}:
        raise ConfigError(f"Packages can be added to debian: and ubuntu:, not to {kind}:.")
    _check_free(name, force=force)
    try:
        with new_folder() as files:
            if kind in {"debian", "ubuntu"}:
                made = _bootstrap(kind, rest, files, packages, mirror, say)
            elif kind == "docker":
                made = _take_image(rest, files, say)
            elif kind == "tar":
                made = _Made("tar", unpack_image(_existing(rest, is_folder=False), files))
            else:
                made = _copy(_existing(rest, is_folder=True), files)
            if pip:
                _install(files, pip, say)
            now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
            root = Root(name, source, made.made_by, now, **vars(made.settings))
            return add_root(root, files, force=force)
    except OSError as error:
        raise ConfigError(f"The root {name!r} cannot be made: {error}.") from error


def _check_free(name: str, *, force: bool) -> None:
    if has_root(name) and not force:
        raise ConfigError(
            f"There is a root {name!r} already, from {find_root(name).source}: take another "
            f"name, or --force to make it again."
        )


def _existing(path: str, *, is_folder: bool) -> Path:
    place = Path(path).expanduser()
    if not (place.is_dir() if is_folder else place.is_file()):
        raise ConfigError(f"There is no {'folder' if is_folder else 'file'} {path!r}.")
    return place


def _copy(source: Path, files: Path) -> _Made:
    if files.resolve().is_relative_to(source.resolve()):
        raise ConfigError(
            f"{source} has the cache itself in it: set XDG_CACHE_HOME to a folder elsewhere."
        )
    there, here = (os.open(one, os.O_RDONLY | os.O_DIRECTORY) for one in (source, files))
    try:
        copy_tree(there, here, skip={"dev", "proc", "sys"})
    finally:
        os.close(there)
        os.close(here)
    for name in ("dev", "proc", "sys"):
        (files / name).mkdir(exist_ok=True)
    return _Made("copy")


def _bootstrap(
    kind: str,
    suite: str,
    files: Path,
    packages: Sequence[str],
    mirror: str,
    say: Callable[[str], object],
) -> _Made:
    """Install a distribution with mmdebstrap, or with debootstrap."""
    program = next((one for one in ("mmdebstrap", "debootstrap") if shutil.which(one)), None)
    if program is None or os.geteuid() != 0:
        what = "needs root" if program else "needs mmdebstrap: apt-get install mmdebstrap"
        raise ConfigError(
            f"{kind}:{suite} {what}. Without it: --from docker:{kind}:{suite}, or --from tar:FILE "
            f"with a file of 'docker export'."
        )
    address = mirror or _mirror_of(kind)
    if not _SUITE.fullmatch(suite):
        raise ConfigError(f"{suite!r} is no suite of {kind}.")
    wanted = ",".join(dict.fromkeys(["bash", "ca-certificates", *packages]))
    say(f"{program} installs {kind} {suite} from {_without_password(address) or 'its own mirror'}")
    command = [program, "--variant=minbase", f"--include={wanted}", suite, str(files)]
    # Its mounts are its own, and it ends with this process, however that ends.
    alone = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
    ]
    _run([*alone, *command, *([address] if address else [])], program)
    for file in (files / "etc/apt").glob("sources.list*"):
        if file.is_file():
            file.write_text(_without_password(file.read_text("utf-8")), "utf-8")
    return _Made(_version(program))


def _without_password(text: str) -> str:
    return _PASSWORD.sub("//", text)


def _version(program: str) -> str:
    said = subprocess.run(  # noqa: S603
        [program, "--version"], capture_output=True, text=True, check=False
    )
    return str(said.stdout).strip() or program


def _mirror_of(kind: str) -> str:
    """Return the package mirror of this host, if it has this distribution; else empty."""
    try:
        release = Path("/etc/os-release").read_text("utf-8")
    except OSError:
        return ""
    if not re.search(rf"^ID={kind}$", release, re.MULTILINE):
        return ""
    folder = Path("/etc/apt")
    for file in (folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))):
        try:
            text = file.read_text("utf-8")
        except OSError:
            continue
        lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
        for address in _URI.findall("\n".join(lines)):
            if str(address).rstrip("/").endswith(f"/{kind}"):
                return str(address).rstrip("/")
    return ""


def _run(command: Sequence[str], program: str) -> None:
    """Run a program to its end; with Ctrl-C, it ends first."""
    try:
        subprocess.run(  # noqa: S603
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
        )
    except OSError as error:
        raise ConfigError(f"{program} cannot be run: {error}.") from error
    except subprocess.CalledProcessError as error:
        said = _without_password(error.stderr or error.stdout).strip()
        whys = [line for line in said.splitlines() if line.startswith(("E: ", "FATA"))]
        if "NO_PUBKEY" in said:
            whys = ["the keys that sign it are not here: apt-get install ubuntu-keyring"]
        why = whys[0] if whys else said[-_OUTPUT:]
        raise ConfigError(f"{program} ended with exit status {error.returncode}: {why}") from error


def _take_image(image: str, files: Path, say: Callable[[str], object]) -> _Made:
    """Take the files of an image from an engine, or from a registry with skopeo."""
    from gem_sandbox.docker import connect  # noqa: PLC0415 - docker-py is optional

    with tempfile.TemporaryDirectory(dir=files.parent) as folder:
        archive = Path(folder) / "image.tar"
        try:
            client = connect()
        except SandboxError as problem:
            skopeo = shutil.which("skopeo")
            if skopeo is None:
                raise ConfigError(
                    f"{problem} Without an engine: apt-get install skopeo, which takes images from "
                    f"a registry."
                ) from problem
            say(f"skopeo takes {image} from its registry")
            _run([skopeo, "copy", f"docker://{image}", f"docker-archive:{archive}"], "skopeo")
            return _Made(_version("skopeo"), unpack_image(archive, files))
        say(f"the engine gives the files of {image}")
        return _Made(
            f"docker {client.version()['Version']}", _export(client, image, archive, files)
        )


def _export(client: "docker.DockerClient", image: str, archive: Path, files: Path) -> ImageSettings:
    import docker.errors  # noqa: PLC0415 - docker-py is optional

    try:
        try:
            found = client.images.get(image)
        except docker.errors.ImageNotFound:
            found = client.images.pull(image)
        container = client.containers.create(found, command=["/bin/true"])
        try:
            with archive.open("wb") as file:
                for part in container.export():
                    file.write(part)
        finally:
            container.remove()
    except docker.errors.DockerException as error:
        raise ConfigError(f"The engine has no image {image!r}: {error}.") from error
    unpack_image(archive, files)
    return ImageSettings.of(found.attrs.get("Config"))


def _install(files: Path, requirements: Sequence[str], say: Callable[[str], object]) -> None:
    """Install packages with pip, in a machine of the root that has this host's network."""
    say(f"pip installs {', '.join(requirements)}")
    image = BuiltImage(Base(folder=str(files)), {"PIP_BREAK_SYSTEM_PACKAGES": "1"}, "/", "root")
    host = build_network()
    spec = MachineSpec(network="host", workdir="/", memory=_LIMIT, disk=_LIMIT)
    try:
        with (
            LocalProvider(images={}) as provider,
            provider.start_from(spec, image) as machine,
            tempfile.TemporaryFile(dir=files.parent) as changes,
        ):
            for path, content in host.files.items():
                machine.write(path, content)
            command = shlex.join(
                ["python3", "-m", "pip", "install", "--no-cache-dir", *requirements]
            )
            ended = machine.run(command, timeout=_SECONDS, env=host.env)
            if not ended.ok:
                said = (ended.stderr or ended.stdout).strip()[-_OUTPUT:]
                raise ConfigError(f"pip cannot install {', '.join(requirements)}: {said}")
            machine.pack_layer(changes, _LIMIT)
            changes.seek(0)
            apply_changes(changes, files)
    except MachineError as error:
        raise ConfigError(f"pip cannot install {', '.join(requirements)}: {error}") from error
