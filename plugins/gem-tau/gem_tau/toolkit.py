"""The tools of a domain: methods that read or write a database, and what a call of one gives."""

import ast
import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

from gem_core.errors import ConfigError, near_names
from gem_core.tool import Function
from gem_tasks.described import Described
from gem_tau.database import Database, Record

__all__ = ["CallResult", "Errand", "ToolFailure", "Toolkit", "UserToolkit", "read", "write"]

Kind = Literal["read", "write", "neither"]
Method = TypeVar("Method", bound=Callable[..., Any])
TRANSFER = "transfer_to_human_agents"
_LONGEST_EXPRESSION = 200
_LARGEST = 1e15


class ToolFailure(Exception):  # noqa: N818 - what a tool reports to the agent is not a fault
    """A call that a tool refuses; the agent sees the message, and the database is unchanged."""


@dataclass(frozen=True)
class CallResult:
    """The result of a call.

    Args:
        output: Text for the agent: that of the tool, or a message after ``Error:``.
        ok: Whether the call succeeded.
        kind: Whether the tool reads or writes the database, or neither.
    """

    output: str
    ok: bool
    kind: Kind


def read(method: Method) -> Method:
    """Mark a method as a tool that reads the database."""
    return _mark(method, "read")


def write(method: Method) -> Method:
    """Mark a method as a tool that may write to the database."""
    return _mark(method, "write")


def neither(method: Method) -> Method:
    """Mark a method as a tool that does not use the database."""
    return _mark(method, "neither")


def _mark(method: Method, kind: Kind) -> Method:
    method.tool_kind = kind  # type: ignore[attr-defined]
    return method


@dataclass(frozen=True)
class Errand:
    """A call that a message asks a user for.

    Args:
        name: The tool.
        arguments: The arguments by name.
        check: A tool that tells whether the call is needed; empty if it is in any case.
        needless: The text in the output of ``check`` with which the call is not needed.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    check: str = ""
    needless: str = ""


class Toolkit:
    """The tools of a domain over one database.

    A tool is a method that is marked with ``read`` or ``write``. Its signature and docstring
    describe it to an agent, and its arguments are checked against the annotations. It returns a
    text or a JSON value, and raises ``ToolFailure`` to refuse a call. A call that fails changes
    nothing.

    Args:
        db: The database.
    """

    ends_episode: ClassVar[frozenset[str]] = frozenset({TRANSFER})
    """The tools after which the episode ends."""

    def __init__(self, db: Database) -> None:
        self.db = db

    @classmethod
    def functions(cls) -> tuple[Function, ...]:
        """Return the schemas of the tools, in the order of their definition."""
        return tuple(one.function for one in _described(cls).values())

    @classmethod
    def kind_of(cls, name: str) -> Kind:
        """Return whether a tool reads or writes the database, or neither.

        Raises:
            ConfigError: There is no such tool.
        """
        if name not in _described(cls):
            known = ", ".join(_described(cls))
            raise ConfigError(f"{cls.__name__} has no tool {name!r}. There are: {known}.")
        return getattr(cls, name).tool_kind  # type: ignore[no-any-return]

    def call(self, name: str, arguments: Mapping[str, Any]) -> CallResult:
        """Call a tool by name; never raises because of the call."""
        described = _described(type(self)).get(name)
        if described is None:
            names = list(_described(type(self)))
            return _failure(f"There is no function {name!r}.{near_names(name, names)}", "neither")
        return self._run(described, arguments, self.kind_of(name))

    def set_up(self, name: str, arguments: Mapping[str, Any]) -> CallResult:
        """Call a tool or any other public method, as the set-up of a task does."""
        described = _described(type(self)).get(name)
        if described is None:
            described = Described(getattr(type(self), name), name, first=1)
        return self._run(described, arguments, "write")

    def _run(self, described: Described, arguments: Mapping[str, Any], kind: Kind) -> CallResult:
        try:
            checked = described.checked(arguments)
        except ValueError as error:
            return _failure(f"The arguments of {described.name} do not fit: {error}.", kind)
        try:
            with self.db.transaction():
                value = getattr(self, described.name)(**checked)
                self.settle()
        except ToolFailure as error:
            return _failure(str(error), kind)
        return CallResult(value if isinstance(value, str) else _json(value), ok=True, kind=kind)

    def settle(self) -> None:
        """Change what follows from a call, such as the service of a phone whose line is resumed.

        It is called after each call, as part of it.
        """

    @neither
    def think(self, thought: str) -> str:
        """Write down a thought. It obtains no information and changes nothing.

        Args:
            thought: The thought.
        """
        return ""

    @neither
    def calculate(self, expression: str) -> str:
        """Calculate the value of an arithmetic expression, rounded to two decimals.

        Args:
            expression: Numbers, the operators + - * / and parentheses, for example
                (12.50 + 3) * 2.
        """
        return str(round(_value_of(expression), 2))

    @neither
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand the customer over to a human agent, which ends the conversation.

        Use it only if the policy says so: the request cannot be handled with the other functions.

        Args:
            summary: What the customer wants, and what was done so far.
        """
        return "Transfer successful"


