"""Completion of the words of a command: ids, keys, parameters of what is chosen, and choices.

Only the parameters of a chosen environment, agent or the like need an import, that of its module.
"""

import contextlib
import types
import typing
from collections.abc import Iterator, Sequence
from typing import Any

from click.shell_completion import CompletionItem
from pydantic.fields import FieldInfo

from gem_core.errors import GemError
from gem_core.notices import results_alone
from gem_core.plugins import default_registry
from gem_core.specs import ENVS, Kind
from gem_rollout.commands.suites import SUITES
from gem_rollout.commands.words import Grammar, alternatives

__all__ = ["complete", "description_of"]


def complete(grammar: Grammar, typed: Sequence[str], start: str) -> list[CompletionItem]:
    """Return what may follow the beginning of a word.

    Args:
        grammar: The words of the command.
        typed: The words before it.
        start: The beginning.
    """
    body = start.lstrip("+")
    sign = start.removesuffix(body)
    key, equals, value = body.partition("=")
    found = _values(grammar, typed, key, value) if equals else _keys(grammar, typed, key)
    items = [CompletionItem(sign + word, help=text or None) for word, text in found]
    if not equals and not sign:
        kind = ENVS
        if grammar.subject and not any("=" not in word for word in typed):
            kind = grammar.groups[grammar.subject].kind
        specs = default_registry().list(kind, f"{start}*")
        items += [CompletionItem(spec.id, help=spec.description) for spec in specs]
    return items


def _keys(grammar: Grammar, typed: Sequence[str], start: str) -> Iterator[tuple[str, str]]:
    """Yield keys with their descriptions; of a longer name, what is before the next dot."""
    names = {f"{name}.": "" for name in grammar.groups}
    names |= {f"{name}=": description_of(one) for name, one in grammar.fields.items()}
    chosen = grammar.places(typed, start)
    for place, spec in chosen.specs.items():
        if place.partition(".")[0] == start.partition(".")[0]:
            with contextlib.suppress(GemError), results_alone():
                for name in spec.parameters():
                    full, short = f"{place}.{name}", f"agent.{name}"
                    names[f"{full}="] = ""
                    if chosen.full_name(short) == full:
                        names[f"{short}="] = ""
    parts = {name.partition(".")[0] for name in grammar.fields if "." in name}
    names |= {f"{name}=": "" for name in grammar.keys if name not in {*grammar.fields, *parts}}
    offered = dict[str, str]()
    for name, text in names.items():
        if name.startswith(start):
            end = name.find(".", len(start)) + 1
            offered.setdefault(name[:end] if end else name, "" if end else text)
    yield from offered.items()


def description_of(field: FieldInfo) -> str:
    """Return what is said about a key, on one line."""
    return " ".join((field.description or "").replace("``", "'").split())


def _values(
    grammar: Grammar, typed: Sequence[str], key: str, value: str
) -> Iterator[tuple[str, str]]:
    """Yield values of a key: ids, or what its type allows."""
    group = key.partition("@")[0]
    kinds: dict[str, Kind[Any]] = {"suite": SUITES, "envs": ENVS}
    kinds.update((name, one.kind) for name, one in grammar.groups.items())
    if group in kinds:
        cut = max(value.rfind("["), value.rfind(",")) + 1
        for spec in default_registry().list(kinds[group], f"{value[cut:]}*"):
            yield f"{key}={value[:cut]}{spec.id}", spec.description
        return
    annotation = None
    with contextlib.suppress(GemError), results_alone():
        annotation = grammar.type_of(key, grammar.places(typed, key))
    for one in alternatives(annotation):
        choices = {bool: ("true", "false"), types.NoneType: ("null",)}.get(one, ())
        if typing.get_origin(one) is typing.Literal:
            choices = typing.get_args(one)
        yield from ((f"{key}={one}", "") for one in choices if str(one).startswith(value))
