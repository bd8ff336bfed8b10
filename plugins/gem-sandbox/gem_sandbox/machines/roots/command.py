"""``gem-core machine``: the root file systems of machines, and what stands for which image."""

from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

from gem_core.console import Terminal
from gem_core.errors import ConfigError, near_names
from gem_core.options import format_option, print_json
from gem_sandbox.machines.local.layers import layers, remove_layers
from gem_sandbox.machines.roots.images_file import images_file, read_images, write_images
from gem_sandbox.machines.roots.make import EXTRAS, make_root
from gem_sandbox.machines.roots.store import find_root, remove_root, roots

__all__ = ["command"]


@click.group()
def command() -> None:
    """Make, list and remove root file systems of the machines 'local', and say what they are for.

    A task's Dockerfile starts from an image. Without a container engine, a root file system stands
    for it: make one, and say for which images.
    """


@command.command(
    epilog="\b\nExamples:\n"
    "  gem-core machine root debian --from debian:bookworm --with python,git,curl --for '*'\n"
    "  gem-core machine root tests --from debian:bookworm --with python --pip pytest==8.4.1\n"
    "  gem-core machine root py313 --from docker:python:3.13 --for python:3.13\n"
    "  gem-core machine root mine --from tar:exported.tar.gz"
)
@click.argument("name")
@click.option(
    "--from",
    "source",
    required=True,
    metavar="SOURCE",
    help="debian:SUITE or ubuntu:SUITE (from the package mirror of this host), docker:IMAGE (from "
    "an engine, or from a registry with skopeo), tar:FILE (of 'docker export' or 'docker save'), "
    "or folder:DIR.",
)
@click.option(
    "--with",
    "groups",
    default="",
    metavar="GROUPS",
    help=f"Groups of packages to install, separated by commas: {', '.join(EXTRAS)}.",
)
@click.option("--package", "packages", multiple=True, metavar="NAME", help="A package to install.")
@click.option("--pip", multiple=True, metavar="REQUIREMENT", help="What to install with pip.")
@click.option(
    "--for",
    "patterns",
    multiple=True,
    metavar="IMAGE",
    help="An image that it stands for.",
)
@click.option("--mirror", default="", metavar="URL", help="The address of the package mirror.")
@click.option("--force", is_flag=True, help="Make it again if there is one of this name.")
def root(
    name: str,
    source: str,
    groups: str,
    packages: tuple[str, ...],
    pip: tuple[str, ...],
    patterns: tuple[str, ...],
    mirror: str,
    *,
    force: bool,
) -> None:
    """Make the root file system NAME and keep it in the cache.

    With --for, it stands for an image from then on: gem-core machine images shows which.
    """
    read_images()  # which fails before anything is made
    made = make_root(
        name,
        source,
        packages=[*_packages(groups), *packages],
        pip=pip,
        mirror=mirror,
        force=force,
        say=lambda text: click.echo(f"{text} ...", err=True),
    )
    click.echo(f"{made.name}: {made.system or made.source}, {_bytes(made.size)}, {made.folder}")
    if patterns:
        write_images({**read_images(), **dict.fromkeys(patterns, name)})
        click.echo(f"It stands for {', '.join(patterns)} ({images_file()}).")


def _packages(groups: str) -> list[str]:
    found: list[str] = []
    for group in filter(None, (one.strip() for one in groups.split(","))):
        if group not in EXTRAS:
            raise ConfigError(f"There is no group {group!r}.{near_names(group, EXTRAS)}")
        found += EXTRAS[group]
    return found


@command.command(name="roots", epilog="\b\nExamples:\n  gem-core machine roots --format json")
@format_option()
def list_roots(form: str) -> None:
    """List the root file systems, with the images that they stand for, and the layers of builds."""
    images = read_images()
    found = roots()
    built = layers()
    if form == "json":
        rows = [
            {**asdict(one), "folder": str(one.folder), "images": _images_of(one.name, images)}
            for one in found
        ]
        print_json({"roots": rows, "layers": [one._asdict() for one in built]})
        return
    if found:
        table = Table(box=None, pad_edge=False)
        for heading in ("name", "system", "from", "size", "stands for"):
            table.add_column(heading, overflow="fold")
        for one in found:
            stands_for = ", ".join(_images_of(one.name, images))
            table.add_row(one.name, one.system, one.source, _bytes(one.size), stands_for)
        Terminal().print(table)
    else:
        click.echo("There are none: gem-core machine root debian --from debian:bookworm --for '*'")
    if built:
        total = sum(one.size for one in built)
        click.echo(f"\n{len(built):,} layers of builds, {_bytes(total)}: gem-core machine layers")


