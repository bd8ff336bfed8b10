"""Do the tests of a task run programs of the agent? Read from the tests, without running them.

A program that tests run as root can write the reward itself. So only tests are trusted that are
seen to do nothing but read: what is not understood counts as running a program.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

__all__ = ["why_forgeable"]

_MODULES = re.compile(
    r"__future__|ast|base64|binascii|bz2|calendar|collections|configparser|copy|csv|"
    r"dataclasses|datetime|decimal|difflib|email|enum|fractions|functools|glob|gzip|hashlib|"
    r"html|io|itertools|json|logging|lzma|math|operator|os|pathlib|pytest|random|re|shlex|"
    r"shutil|sqlite3|stat|statistics|string|struct|sys|tarfile|tempfile|textwrap|time|"
    r"tomllib|typing|unicodedata|unittest|urllib\.parse|uuid|xml|yaml|zipfile|zlib|numpy|"
    r"pandas|PIL|bs4|lxml|tomli|toml|dateutil|openpyxl|scipy"
)
"""What Python tests may import and still only read."""
_CALLS = re.compile(
    r"os\.(system|popen|exec\w+|spawn\w+|posix_spawnp?|fork\w*|putenv|environ)|sys\.(path|modules)"
    r"|exec|eval|compile|__import__|builtins\.\w+|\w+\.(read_pickle|unsafe_load|full_load)"
    r"|yaml\.load"
)
"""What may run code all the same."""
_READERS = re.compile(
    r"\[|\[\[|apt|apt-get|basename|cat|cd|chmod|cmp|comm|cp|curl|cut|date|diff|dirname|du|"
    r"echo|egrep|exit|export|false|fgrep|file|grep|head|local|ls|md5sum|mkdir|mv|od|paste|"
    r"printf|pwd|readlink|realpath|return|rm|sed|set|seq|sha1sum|sha256sum|shift|shopt|"
    r"sleep|sort|stat|tail|tee|test|touch|tr|true|type|uname|uniq|unset|wc|wget|which|:"
)
_WORDS = re.compile(
    r"if|then|elif|else|fi|for|while|until|do|done|case|esac|in|!|\{|\}|time|function"
)
_PYTHON = re.compile(r"(/usr(/local)?/bin/)?python[\d.]*|uvx|pytest|py\.test")
_INSTALLS = re.compile(r"pip3?|uv")
_SEARCHED = re.compile(r"(PATH|BASH_ENV|ENV|LD_\w+|PYTHON\w+)\+?=(?!\$HOME/\.local/bin:\$PATH$)")
"""A variable that says where programs and modules are, but for the folder of the user's own."""
_PATH = re.compile(r"(?:^|=)([./~].*)")
_ELSEWHERE = ("/dev/null", "/logs")
_DATA = re.compile(r"\.(cfg|conf|csv|dat|html|ini|json|jsonl|log|md|tsv|txt|xml|yaml)")
_INSTALLER = re.compile(r"(curl|wget)\b[^|;&]*\|\s*(ba)?sh\b")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")
_TESTS = ("/tests", "$TEST_DIR", "${TEST_DIR}")


def why_forgeable(tests: Mapping[str, bytes]) -> str:
    """Return where tests may run a program of the agent; empty if they are seen not to.

    Args:
        tests: The files of the tests: path below ``/tests`` to content.
    """
    own = {PurePosixPath(path).stem for path in tests if path.endswith(".py")}
    for path, content in tests.items():
        suffix = PurePosixPath(path).suffix
        text = content.decode("utf-8", "replace")
        if suffix == ".py":
            found = next(_in_python(text, own), None)
        elif suffix == ".sh" or text.startswith("#!"):
            found = next(_in_shell(text, own), None)
        else:
            found = None if _DATA.fullmatch(suffix) else (1, "a file of unknown use")
        if found is not None:
            return f"tests/{path}, line {found[0]}: {found[1]}"
    return ""