class UserToolkit(Toolkit):
    """The tools of a user over the same database, such as the settings of a phone.

    What only they change are the records of the table ``user``.
    """

    ends_episode: ClassVar[frozenset[str]] = frozenset()
    start: ClassVar[Mapping[str, Record]] = {}
    """The records of the table ``user``, where a task's data do not say otherwise."""

    think = calculate = transfer_to_human_agents = None  # type: ignore[assignment]

    @classmethod
    def errands_in(cls, message: str) -> list[Errand]:
        """Return the calls that a message asks the user for, in its order.

        Here, these are the functions that it names, with or without arguments, such as
        ``check_sim_status`` or ``grant_app_permission(app_name="messaging", permission="sms")``.
        """
        named = "|".join(sorted(_described(cls), key=len, reverse=True))
        found = re.finditer(rf"(?<!\w)(?P<name>{named})(?!\w)(?P<call>\([^()]*\))?", message)
        return [Errand(one["name"], _arguments(one["call"] or "()")) for one in found]


def _arguments(written: str) -> dict[str, Any]:
    """Return the arguments by name in parentheses; those that are not literals are left out."""
    try:
        call = ast.parse(f"f{written}", mode="eval").body
        keywords = call.keywords if isinstance(call, ast.Call) else []
        return {str(one.arg): ast.literal_eval(one.value) for one in keywords}
    except (ValueError, SyntaxError):
        return {}


_DESCRIBED: dict[type[Toolkit], dict[str, Described]] = {}


def _described(cls: type[Toolkit]) -> dict[str, Described]:
    """Return the tools of a class by name: its own first, then those of every domain."""
    if cls in _DESCRIBED:
        return _DESCRIBED[cls]
    found = _DESCRIBED[cls] = {}
    for owner in cls.__mro__:
        for name, member in vars(owner).items():
            if hasattr(member, "tool_kind") and name not in found and getattr(cls, name):
                found[name] = Described(getattr(cls, name), name, first=1)
    return found


def _failure(message: str, kind: Kind) -> CallResult:
    return CallResult(f"Error: {message}", ok=False, kind=kind)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def _value_of(expression: str) -> float:
    """Return the value of an arithmetic expression, which is parsed and never executed."""
    if len(expression) > _LONGEST_EXPRESSION:
        raise ToolFailure(f"The expression is longer than {_LONGEST_EXPRESSION} characters")
    try:
        value = _evaluate(ast.parse(expression.strip(), mode="eval").body)
    except ZeroDivisionError:
        raise ToolFailure("The expression divides by zero") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ToolFailure("The expression may have numbers, + - * / and parentheses") from None
    if abs(value) > _LARGEST:
        raise ToolFailure("The value is too large")
    return value


def _evaluate(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return float(_BINARY[type(node.op)](_evaluate(node.left), _evaluate(node.right)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _evaluate(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    raise ValueError("not arithmetic")
