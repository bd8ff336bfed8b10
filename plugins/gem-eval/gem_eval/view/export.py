"""``gem-core export``: write a run as tables for other programs."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gem_core.errors import ConfigError

if TYPE_CHECKING:
    from gem_eval.view.tables import RowFile

__all__ = ["export"]

_OPTIONS = {
    "parquet": "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 2048",
    "csv": "FORMAT csv, HEADER",
}


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core export runs/2026-01-31/12-00-00\n"
    "  gem-core export runs/before --to csv --out tables",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "kind",
    type=click.Choice(["parquet", "csv", "jsonl"]),
    default="parquet",
    show_default=True,
    help="The format of the files.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for the files. Default: the run's folder.",
)
def export(*, run: Path, kind: str, out: Path | None) -> None:
    """Write RUN as tables: one row per episode in episodes.*, one row per turn in turns.*."""
    from gem_eval.view.index import read_lines  # noqa: PLC0415 - duckdb, not for --help
    from gem_eval.view.tables import (  # noqa: PLC0415
        EPISODE_COLUMNS,
        TURN_COLUMNS,
        RowFile,
        episode_row,
        temporary_folder,
        turn_rows,
    )
    from gem_rollout.records.runs import Run  # noqa: PLC0415

    source = Run.open(run).trajectories_path
    target = source.parent if out is None else out
    paths = {what: target / f"{what}.{kind}" for what in ("episodes", "turns")}
    if source.resolve() in [path.resolve() for path in paths.values()]:
        raise ConfigError(f"{source} would be overwritten: choose another folder with --out.")
    target.mkdir(parents=True, exist_ok=True)
    with temporary_folder(target) as folder:
        with RowFile(folder / "episodes.jsonl") as episodes, RowFile(folder / "t.jsonl") as turns:
            for _, _, episode in read_lines(source):
                episodes.append(episode_row(episode))
                for row in turn_rows(episode):
                    turns.append(row)
        _write(episodes, EPISODE_COLUMNS, kind, paths["episodes"])
        _write(turns, TURN_COLUMNS, kind, paths["turns"])
    for path, rows in zip(paths.values(), (episodes, turns), strict=True):
        click.echo(f"{path}: {rows.rows:,} rows")


def _write(rows: "RowFile", columns: dict[str, str], kind: str, path: Path) -> None:
    """Convert a file of rows to a format. A file at the path is replaced when all is written."""
    from gem_eval.view.tables import connect, read_rows  # noqa: PLC0415

    if kind == "jsonl":
        rows.path.replace(path)
        return
    fresh = rows.path.with_suffix(f".{kind}")
    quoted = str(fresh).replace("'", "''")
    with connect() as database:
        database.execute(
            f"COPY (SELECT * FROM {read_rows(rows, columns)}) TO '{quoted}' ({_OPTIONS[kind]})"
        )
    fresh.replace(path)
