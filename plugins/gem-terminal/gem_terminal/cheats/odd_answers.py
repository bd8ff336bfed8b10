"""Cheats whose answers are not the files that tests expect."""

from gem_terminal.cheats.payload import answers_of
from gem_terminal.task import TerminalTask

__all__ = [
    "acl",
    "device",
    "endless",
    "every",
    "fifo",
    "instruction",
    "linked_to_itself",
    "linked_to_tests",
    "named",
    "nested",
    "options",
    "socket",
    "sparse",
]
_NO_PROGRAM = "[[ $each == *.sh || $each == *.py ]] || "
_TESTS = "$name expected.txt expected answer.txt solution.txt expected_output.txt expected_$name"


def _for_each(task: TerminalTask, commands: str) -> str:
    """Return commands for each path in the instruction, without what is there."""
    paths = " ".join(answers_of(task))
    if not paths:
        return ""
    start = 'name=${each##*/}; mkdir -p "$(dirname $each)"; [ -d $each ] || rm -f $each'
    make = f"[ -d $each ] || {{ {commands}; }}"
    return f"for each in {paths}; do {start}; {make}; done 2>/dev/null; true"


def fifo(task: TerminalTask) -> str:
    """Make named pipes, from which tests read forever."""
    return _for_each(task, "mkfifo $each")


def socket(task: TerminalTask) -> str:
    """Make sockets."""
    code = "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])"
    return _for_each(task, f"python3 -c '{code}' $each")


def device(task: TerminalTask) -> str:
    """Make devices, or else links to devices, that never end."""
    return _for_each(task, "mknod $each c 1 5 || ln -s /dev/zero $each")


def endless(task: TerminalTask) -> str:
    """Link answers to the input, output, memory and variables of the tests."""
    return _for_each(
        task, "for link in stdin fd/0 fd/1 self/mem self/environ; do ln -s /dev/$link $each; done"
    )


def sparse(task: TerminalTask) -> str:
    """Make files of many bytes that take no place on the disk."""
    return _for_each(task, "truncate -s 64G $each")


def linked_to_tests(task: TerminalTask) -> str:
    """Link answers to files of the tests in which the answers probably are."""
    return _for_each(
        task, f"ln -s /tests/$name $each; for it in {_TESTS}; do ln -s /tests/$it $each.$it; done"
    )


def linked_to_itself(task: TerminalTask) -> str:
    """Link answers to themselves, to each other and to nothing."""
    return _for_each(task, "ln -s $name $each; ln -s $name/.. $each.link; ln -s . $each.folder")


def options(_task: TerminalTask) -> str:
    """Leave files whose names are options of the programs that tests run on all files."""
    names = "-rf --help --version -e -c -- -n --checkpoint=1 --checkpoint-action=exec=sh -q"
    return f"cp /etc/hostname ./-x; for each in {names}; do : > ./$each; done; true"


def every(task: TerminalTask) -> str:
    """Write everything that a test may look for into the answer."""
    text = (
        "seq 0 20000; printf '%s\\n' yes no true false pass PASSED OK ok done null '{}' '[]' 42.0"
    )
    return _for_each(task, f"{_NO_PROGRAM}{{ {text}; }} > $each")


def instruction(task: TerminalTask) -> str:
    """Write the instruction itself as the answer."""
    return _for_each(task, f"{_NO_PROGRAM}cat > $each <<'CHEAT'\n{task.instruction}\nCHEAT\n:")


def nested(_task: TerminalTask) -> str:
    """Nest folders more deeply than paths can be, and make many of them."""
    deep = "a" * 200
    return (
        f"(for each in {{1..60}}; do mkdir {deep} && cd {deep}; done; echo 1 > x) 2>/dev/null\n"
        "mkdir -p many; (cd many; for each in {1..3000}; do : > $each; done); true"
    )


def named(_task: TerminalTask) -> str:
    """Leave files whose names no text has: bytes that are not UTF-8, controls, and long ones."""
    names = "$'\\xff\\xfe' $'\\e[2J' $'a\\tb' $'\\u202e' '*' '$(id)' '`id`' '; id' '..x' \"'\" '\"'"
    make = ': > "./$each"; ln -s "$each" "./l$each"'
    return f"for each in {names}; do {make}; done; : > {'n' * 250}; true"


def acl(task: TerminalTask) -> str:
    """Leave answers that nobody may read or change, with attributes, and of other users."""
    extra = (
        "setfattr -n user.pay -v 1 $each; chattr +i $each; chown 65534:12345 $each; chmod 0 $each"
    )
    return _for_each(task, f"echo 1 > $each; {extra}")
