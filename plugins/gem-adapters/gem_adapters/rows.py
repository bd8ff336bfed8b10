"""Datasets of episodes in the columns that each framework reads.

A line of ``LAYOUTS`` per framework; none is imported.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gem_core.errors import ConfigError, NotInstalledError, near_names
from gem_rollout import env_rows, row_of

__all__ = [
    "LAYOUTS",
    "openrlhf_layout",
    "plain_layout",
    "rows",
    "skyrl_layout",
    "slime_layout",
    "trl_layout",
    "verl_layout",
]

Row = dict[str, Any]


def plain_layout(row: Mapping[str, Any]) -> Row:
    """Return the four columns of a row; ``env_kwargs`` as JSON, which every format can hold."""
    fields = asdict(row_of(row))
    return {**fields, "env_kwargs": json.dumps(fields["env_kwargs"])}


def trl_layout(row: Mapping[str, Any]) -> Row:
    """Return a prompt that carries the row: TRL gives a rollout function nothing else."""
    return {"prompt": [{"role": "user", "content": json.dumps(asdict(row_of(row)))}]}


def verl_layout(row: Mapping[str, Any]) -> Row:
    """Return the columns of verl's datasets; the prompt names the row and is not shown."""
    fields = plain_layout(row)
    text = f"{fields['env']}, seed {fields['seed']}, episode {fields['index']}"
    return {
        "data_source": fields["env"],
        "prompt": [{"role": "user", "content": text}],
        "agent_name": "gem",
        "reward_model": {"style": "rule", "ground_truth": ""},
        "extra_info": fields,
    }


def openrlhf_layout(row: Mapping[str, Any]) -> Row:
    """Return OpenRLHF's ``input``, which is only shown in logs, and the row as the ``label``."""
    fields = asdict(row_of(row))
    return {"input": fields["env"], "label": json.dumps(fields, sort_keys=True)}


def skyrl_layout(row: Mapping[str, Any]) -> Row:
    """Return SkyRL's columns; the prompt names the row, and further columns reach adapters."""
    fields = plain_layout(row)
    text = f"{fields['env']}, seed {fields['seed']}, episode {fields['index']}"
    return {"prompt": [{"role": "user", "content": text}], "env_class": "gem", **fields}


def slime_layout(row: Mapping[str, Any]) -> Row:
    """Return slime's ``prompt``, which is only shown in logs, and the row as ``metadata``."""
    fields = plain_layout(row)
    text = f"{fields['env']}, seed {fields['seed']}, episode {fields['index']}"
    return {"prompt": text, "label": "", "metadata": fields}


LAYOUTS: dict[str, Callable[[Mapping[str, Any]], Row]] = {
    "areal": plain_layout,
    "openrlhf": openrlhf_layout,
    "plain": plain_layout,
    "rl2": plain_layout,
    "skyrl": skyrl_layout,
    "slime": slime_layout,
    "tinker": plain_layout,
    "trl": trl_layout,
    "verl": verl_layout,
}
"""The functions from a row of ``env_rows`` to a row of a framework's dataset."""


def rows(
    env: str,
    n: int,
    *,
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
    layout: str = "plain",
    path: str | os.PathLike[str] | None = None,
) -> list[Row]:
    """Return the first episodes of a run as rows of a framework's dataset.

    Args:
        env: Id of the environment.
        n: Number of rows.
        seed: Seed of the run.
        env_kwargs: Parameters of the environment.
        layout: Name of the framework, from ``LAYOUTS``.
        path: File to write as well, ``.jsonl`` or ``.parquet`` (which needs pyarrow).

    Raises:
        ConfigError: An argument is invalid, the file has another ending, or pyarrow is missing.
        UnknownIdError: There is no such environment.
        OSError: The file cannot be written.
    """
    if layout not in LAYOUTS:
        raise ConfigError(
            f"There is no layout {layout!r}.{near_names(layout, LAYOUTS)} Choose one of "
            f"{', '.join(LAYOUTS)}."
        )
    found = [LAYOUTS[layout](row) for row in env_rows(env, n, seed=seed, env_kwargs=env_kwargs)]
    if path is not None:
        _write(found, Path(path))
    return found


def _write(found: list[Row], path: Path) -> None:
    """Write the rows to a file, which is complete or not there."""
    part = path.with_name(f"{path.name}.part")
    try:
        if path.suffix == ".jsonl":
            part.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
        elif path.suffix == ".parquet":
            _write_parquet(found, part)
        else:
            raise ConfigError(f"The file must end in .jsonl or .parquet; got {str(path)!r}.")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _write_parquet(found: list[Row], path: Path) -> None:
    try:
        import pyarrow as pa  # noqa: PLC0415 - optional
        from pyarrow import parquet  # noqa: PLC0415
    except ModuleNotFoundError:
        raise NotInstalledError(
            "A parquet file needs pyarrow. Run: pip install pyarrow. Or write a .jsonl file."
        ) from None
    parquet.write_table(pa.Table.from_pylist(found), path)
