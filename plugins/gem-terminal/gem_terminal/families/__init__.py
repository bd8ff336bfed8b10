"""Families of generated tasks: each draws tasks of one kind, easy and hard."""

from collections.abc import Mapping

from gem_terminal.families import (
    archives,
    csv_mending,
    duplicates,
    encodings,
    failing_script,
    git_repair,
    json_report,
    log_forensics,
    permissions,
    processes,
    sql_store,
)
from gem_terminal.families.draft import Family

__all__ = ["FAMILIES"]

FAMILIES: Mapping[str, Family] = {
    "archives": archives.draw,
    "csv": csv_mending.draw,
    "duplicates": duplicates.draw,
    "encodings": encodings.draw,
    "git": git_repair.draw,
    "json": json_report.draw,
    "logs": log_forensics.draw,
    "permissions": permissions.draw,
    "processes": processes.draw,
    "script": failing_script.draw,
    "sql": sql_store.draw,
}
"""Every family, by its name."""