def _in_python(text: str, own: set[str]) -> Iterator[tuple[int, str]]:
    """Yield the line and the code of what may run a program."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        yield 1, "cannot be parsed"
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            hidden = {"os", "sys", "yaml"}  # by another name, their functions are not noticed
            names = [
                f"{one.name}.*" if one.asname and one.name in hidden else one.name
                for one in node.names
            ]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            if node.module in {"os", "sys"} or node.module is None:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            names = []
        for name in names:
            if not _is_harmless(name, own):
                yield node.lineno, f"import {name}"  # type: ignore[attr-defined]
        if isinstance(node, ast.Attribute | ast.Name) and _CALLS.fullmatch(ast.unparse(node)):
            yield node.lineno, ast.unparse(node)
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            yield node.value.lineno, "allow_pickle"


def _is_harmless(name: str, own: set[str]) -> bool:
    top = name.partition(".")[0]
    if top in {"os", "sys", "urllib", "builtins"} or name == "yaml.*":
        return name in {"os", "os.path", "sys", "urllib.parse"}
    return bool(_MODULES.fullmatch(name) or _MODULES.fullmatch(top)) or top in own


def _in_shell(text: str, own: set[str]) -> Iterator[tuple[int, str]]:
    """Yield the line and the command of what may run a program."""
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        line, at = lines[number], number + 1
        while line.endswith("\\") and number + 1 < len(lines):
            number += 1
            line = line[:-1] + lines[number]
        number += 1
        heredoc = _HEREDOC.search(line)
        inner: list[str] = []
        if heredoc is not None:
            while number < len(lines) and lines[number].strip() != heredoc[1]:
                inner.append(lines[number])
                number += 1
            number += 1
            line = line.replace(heredoc[0], " ")
        for command in _commands(line):
            if not _is_harmless_command(command, has_input=heredoc is not None):
                yield at, " ".join(command)
            elif inner and _PYTHON.fullmatch(command[0]):
                for inside, what in _in_python("\n".join(inner), own):
                    yield at + inside, what


def _commands(line: str) -> Iterator[list[str]]:
    """Yield the words of each simple command of a line, those in substitutions too."""
    plain = re.sub(r"'[^']*'", "''", line).replace("<(", "$(").replace(">(", "$(")
    plain = _INSTALLER.sub(" ", re.sub(r"(^|\s)#.*", "", plain))
    plain = re.sub(r"\d*[<>]+&?\s*\S+", " ", plain)
    while (inner := re.search(r"\$\(([^()]*)\)|`([^`]*)`", plain)) is not None:
        yield from _commands(inner[1] or inner[2] or "")
        plain = plain.replace(inner[0], "OUTPUT")
    for part in re.split(r"[();|&]+", plain):
        words = part.replace('"', "").split()
        yield from ([one] for one in words if _SEARCHED.match(one))
        while words and (_WORDS.fullmatch(words[0]) or re.match(r"\w+\+?=", words[0])):
            if words.pop(0) in {"for", "case"}:
                words = []
        if words:
            yield words


def _is_harmless_command(command: list[str], *, has_input: bool) -> bool:
    """Return whether a command only reads, or runs Python or pytest with programs of the tests."""
    name, *arguments = command
    paths = [found[1] for each in arguments if (found := _PATH.search(each))]
    tests = [path for path in paths if path.startswith(_TESTS)]
    tests += [each for each in arguments if each.startswith(_TESTS)]
    is_elsewhere = any(not path.startswith((*_TESTS, *_ELSEWHERE)) for path in paths)
    if _PYTHON.fullmatch(name) or command[:2] == ["uv", "run"]:
        if is_elsewhere or not tests:
            return has_input and "-I" in arguments and arguments[-1] == "-"
        return True
    if _INSTALLS.fullmatch(name):
        return not is_elsewhere and (bool(tests) or not {"-e", "-r"} & {*arguments})
    return bool(_READERS.fullmatch(name)) or command == ["source", "$HOME/.local/bin/env"]
