"""Folders with adapters (LoRA) of peft, such as the checkpoints of a run that trains adapters."""

import importlib.util
import json
import os
import warnings
from pathlib import Path
from typing import Any

from gem_core.errors import ConfigError, NotInstalledError
from gem_rollout.models.pretrained import find_pretrained

__all__ = ["find_base", "with_adapters"]

_FILE = "adapter_config.json"


def find_base(folder: str | os.PathLike[str]) -> tuple[str, dict[str, Any]] | None:
    """Return where the base model of adapters is, as ``find_pretrained`` does.

    Args:
        folder: A folder, or a name on the hub.

    Returns:
        None if it is not a folder with adapters.

    Raises:
        ConfigError: The base model cannot be found.
        NotInstalledError: peft is not installed.
    """
    file = Path(folder) / _FILE
    if not file.is_file() or (file.parent / "config.json").is_file():
        return None
    if importlib.util.find_spec("peft") is None:
        raise NotInstalledError("Its adapters need peft. Run: pip install peft")
    base = json.loads(file.read_text("utf-8")).get("base_model_name_or_path")
    if not base:
        raise ConfigError(f"{file} names no base_model_name_or_path.")
    try:
        return find_pretrained(base)
    except ConfigError as error:
        raise ConfigError(f"The base model of its adapters cannot be found. {error}") from error


def with_adapters(model: Any, folder: str | os.PathLike[str]) -> Any:
    """Return a base model with adapters merged into its weights."""
    import peft  # noqa: PLC0415 - optional

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # raised by peft's use of transformers
        return peft.PeftModel.from_pretrained(model, os.fspath(folder)).merge_and_unload()
