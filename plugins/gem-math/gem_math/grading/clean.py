r"""Normalisation of the typesetting of an answer, before ``tokens`` splits it.

Spacing, sizes and fonts are removed; Unicode signs become LaTeX; shorthands become their long form.
"""

import re
import unicodedata

from gem_math.grading.names import names
from gem_math.grading.tokens import FUNCTIONS
from gem_math.grading.units import is_unit, read_unit
from gem_tasks.parsing import last_boxed

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
    "¢": " cents",
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
_MICROS = re.compile(r"(?<=\d)\s*[\u00b5\u03bc]([mgsLAVFW])(?!\w)")
_ROOT = re.compile(r"√\s*(\d+(?:\.\d+)?)")
_RAISED = re.compile(f"[{_SUPERSCRIPTS}]+")
_LOWERED = re.compile(f"[{_SUBSCRIPTS}]+")
_PLAIN = str.maketrans(_SUPERSCRIPTS + _SUBSCRIPTS, "0123456789+-()n0123456789+-")

_INDEX = r"\{?\s*(\d{1,3})\s*\}?"
_CHOOSE, _PERMUTE = (
    rf"(?:\\(?:mathrm|text|mathbf|binom)?\s*\{{\s*{letter}\s*\}}|{letter})" for letter in "CP"
)
_FONT = r"\\(?:text|textbf|texttt|mathrm|mathbf|mathtt|mathsf)"
_LARGE_BASE = r"\{?\s*(?:1[1-6]|\\text\{\w+\})\s*\}?(?!\d)"
"""The index of a base with letters among its digits."""
_MICRO = r"(?<=[\d}\s])(?:\\mu|\\(?:text|mathrm)\{\s*\\mu\s*\})"
_PREFIXED = r"\\(?:text|mathrm)\{\s*([mgsLAVFW])\s*\}"
_ROMAN_PREFIX = r"\\(?:mathrm|text)\{\s*([kM])\s*\}"
_ROMAN = r"\\(?:text|mathrm)\{[^{}]*\}"


def _unit_in_parentheses(match: re.Match[str]) -> str:
    is_measure = all(map(is_unit, re.findall("[A-Za-z]+", match[1])))
    return rf"\text{{ {match[1]}}}" if is_measure else match[0]


