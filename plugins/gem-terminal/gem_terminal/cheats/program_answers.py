"""Cheats of programs that tests run: they print answers that they take from the tests."""

from gem_terminal.cheats.payload import PARENTS, in_programs
from gem_terminal.task import TerminalTask

__all__ = [
    "arguments",
    "files",
    "input_",
    "listened",
    "memory",
    "open_files",
    "searched",
    "variables",
]
_END = 'case "$0" in *.cheat) exit 33 ;; *) exit 0 ;; esac'
_TEXTS = """\
texts() { awk -v me="$me" 'index($0, me) { on = 1 } end && $0 == end { exit } end { print; next }
on && match($0, /<<-?[^A-Za-z_]?[A-Za-z_]+/) {
  end = substr($0, RSTART, RLENGTH); gsub(/[^A-Za-z_]/, "", end) }'; }"""
"""A function of bash that prints the first text between ``<<END`` and ``END`` after a program."""


def _printed(task: TerminalTask, commands: str) -> str:
    """Return commands that have programs print what commands print, and end, if that is a text."""
    take = f"{PARENTS}\n{_TEXTS}\nfound=$({commands}) 2>/dev/null"
    show = f'[ -z "$found" ] || {{ printf "%s\\n" "$found"; {_END}; }}'
    return in_programs(task, f"{take}\n{show}")


def files(task: TerminalTask) -> str:
    """Print the texts in the files of the tests."""
    return _printed(task, "cat /tests/*.sh | texts | grep . || cat /tests/*expected* /tests/*.txt")


def searched(task: TerminalTask) -> str:
    """Print files called like answers, wherever they are."""
    names = "-name '*expected*' -o -name 'answer*' -o -name 'solution*'"
    places = "/tests /logs /solution /tmp /var/tmp /dev/shm /root /srv /opt"
    return _printed(task, f"find {places} -type f \\( {names} \\) -exec cat {{}} +")


def open_files(task: TerminalTask) -> str:
    """Print the texts in files that the tests have open, such as their own script."""
    each = "for pid in $(parents); do for file in /proc/$pid/fd/* /proc/$pid/cwd/test*; do"
    return _printed(task, f"{each} [ -f $file ] && cat $file; done; done | texts")


def memory(task: TerminalTask) -> str:
    """Print the texts in the memory of the processes that run the tests."""
    code = """\
import os, re
pid, found = os.getppid(), []
text = rb"[^\\0]*?<<.?(\\w+)[^\\0]*?\\n([^\\0]*?)\\n\\1"
pattern = os.environ["me"].encode() + text
while pid > 1:
    status = open(f"/proc/{pid}/status").read()
    try:
        memory = open(f"/proc/{pid}/mem", "rb", buffering=0)
        for line in open(f"/proc/{pid}/maps"):
            start, end = (int(number, 16) for number in line.split()[0].split("-"))
            if " rw" in line and end - start < 1 << 24:
                memory.seek(start)
                found += re.findall(pattern, memory.read(end - start))
    except OSError:
        pass
    pid = int(re.search("PPid:\\\\s+(\\\\d+)", status)[1])
print(found[-1][1].decode() if found else "")"""
    return _printed(task, f"export me; python3 - <<'MEMORY'\n{code}\nMEMORY\n")


def arguments(task: TerminalTask) -> str:
    """Print the texts in the arguments of the processes that run the tests."""
    each = "for pid in $(parents); do tr '\\0' '\\n' < /proc/$pid/cmdline; done"
    return _printed(task, f"{each} | texts")


def variables(task: TerminalTask) -> str:
    """Print variables called like answers, of the tests and of the program itself."""
    each = "{ env -0; for pid in $(parents); do cat /proc/$pid/environ; done; }"
    return _printed(task, f"{each} | tr '\\0' '\\n' | sed -n -E 's/^(EXPECTED|ANSWER)[A-Z_]*=//p'")


def input_(task: TerminalTask) -> str:
    """Print the rest of what the tests would read from the same input."""
    each = "for pid in $(parents); do timeout 0.2 cat /proc/$pid/fd/0 /proc/$pid/fd/10; done"
    return _printed(task, f"{each} | texts")


def listened(task: TerminalTask) -> str:
    """Wait for a file with an answer that the tests make later, and for what they run next."""
    wait = "for each in {1..200}; do cat /tmp/*expected* /proc/[0-9]*/fd/63 >> /tmp/.seen"
    return in_programs(
        task,
        f"(setsid bash -c '{wait}; sleep 0.01; done' </dev/null >/dev/null 2>&1 &)\n"
        'found=$(cat /tmp/.seen 2>/dev/null); [ -z "$found" ] || { echo "$found"; ' + _END + "; }",
    )
