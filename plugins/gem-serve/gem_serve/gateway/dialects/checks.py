"""The contract of dialects."""

import orjson

from gem_core.resolve import resolve
from gem_core.testing.report import Report, require, run_checks
from gem_serve.gateway.dialects import make_dialect
from gem_serve.gateway.dialects.base import Dialect
from gem_serve.gateway.events import Ask, CallError, Event, Finish, Text
from gem_serve.specs import DIALECTS

__all__ = ["check_dialect"]

_EVENTS: tuple[Event, ...] = (Text("It is "), Text("7."), Finish("stop", 3, 2))


def check_dialect(path: str) -> Report:
    """Check how a dialect reads an empty request, answers one, and reports an error."""
    spec = resolve(DIALECTS, path)
    checks = {"requests": _check_parse, "answers": _check_writer, "errors": _check_error}
    return run_checks(Report(path), checks, lambda: make_dialect(spec))


def _check_parse(dialect: Dialect) -> None:
    try:
        found = dialect.parse({})
    except CallError:
        return
    require(isinstance(found, Ask), f"parse must return an Ask or raise a CallError; got {found!r}")


def _check_writer(dialect: Dialect) -> None:
    writer = dialect.writer(Ask(model="m"), "1")
    for event in _EVENTS:
        sent = writer.feed(event)
        require(isinstance(sent, bytes), f"feed must return bytes; got {sent!r}")
    said = orjson.dumps(writer.answer()).decode()
    require("It is 7." in said, f"the answer must have the text of the reply; got {said}")


def _check_error(dialect: Dialect) -> None:
    said = orjson.dumps(dialect.error(CallError(400, "n: too many."))).decode()
    require("n: too many." in said, f"the body of an error must have its message; got {said}")
