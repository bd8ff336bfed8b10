"""The code that runs inside the sandbox around a test program, in a process without the solution.

The test program runs in a thread. Where it uses something of the solution, the thread puts a
request in a queue and waits; the piece of the session that runs at that time writes the request to
the standard output and ends. The host passes it to the solution's process, and starts the next
piece with the answer. A message to the host starts with a secret of this process, so the output of
a solution, which the test program may see, cannot be mistaken for one.

A result is plain data, or a ``GemRemote``: an object that stays in the solution's process. The
operators of a remote object that could decide a test, such as ``==``, raise a ``TypeError``.
"""

import builtins as gem_builtins
import itertools as gem_itertools
import json as gem_json
import os as gem_os
import queue as gem_queue
import sys as gem_sys
import threading as gem_threading
import types as gem_types
from collections.abc import Iterator as GemIterator
from typing import Any as GemAny

from gem_code.plain import GEM_ITEMS, GEM_KINDS, gem_decode, gem_encode

GEM_REQUESTS: GemAny = gem_queue.SimpleQueue()
GEM_ANSWERS: GemAny = gem_queue.SimpleQueue()
GEM_LOCK = gem_threading.Lock()
GEM_SECRET = [""]
"""The start of each message to the host."""
GEM_EXCEPTIONS: GemAny = {}
"""The exceptions of the solution that the test program names."""
GEM_REACHED: GemAny = {"call": False, "assertion": False}
"""Whether the test program has called the solution, and whether an assertion followed."""


class GemUnsupportedError(TypeError):
    """A test does something with the solution that needs its process."""


class GemRemote:
    """An object of the solution's process.

    Args:
        number: Its number there.
    """

    def __init__(self, number: GemAny) -> None:
        object.__setattr__(self, "gem_number", number)

    def __call__(self, *arguments: GemAny, **named: GemAny) -> GemAny:
        return gem_ask(self, call=(arguments, named))

    def __getattr__(self, name: GemAny) -> GemAny:
        if name.startswith("__") and name not in ("__name__", "__doc__"):
            raise AttributeError(name)
        return gem_ask(self, get=name)

    def __setattr__(self, name: GemAny, value: GemAny) -> None:
        raise GemUnsupportedError("a test cannot set an attribute of an object of the solution")

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> GemAny:
        return gem_ask_special(self, "__str__")

    def __repr__(self) -> GemAny:
        return gem_ask_special(self, "__repr__")

    def __len__(self) -> GemAny:
        return gem_ask_special(self, "__len__")

    def __getitem__(self, key: GemAny) -> GemAny:
        return gem_ask_special(self, "__getitem__", key)

    def __iter__(self) -> GemAny:
        return gem_ask_special(self, "__iter__")

    def __next__(self) -> GemAny:
        return gem_ask_special(self, "__next__")

    def __eq__(self, other: object) -> GemAny:
        if other is None or other is self:
            return other is self
        raise GemUnsupportedError("an object of the solution would judge its own comparison")

    __hash__ = object.__hash__

    def __array__(self, *_: GemAny, **__: GemAny) -> GemAny:
        """Refuse: for NumPy, an object that says it is empty equals every number."""
        raise GemUnsupportedError("an object of the solution is not a value for NumPy")


def gem_ask(
    remote: GemAny,
    *,
    get: GemAny = None,
    call: GemAny = None,
    arguments: GemAny = False,
    iterates: GemAny = False,
) -> GemAny:
    """Ask the solution's process for an attribute of an object, or for the result of a call.

    Args:
        remote: The object.
        get: The name of an attribute.
        call: Positional arguments, and those by name.
        arguments: Whether the solution's changes to the positional arguments are wanted.
        iterates: Whether this asks an iterator for the next item.
    """
    request = {"object": remote.gem_number, "get": get, "arguments": arguments}
    GEM_REACHED["call"] |= call is not None
    with GEM_LOCK:
        request["call"] = gem_encode(call and [list(call[0]), call[1]], gem_sent)
        GEM_REQUESTS.put({"ask": request})
        answer, printed = GEM_ANSWERS.get()
    gem_sys.stdout.write(printed)
    if "raised" in answer:
        values = gem_received(answer["with"])
        raise gem_exception(answer["raised"], values, answer["text"], iterates=iterates)
    if arguments:
        for own, changed in zip(call[0], gem_received(answer["arguments"]), strict=True):
            gem_change(own, changed)
    return gem_received(answer["value"])


def gem_ask_special(remote: GemAny, name: GemAny, *arguments: GemAny) -> GemAny:
    """Call a special method of an object; an object without it has the wrong type."""
    try:
        return gem_ask(remote, get=name, call=(arguments, {}), iterates=name == "__next__")
    except AttributeError as error:
        raise TypeError(str(error)) from None


