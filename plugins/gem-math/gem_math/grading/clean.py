r"""Normalisation of the typesetting of an answer, before ``tokens`` splits it.

Spacing, sizes and fonts are removed; Unicode signs become LaTeX; shorthands become their long form.
"""

import re
import unicodedata

from gem_core.parsing import last_boxed

__all__ = ["clean"]

_SIGNS = {
    **dict.fromkeys("−–—‐‑﹣－", "-"),
    "×": r"\times ",
    "⋅": r"\cdot ",
    "·": r"\cdot ",
    "∙": r"\cdot ",
    "•": r"\cdot ",
    "∗": "*",
    "÷": "/",
    "∕": "/",
    "⁄": "/",
    "√": r"\sqrt ",
    "∖": r"\setminus ",
    "∛": r"\sqrt[3]",
    "∞": r"\infty ",
    "≤": r"\le ",
    "⩽": r"\le ",
    "≥": r"\ge ",
    "⩾": r"\ge ",
    "≠": r"\ne ",
    "≈": r"\approx ",
    "±": r"\pm ",
    "∓": r"\mp ",
    "∪": r"\cup ",
    "∩": r"\cap ",
    "∈": r"\in ",
    "∅": r"\emptyset ",
    "Ø": r"\emptyset ",
    "°": r"^\circ ",
    "º": r"^\circ ",
    "′": "'",
    "’": "'",
    "‘": "'",
    "“": '"',
    "”": '"',
    "⟨": r"\langle ",
    "⟩": r"\rangle ",
    "⌊": r"\lfloor ",
    "⌋": r"\rfloor ",
    "⌈": r"\lceil ",
    "⌉": r"\rceil ",
    "…": "...",
    "：": ":",
    "ℝ": r"\mathbb{R}",
    "ℤ": r"\mathbb{Z}",
    "ℕ": r"\mathbb{N}",
    "→": r"\to ",
    "∠": r"\angle ",
}
_GREEK = {
    letter: f"\\{name} " if letter.islower() else f"\\{name.capitalize()} "
    for letter in "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ"
    for name in [unicodedata.name(letter).split()[-1].lower().replace("lamda", "lambda")]
}
_GREEK |= {"ϕ": r"\phi ", "ϵ": r"\epsilon "}
_FRACTIONS = {
    sign: "\\frac{{{}}}{{{}}}".format(*unicodedata.normalize("NFKC", sign).split("⁄"))
    for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞⅐⅑⅒"
}
_TABLE = str.maketrans({**_SIGNS, **_GREEK, **_FRACTIONS})
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿ"
_SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉₊₋"
_ROOT = re.compile(r"√\s*(\d+(?:\.\d+)?)")
_RAISED = re.compile(f"[{_SUPERSCRIPTS}]+")
_LOWERED = re.compile(f"[{_SUBSCRIPTS}]+")
_PLAIN = str.maketrans(_SUPERSCRIPTS + _SUBSCRIPTS, "0123456789+-()n0123456789+-")

