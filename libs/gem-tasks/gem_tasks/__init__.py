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
    from gem_tasks.function_tool import FunctionTool, ToolSet, as_tool
    from gem_tasks.grader import Attempt, Grade, Grader, GraderError, GraderSpec, make_grader
    from gem_tasks.judge import JudgeError
    from gem_tasks.row_options import RowOptions
    from gem_tasks.rows import forget_rows

__all__ = [
    "Answer",
    "Attempt",
    "FunctionTool",
    "GoldOracle",
    "Grade",
    "Grader",
    "GraderError",
    "GraderSpec",
    "JudgeError",
    "RowOptions",
    "TaskEnv",
    "ToolSet",
    "as_tool",
    "forget_rows",
    "gold_answers",
    "make_grader",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "env": ("Answer", "GoldOracle", "TaskEnv", "gold_answers"),
        "function_tool": ("FunctionTool", "ToolSet", "as_tool"),
        "grader": ("Attempt", "Grade", "Grader", "GraderError", "GraderSpec", "make_grader"),
        "judge": ("JudgeError",),
        "row_options": ("RowOptions",),
        "rows": ("forget_rows",),
    },
)
