"""The shop as a person uses it in ``gem-core play``: pages with numbers, and short forms."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gem_core import Info
from gem_core.errors import ConfigError
from gem_web.pages import BACK_TO_SEARCH, BUY_NOW, NEXT, PREV, SUB_PAGES, Kind, Page, Piece

if TYPE_CHECKING:
    from gem_web.env import WebshopEnv

__all__ = ["STYLES", "HumanView"]

_NAMES = "|".join((BACK_TO_SEARCH, PREV, NEXT, *SUB_PAGES))
STYLES: Mapping[str, str] = {
    r"(?m)^http://.+$": "dim",
    r"(?m)^Turn \d+ of \d+\..+$": "dim",
    r"(?m)^The customer: .+$": "cyan",
    r"(?m)^That is not possible here: .+$": "bold red",
    r"\[\d+\] ": "cyan",
    rf"(?<=\] )(?:{_NAMES})": "bold blue",
    rf"(?<=\] ){BUY_NOW}": "bold black on yellow",
    r"(?<=\] )\*[^*\n]+\*": "bold reverse",
    r"\$\d[\d.,]*": "green",
}
"""The colours of the screen: rich styles by regular expression."""
_LINKS = (Kind.LINK, Kind.VISITED)
_OPTIONS = (Kind.OPTION, Kind.CHOSEN)
_TEXTS = (Kind.TITLE, Kind.TEXT)
_FORMS = {
    Kind.INSTRUCTION: "The customer: {}",
    Kind.VISITED: "{} (opened before)",
    Kind.CHOSEN: "*{}*",
    Kind.OPTION_NAME: "{}:",
}


class HumanView:
    """The view of a person who shops.

    Args:
        env: The environment.
    """

    def __init__(self, env: "WebshopEnv") -> None:
        self._env = env

    def screen(self, observation: Any, info: Info, width: int) -> str:
        """Return the page, with a number before all that can be clicked.

        Args:
            observation: What an agent sees.
            info: The ``info`` of the step that led to the page.
            width: The columns of a line; longer lines are wrapped by the terminal.
        """
        env = self._env
        lines = ["", env.visit.url(), *_lines(env.page), ""]
        if "purchase" in info:
            return "\n".join([*lines, *_receipt(info["purchase"])])
        if info.get("format_error"):
            refused = info.get("parsed_action") or "a reply without an action"
            lines.append(f"That is not possible here: {refused}")
        if "suffix" not in info:  # the episode is over
            return "\n".join(lines)
        ways = "what to search for" if env.visit.place == "search" else _WAYS
        turn = min(env.turn_count + 1, env.max_turns)
        return "\n".join([*lines, f"Turn {turn} of {env.max_turns}. Type {ways}."])

    def typed(self, text: str) -> str:
        """Return the action that a person means: a click, or a search for the text.

        Raises:
            ConfigError: A number that the page does not have.
        """
        wanted = text.strip().lower()
        if wanted.startswith(("search[", "click[")) and wanted.endswith("]"):
            return text
        numbers = _numbers(self._env.page)
        if not wanted.isdecimal() or not numbers:
            return f"click[{wanted}]" if wanted in numbers else f"search[{text.strip()}]"
        for name, number in numbers.items():
            if str(number) == wanted:
                return f"click[{name}]"
        raise ConfigError(
            f"The page has the numbers 1 to {len(numbers)}; got {text}. "
            f"Write search[{text}] to search for it."
        )


_WAYS = "a number or a name to click it; any other text is a search"


def _numbers(page: Page) -> dict[str, int]:
    """Return the number of each text that can be clicked, from 1 on in the order of the page.

    The search page has none: there a number is what to search for.
    """
    if any(kind is Kind.BOX for kind, _ in page):
        return {}
    kinds = (Kind.BUTTON, *_LINKS, *_OPTIONS)
    names = dict.fromkeys(text.lower() for kind, text in page if kind in kinds)
    return {name: number for number, name in enumerate(names, start=1)}


def _lines(page: Page) -> list[str]:
    """Return the lines of a page, with an empty one between its parts."""
    lines: list[str] = []
    last = None
    for kind, texts in _rows(_for_people(page), _numbers(page)):
        is_new_part = kind is not last and not (kind in _TEXTS and last in _TEXTS)
        lines += [""] * is_new_part
        lines.append("  ".join(texts))
        last = kind
    return lines


def _for_people(page: Page) -> list[Piece]:
    """Return the pieces without labels and the button of the box; options after the title."""
    has_box = any(kind is Kind.BOX for kind, _ in page)
    pieces = [
        piece
        for piece, following in zip(page, [*page[1:], None], strict=True)
        if not (following and following.kind is Kind.INSTRUCTION)
        and not (has_box and piece.kind in (Kind.BOX, Kind.BUTTON))
    ]
    start = next((at for at, (kind, _) in enumerate(pieces) if kind is Kind.OPTION_NAME), 0)
    if start:
        pieces[start:] = sorted(pieces[start:], key=lambda piece: piece.kind not in _TEXTS)
    return pieces


def _rows(pieces: Iterable[Piece], numbers: Mapping[str, int]) -> list[tuple[Kind, list[str]]]:
    """Return the texts of each line, and the kind of the first one.

    Buttons stand beside each other, and so do a product, its title and its price, and the values
    of an option.
    """
    rows: list[tuple[Kind, list[str]]] = []
    for kind, text in pieces:
        first = rows[-1][0] if rows else None
        shown = _FORMS.get(kind, "{}").replace("{}", text.strip())
        if kind in (Kind.BUTTON, *_LINKS, *_OPTIONS):
            mark = f"[{numbers[text.lower()]}]"
            shown = f"{mark:>4} {shown}" if kind in _LINKS else f"{mark} {shown}"
        joins = (
            kind in _OPTIONS
            or (kind is Kind.BUTTON and first is Kind.BUTTON)
            or (kind in _TEXTS and first is Kind.LINK)
        )
        if joins and rows:
            rows[-1][1].append(shown)
        else:
            rows.append((Kind.LINK if kind is Kind.VISITED else kind, [shown]))
    return rows


def _receipt(purchase: Mapping[str, Any]) -> list[str]:
    """Return the parts of the reward of a purchase, one on each line."""
    wanted = purchase["wanted"]
    limit = wanted["price_upper"]
    options = f"{_listed(wanted['options'])}; chosen: {_listed(purchase['chosen'].values())}"
    parts = {
        "kind of product": (1, purchase["type"], f"{wanted['asin']}; bought: {purchase['asin']}"),
        "attributes": (
            len(wanted["attributes"]),
            purchase["attributes"],
            _listed(wanted["attributes"]),
        ),
        "options": (len(wanted["options"]), purchase["options"], options),
        "price": (1, int(purchase["price"]), f"at most ${limit:.2f}" if limit > 0 else "any"),
    }
    return [
        f"{name:<16}{hits:g} of {count}  wanted: {text}"
        for name, (count, hits, text) in parts.items()
    ]


def _listed(values: Iterable[str]) -> str:
    return ", ".join(values) or "none"
