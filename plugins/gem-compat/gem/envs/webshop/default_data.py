"""The folder of WebShop's data where gem-llm has it, relative to the working directory."""

from pathlib import Path

from gem_core.errors import ConfigError

__all__ = ["CATALOGUE", "COMMAND", "DATABASE", "ROOT", "default_catalogue"]

ROOT = Path(".cache/webshop")
DATABASE = ROOT / "webshop.db"
"""What gem-llm's preprocessing writes."""
CATALOGUE = ROOT / "catalogue"
"""The catalogue that is converted from it."""
COMMAND = f"gem-core webshop index {ROOT} {CATALOGUE}"


def default_catalogue() -> Path | None:
    """Return the folder of the catalogue; None with neither a catalogue nor a database.

    Raises:
        ConfigError: There is only a database.
    """
    if (CATALOGUE / "catalogue.json").is_file():
        return CATALOGUE.absolute()
    if DATABASE.is_file():
        raise ConfigError(
            f"{DATABASE.absolute()} must be converted once, which this command does: {COMMAND}"
        )
    return None
