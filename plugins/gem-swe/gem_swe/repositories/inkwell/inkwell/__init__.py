"""A small template language for plain text and HTML."""

from inkwell.errors import FilterError, InkwellError, OperationError, ParseError, UndefinedError
from inkwell.renderer import Template
from inkwell.values import Markup

__all__ = [
    "FilterError",
    "InkwellError",
    "Markup",
    "OperationError",
    "ParseError",
    "Template",
    "UndefinedError",
]
