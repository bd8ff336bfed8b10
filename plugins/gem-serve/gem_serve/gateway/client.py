"""A client of the gateway's admin API, which needs nothing but the standard library."""

import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any

from gem_core.errors import ConfigError, GemError
from gem_core.secret import Secret
from gem_rollout.records.trajectory import Trajectory

__all__ = ["TOKEN", "CreatedEpisode", "GatewayClient", "GatewayError"]

TOKEN = "GEM_GATEWAY_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable with the token of the admin API."""


class GatewayError(GemError, ConnectionError):
    """The gateway cannot be reached, or refuses."""


@dataclass(frozen=True)
class CreatedEpisode:
    """An episode of the gateway.

    Args:
        episode: Its id.
        key: What programs send as their key.
        model: The name of the model to ask for.
        url: The base URL for Anthropic's clients.
        openai_url: The base URL for OpenAI's clients, which ends in ``/v1``.
        variables: The environment variables of each known program.
    """

    episode: str
    key: str
    model: str
    url: str
    openai_url: str
    variables: dict[str, dict[str, str]] = field(default_factory=dict)


class GatewayClient:
    """A client of the admin API.

    Args:
        url: The URL of the admin API.
        token: Its token; None for that in the environment variable ``GEM_GATEWAY_TOKEN``.
        timeout: Most seconds for an answer.
    """

    def __init__(self, url: str, token: Secret | None = None, *, timeout: float = 60.0) -> None:
        self._url, self._timeout = url.rstrip("/"), timeout
        self._headers = {"Content-Type": "application/json"}
        token = token or os.environ.get(TOKEN)
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def create(self, **options: Any) -> CreatedEpisode:
        """Create an episode.

        Args:
            options: See ``EpisodeOptions``.

        Raises:
            ConfigError: An option is unknown or invalid.
            GatewayError: The gateway cannot be reached.
        """
        found = self._ask("POST", "/episodes", options)
        names = ("episode", "key", "model", "url", "openai_url", "variables")
        return CreatedEpisode(**{name: found[name] for name in names})

    def status(self, episode: str) -> dict[str, Any]:
        """Return the state of an episode."""
        return self._ask("GET", f"/episodes/{episode}")

    def reward(self, episode: str, reward: float, info: dict[str, Any] | None = None) -> None:
        """Set the reward of an episode."""
        self._ask("POST", f"/episodes/{episode}/reward", {"reward": reward, "info": info or {}})

    def close(self, episode: str, **how: Any) -> Trajectory:
        """Close an episode, and return its trajectory.

        Args:
            episode: The id of the episode.
            how: ``reward``, ``info``, ``truncated``, ``error``.
        """
        return Trajectory.from_dict(self._ask("POST", f"/episodes/{episode}/close", how))

    def trajectory(self, episode: str, **query: str) -> Trajectory:
        """Return the trajectory of an episode so far.

        Args:
            episode: The id of the episode.
            query: ``labels="main,compacted"``, ``inexact="true"``, ``undelivered="true"``.
        """
        words = "&".join(f"{name}={value}" for name, value in query.items())
        return Trajectory.from_dict(self._ask("GET", f"/episodes/{episode}/trajectory?{words}"))

    def forget(self, episode: str) -> None:
        """Remove a closed episode from the gateway's memory."""
        self._ask("DELETE", f"/episodes/{episode}")

    def pause(self, seconds: float | None = None) -> bool:
        """Hold new calls, wait for those that run, and return whether they have ended."""
        return bool(self._ask("POST", "/pause", {"seconds": seconds})["idle"])

    def resume(self, version: int | None = None) -> int:
        """Let calls go on, and return the version of the weights."""
        return int(self._ask("POST", "/resume", {"version": version})["version"])

    def health(self) -> dict[str, Any]:
        """Return the state of the gateway.

        Raises:
            GatewayError: It cannot answer calls.
        """
        return self._ask("GET", "/health")

    def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        url = self._url + path
        request = urllib.request.Request(  # noqa: S310 - the user's own URL
            url, data=data, headers=self._headers, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as answer:  # noqa: S310
                found: dict[str, Any] = json.loads(answer.read())
        except urllib.error.HTTPError as error:
            message = _message(error.read())
            error.close()
            if error.code == 400:
                raise ConfigError(message) from None
            raise GatewayError(f"{url} answered {error.code}: {message}") from None
        except OSError as error:
            raise GatewayError(f"{url} cannot be reached: {error}") from error
        return found


def _message(text: bytes) -> str:
    try:
        return str(json.loads(text)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return text[:500].decode(errors="replace")
