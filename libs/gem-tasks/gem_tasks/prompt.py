r"""Prompt templates: text with fields, such as ``{question}``, that texts of a row replace.

Other braces have no meaning, so a template may contain ``\boxed{}``.
"""

import re

from gem_core.errors import ConfigError

__all__ = ["check_prompt", "fill_prompt"]


def check_prompt(prompt: str | None, field: str) -> str | None:
    """Return a valid template unchanged.

    Args:
        prompt: The template; None shows the question alone.
        field: The name of the field, without braces.

    Raises:
        ConfigError: The template does not contain the field.
    """
    if prompt is not None and (not isinstance(prompt, str) or f"{{{field}}}" not in prompt):
        raise ConfigError(f"prompt must be None or a text with {{{field}}} in it; got {prompt!r}.")
    return prompt


def fill_prompt(prompt: str | None, **texts: str) -> str:
    """Return a template with its fields replaced; braces in what replaces them are kept.

    Args:
        prompt: The template; None for the first of the texts alone.
        texts: The text of each field, by its name.
    """
    if prompt is None:
        return next(iter(texts.values()))
    fields = "|".join(map(re.escape, texts))
    return re.sub(rf"\{{({fields})\}}", lambda found: texts[found[1]], prompt)
