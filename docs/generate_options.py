"""Generates docs/training/options.md from the docstrings of the configurations of training.

Usage: ``python docs/generate_options.py`` (``make docs``).
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pydantic
from pydantic.fields import FieldInfo

from gem_rollout.commands import RUN_FOLDER
from gem_rollout.records.redaction import typed
from gem_train.sft_command import SFTKeys
from gem_train.train_command import TrainKeys

PAGE = Path(__file__).parent / "training" / "options.md"
HEAD = """\
# Options

`make docs` generates this page from the code. `gem-core train --help` shows the same keys, and the
ids of algorithms, losses and so on, whose parameters `gem-core show ID` lists. An option is set as
`key=value`, and a parameter of an option as `lora.r=16` or `compile.mode=default`.
"""
SFT = """\
## Supervised training

The keys of `gem-core train sft`; see [Warm start](warm-start.md).
"""
Model = type[pydantic.BaseModel]


def main() -> None:
    """Generate the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=PAGE, help="where to write the page")
    options = parser.parse_args()
    lines = [HEAD, "## Training\n", *_table(TrainKeys)]
    for name, part in _parts(TrainKeys):
        lines += [f"## `{name}`\n", f"{_in_markdown(part.__doc__ or '')}\n", *_table(part, name)]
    lines += [SFT, *_table(SFTKeys)[:-1]]
    lines += [row for name, part in _parts(SFTKeys) for row in [*_rows(part, name), ""]]
    options.output.write_text("\n".join(lines).rstrip() + "\n")


def _parts(model: Model) -> Iterator[tuple[str, Model]]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, pydantic.BaseModel):
            yield name, field.annotation


def _table(model: Model, prefix: str = "") -> list[str]:
    return ["| key | default | meaning |", "|---|---|---|", *_rows(model, prefix), ""]


def _rows(model: Model, prefix: str) -> Iterator[str]:
    parts = {name for name, _ in _parts(model)}
    for name, field in model.model_fields.items():
        if name not in parts:
            key = f"{prefix}.{name}" if prefix else name
            meaning = _in_markdown(field.description or "").replace("|", "\\|")
            yield f"| `{key}` | {_default(field)} | {meaning} |"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default == RUN_FOLDER:
        return "`runs/DATE/TIME`"
    is_part = isinstance(field.default, dict) and "id" in field.default
    return f"`{typed(field.default['id'] if is_part else field.default)}`"


def _in_markdown(docstring: str) -> str:
    return " ".join(docstring.split()).replace("``", "`")


if __name__ == "__main__":
    main()
