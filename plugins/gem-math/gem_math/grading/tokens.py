r"""The tokenizer of clean answers: numbers, symbols, functions, words, signs.

It resolves the ambiguities: whether ``1,234`` is one number or two, and whether letters are a word,
a unit, or a product of symbols.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from gem_math.grading.errors import UnreadableError
from gem_math.grading.names import names
from gem_math.grading.units import is_unit

__all__ = ["FUNCTIONS", "UNIT_VECTORS", "Token", "tokenize", "top_level_sides"]

Kind = Literal["number", "numeral", "symbol", "function", "word", "command", "sign", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    """A token of an answer.

    Args:
        kind: The kind of token.
        text: The text or, for a symbol or function, its name.
        value: The value of a number.
        spaced: Whether white space precedes it.
    """

    kind: Kind
    text: str
    value: Fraction | None = None
    spaced: bool = False


FUNCTIONS = names(
    "sin cos tan cot sec csc arcsin arccos arctan arccot arcsec arccsc sinh cosh tanh coth "
    "ln log lg exp cis sqrt gcd lcm max min det sgn"
)
_ALIASES = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "cosec": "csc",
    "tg": "tan",
    "abs": "abs",
    "sign": "sgn",
}
_SYMBOLS = names(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma "
    "tau upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega "
    "ell infty emptyset hbar"
)
_NAMED = {"pi": "pi", "Pi": "pi", "inf": "infty", "infinity": "infty", "oo": "infty", "I": "I"}
_TEXT_COMMANDS = names(
    "text textbf textit textrm texttt textsf textnormal mbox hbox mathrm mathbf mathit mathsf "
    "mathtt mathcal mathbb mathfrak operatorname bm boldsymbol emph hat vec dot ddot bar tilde"
)
_SYMBOL_COMMANDS = names(
    "mathbf mathit mathcal mathbb mathfrak boldsymbol bm mathrm mathsf vec hat dot ddot bar tilde"
)
_MARKED = names("mathbb dot ddot bar tilde hat")
"""Commands that turn a letter into another symbol, not only into another font."""
UNIT_VECTORS = "ijk"
_SMALL_WORDS = names(
    "or and per to the is are no not yes of by at for all odd sq cu one two six ten"
)
_LONGEST_PRODUCT = 3
"""The maximum number of adjacent letters in a product of symbols; more are a word."""

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<numeral>\d[\d,A-F]*_(?:\{\s*(?:\d+|\\text\{\w+\})\s*\}|\d{1,2})
               |\d[\da-f]*_\{?1[1-6]\}?(?!\d)
               |[A-F][\dA-F]+_(?:\{\s*(?:1[1-6]|\\text\{\w+\})\s*\}|1[1-6](?!\d)))
  | (?P<repeating>\d*\.\d*(?:\\(?:overline|bar|dot)\s*(?:\{\d+\}|\d)|\(\d+\))|\d*\.\d+\.\.\.)
  | (?P<thousands>(?<!\d,)\d{1,3}(?:,\d{3})+(?!\d)(?!,\d)(?:\.\d+)?
                 |\d{1,3}(?:\ \d{3})+(?!\d)(?!\s*/)(?:\.\d+)?)
  | (?P<points>\d{1,3}(?:\.\d{3}){2,}(?![.\d]))
  | (?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+(?![\w]))?|\d+\.(?![\d.]))
  | (?P<command>\\[A-Za-z]+)
  | (?P<escaped>\\[^A-Za-z])
  | (?P<celsius>°\s*[CF](?![A-Za-z]))
  | (?P<letters>[A-Za-z]+)
  | (?P<sign>\.\.\.|\*\*|<=|>=|!=|<|>|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ARGUMENT = re.compile(r"\s*[({_^\\]|\s*[A-Za-z](?![A-Za-z])")
_TIMES = frozenset({"min", "sec"})
"""Minutes and seconds, which are functions before an argument."""
_VALUE_END = re.compile(r"[\d)}\]]\s*\Z")
_FORMULAS = names("mg ms kg km")
"""Units that are products of symbols in a formula, where no number precedes them."""
_DIGITS_AT_MOST = 4000
_OPENERS = {"(", "[", "\\{"}
_CLOSERS = {")", "]", "\\}"}
_RELATIONS = {"<=": "\\le", ">=": "\\ge", "!=": "\\ne"}


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a clean answer, followed by a token of kind ``end``.

    Raises:
        UnreadableError: A brace is never closed, or a number is too long.
    """
    tokens = list(_tokens(text))
    tokens.append(Token("end", ""))
    return tokens


