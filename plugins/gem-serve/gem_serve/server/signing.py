"""Snapshots that leave the server, signed, so that only its own come back.

A snapshot is a pickle, and loading one runs code. So the server loads a snapshot only if the tag
in front is the HMAC-SHA256 (RFC 2104) of the rest under its secret.
"""

import hashlib
import hmac

from gem_core.errors import SnapshotError

__all__ = ["Signer"]

_SIZE = hashlib.sha256().digest_size


class Signer:
    """Signs snapshots and checks them.

    Args:
        secret: The key. Servers with the same secret take each other's snapshots.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def sign(self, env: str, snapshot: bytes) -> bytes:
        """Return a snapshot of an environment with its tag."""
        name = env.encode()
        body = len(name).to_bytes(2, "big") + name + snapshot
        return self._tag(body) + body

    def verified(self, env: str, signed: bytes) -> bytes:
        """Return the snapshot that ``sign`` was given.

        Raises:
            SnapshotError: These bytes do not come from a server with this secret, or they are of
                another environment.
        """
        tag, body = signed[:_SIZE], signed[_SIZE:]
        if not hmac.compare_digest(tag, self._tag(body)):
            raise SnapshotError(
                "This snapshot was not signed with this server's secret: it is damaged, or from a "
                "server with another secret. Servers share snapshots if they share --secret-file."
            )
        size = int.from_bytes(body[:2], "big")
        name = body[2 : 2 + size].decode()
        if name != env:
            raise SnapshotError(f"This is a snapshot of {name}, not of {env}.")
        return body[2 + size :]

    def _tag(self, body: bytes) -> bytes:
        return hmac.new(self._secret, body, hashlib.sha256).digest()
