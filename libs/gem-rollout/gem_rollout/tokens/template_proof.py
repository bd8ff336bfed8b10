"""The proof that a chat template renders each message by itself, and what follows from it.

``is_local`` reads the syntax tree of a template. It accepts a template only if every text that it
can render is

    the beginning + the text of each message, in order + the end

where the beginning and the end depend on nothing but variables and the first messages, and the text
of a message on these, on its neighbours, on whether its index is even, and on whether it is among
the first or the last. All else is refused: a second loop over the chat, its length, a namespace
that is carried from message to message, a search for the last question of the user, the time.

With such a template, two prompts of which one continues the other differ in the same way with and
without the messages that ``left_out`` chooses. It needs ``jinja2``, as all chat templates do.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeGuard

from jinja2 import TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

__all__ = ["is_local", "left_out"]

_HEAD = 4
"""First messages that are rendered: two, after a template has cut off at most two."""
_TAIL = 8
"""Least last messages that are rendered. A template sees at most three messages ahead, so the texts
of the last three may still change; and at most three back from each of these."""
_STEP = 16
"""Messages that are left out are a multiple of this, less the first: seldom others, and an even
number, so that indices stay even."""

_SYNTAX = (
    nodes.Expr,
    nodes.Helper,
    nodes.Output,
    nodes.If,
    nodes.For,
    nodes.Continue,
    nodes.Break,
    nodes.Assign,
    nodes.AssignBlock,
    nodes.Macro,
)
_FUNCTIONS = {"dict", "namespace", "raise_exception", "range"}
_LAZY = {"batch", "items", "map", "reject", "rejectattr", "reverse", "select", "selectattr"}
_LAZY |= {"slice", "unique"}
"""Filters whose results can be read once."""
_CHANGING = {"cycler", "joiner", "lipsum", "loop", "self", "strftime_now"}
"""Names whose values are not the same each time."""


def left_out(count: int) -> slice | None:
    """Return which messages of a chat need not be rendered again; None if these would be few.

    Args:
        count: Number of messages of a prompt, which later ones continue.
    """
    end = (count - _TAIL) // _STEP * _STEP
    return slice(_HEAD, end) if end > _HEAD else None


@functools.lru_cache(maxsize=64)
def is_local(template: str) -> bool:
    """Return whether a chat template is proven to render each message by itself.

    Args:
        template: Its source, in the dialect of transformers.
    """
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    try:
        _Proof(environment.parse(template)).check()
    except (_UnprovenError, TemplateSyntaxError):
        return False
    return True


class _UnprovenError(Exception):
    """The template does what the proof does not cover."""


@dataclass(frozen=True)
class _Place:
    """Where a node is.

    Args:
        region: The loop over the chat, or the macro, that it is in; None outside of both.
        loop: What ``loop`` refers to: the loop over the chat or another one; None outside of loops.
        is_plain: Whether only conditions are around it.
        has_previous: Whether it is evaluated only for messages after the first of the loop.
    """

    region: nodes.Node | None = None
    loop: Literal["chat", "other"] | None = None
    is_plain: bool = True
    has_previous: bool = False

    def given(self, has_previous: bool) -> "_Place":  # noqa: FBT001 - of one field
        """Return the same place, where another message may be known to be before this one."""
        return replace(self, has_previous=self.has_previous or has_previous)


class _Proof:
    """A walk over a template that raises ``_UnprovenError`` at the first node it does not cover.

    Each method ``_check_...`` of a kind of node returns whether the node is proven; if it is not
    yet, its children have to be.
    """

    def __init__(self, tree: nodes.Template) -> None:
        self._tree = tree
        self._macros = {one.name for one in tree.find_all(nodes.Macro)}
        self._chats = {"messages"}
        """Names of the chat, whole or without its first messages."""
        assigned = list(tree.find_all(nodes.Assign))
        for _ in assigned:
            self._chats |= {_name(one.target) or "" for one in assigned if self._is_chat(one.node)}
        self._assigned: dict[str, set[tuple[nodes.Node | None, bool]]] = {}
        """For each name, the regions where it is assigned, and whether a new namespace is."""
        self._loops = self._cuts = 0

    def check(self) -> None:
        self._collect(self._tree, None)
        self._all(self._tree.body, _Place())
        if self._loops != 1 or self._cuts > 2:
            raise _UnprovenError

    def _collect(self, node: nodes.Node, region: nodes.Node | None) -> None:
        """Note where each name is assigned."""
        for child in node.iter_child_nodes():
            if isinstance(child, nodes.Name) and child.ctx != "load":
                value = node.node if isinstance(node, nodes.Assign) else None
                is_new = isinstance(value, nodes.Call) and _name(value.node) == "namespace"
                self._assigned.setdefault(child.name, set()).add((region, is_new))
            is_loop = isinstance(child, nodes.For) and self._is_chat(child.iter)
            begins = is_loop or isinstance(child, nodes.Macro)
            self._collect(child, child if begins else region)

    def _all(self, found: Sequence[nodes.Node], place: _Place) -> None:
        for node in found:
            if not isinstance(node, _SYNTAX):
                raise _UnprovenError
            own = getattr(self, f"_check_{type(node).__name__.lower()}", None)
            if own is None or not own(node, place):
                self._all(list(node.iter_child_nodes()), replace(place, is_plain=False))

    def _check_name(self, node: nodes.Name, place: _Place) -> bool:
        refused = self._chats | (_CHANGING if node.ctx == "load" else {"loop", *_FUNCTIONS})
        if node.name in refused:
            raise _UnprovenError
        return True

    def _check_nsref(self, node: nodes.NSRef, place: _Place) -> bool:
        """In a region, only a namespace that is made there, and nowhere else, may change."""
        if place.region is not None and self._assigned.get(node.name) != {(place.region, True)}:
            raise _UnprovenError
        return True

    def _check_assign(self, node: nodes.Assign, place: _Place) -> bool:
        if not self._is_chat(node.node):
            return False
        if not place.is_plain or _name(node.target) is None:
            raise _UnprovenError
        self._check_chat(node.node, place)
        return True

    def _check_for(self, node: nodes.For, place: _Place) -> bool:
        outside = replace(place, is_plain=False)
        inside = replace(outside, loop="other")
        if self._is_chat(node.iter):
            if not place.is_plain or node.test or node.else_:
                raise _UnprovenError
            self._check_chat(node.iter, place)
            self._loops += 1
            inside = _Place(node, "chat", is_plain=False)
        else:
            self._all([node.iter, *node.else_], outside)
        if node.recursive:
            raise _UnprovenError
        # In the condition of an inner loop, `loop` may be that of the loop around it.
        self._all([node.test] if node.test else [], outside)
        self._all([node.target, *node.body], inside)
        return True

    def _check_chat(self, node: nodes.Node, place: _Place) -> None:
        """Check an expression whose value is the chat, and count the messages that it cuts off."""
        if isinstance(node, nodes.CondExpr):
            self._all([node.test], place)
            self._check_chat(node.expr1, place)
            if node.expr2 is not None:
                self._check_chat(node.expr2, place)
        elif isinstance(node, nodes.Getitem):
            self._cuts += 1

    def _check_macro(self, node: nodes.Macro, place: _Place) -> bool:
        if place.region is not None:
            raise _UnprovenError
        self._all([*node.args, *node.defaults, *node.body], _Place(node, None, is_plain=False))
        return True

    def _check_break(self, node: nodes.Break, place: _Place) -> bool:
        if place.loop != "other":
            raise _UnprovenError
        return True

    def _check_call(self, node: nodes.Call, place: _Place) -> bool:
        """A function must be known; a method is one of a string, a list or a dictionary."""
        is_method = isinstance(node.node, nodes.Getattr)
        if not is_method and _name(node.node) not in _FUNCTIONS | self._macros:
            raise _UnprovenError
        return False

    def _check_filter(self, node: nodes.Filter, place: _Place) -> bool:
        named = [one.value for one in node.args if isinstance(one, nodes.Const)]
        is_random = "random" in (node.name, *named)
        if is_random or (node.name in _LAZY and place.region is None):
            raise _UnprovenError
        return False

    def _check_getattr(self, node: nodes.Getattr, place: _Place) -> bool:
        if _name(node.node) != "loop":
            return False
        known = node.attr in ("first", "last", "nextitem", "previtem") and place.loop == "chat"
        if not known and place.loop != "other":
            raise _UnprovenError
        return True

    def _check_getitem(self, node: nodes.Getitem, place: _Place) -> bool:
        """The first two messages of the chat may be read, and the neighbours of a message."""
        if _name(node.node) not in self._chats:
            return False
        at, step = node.arg, 0
        if isinstance(at, nodes.Add | nodes.Sub) and _is_small(at.right):
            step = at.right.value if isinstance(at, nodes.Add) else -at.right.value
            at = at.left
        index = _index(at, place)
        least = 0 if place.has_previous else 1  # the item before the first is the last one
        known = index is not None and least <= index + step + 1 <= 2
        if not known and not _is_small(node.arg):
            raise _UnprovenError
        return True

    def _check_if(self, node: nodes.If, place: _Place) -> bool:
        self._all([node.test, *node.elif_, *node.else_], place)
        self._all(node.body, place.given(_skips_first(node.test, place)))
        return True

    def _check_and(self, node: nodes.And, place: _Place) -> bool:
        self._all([node.left], place)
        self._all([node.right], place.given(_skips_first(node.left, place)))
        return True

    def _check_or(self, node: nodes.Or, place: _Place) -> bool:
        self._all([node.left], place)
        self._all([node.right], place.given(_holds_first(node.left, place)))
        return True

    def _check_compare(self, node: nodes.Compare, place: _Place) -> bool:
        """An index or the length of the chat may be compared with 0 and 1."""
        counted = _index(node.expr, place) is not None or (
            isinstance(node.expr, nodes.Filter)
            and node.expr.name in ("length", "count")
            and _name(node.expr.node) in self._chats
        )
        return counted and all(_is_small(one.expr) for one in node.ops)

    def _check_mod(self, node: nodes.Mod, place: _Place) -> bool:
        is_two = isinstance(node.right, nodes.Const) and node.right.value == 2
        return is_two and _index(node.left, place) is not None

    def _is_chat(self, node: nodes.Node | None) -> bool:
        """Return whether the value of an expression is the chat, or the chat without its first."""
        if isinstance(node, nodes.CondExpr):
            return self._is_chat(node.expr1) and self._is_chat(node.expr2)
        if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
            cut = node.arg
            is_one = isinstance(cut.start, nodes.Const) and cut.start.value == 1
            return is_one and cut.stop is cut.step is None and _name(node.node) in self._chats
        return _name(node) in self._chats


def _name(node: nodes.Node | None) -> str | None:
    """Return the name that a node is; None if it is something else."""
    return node.name if isinstance(node, nodes.Name) else None


def _is_small(node: nodes.Node) -> TypeGuard[nodes.Const]:
    return isinstance(node, nodes.Const) and type(node.value) is int and 0 <= node.value <= 1


def _index(node: nodes.Node, place: _Place) -> int | None:
    """Return what is added to the index of a message, 0 or 1; None for anything else."""
    if place.loop != "chat" or not isinstance(node, nodes.Getattr) or _name(node.node) != "loop":
        return None
    return {"index0": 0, "index": 1}.get(node.attr)


def _skips_first(node: nodes.Node, place: _Place) -> bool:
    """Return whether an expression is false for the first message of the loop."""
    if isinstance(node, nodes.And):
        return _skips_first(node.left, place) or _skips_first(node.right, place)
    if isinstance(node, nodes.Not):
        return _holds_first(node.node, place)
    return _compares_first(node, place, ("gt", "ne"))


def _holds_first(node: nodes.Node, place: _Place) -> bool:
    """Return whether an expression is true for the first message of the loop."""
    if isinstance(node, nodes.Or):
        return _holds_first(node.left, place) or _holds_first(node.right, place)
    if isinstance(node, nodes.Getattr) and _name(node.node) == "loop":
        return place.loop == "chat" and node.attr == "first"
    return _compares_first(node, place, ("eq",))


def _compares_first(node: nodes.Node, place: _Place, operators: Sequence[str]) -> bool:
    """Return whether a node compares the index of a message with that of the first one."""
    if not isinstance(node, nodes.Compare) or len(node.ops) != 1:
        return False
    first, with_ = _index(node.expr, place), node.ops[0]
    is_first = _is_small(with_.expr) and with_.expr.value == first
    return is_first and with_.op in operators