_REPLACEMENTS = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # A decimal comma: 3{,}5. Thousands in LaTeX: 1{,}234, 1,\!234, 1\,234.
        (r"(?<=\d)(?<!\d\{,\}\d{3})\{,\}(?=(?:\d{1,2}|\d{4,})(?!\d))", "."),
        (r"\{([,:;])\}", r"\1"),
        (r"\\!\s*", ""),
        (r"\{\}|\\(?:text)?color\s*\{[^{}]*\}|\\(?:underline|mathop)(?![A-Za-z])", ""),
        (r"\\text\{\s*-+\s*\}", "-"),
        (r"\\sqrt\s*(\d)(?=\d)", r"\\sqrt{\1}"),
        (r"(?<=\d)\\(?:text|mathrm)\{([0-9A-F]+)\}(?=_)", r"\1"),
        (rf"{_FONT}\{{\s*(\d+)\s*\}}(?=\s*_)", r"\1"),
        (rf"{_FONT}\{{\s*([0-9A-F]{{2,}})\s*\}}(?=\s*_{_LARGE_BASE})", r"\1"),
        (rf"\(([0-9A-F]{{2,}})\)(?=_{_LARGE_BASE})", r"\1"),
        (r"(?<=[\dA-F])\s*\\text\{\s*\(?base[ -](\w+)\)?\s*\}", r"_{\\text{\1}}"),
        (r"(?<=[\dA-F])\s*\\text\{\s*base\s*\}\s*(\d+)$", r"_{\1}"),
        # A composition: (f \circ g)(x) is f(g(x)).
        (r"\(\s*([fghFGH])\s*\\circ\s*([fghFGH])\s*\)\s*\(([^()]*)\)", r"\1(\2(\3))"),
        (r"(?<![A-Za-z(])([fghFGH])\s*\\circ\s*([fghFGH])\s*\(([^()]*)\)", r"\1(\2(\3))"),
        (rf"\\frac\s*\{{\s*({_ROMAN})\s*\}}\s*\{{\s*({_ROMAN})\s*\}}", r"\1/\2"),
        (r"(?:m\s*)?\\(?:angle|measuredangle)\s*([A-Z]{1,3})(?![A-Za-z])", r"\\theta_{\1}"),
        (r"\(\s*\\?(?:bmod|mod)(?![A-Za-z])\s*([^()]*)\)", r"\\pmod{\1}"),
        (r"\\mod(?![A-Za-z])", r"\\pmod "),
        (r"\\colon(?![A-Za-z])", ":"),
        (r"\\mathbf\{([NQRZ])\}|(?<=\\in)\s*\\mathbf\{(C)\}", r"\\mathbb{\1\2}"),
        (r"\\(?:textdollar|text\{\\\$\})", r"\\$"),
        (r",?\s*\\q?quad\s*(?=[A-Za-z](?:_\w|_\{\w+\})?\s*=)", ", "),
        (r"\\triangle\s*(?=[A-Z])|(?<=\))\s*\^\s*\{?(?:T|\\top|\\intercal)\}?$", ""),
        (r"^[^{}]*=[^{}]*(?:\\implies|\\Rightarrow|\\therefore)\s*(?=[^=]*=)", ""),
        (r"^\s*\\therefore(?![A-Za-z])", ""),
        (r"\\bold(?=\s*\{)", r"\\mathbf"),
        (r"\\(begin|end)\{tabular\}", r"\\\1{array}"),
        (r"(?<=\})\[[tbc]\]", ""),
        (r"\\mathbb\{R\}\s*[\^_]\s*\{?\s*(?:\+|>\s*0)\s*\}?", r"(0,\\infty)"),
        (r"\\mathbb\{R\}\s*[\^_]\s*\{?\s*(?:-|<\s*0)\s*\}?", r"(-\\infty,0)"),
        (r"\\mathbb\{R\}\s*-\s*(?=\\\{)", r"\\mathbb{R}\\setminus "),
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
        # A brace before rows is the one of cases; a relation sign is aligned within its row.
        (
            (
                r"\\\{\s*\\begin\{(array|aligned|gathered|matrix)\}(?:\{[lcr| ]*\})?(.*?)"
                r"\\end\{\1\}(?!\s*\\\})"
            ),
            r"\\begin{cases}\2\\end{cases}",
        ),
        (r"(?<!(?<!\\)\\)&\s*(?=[=<>]|\\(?:l|g)(?:e|eq|t)(?![A-Za-z])|\\neq?(?![A-Za-z]))", " "),
        (r"(?<!\\)\\[,;:> ]|~", " "),
        (rf"{_MICRO}\s*{_PREFIXED}", r"\\text{ micro\1}"),
        (r"(?<=[\d}\s])\\(?:mathrm|text)\{\s*\\mu\s*([mgsLAVFW])\s*\}", r"\\text{ micro\1}"),
        (
            rf"^(?!.*\+|.+-)(.*?[\d}}\s])\s*(?:{_ROMAN_PREFIX}|([kM]))?\\Omega\s*$",
            r"\1\\text{ \2\3ohm}",
        ),
        (r"\\(?:mathrm|text)\{\s*([kM]?)\s*\\Omega\s*\}\s*$", r"\\text{ \1ohm}"),
        (r"(?<!\\)[.,;]\s*(?=\\end\{|\\\\)", ""),
        # A unit in parentheses: 5 (cm).
        (r"(?<=\d) +\(([A-Za-z/ ]+)\)$", _unit_in_parentheses),
        (r"(?<=[\d}\s])\\(?:text|mathrm)\{\s*\(([A-Za-z/ ]+)\)\s*\}$", _unit_in_parentheses),
        (r"(?<=[\d}])\s*\((\\(?:text|mathrm)\{[^{}]*\}(?:\^\{?\d\}?)?)\)$", r" \1"),
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
        (r"\\Pr(?![A-Za-z])", "P"),
        # The number of choices: {}_{10}C_3, {}^{10}C_3, C_{10}^3, C^3_{10}.
        (rf"(?<![\w}}])[_^]{_INDEX}\s*{_CHOOSE}_{_INDEX}", r"\\binom{\1}{\2}"),
        (rf"(?<![\w}}]){_CHOOSE}_{_INDEX}\^{_INDEX}", r"\\binom{\1}{\2}"),
        (rf"(?<![\w}}]){_CHOOSE}\^{_INDEX}_{_INDEX}", r"\\binom{\2}{\1}"),
        (rf"(?<![\w}}])[_^]{_INDEX}\s*{_PERMUTE}_{_INDEX}", r"(\\binom{\1}{\2}\2!)"),
        (
            r"(?<=\d)\s*\^\s*\{?\s*\\?(?:text|mathrm|textrm)?\{?\s*(?:st|nd|rd|th)\s*\}{0,2}(?!\w)",
            "",
        ),
        (r"(?<=\d)\\(?:text|mathrm|textsuperscript)\{\s*(?:st|nd|rd|th)\s*\}", ""),
        (r"\.\s*\}$", "}"),
    )
]
_BREAK = re.compile(r"[,;]?\s*\\\\(?=.*[^\s}])")
"""The end of a line that another one follows."""
_TYPESET = re.compile(r"[\\~{_^(]")
_EUROPEAN = re.compile(r"-?\d{1,3}(?:\.\d{3})+,\d{1,2}")
_ORDINAL = re.compile(r"(?<=\d)-?(?:st|nd|rd|th)(?!\w)")
_ABBREVIATED = re.compile(
    r"(?<![\\.\w])(sq|cu|ft|in|yds?|mi|hrs?|mins?|secs?|yrs?|wks?|tsp|tbsp|mm|cm|m|km|kg|g|lbs?|oz|gal|pts?|qts?|deg)"
    r"\.(?=[\s}/^]|$)"
)
"""A unit that is abbreviated with a point."""
_COUNTED = re.compile(r"((?:\\?[$€£¥₹])?-?\d[\d.,]*) ([A-Za-z'/-]+(?: [A-Za-z'/-]+)*)")
"""A number and words without LaTeX: ``12 red balls``, ``12 US dollars``."""
_INITIALS = re.compile(r"(?<=[\s{])(?:[A-Za-z]\.)+[A-Za-z]\.?(?=[\s}]|$)")
"""An abbreviation after a number: ``12 U.S. dollars``, ``12 p.m.``."""
_CURRENCIES = {"Rs": "₹", "Rs.": "₹", "INR": "₹", "EUR": "€", "GBP": "£", "JPY": "¥"}
_CURRENCIES |= {"\\euro": "€", "\\pounds": "£"}
_CURRENCY = re.compile(r"(-?)(Rs\.?|US\\?\$|USD|INR|EUR|GBP|JPY|\\euro|\\pounds) ?(?=\.?\d)")
"""A currency before a number, other than its sign."""
_OPENING = re.compile(
    r"(?:(?:so|thus|hence|therefore)[, ]+)?"
    r"(?:(?:the )?(?:final |correct )?(?:answer|result|solution|value)(?: is|:| =)"
    r"|(?:the|its|their) (?:[a-z]+ ){1,4}(?:is|are|equals)(?= )|(?:it|there) (?:is|are)(?= ))"
    r"\s*:?\s*",
    re.IGNORECASE,
)
_TEXT_OPENING = re.compile(r"\\text\{\s*")
_LINES = re.compile(
    r"\\begin\s*\{(aligned|align|alignat|gathered|gather|split|eqnarray|multline|equation)(\*?)\}"
    r"(.*)\\end\s*\{\1\2\}"
)
_CONTINUED = re.compile(r"[-+=<>]|\\(?:approx|le|ge|cdot|times|pm)(?![A-Za-z])")
"""The start of a row that continues the one before."""
_INEQUALITY = re.compile(r"[<>]|\\(?:le|ge|ne)(?![A-Za-z])")
_COMMON = names(
    "frac dfrac tfrac cfrac sqrt left right begin text mathrm mathbf mathbb pi theta infty cdot "
    "times cup binom overline"
)
r"""Commands that tell doubled backslashes, as in ``\\frac12``, from breaks, as in ``x=1\\y=2``."""
_DOUBLED = re.compile(r"(?<!\\)(?:\\\\)+([A-Za-z]*)")
_BACKSLASHES = re.compile(r"\\+")
_DELIMITERS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))


