"""Tasks from datasets: a question is a row, an episode is one answer.

An author writes a ``TaskEnv``: which columns it reads, what it asks, how it grades. Where the rows
come from (the hub, files, memory, a package), in which order they come and how they are shared is
the same for all of them. Importing this package reads no data and imports nothing heavy.
"""

from gem_core.tasks.env import Answer, GoldOracle, Grade, TaskEnv, gold_answers
from gem_core.tasks.rows import forget_rows

__all__ = ["Answer", "GoldOracle", "Grade", "TaskEnv", "forget_rows", "gold_answers"]
