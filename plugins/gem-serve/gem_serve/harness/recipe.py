"""How a program is started so that it does a task and asks the gateway for every reply.

A recipe is data: a command line, environment variables and files, in which the words of ``WORDS``
in braces stand for what an episode has. A third party writes one in a file of its own and adds one
line to its plugin:
``registry.add(Spec(kind=HARNESSES, id="mine", entry_point="my_package.mine:mine"))``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gem_core.errors import ConfigError
from gem_core.plugins import default_registry
from gem_core.specs import Kind, Spec

__all__ = ["HARNESSES", "WORDS", "Dialect", "Recipe", "find_recipe"]

Dialect = Literal["chat", "completions", "responses", "messages"]
WORDS = {
    "api": "the URL of the gateway for this episode, which ends with /v1",
    "host": "the same URL without /v1, as Anthropic's clients want it",
    "home": "the program's home directory, which only this episode has",
    "instruction": "what the task asks for",
    "key": "the key that the program sends",
    "model": "the name of the model",
    "workdir": "the directory in which the program starts",
}
"""The words that a recipe may have in braces, and what they stand for."""
_WORD = re.compile(r"\{(" + "|".join(WORDS) + r")\}")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a program is run without a person.

    Args:
        program: The name or path of the program, which the machine must have.
        arguments: Its arguments.
        dialect: The API that it speaks.
        env: Its environment variables; ``HOME`` is set already.
        files: Files below its home directory: path to content.
        executables: Files like ``files`` that can be run; the program may be one of them.
        install: How to install the program, for the message if it is missing.

    Raises:
        ConfigError: A value is empty or not known, or a file is not below the home directory.
    """

    program: str
    arguments: tuple[str, ...] = ()
    dialect: Dialect
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    executables: Mapping[str, str] = field(default_factory=dict)
    install: str = ""

    def __post_init__(self) -> None:
        if not self.program:
            raise ConfigError("program of a recipe must not be empty.")
        if self.dialect not in {"chat", "completions", "responses", "messages"}:
            raise ConfigError(
                f"dialect must be chat, completions, responses or messages; got {self.dialect!r}."
            )
        for path in (*self.files, *self.executables):
            if path.startswith("/") or ".." in path.split("/"):
                raise ConfigError(f"A file of a recipe is below its home directory; got {path!r}.")

    def filled(self, words: Mapping[str, str]) -> "Recipe":
        """Return the recipe with the words in braces replaced; other braces stay as they are."""

        def fill(text: str) -> str:
            return _WORD.sub(lambda found: words[found[1]], text)

        def fill_all(texts: Mapping[str, str]) -> dict[str, str]:
            return {name: fill(text) for name, text in texts.items()}

        return Recipe(
            program=fill(self.program),
            arguments=tuple(map(fill, self.arguments)),
            dialect=self.dialect,
            env=fill_all(self.env),
            files=fill_all(self.files),
            executables=fill_all(self.executables),
            install=self.install,
        )


HARNESSES: Kind[Spec] = Kind(
    id="harnesses",
    name="harness",
    description="programs that play episodes as agents",
    group="harness",
    by_entry_point=True,
)
"""Entry points return a ``Recipe``."""


def find_recipe(recipe: str | Mapping[str, Any] | Recipe) -> Recipe:
    """Return a recipe by its id, or by a mapping with an ``id`` and parameters.

    Raises:
        UnknownIdError: There is no such recipe; near names are suggested.
        ConfigError: The entry point returns something else.
    """
    if isinstance(recipe, Recipe):
        return recipe
    parts = {"id": recipe} if isinstance(recipe, str) else dict(recipe)
    name = parts.pop("id", "")
    made = default_registry().make(HARNESSES, name, **parts)
    if not isinstance(made, Recipe):
        raise ConfigError(
            f"The entry point of the harness {name!r} must return a Recipe; got {made!r}."
        )
    return made
