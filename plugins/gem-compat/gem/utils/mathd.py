r"""``mathd_normalize_answer``: the form of an answer in which the MATH dataset's code compares it.

It rewrites text only: units and signs of layout go, and fractions and roots get their braces. Our
own grader does not need it (see ``gem.utils.math_grader``).
"""

import re

__all__ = ["mathd_normalize_answer"]

_WHOLE_TEXT = re.compile(r"\\text\{(.+?)\}")
_RULES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\n|\\!", ""),
        (r"\\\\", r"\\"),
        (r"\\begin\{(?:array\}\{.*?|bmatrix)\}", r"\\begin{pmatrix}"),
        (r"\\end\{(?:array|bmatrix)\}", r"\\end{pmatrix}"),
        (r"\\[td]frac", r"\\frac"),
        (r"\\(n|l|g)eq?(?![a-z])", r"\\\1e"),
        (r"\\left(?![a-z])|\\right(?![a-z])", ""),
        (r"(?<=.)\s*\\(?:text|mathrm)\{[^{}]*\}(?:\^\{?\d\}?)?$", ""),
        (r"\^\{?\\circ\}?|\\\$|\\?%", ""),
        (r"(^|[ {])\.(?=\d)", r"\g<1>0."),
        (r"^[^=]{1,2}=([^=]+)$", r"\1"),
        (r"\\sqrt\s*([^{\s\\])", r"\\sqrt{\1}"),
        (r"\s", ""),
        (r"\\frac([^{\\])([^{\\])", r"\\frac{\1}{\2}"),
        (r"\\frac([^{\\])\{", r"\\frac{\1}{"),
        (r"(\\frac\{[^{}]*\})([^{\\])", r"\1{\2}"),
        (r"^0\.5$", r"\\frac{1}{2}"),
        (r"^(-?\d+)/(-?\d+)$", r"\\frac{\1}{\2}"),
    )
]


def mathd_normalize_answer(answer: str | None) -> str | None:
    """Return an answer in the form in which MATH's code compares it; None stays None."""
    if answer is None:
        return None
    text = answer.strip()
    whole = _WHOLE_TEXT.fullmatch(text)
    if whole:
        text = whole[1].strip()
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
