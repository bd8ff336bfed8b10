"""A sampler elsewhere: a vLLM server that is given the adapters before each step.

The server is started with the base model, ``--enable-lora`` and
``VLLM_ALLOW_RUNTIME_LORA_UPDATING=1``, and reads the folder that adapters are written to. What it
samples is asked for under the name ``policy``. Endpoints: ``load_lora_adapter`` and
``unload_lora_adapter`` of vLLM's OpenAI-compatible server,
https://docs.vllm.ai/en/latest/features/lora/.
"""

import json
import shutil
import urllib.error
import urllib.request
from pathlib import Path

from gem_core.errors import ConfigError, GemError
from gem_train.policy import Policy

__all__ = ["NAME", "AdapterPush", "PushError"]

NAME = "policy"
"""What the server calls the adapters."""


class PushError(GemError, ConnectionError):
    """The server did not take the adapters."""


class AdapterPush:
    """Writes a policy's adapters and has a server load them.

    Args:
        url: The server's base URL, with ``/v1``.
        folder: Where adapters are written; the newest is kept.
        timeout: Seconds that the server may take.
    """

    def __init__(self, url: str, folder: Path, *, timeout: float = 60.0) -> None:
        self._url = url.rstrip("/")
        self._folder = folder
        self._timeout = timeout
        self._loaded: Path | None = None

    def __call__(self, policy: Policy, step: int) -> None:
        """Have the server sample from the policy as it is now.

        Args:
            policy: It has adapters.
            step: Steps that are done.

        Raises:
            ConfigError: It has none.
            PushError: The server cannot be reached, or refuses.
        """
        if not policy.has_adapters:
            raise ConfigError("A server is given adapters only: set lora, such as +lora.r=16.")
        path = self._folder / f"{step:06d}"
        policy.save(path)
        if self._loaded is not None:
            self._post("unload_lora_adapter", lora_name=NAME)
            shutil.rmtree(self._loaded, ignore_errors=True)
        self._post("load_lora_adapter", lora_name=NAME, lora_path=str(path.resolve()))
        self._loaded = path

    def _post(self, what: str, **body: str) -> None:
        request = urllib.request.Request(  # noqa: S310 - the user's own server
            f"{self._url}/{what}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout):  # noqa: S310 - likewise
                pass
        except urllib.error.HTTPError as error:
            said = error.read(500).decode(errors="replace")
            raise PushError(f"{self._url}/{what} answered {error.code}: {said}") from error
        except OSError as error:
            raise PushError(f"{self._url}/{what} cannot be reached: {error}") from error
