"""Pretrained models: whether one can be loaded by its name is found out quickly.

Without a network, transformers asks the hub again for most of a minute before it gives up. Here the
hub is asked once; if it does not answer, the model is loaded from the local cache, or not at all.
"""

import os
import threading
from pathlib import Path
from typing import Any

from gem_core.errors import ConfigError, NotInstalledError
from gem_rollout.models.registered import find_model, model_folder

__all__ = ["base_model", "find_pretrained"]

_SECONDS = 2.5
"""How long the hub may take to connect or to answer; both together twice as long."""
_FILES = ("config.json", "tokenizer_config.json")
"""Files of a model of which at least one is in the cache if the model is."""
_CONFIG = "config.json"
"""The file that every folder with a model of transformers has."""


def find_pretrained(name: str | os.PathLike[str]) -> tuple[str, dict[str, Any]]:
    """Return where a model is, and the options of ``from_pretrained`` for it.

    Args:
        name: The id of a registered model, a folder, or a name on the hub, in this order; a folder
            with the name of a registered model is ``./NAME``.

    Returns:
        A folder or a name on the hub; and ``local_files_only`` if the hub does not answer but the
        model is in its cache, otherwise no options.

    Raises:
        NotInstalledError: The registered model was not fetched.
        ConfigError: There is neither such a folder nor such a model on the hub; the folder is that
            of a run; or the hub does not answer in time, and the model is not in the cache.
    """
    name = os.fspath(name)
    if (spec := find_model(name)) is not None:
        folder = model_folder(spec)
        if not folder.is_dir():
            size = spec.metadata.get("size", "")
            raise NotInstalledError(
                f"The model {name!r} is not on this machine. Fetch it{size and f' ({size})'}: "
                f"gem-core get-model {name}"
            )
        return str(folder), {}
    if (folder := Path(name)).is_dir():
        if not (folder / _CONFIG).is_file() and (folder / "model" / _CONFIG).is_file():
            raise ConfigError(f"{name} is the folder of a run; its model is in {folder / 'model'}.")
        return name, {}
    from huggingface_hub.errors import (  # noqa: PLC0415 - only where transformers is installed
        HfHubHTTPError,
        HFValidationError,
        RepositoryNotFoundError,
    )

    problem = _problem_of_hub(name)
    if isinstance(problem, HFValidationError):
        raise ConfigError(f"There is no folder {name!r}, and it is not a name on the hub.")
    if isinstance(problem, RepositoryNotFoundError):
        raise ConfigError(
            f"There is neither a folder {name!r} nor a model of that name on the hub. If it "
            f"is private, log in with `hf auth login` or set HF_TOKEN."
        )
    if problem is None or isinstance(problem, HfHubHTTPError):  # it answers: let it be asked again
        return name, {}
    if _is_cached(name):
        return name, {"local_files_only": True}
    raise ConfigError(
        f"There is no folder {name!r}, no model of that name is in the cache, and the hub is "
        f"unreachable: {str(problem).rstrip('.')}. HF_HUB_ETAG_TIMEOUT=10 waits longer."
    )


def base_model(model: Any) -> Any:
    """Return the model of transformers, without peft's wrapper.

    Args:
        model: A model of transformers or peft.
    """
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _problem_of_hub(name: str) -> Exception | None:
    """Ask the hub for a model, and return the exception; None if the hub has the model."""
    from huggingface_hub import HfApi  # noqa: PLC0415 - see above

    seconds = float(os.environ.get("HF_HUB_ETAG_TIMEOUT", _SECONDS))
    found: list[Exception | None] = []

    def ask() -> None:
        try:
            HfApi().model_info(name, timeout=seconds)
        except Exception as error:  # noqa: BLE001 - of the hub's client, of which there are several
            found.append(error)
        else:
            found.append(None)

    # A daemon thread, because the lookup of a host's name has no time limit.
    thread = threading.Thread(target=ask, daemon=True, name="gem-hub-probe")
    thread.start()
    thread.join(2 * seconds)
    return found[0] if found else TimeoutError(f"no answer within {2 * seconds:g} s")


def _is_cached(name: str) -> bool:
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - see above

    return any(isinstance(try_to_load_from_cache(name, file), str) for file in _FILES)
