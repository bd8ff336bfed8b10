"""Converts gem-llm's database of WebShop: ``python -m gem.envs.webshop.preprocess``."""

import click

from gem.envs.webshop.default_data import CATALOGUE, DATABASE, ROOT
from gem.requirements import needs
from gem_core.errors import ConfigError, DataError, near_names

with needs("gem-web"):
    from gem_web.commands import command

__all__ = ["main"]

_MODES = ("all", "documents", "database")


def main(mode: str = "all") -> None:
    """Convert ``.cache/webshop/webshop.db`` into a catalogue beside it, unless it is up to date.

    Args:
        mode: ``all``, ``documents`` or ``database``. There is no difference: a catalogue has the
            products, the goals and the index.

    Raises:
        ConfigError: The mode is unknown; it is a ValueError.
        DataError: There is no database, or it cannot be read.
    """
    if mode not in _MODES:
        raise ConfigError(
            f"mode must be one of {', '.join(_MODES)}; got {mode!r}.{near_names(mode, _MODES)}"
        )
    if not DATABASE.is_file():
        raise DataError(
            f"There is no {DATABASE.absolute()} to convert, and this script downloads nothing. The "
            f"files of WebShop (https://github.com/princeton-nlp/WebShop) do as well: "
            f"`gem-core webshop index SOURCE {CATALOGUE}`."
        )
    if _is_up_to_date():
        click.echo(f"{CATALOGUE} is up to date.")
    else:
        command.main(["index", str(ROOT), str(CATALOGUE), "--force"], standalone_mode=False)


def _is_up_to_date() -> bool:
    manifest = CATALOGUE / "catalogue.json"
    return manifest.is_file() and manifest.stat().st_mtime >= DATABASE.stat().st_mtime


if __name__ == "__main__":
    click.command()(click.option("--mode", type=click.Choice(_MODES), default="all")(main))()