def clean(text: str) -> str:
    """Return an answer in plain LaTeX, on one line, without decoration around it."""
    for box in (r"\boxed", r"\fbox"):
        if box in text:
            text = last_boxed(text) or ""
    text = _unicode(_unescaped(text))
    text = _undelimited(" ".join(text.split()))
    for pattern, replacement in _REPLACEMENTS:
        if _TYPESET.search(text):
            text = pattern.sub(replacement, text)
    if r"\begin" not in text:
        text = _BREAK.sub(", ", text)
    text = " ".join(text.split())
    text = _without_opening(_on_one_line(text))
    text = _ABBREVIATED.sub(r"\1", _ORDINAL.sub("", text))
    text = _with_words(_CURRENCY.sub(_currency_sign, text, count=1))
    text = text.removeprefix(r"\approx ")
    text = _undelimited(text.strip()).rstrip(" ;,\\")
    if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'*`":
        return clean(text.strip(text[0]))
    if _EUROPEAN.fullmatch(text):
        return text.replace(".", "").replace(",", ".")
    return text if text.endswith("...") else text.removesuffix(".").rstrip()


def _unescaped(text: str) -> str:
    r"""Return ``\frac{1}{2}`` for ``\\frac{1}{2}``, a text whose backslashes are all doubled."""
    if any(len(run) % 2 for run in _BACKSLASHES.findall(text)):
        return text
    is_escaped = not _COMMON.isdisjoint(_DOUBLED.findall(text))
    return text.replace("\\\\", "\\") if is_escaped else text


