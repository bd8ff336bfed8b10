"""Where the nodes of a syntax tree stand in a file."""

import ast
import textwrap

__all__ = ["CodeText"]


class CodeText:
    """The text of a file of Python, found by the nodes of its syntax tree.

    Args:
        content: What is in the file, in UTF-8.

    Raises:
        UnicodeDecodeError: It is not in UTF-8.
    """

    def __init__(self, content: bytes) -> None:
        content.decode()
        self.content = content
        self.starts = [0]
        """Where each line begins, and where the file ends."""
        for line in content.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt) -> int:
        """Return the byte at which a node begins."""
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        """Return the byte after a node."""
        return self.starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def text(self, node: ast.expr | ast.stmt) -> str:
        """Return the code of a node."""
        return self.content[self.start(node) : self.end(node)].decode()

    def dedented(self, node: ast.expr | ast.stmt) -> str:
        """Return the code of a node without its indentation."""
        return textwrap.dedent(" " * node.col_offset + self.text(node))