_ROMAN = r"\\(?:text|mathrm)\{[^{}]*\}"
_REPLACEMENTS = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # Thousands in LaTeX: 1{,}234, 1,\!234, 1\,234.
        (r"\{([,:;])\}", r"\1"),
        (r"\\!\s*", ""),
        (r"\{\}|\\(?:text)?color\s*\{[^{}]*\}|\\(?:underline|mathop)(?![A-Za-z])", ""),
        (r"\\text\{\s*-+\s*\}", "-"),
        (r"\\sqrt\s*(\d)(?=\d)", r"\\sqrt{\1}"),
        (r"(?<=\d)\\(?:text|mathrm)\{([0-9A-F]+)\}(?=_)", r"\1"),
        (rf"\\frac\s*\{{\s*({_ROMAN})\s*\}}\s*\{{\s*({_ROMAN})\s*\}}", r"\1/\2"),
        (r"(?:m\s*)?\\(?:angle|measuredangle)\s*([A-Z]{1,3})(?![A-Za-z])", r"\\theta_{\1}"),
        (r"\(\s*\\?(?:bmod|mod)(?![A-Za-z])\s*([^()]*)\)", r"\\pmod{\1}"),
        (r"\\mod(?![A-Za-z])", r"\\pmod "),
        (r"\\colon(?![A-Za-z])", ":"),
        (r"\\mathbf\{([CNQRZ])\}", r"\\mathbb{\1}"),
        (r"\\backslash(?![A-Za-z])", r"\\setminus "),
        (r"(?<=\d)\\[,;: ](?=\d{3}(?!\d))", ","),
        (r"\\(?:left|right|[bB]igg?[lrm]?)(?![A-Za-z])\s*\.?(?=\s*[\\()\[\]{}|<>/.])", ""),
        (r"\\(?:left|right)(?![A-Za-z])", ""),
        (r"\\(?:display|text|script)style(?![A-Za-z])|\\(?:no)?limits(?![A-Za-z])", " "),
        (
            r"\\(?:math)?strut(?![A-Za-z])|\\(?:large|Large|small|normalsize|bf|rm|it)(?![A-Za-z])",
            " ",
        ),
        (r"\\(?:quad|qquad|enspace|thinspace|space|hfill|newline)(?![A-Za-z])", " "),
        (r"\\[hv](?:space|phantom)\*?\{[^{}]*\}|\\phantom\{[^{}]*\}", " "),
        (r"\\\\\[[^\]]*\]", r"\\\\"),
        (r"(?<!\\)\\[,;:> ]|~", " "),
        (r"\\[dtc]frac(?![A-Za-z])", r"\\frac"),
        (r"\\[dt]binom(?![A-Za-z])", r"\\binom"),
        (r"\\(?:leq|leqslant)(?![A-Za-z])", r"\\le "),
        (r"\\(?:geq|geqslant)(?![A-Za-z])", r"\\ge "),
        (r"\\neq(?![A-Za-z])|\\not\s*=", r"\\ne "),
        (r"\\l[tT](?![A-Za-z])", "<"),
        (r"\\g[tT](?![A-Za-z])", ">"),
        (r"\\(?:varnothing)(?![A-Za-z])", r"\\emptyset "),
        (r"\\(?:ast)(?![A-Za-z])", "*"),
        (r"\\(?:lbrace)(?![A-Za-z])", r"\\{"),
        (r"\\(?:rbrace)(?![A-Za-z])", r"\\}"),
        (r"\\(?:lbrack)(?![A-Za-z])", "["),
        (r"\\(?:rbrack)(?![A-Za-z])", "]"),
        (r"\\(?:lvert|rvert|vert|mid)(?![A-Za-z])", "|"),
        (r"\\(?:dots|ldots|cdots)(?![A-Za-z])", "..."),
        (r"\^\s*\{\s*\\circ\s*\}|\^\s*\\(?:circ|degree)(?![A-Za-z])|\\degree(?![A-Za-z])", "°"),
        (r"°\s*\\(?:text|mathrm)\s*\{\s*([CF])\s*\}", r"°\1"),
        (r"\\varphi(?![A-Za-z])", r"\\phi "),
        (r"\\varepsilon(?![A-Za-z])", r"\\epsilon "),
        (r"\^\s*\{?\\prime\}?", "'"),
        (r"(?<=\d)\\cdotp(?![A-Za-z])", r"\\cdot "),
    )
]
_OPENING = re.compile(
    r"(?:\\text\{\s*)?(?:(?:so|thus|hence|therefore)[, ]+)?"
    r"(?:the )?(?:final |correct )?(?:answer|result|solution|value)(?: is|:| =)\s*:?\s*(?:\}\s*)?",
    re.IGNORECASE,
)
_DELIMITERS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))


def clean(text: str) -> str:
    """Return an answer in plain LaTeX, on one line, without decoration around it."""
    for box in (r"\boxed", r"\fbox"):
        if box in text:
            text = last_boxed(text) or ""
    text = _unicode(text)
    text = _undelimited(" ".join(text.split()))
    for pattern, replacement in _REPLACEMENTS:
        if "\\" in text or "~" in text or "{" in text:
            text = pattern.sub(replacement, text)
    text = " ".join(text.split())
    text = _OPENING.sub("", text, count=1) if _OPENING.match(text) else text
    text = _undelimited(text.strip()).rstrip(" ;,").removesuffix("\\\\").rstrip()
    if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'*`":
        return clean(text.strip(text[0]))
    return text if text.endswith("...") else text.removesuffix(".").rstrip()


def _unicode(text: str) -> str:
    if text.isascii():
        return text
    text = _ROOT.sub(r"\\sqrt{\1}", text).translate(_TABLE)
    text = _RAISED.sub(lambda match: "^{" + match[0].translate(_PLAIN) + "}", text)
    text = _LOWERED.sub(lambda match: "_{" + match[0].translate(_PLAIN) + "}", text)
    return unicodedata.normalize("NFKC", text)


def _undelimited(text: str) -> str:
    r"""Return the text without ``$...$``, ``\(...\)`` or ``\[...\]`` around all of it."""
    stripped = text.removesuffix(".").rstrip()
    for opening, closing in _DELIMITERS:
        inner = stripped[len(opening) : -len(closing)]
        if (
            len(stripped) >= len(opening) + len(closing)
            and stripped.startswith(opening)
            and stripped.endswith(closing)
            and not stripped.endswith("\\" + closing)
            and opening not in inner.replace(r"\$", "")
        ):
            return _undelimited(inner.strip())
    return text