def _currency_sign(match: re.Match[str]) -> str:
    if match.start() > 0:
        return match[0]
    return match[1] + _CURRENCIES.get(match[2], r"\$")


def _with_words(text: str) -> str:
    """Return an answer whose words after a number cannot pass for products of letters."""
    if not text[-1:].isalpha() and text[-1:] not in {".", "}"}:
        return text
    if any(map(str.isdigit, text)):
        text = _INITIALS.sub(lambda match: match[0].replace(".", ""), text)
    match = _COUNTED.fullmatch(text)
    words = match[2].split() if match else []
    are_words = any(len(word) > 3 or word in {"am", "pm"} for word in words)
    if match is None or not are_words or FUNCTIONS & set(words) or read_unit(match[2]) is None:
        return text
    return rf"{match[1]}\text{{ {match[2]}}}"


def _on_one_line(text: str) -> str:
    r"""Return the lines of an environment such as ``aligned`` as one chain or list."""
    match = _LINES.fullmatch(text)
    if match is None:
        return text
    rows = [row.replace(r"\&", " and ").replace("&", " ") for row in match[3].split("\\\\")]
    lines = [line.strip(" ,;") for line in rows if line.strip(" ,;")]
    joined = lines[0] if lines else ""
    joint = r" \land " if _INEQUALITY.search(joined) else ", "
    for line in lines[1:]:
        joined += f" {line}" if _CONTINUED.match(line) else joint + line
    return joined


def _without_opening(text: str) -> str:
    """Return an answer without words such as "the area is" before it."""
    in_text = _TEXT_OPENING.match(text)
    start = in_text.end() if in_text else 0
    match = _OPENING.match(text, start)
    if match is None:
        return text
    rest = text[match.end() :]
    if in_text and not rest.startswith("}"):
        return r"\text{" + rest
    return rest.removeprefix("}").strip() if in_text else rest


def _unicode(text: str) -> str:
    if text.isascii():
        return text
    text = _MICROS.sub(r"\\text{ micro\1}", text)
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
