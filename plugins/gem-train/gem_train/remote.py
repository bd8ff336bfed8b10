"""Remote sampling: a vLLM server that receives the adapters before each step.

The server is started with the base model, ``--enable-lora`` and
``VLLM_ALLOW_RUNTIME_LORA_UPDATING=1``, and must be able to read the folder that adapters are
written to. It serves them as the model ``policy``. Endpoints: ``load_lora_adapter`` and
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
"""The server's name for the adapters."""


class PushError(GemError, ConnectionError):
    """The server did not load the adapters."""


class AdapterPush:
    """Writes a policy's adapters to a folder and makes a server load them.

    Args:
        url: The server's base URL, including ``/v1``.
        folder: The folder for adapters; only the newest are kept.
        timeout: Timeout of a request in seconds.
    """

    def __init__(self, url: str, folder: Path, *, timeout: float = 60.0) -> None:
        self._url = url.rstrip("/")
        self._folder = folder
        self._timeout = timeout
        self._loaded: Path | None = None

    def __call__(self, policy: Policy, step: int) -> None:
        """Make the server sample from the current policy.

        Args:
            policy: A policy with adapters.
            step: Number of finished steps.

        Raises:
            ConfigError: The policy has no adapters.
            PushError: The server cannot be reached, or refuses.
        """
        if not policy.has_adapters:
            raise ConfigError("A server only receives adapters: set lora, such as +lora.r=16.")
        path = self._folder / f"{step:06d}"
        policy.save(path)
        if self._loaded is not None:
            self._post("unload_lora_adapter", lora_name=NAME)
            shutil.rmtree(self._loaded, ignore_errors=True)
        self._post("load_lora_adapter", lora_name=NAME, lora_path=str(path.resolve()))
        self._loaded = path

    def _post(self, path: str, **body: str) -> None:
        request = urllib.request.Request(  # noqa: S310 - the user's own server
            f"{self._url}/{path}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout):  # noqa: S310 - as above
                pass
        except urllib.error.HTTPError as error:
            answer = error.read(500).decode(errors="replace")
            raise PushError(f"{self._url}/{path} answered {error.code}: {answer}") from error
        except OSError as error:
            raise PushError(f"{self._url}/{path} cannot be reached: {error}") from error
