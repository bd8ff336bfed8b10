"""From the syntax tree to text: evaluates expressions and runs tags."""

from collections.abc import Mapping
from typing import Any

from inkwell import nodes
from inkwell.errors import FilterError, InkwellError, UndefinedError
from inkwell.filters import FILTERS, Filter
from inkwell.parser import Parser
from inkwell.scope import Loop, Scope, loop_items, unpack
from inkwell.values import Markup, apply, escape, to_text


class Renderer:
    """Renders a template once; an error gets the position of the innermost node it is about."""

    def __init__(self, template: "Template", values: Mapping[str, object]) -> None:
        self._template = template
        self._scope = Scope(values)

    def visit(self, node: nodes.Node) -> Any:
        try:
            return getattr(self, f"visit_{type(node).__name__.lower()}")(node)
        except InkwellError as error:
            raise error.at(node.position)

    def render(self, body: nodes.Body) -> Markup:
        show = escape if self._template.autoescape else to_text
        return Markup("".join(show(self.visit(node)) for node in body))

    def visit_set(self, node: nodes.Set) -> None:
        self._scope.set(node.name, self.visit(node.value))

    def visit_if(self, node: nodes.If) -> Markup:
        for condition, body in node.branches:
            if self.visit(condition):
                return self.render(body)
        return self.render(node.otherwise)

    def visit_for(self, node: nodes.For) -> Markup:
        items = loop_items(self.visit(node.items))
        if not items:
            return self.render(node.otherwise)
        loop = Loop(len(items))
        outer = self._scope
        pieces = []
        for item in items:
            loop.advance()
            self._scope = Scope({"loop": loop, **unpack(node.targets, item)}, outer)
            pieces.append(self.render(node.body))
        self._scope = outer
        return Markup("".join(pieces))

    def visit_literal(self, node: nodes.Literal) -> object:
        return node.value

    def visit_name(self, node: nodes.Name) -> object:
        return self._scope.get(node.name)

    def visit_operation(self, node: nodes.Operation) -> object:
        if node.symbol == "[":
            return [self.visit(item) for item in node.operands]
        left = self.visit(node.operands[0])
        if node.symbol == "not":
            return not left
        if (node.symbol == "and" and not left) or (node.symbol == "or" and left):
            return left
        right = self.visit(node.operands[1])
        return right if node.symbol in ("and", "or") else apply(node.symbol, left, right)

    def visit_filtered(self, node: nodes.Filtered) -> object:
        if node.name not in self._template.filters:
            raise FilterError(f"unknown filter {node.name!r}")
        try:
            value = self.visit(node.operand)
        except UndefinedError:
            if node.name != "default":
                raise
            value = None
        arguments = [self.visit(argument) for argument in node.arguments]
        try:
            return self._template.filters[node.name](value, *arguments)
        except (AttributeError, TypeError) as error:
            raise FilterError(f"{node.name!r} does not work with these values") from error


class Template:
    """A template that is read once and can be rendered often.

    With `autoescape`, what `{{ }}` shows is escaped unless it is Markup. `filters` are known in
    addition to the usual ones and win over them.
    """

    def __init__(
        self, source: str, autoescape: bool = True, filters: Mapping[str, Filter] | None = None
    ) -> None:
        self.autoescape = autoescape
        self.filters = {**FILTERS, **(filters or {})}
        self._body = Parser(source).body()

    def render(self, **values: object) -> str:
        """The text for the values, each of them known to the template under its name."""
        return str(Renderer(self, values).render(self._body))
