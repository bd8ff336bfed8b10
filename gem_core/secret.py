"""Secrets are declared: the type of a parameter says that its value is one.

A parameter ``api_key: Secret | None`` takes ordinary text. Whatever writes or prints the
configuration of a run, such as ``gem_rollout.records.redaction``, leaves the value out. The name of
an environment variable that holds a secret, such as ``api_key_env``, is not secret.
"""

from dataclasses import dataclass
from typing import Annotated

__all__ = ["Secret", "SecretParts"]


@dataclass(frozen=True)
class SecretParts:
    """Metadata of a parameter's type: which parts of its value are secret.

    Args:
        keys: The keys of mappings in the value, at any depth, whose values are secret; empty if
            the whole value is.
    """

    keys: tuple[str, ...] = ()


Secret = Annotated[str, SecretParts()]
"""The type of a parameter whose value must not be recorded: a key, a token or a password."""