def top_level_sides(text: str) -> list[str]:
    """Return the sides of a chain of equals signs that are outside all braces and brackets."""
    sides, depth = [""], 0
    for piece in re.split(r"([{}()\[\]=])", text):
        depth += (piece in {"{", "(", "["}) - (piece in {"}", ")", "]"})
        if piece == "=" and depth == 0:
            sides.append("")
        else:
            sides[-1] += piece
    return [side.strip() for side in sides]


def _tokens(text: str) -> Iterator[Token]:
    position, spaced, depth = 0, False, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:  # the last alternative matches any character
            raise UnreadableError("no token")
        kind, piece = str(match.lastgroup), match[0]
        position = match.end()
        if kind == "space":
            spaced = True
            continue
        if kind == "thousands" and depth > 0:
            # Within brackets, a comma is a separator.
            piece = re.split("[, ]", piece, maxsplit=1)[0]
            position = match.start() + len(piece)
            kind = "number"
        if kind == "command" and piece[1:] in _TEXT_COMMANDS:
            content, position = _braced(text, position)
            if content.strip() in _TIMES and not _ARGUMENT.match(text, position):
                yield Token("word", content.strip(), None, spaced)
                continue
            yield from _text_tokens(piece[1:], content, spaced=spaced)
        elif piece in _TIMES and not _ARGUMENT.match(text, position):
            yield Token("word", piece, None, spaced)
        elif kind == "letters":
            after_value = bool(_VALUE_END.search(text, max(match.start() - 4, 0), match.start()))
            tokens = _letter_tokens(piece, spaced=spaced, after_value=after_value)
            is_base = not after_value and text.startswith("^", position)
            is_product = is_base or _is_argument(text, match)
            yield from _factors(tokens) if is_product else tokens
        else:
            token = _simple_token(kind, piece, spaced=spaced)
            depth += (token.text in _OPENERS) - (token.text in _CLOSERS)
            yield token
        spaced = False


def _simple_token(kind: str, piece: str, *, spaced: bool) -> Token:
    if kind == "points":
        kind, piece = "number", piece.replace(".", "")
    if kind in {"number", "thousands", "repeating"}:
        value = _repeating(piece) if kind == "repeating" else _decimal(re.sub("[, ]", "", piece))
        return Token("number", piece, value, spaced)
    if kind == "numeral":
        return Token("numeral", piece, None, spaced)
    if kind == "celsius":
        return Token("word", piece[0] + piece[-1], None, spaced)
    if kind == "command":
        name = piece[1:]
        named: Kind = "symbol" if name in _SYMBOLS else "command"
        return Token("function" if name in FUNCTIONS else named, name, None, spaced)
    return Token("sign", _RELATIONS.get(piece, piece), None, spaced)


def _decimal(digits: str) -> Fraction:
    mantissa, _, exponent = digits.lower().partition("e")
    if len(mantissa) > _DIGITS_AT_MOST:
        raise UnreadableError("a number with thousands of digits")
    if exponent and abs(int(exponent)) > _DIGITS_AT_MOST:
        raise UnreadableError("a number that is too large")
    return Fraction(mantissa.rstrip(".") or "0") * Fraction(10) ** int(exponent or 0)


def _repeating(piece: str) -> Fraction:
    r"""Return the value of ``0.1\overline{6}``, ``0.1(6)`` or ``0.1666...``."""
    whole, _, decimals = piece.partition(".")
    if decimals.endswith("..."):
        fixed, repetend = _repetend(decimals.removesuffix("..."))
    else:
        fixed = re.match(r"\d*", decimals)[0]  # type: ignore[index]
        repetend = "".join(re.findall(r"\d+", decimals[len(fixed) :]))
    base = Fraction(int((whole or "0") + fixed), 10 ** len(fixed))
    return base + Fraction(int(repetend), (10 ** len(repetend) - 1) * 10 ** len(fixed))


def _repetend(decimals: str) -> tuple[str, str]:
    """Return the fixed and the repeating digits of decimals that repeat at least once."""
    match = re.fullmatch(r"(\d*?)(\d+?)(?:\2)+", decimals) if len(decimals) < 50 else None
    if match is None or len(decimals) - len(match[1]) < 3:
        raise UnreadableError("an ellipsis after digits that do not repeat")
    return match[1], match[2]