def gem_sent(value: GemAny) -> GemAny:
    """Encode an argument that is not plain data."""
    if isinstance(value, GemRemote):
        return {"object": value.gem_number}
    if isinstance(value, GemIterator):
        items = list(gem_itertools.islice(value, GEM_ITEMS))
        return {"iterator": gem_encode(items, gem_sent)}
    raise GemUnsupportedError(f"a test cannot pass a {type(value).__name__} to the solution")


def gem_received(value: GemAny) -> GemAny:
    """Return a value that the solution's process encoded."""
    return gem_decode(value, {**GEM_KINDS, "object": GemRemote})


def gem_change(own: GemAny, changed: GemAny) -> None:
    """Give an argument the content that it has in the solution's process."""
    if type(own) is not type(changed):
        return
    if isinstance(own, list | bytearray):
        own[:] = changed
    elif isinstance(own, dict | set):
        own.clear()
        own.update(changed)


def gem_change_by_call(function: GemAny, /, *arguments: GemAny, **named: GemAny) -> GemAny:
    """Call a function that may change its arguments: statements are calls for their effect."""
    if isinstance(function, GemRemote):
        return gem_ask(function, call=(arguments, named), arguments=True)
    return function(*arguments, **named)


def gem_asserted(value: GemAny = None) -> GemAny:
    """Count an assertion that holds, and return its value."""
    GEM_REACHED["assertion"] |= GEM_REACHED["call"]
    return value


def gem_exception(kinds: GemAny, values: GemAny, text: GemAny, *, iterates: GemAny) -> GemAny:
    """Return an exception of the most special type that is known here, with the same text.

    A ``StopIteration`` is one only for an iterator: elsewhere it could end a loop of the test.
    """
    for name in kinds:
        kind = GEM_EXCEPTIONS.get(name) or gem_builtins.__dict__.get(name)
        if not isinstance(kind, type) or not issubclass(kind, BaseException):
            continue
        if issubclass(kind, StopIteration | StopAsyncIteration | GeneratorExit) and not iterates:
            return RuntimeError(f"the solution raised {name}")
        try:
            made = kind(*values)
            return made if str(made) == text else kind(text)
        except TypeError:
            continue
    return RuntimeError(text)


def gem_bind(names: GemAny, found: GemAny) -> GemAny:
    """Return the values of the names that the solution has defined."""
    bound = {}
    for name in names:
        if "exception" in found.get(name, {}):
            kinds = found[name]["exception"]
            base = type(gem_exception(kinds, [], "", iterates=False))
            bound[name] = GEM_EXCEPTIONS[name] = type(name, (base,), {})
        elif name in found:
            bound[name] = gem_received(found[name]["value"])
    return bound


def gem_start(source: GemAny, names: GemAny, called: GemAny, found: GemAny, secret: GemAny) -> None:
    """Start a test program, and write its first message.

    Args:
        source: The source of the program.
        names: The names that the program expects of the solution.
        called: The ones among ``names`` that it calls.
        found: Those that the solution has defined, with their encoded values, in JSON.
        secret: The start of each message to the host.
    """
    gem_sys.set_int_max_str_digits(0)
    GEM_SECRET[0], found = secret, gem_json.loads(found)
    module = gem_sys.modules["solution"] = gem_types.ModuleType("solution")
    bound = gem_bind(names, found)
    remote = [isinstance(one, GemRemote) for one in bound.values()]
    GEM_REACHED["call"] = bool(remote) and not any(remote) and not called
    module.__dict__.update(bound)
    own = {"gem_change_by_call": gem_change_by_call, "gem_asserted": gem_asserted}
    space = {"__name__": "solution", **module.__dict__, **own}
    code = compile(source, "tests.py", "exec", dont_inherit=True)
    gem_threading.stack_size(1 << 24)
    gem_threading.Thread(target=gem_test, args=[code, space], daemon=True).start()
    gem_write()


def gem_test(code: GemAny, space: GemAny) -> None:
    """Run the test program, and say how it ended."""
    try:
        exec(code, space)  # noqa: S102 - code of the tests
    except BaseException as error:  # noqa: BLE001 - also SystemExit: the program did not end
        unsupported = str(error) if isinstance(error, GemUnsupportedError) else ""
        failed = isinstance(error, AssertionError)
        GEM_REQUESTS.put({"failed": failed, "unsupported": unsupported})
    else:
        GEM_REQUESTS.put({"passed": GEM_REACHED["assertion"]})


def gem_go_on(answer: GemAny, printed: GemAny) -> None:
    """Give the test program an answer, and write its next message."""
    GEM_ANSWERS.put((gem_json.loads(answer), printed))
    gem_write()


def gem_write() -> None:
    """Wait for the next message to the host, and write it."""
    message = gem_json.dumps(GEM_REQUESTS.get())
    gem_sys.__stdout__.flush()  # type: ignore[union-attr]
    left = f"\n{GEM_SECRET[0]}{message}\n".encode()
    while left:
        left = left[gem_os.write(1, left) :]
