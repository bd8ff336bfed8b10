r"""The terminal of the commands: a text is printed as it is.

It has no markup, so ``[extra]`` in advice survives, and it cannot control the terminal: escape
sequences, carriage returns and changes of direction are shown as ``\x1b`` and the like.
"""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from gem_core.options import visible

__all__ = ["Terminal"]


class Terminal(Console):
    """Rich's console for texts that others wrote; style them with ``style`` and ``Text``."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, "highlight": False, **options})

    def on_broken_pipe(self) -> None:
        """Raise the ``BrokenPipeError`` on, as other output does."""
        raise  # noqa: PLE0704 - Rich calls this while it handles the error

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)