def _braced(text: str, position: int) -> tuple[str, int]:
    """Return the content of the braces at ``position`` (or the next character), and its end."""
    while position < len(text) and text[position] == " ":
        position += 1
    if not text.startswith("{", position):
        return text[position : position + 1], position + 1
    depth = 0
    for brace in re.compile(r"\\.|[{}]").finditer(text, position):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return text[position + 1 : brace.start()], brace.end()
    raise UnreadableError("a brace is never closed")


def _text_tokens(command: str, content: str, *, spaced: bool) -> Iterator[Token]:
    words = content.strip()
    spaced = spaced or content[:1] == " "
    is_metric = command == "mathrm" and spaced and is_unit(words)
    if not is_metric and command in _SYMBOL_COMMANDS and (name := _accented(command, words)):
        yield Token("symbol", name, None, spaced)
        return
    if words.lower() in {"infinity", "inf"}:
        yield Token("symbol", "infty", None, spaced)
        return
    if words in FUNCTIONS:
        yield Token("function", words, None, spaced)
        return
    if re.search(r"[\d\\$(){}=<>^,;%+]", words):
        inner = list(_tokens(words))
        is_metric = command in {"text", "mathrm"} and bool(inner) and is_unit(inner[0].text)
        for token in inner:
            unit = is_metric and token.kind == "symbol" and is_unit(token.text)
            yield replace(token, kind="word") if unit else token
        return
    for number, word in enumerate(re.findall(r"[^\W\d_]+(?:['-][^\W\d_]+)*|\S", words)):
        kind: Kind = "word" if word[0].isalpha() else "sign"
        yield Token(kind, word, None, spaced or number > 0)


def _accented(command: str, letter: str) -> str:
    """Return the name of a letter in a font or under an accent, or '' for anything else."""
    letter = letter.removeprefix("\\")
    letter = {"imath": "i", "jmath": "j"}.get(letter, letter)
    if not (len(letter) == 1 and letter.isalpha()) and letter not in _SYMBOLS:
        return ""
    if command in {"mathbf", "boldsymbol", "bm", "hat", "vec"} and letter in UNIT_VECTORS:
        return f"vec {letter}"
    return f"{command} {letter}" if command in _MARKED else letter


def _letter_tokens(run: str, *, spaced: bool, after_value: bool = True) -> Iterator[Token]:
    """Tokenize adjacent letters: a name, a word, a unit, or a product of symbols."""
    name = _ALIASES.get(run.lower(), run)
    is_product = run in _FORMULAS and not after_value
    if name in FUNCTIONS or name == "abs":
        yield Token("function", name, None, spaced)
    elif run in _NAMED or run.lower() in {"infinity", "inf"}:
        yield Token("symbol", _NAMED.get(run, "infty"), None, spaced)
    elif run in _SYMBOLS and len(run) > 2:
        yield Token("symbol", run, None, spaced)
    elif len(run) > 1 and (run.lower() in _SMALL_WORDS or (is_unit(run) and not is_product)):
        yield Token("word", run, None, spaced)
    else:
        yield from _product_or_word(run, spaced=spaced)


def _is_argument(text: str, match: re.Match[str]) -> bool:
    r"""Return whether letters name a segment within braces, as in ``\frac{NO}{BO}``."""
    around = text[match.start() - 1 : match.start()] + text[match.end() : match.end() + 1]
    return around == "{}" and len(match[0]) == 2 and match[0].isupper()


def _factors(tokens: Iterator[Token]) -> Iterator[Token]:
    """Yield the letters of words as symbols, where a product is meant."""
    for token in tokens:
        is_word = token.kind == "word" and not is_unit(token.text)
        yield from _symbols(token.text, spaced=token.spaced) if is_word else (token,)


def _symbols(run: str, *, spaced: bool) -> Iterator[Token]:
    for number, letter in enumerate(run):
        yield Token("symbol", letter, None, spaced and number == 0)


def _product_or_word(run: str, *, spaced: bool) -> Iterator[Token]:
    for length in (6, 4, 3, 2):
        head, rest = run[:length], run[length:]
        known = head in FUNCTIONS or (head in _SYMBOLS and head in {"pi", "theta"})
        if known and 0 < len(rest) <= 2:
            yield Token("function" if head in FUNCTIONS else "symbol", head, None, spaced)
            yield from _letter_tokens(rest, spaced=False)
            return
    if run.endswith("pi") and len(run) <= _LONGEST_PRODUCT:
        yield from (Token("symbol", letter, None, spaced) for letter in run[:-2])
        yield Token("symbol", "pi", None, False)
    elif len(run) > _LONGEST_PRODUCT:
        yield Token("word", run, None, spaced)
    else:
        yield from _symbols(run, spaced=spaced)
