"""The shared parts of the commands: ``--format``, JSON, messages, and completion of ids.

In the format ``json``, the standard output has what ``print_json`` prints and nothing else: what
components print goes to the standard error.

``eval "$(_GEM_CORE_COMPLETE=bash_source gem-core)"`` turns completion on in bash; in the other
shells it is ``zsh_source`` and ``fish_source``.
"""

import contextlib
import functools
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from gem_core.notices import print_result, results_alone
from gem_core.plugins import default_registry
from gem_core.specs import ENVS, Kind, Spec

__all__ = [
    "CLOSED_PIPE",
    "PROGRAM",
    "add_completion",
    "complete_envs",
    "completions",
    "format_option",
    "json_alone",
    "kind_option",
    "message_of",
    "print_json",
    "visible",
]


CLOSED_PIPE = 141
"""Exit status if the reader of the output has gone (``gem-core list | head -1``). It is what shells
report of other programs, which end by the signal SIGPIPE."""
PROGRAM = object()
"""The object of the root context if the process is ``gem-core``, which ends with the command."""


def format_option(*formats: str) -> Callable[[Any], Any]:
    """Return a decorator that adds ``--format``; the command gets its value as ``form``.

    In the format ``json``, the command prints with ``print_json``, and what else is printed while
    it runs goes to the standard error.

    Args:
        formats: The formats, the default one first; none for ``table`` and ``json``.
    """
    names = formats or ("table", "json")
    option = click.option(
        "--format",
        "form",
        type=click.Choice(names),
        default=names[0],
        show_default=True,
        help="What to print on the standard output.",
    )

    def decorate(function: Callable[..., Any]) -> Any:
        @functools.wraps(function)
        def run(*args: Any, form: str, **kwargs: Any) -> Any:
            with json_alone(form):
                return function(*args, form=form, **kwargs)

        return option(run)

    return decorate


@contextlib.contextmanager
def json_alone(form: str) -> Iterator[None]:
    """In the format ``json``, keep the standard output for ``print_json``."""
    if form != "json":
        yield
        return
    context = click.get_current_context(silent=True)
    is_program = context is not None and context.find_root().obj is PROGRAM
    with results_alone(until_exit=is_program and sys.stdout is sys.__stdout__):
        yield


def print_json(value: object, *, on_one_line: bool = False) -> None:
    """Print a result as JSON; numbers that JSON does not have are null, other objects texts."""
    to_text = functools.partial(json.dumps, indent=None if on_one_line else 2, default=str)
    try:
        text = to_text(value, allow_nan=False)
    except ValueError:
        text = to_text(_finite(value))
    print_result(text)


def _finite(value: Any) -> Any:
    """Return plain data with None for each number that is infinite or not a number."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [*map(_finite, value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Return a text in which characters that control a terminal are shown, such as ``\x1b``."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def message_of(error: Exception) -> str:
    """Return the text to print about an error: file and reason for an error of the system."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename!s:.300}: "
        text = f"{place}{error.strerror}"
    return visible(text)


def completions(specs: Iterable[Spec | Kind[Any]], prefix: str = "") -> list[CompletionItem]:
    """Return the ids of specs as completions, each after a prefix."""
    return [CompletionItem(prefix + spec.id, help=spec.description) for spec in specs]


def complete_envs(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the environments whose id begins with what was typed so far."""
    return completions(default_registry().list(ENVS, f"{incomplete}*"))


def kind_option(default: str | None, text: str) -> Callable[[Any], Any]:
    """Return a decorator that adds ``--kind``."""
    return click.option(
        "--kind",
        default=default,
        show_default=default is not None,
        help=f"{text}; 'gem-core list --kind kinds' shows all.",
        shell_complete=lambda _c, _p, start: completions(
            kind for kind in default_registry().kinds() if kind.id.startswith(start)
        ),
    )


_ADD = "COMPREPLY+=($value)"
"""What click's script of bash does with a completion. After a key, no space is to follow."""
_CHOOSE = 'if [[ "$descr" == "_" ]]'
_OF_KEY = """\
if [[ "$key" == *[.=] ]]; then
                local -a shown=("$key  ${descr#_}")
                compadd -U -l -S '' -d shown -- "$key"
            el"""
"""What the script of zsh does first with a key, which it would close with a space as well."""


class _Bash(BashComplete):
    """Completion in bash, which takes ``:`` and ``=`` for the ends of words."""

    source_template = BashComplete.source_template.replace(
        _ADD, f"{_ADD}\n            [[ $value == *[.=] ]] && compopt -o nospace"
    )
    _given = ""
    """The part of the last word that bash leaves as it is."""

    def get_completion_args(self) -> tuple[list[str], str]:
        position = int(os.environ["COMP_CWORD"])
        pieces = split_arg_string(os.environ["COMP_WORDS"])[1:]
        pieces = [*pieces[: position - 1], *(pieces[position - 1 : position] or [""])]
        words: list[str] = []
        for piece in pieces:
            if words and (piece in (":", "=") or words[-1].endswith((":", "="))):
                words[-1] += piece
            else:
                words.append(piece)
        last = "" if pieces[-1] in (":", "=") else pieces[-1]
        self._given = words[-1].removesuffix(last) if last else words[-1]
        return words[:-1], words[-1]

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.type},{item.value.removeprefix(self._given)}"


class _Zsh(ZshComplete):
    """Completion in zsh, without a space after a key."""

    source_template = ZshComplete.source_template.replace(_CHOOSE, f"{_OF_KEY}{_CHOOSE}")


def add_completion() -> None:
    """Let click complete keys, and ids in bash, which hold a colon."""
    add_completion_class(_Bash)
    add_completion_class(_Zsh)
