"""The shared parts of task families: environments over datasets, and tools made from functions.

Each row of a dataset asks a question, and an episode is one answer to it. An author subclasses
``TaskEnv`` and says which columns it reads, what it asks and how it grades. Loading the rows (from
the hub, files, memory or a package), ordering them and sharing them are the same for all such
environments, and so is the choice of graders and of the parts of a reward. ``as_tool`` and
``ToolSet`` turn Python functions and objects into tools, and ``gem_tasks.parsing`` reads answers
out of what an agent wrote. Importing this package reads no data and imports nothing heavy.
"""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_tasks.env import Answer, GoldOracle, TaskEnv, gold_answers
    from gem_tasks.function_tool import ToolSet, as_tool
    from gem_tasks.grader import Attempt, Grade, make_grader
    from gem_tasks.row_options import RowOptions

__all__ = [
    "Answer",
    "Attempt",
    "GoldOracle",
    "Grade",
    "RowOptions",
    "TaskEnv",
    "ToolSet",
    "as_tool",
    "gold_answers",
    "make_grader",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "env": ("Answer", "GoldOracle", "TaskEnv", "gold_answers"),
        "function_tool": ("ToolSet", "as_tool"),
        "grader": ("Attempt", "Grade", "make_grader"),
        "row_options": ("RowOptions",),
    },
)
