"""Mathematical answers graded: text first, then meaning, then computer algebra."""

from gem_math.grading.grader import Verdict, grade

__all__ = ["Verdict", "grade"]
