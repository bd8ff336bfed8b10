"""What a server allows its clients."""

from dataclasses import dataclass

from gem_core.errors import ConfigError

__all__ = ["Bucket", "Limits"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a server.

    Args:
        max_envs: Most sessions at the same time.
        idle_timeout: Seconds after which a session without a connection and without messages ends.
        max_bytes: Most bytes of a message.
        rate: Most messages a second from a client; None for any number.
        step_timeout: Most seconds that an environment has for a call; None for any time.

    Raises:
        ConfigError: A limit is not positive.
    """

    max_envs: int = 256
    idle_timeout: float = 300.0
    max_bytes: int = 16 * 2**20
    rate: float | None = None
    step_timeout: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not value > 0:
                raise ConfigError(f"{name} must be positive; got {value!r}.")


class Bucket:
    """The messages that one client may send: one second's worth, refilled all the time.

    Args:
        rate: Messages a second.
        now: Seconds of a monotonic clock.
    """

    __slots__ = ("_left", "_rate", "_seen")

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._left = max(rate, 1.0)
        self._seen = now

    def take(self, now: float) -> float:
        """Take a message; return 0, or the seconds until there is room for it."""
        self._left = min(max(self._rate, 1.0), self._left + (now - self._seen) * self._rate)
        self._seen = now
        if self._left < 1:
            return (1 - self._left) / self._rate
        self._left -= 1
        return 0.0

    def is_full(self, now: float) -> bool:
        """Return whether the client has not sent anything for a second."""
        return now - self._seen > max(1.0, 1 / self._rate)
