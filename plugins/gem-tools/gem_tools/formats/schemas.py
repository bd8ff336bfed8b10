"""The schemas of functions as text, for the instructions of call formats."""

import json
from collections.abc import Sequence

from gem_core.tool import Function

__all__ = ["schema_lines"]


def schema_lines(functions: Sequence[Function]) -> str:
    """Return the schemas of functions as JSON, one on each line."""
    return "\n".join(json.dumps(one.to_openai(), ensure_ascii=False) for one in functions)