def _images_of(name: str, images: dict[str, str]) -> list[str]:
    return [pattern for pattern, target in images.items() if target == name]


@command.command(epilog="\b\nExamples:\n  gem-core machine remove debian")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--force", is_flag=True, help="Also if it stands for images.")
def remove(names: tuple[str, ...], *, force: bool) -> None:
    """Remove root file systems from the cache."""
    images = read_images()
    names = tuple(dict.fromkeys(names))
    for name in names:
        find_root(name)
        used = _images_of(name, images)
        if used and not force:
            raise ConfigError(
                f"{name!r} stands for {', '.join(used)} ({images_file()}): remove it with --force."
            )
    for name in names:
        remove_root(name)
        click.echo(f"Removed {name}.")
    images = read_images()
    left = {pattern: target for pattern, target in images.items() if target not in names}
    if left != images:
        write_images(left)


@command.command(
    epilog="\b\nExamples:\n"
    "  gem-core machine images\n"
    "  gem-core machine images python:3.13 debian\n"
    "  gem-core machine images --remove '*'"
)
@click.argument("pattern", required=False, metavar="[IMAGE")
@click.argument("target", required=False, metavar="ROOT]")
@click.option(
    "--remove", "removed", multiple=True, metavar="IMAGE", help="Let nothing stand for it."
)
@format_option()
def images(pattern: str | None, target: str | None, removed: tuple[str, ...], form: str) -> None:
    """Show which root file system stands for which image, or let ROOT stand for IMAGE.

    IMAGE is a name as in FROM, or a pattern with * and ?; ROOT is a name, or an absolute folder.
    The most specific pattern counts.
    """
    found = read_images()
    changed = _changed(found, pattern, target, removed)
    if changed != found:
        write_images(changed)
        found = changed
    if form == "json":
        print_json({"file": str(images_file()), "images": found})
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("image", "root"):
        table.add_column(heading, overflow="fold")
    for one, root_name in sorted(found.items()):
        table.add_row(one, root_name)
    if found:
        Terminal().print(table)
    click.echo(f"{images_file()}: {len(found):,} names of images.", err=True)


def _changed(
    images: dict[str, str], pattern: str | None, target: str | None, removed: tuple[str, ...]
) -> dict[str, str]:
    """Return the mapping without what is removed, and with what is added."""
    for one in removed:
        if one not in images:
            raise ConfigError(f"Nothing stands for {one!r}.{near_names(one, images)}")
    left = {one: root_name for one, root_name in images.items() if one not in removed}
    if pattern is None:
        return left
    if target is None:
        raise ConfigError(f"Which root stands for {pattern!r}? gem-core machine images IMAGE ROOT")
    if not target.startswith("/"):
        find_root(target)
    elif not Path(target).is_dir():
        raise ConfigError(f"There is no folder {target!r}.")
    return {**left, pattern: target}


@command.command(
    name="layers",
    epilog="\b\nExamples:\n  gem-core machine layers\n  gem-core machine layers --remove-all",
)
@click.option("--remove-all", is_flag=True, help="Remove all; images are built again when needed.")
@format_option()
def list_layers(form: str, *, remove_all: bool) -> None:
    """List what the steps of Dockerfiles have made, the one last used first."""
    found = layers()
    if remove_all:
        remove_layers([one.key for one in found])
        total = _bytes(sum(one.size for one in found))
        click.echo(f"Removed {len(found):,} layers, {total}.", err=True)
        found = []
    if form == "json":
        print_json([one._asdict() for one in found])
        return
    if not found:
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("layer", "size", "made by"):
        table.add_column(heading, overflow="fold")
    for one in found:
        table.add_row(one.key[:12], _bytes(one.size), one.step[:100])
    Terminal().print(table)


def _bytes(count: int) -> str:
    amount = float(count)
    for unit in ("B", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
