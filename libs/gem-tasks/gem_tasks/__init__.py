"""Tasks from datasets: a question is a row, an episode is one answer.

An author writes a ``TaskEnv``: which columns it reads, what it asks, how it grades. Where the rows
come from (the hub, files, memory, a package), in which order they come and how they are shared is
the same for all of them. Importing this package reads no data and imports nothing heavy.
"""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_tasks.env import Answer, GoldOracle, Grade, TaskEnv, gold_answers
    from gem_tasks.rows import forget_rows

__all__ = ["Answer", "GoldOracle", "Grade", "TaskEnv", "forget_rows", "gold_answers"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"env": ("Answer", "GoldOracle", "Grade", "TaskEnv", "gold_answers"), "rows": ("forget_rows",)},
)
