"""The APIs that programs speak. Ours and those of other plugins are registered as ``DIALECTS``."""

from gem_core.errors import ConfigError
from gem_core.plugins import default_registry
from gem_core.specs import Spec
from gem_serve.gateway.dialects.base import Dialect, Writer, encode, openai_error
from gem_serve.specs import DIALECTS

__all__ = ["Dialect", "Writer", "encode", "make_dialect", "make_dialects", "openai_error"]


def make_dialects() -> dict[str, Dialect]:
    """Return the dialects by the path of their requests, below ``/v1``.

    Raises:
        GemError: One of them cannot be made; the message names it.
    """
    return {spec.id: make_dialect(spec) for spec in default_registry().list(DIALECTS)}


def make_dialect(spec: Spec) -> Dialect:
    """Return the dialect of a spec.

    Raises:
        ConfigError: The entry point returns something else.
        EntryPointError: The entry point cannot be loaded.
    """
    made = spec.make()
    if not isinstance(made, Dialect):
        raise ConfigError(f"{spec.kind} {spec.id!r} must return a Dialect; got {made!r}.")
    return made
