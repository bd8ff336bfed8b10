"""The grader of mathematical answers: by text, then by meaning, then by computer algebra."""

from gem_math.grading.grader import Verdict, grade

__all__ = ["Verdict", "grade"]
