"""The parser of LaTeX environments: matrices, systems of relations, functions in pieces.

environment = row (break row)*
row         = item (("&" | ",") item)*
"""

from abc import ABC, abstractmethod
from typing import Literal

from gem_math.grading.build import determinant
from gem_math.grading.errors import UnreadableError, UnsupportedError
from gem_math.grading.nodes import Bracketed, Listing, Matrix, Node, Relation, SetOf, Text
from gem_math.grading.reader import TokenReader

__all__ = ["EnvironmentReader"]

_CONDITIONS = frozenset({"if", "for", "when", "where", "otherwise"})
_JOINTS = frozenset({"or", "and"})
_MATRICES = frozenset({"cases", "matrix", "pmatrix", "bmatrix", "Bmatrix", "array", "smallmatrix"})


class EnvironmentReader(TokenReader, ABC):
    """A parser of environments, whose items the subclass parses."""

    @abstractmethod
    def _item(self) -> Node:
        """Parse one item, as between brackets."""

    def _matrix(self) -> Node:
        name = self._script()
        if name not in _MATRICES and name != "vmatrix":
            raise UnsupportedError(f"{name} is beyond this grammar")
        if name == "array" and self._is("{"):
            self._script()
        rows = self._rows()
        if not rows:
            raise UnreadableError("an empty environment")
        if name == "cases":
            return _cases(rows)
        if len(rows) > 1 and all(isinstance(item, Relation) for row in rows for item in row):
            return _cases(rows)
        if name == "vmatrix":
            return determinant(rows)
        return rows[0][0] if [len(row) for row in rows] == [1] else Matrix(tuple(rows))

    def _at_worded(self) -> bool:
        """Return whether the rest of a row has words, as in ``n is even``."""
        for token in self._tokens[self._position :]:
            if token.text in {"\\\\", "end", "&"}:
                return False
            if token.kind == "word" and token.text.lower() not in _CONDITIONS | _JOINTS:
                return True
        return False

    def _worded(self) -> Node:
        """Parse the rest of a row as words."""
        words = []
        while not self._is("\\\\", "\\end", "&"):
            words.append(self._take().text.lower())
        return Text(" ".join(word for word in words if word not in {"is", "are", ",", "."}))

    def _rows(self) -> list[tuple[Node, ...]]:
        """Parse the rows of an environment, up to its end."""
        rows: list[tuple[Node, ...]] = []
        row: list[Node] = []
        while not self._is("\\end"):
            if self._took("\\\\"):
                rows.append(tuple(row))
                row = []
            elif self._at.kind == "word" and self._at.text.lower() in _CONDITIONS:
                self._take()
            elif row and self._at.kind == "word" and self._at.text.lower() in _JOINTS:
                joint: Literal["or", "and"] = "or" if self._take().text.lower() == "or" else "and"
                row[-1] = Listing((row[-1], self._item()), joint)
            elif not self._took("&", ","):
                row.append(self._worded() if row and self._at_worded() else self._item())
        self._take()
        self._script()
        if row:
            rows.append(tuple(row))
        return rows


def _cases(rows: list[tuple[Node, ...]]) -> Node:
    """Return rows after a brace: a system of relations, or a function in pieces."""
    items = [item for row in rows for item in row]
    if len(items) == 1:
        return items[0]
    if all(isinstance(item, Relation) for item in items):
        return Listing(tuple(items), "and")
    return SetOf(tuple(Bracketed("case", row, "") for row in rows))
