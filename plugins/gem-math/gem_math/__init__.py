"""Mathematics for gem-core: ``plugin`` lists the ids, and ``grading`` is the grader.

``from gem_math import grade`` imports the grader alone: no environment and no dataset.
"""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_math.grading import Verdict, grade

__all__ = ["Verdict", "grade"]

__getattr__, __dir__ = lazy_names(__name__, {"grading": ("Verdict", "grade")})
