"""Small agent programs in Python: one with the standard library, and one with each SDK.

They show what a program needs at least, and test the gateway where no other program is installed.
"""

from pathlib import Path

from gem_serve.harness.recipe import Dialect, Recipe

__all__ = ["anthropic_sdk", "openai_sdk", "python_loop"]

_PROGRAMS = Path(__file__).parents[1] / "programs"
_OPENAI = {"OPENAI_API_KEY": "{key}", "OPENAI_BASE_URL": "{api}", "OPENAI_MODEL": "{model}"}
_ANTHROPIC = {
    "ANTHROPIC_API_KEY": "{key}",
    "ANTHROPIC_BASE_URL": "{host}",
    "ANTHROPIC_MODEL": "{model}",
}


def python_loop(*, turns: int = 30, python: str = "python3") -> Recipe:
    """Return the recipe of a loop with chat completions and the standard library alone.

    Args:
        turns: The number of replies after which it gives up.
        python: The interpreter in the machine.
    """
    return _loop("chat_loop.py", "chat", _OPENAI, turns, python)


def openai_sdk(*, turns: int = 30, python: str = "python3") -> Recipe:
    """Return the recipe of a loop with OpenAI's SDK; see ``python_loop``."""
    return _loop("openai_sdk.py", "responses", _OPENAI, turns, python, "pip install openai")


def anthropic_sdk(*, turns: int = 30, python: str = "python3") -> Recipe:
    """Return the recipe of a loop with Anthropic's SDK; see ``python_loop``."""
    return _loop("anthropic_sdk.py", "messages", _ANTHROPIC, turns, python, "pip install anthropic")


def _loop(
    name: str, dialect: Dialect, env: dict[str, str], turns: int, python: str, install: str = ""
) -> Recipe:
    return Recipe(
        program=python,
        arguments=("{home}/" + name, "{instruction}", str(turns)),
        dialect=dialect,
        env=env,
        files={name: (_PROGRAMS / name).read_text(encoding="utf-8")},
        install=install,
    )
