r"""Prompt templates: text around a question, which stands where ``{question}`` or the like is.

Every other brace is just a brace, so that ``\boxed{}`` can be written as it is.
"""

from gem_core.errors import ConfigError

__all__ = ["check_prompt", "fill_prompt"]


def check_prompt(prompt: str | None, field: str) -> str | None:
    """Return a template, or None for the bare question.

    Args:
        prompt: The template.
        field: Name of the place for the question, without braces.

    Raises:
        ConfigError: The template has no such place.
    """
    if prompt is not None and (not isinstance(prompt, str) or f"{{{field}}}" not in prompt):
        raise ConfigError(
            f"prompt is a text with {{{field}}} where the {field} goes, or None; got {prompt!r}."
        )
    return prompt


def fill_prompt(prompt: str | None, field: str, text: str) -> str:
    """Return a question inside its template; what the question holds is left as it is."""
    return text if prompt is None else prompt.replace(f"{{{field}}}", text)
