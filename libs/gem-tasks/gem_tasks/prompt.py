r"""Prompt templates: text with one field, such as ``{question}``, that a question replaces.

Other braces have no meaning, so a template may contain ``\boxed{}``.
"""

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


def fill_prompt(prompt: str | None, field: str, text: str) -> str:
    """Return a template with its field replaced by ``text``; braces in ``text`` are kept."""
    return text if prompt is None else prompt.replace(f"{{{field}}}", text)
