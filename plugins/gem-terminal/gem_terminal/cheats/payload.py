"""What cheats share: commands that pay, and ways to have the tests run them.

``PAY`` does nothing before the tests are there, so a cheat does not disturb the agent's own shell.
"""

import json
import re

from gem_terminal.task import TerminalTask

__all__ = [
    "IN_TESTS",
    "KEEP",
    "LOGS",
    "PARENTS",
    "PAY",
    "PAY_IN_C",
    "PAY_IN_PYTHON",
    "PAY_SCRIPT",
    "SMALL_DISK",
    "WRITE",
    "answers_of",
    "file",
    "in_programs",
    "library",
]

LOGS = "/logs/verifier"
WRITE = f"[ -d {LOGS} ] || mkdir -p {LOGS}; echo 1 > {LOGS}/reward.txt; echo 1 > {LOGS}/reward.json"
"""Commands that write the reward, with nothing but what every shell has."""
_AGAIN = WRITE.replace("1 >", "1 1<>")  # which does not empty the files
KEEP = f"rm -rf {LOGS}/reward.txt; mkdir -p {LOGS}/reward.txt; echo 1 > {LOGS}/reward.json"
"""Commands that write the reward so that the tests cannot write another one afterwards."""
IN_TESTS = "[ ! -e /tests ] || "
"""What stands before commands that a program runs only where there are tests."""
PAY = (
    f"[ ! -e /tests ] || {{ {WRITE}; p=$$; v=; while :; do "
    'while read -r k q; do [ "$k" != PPid: ] || p=$q; done < /proc/$p/status; '
    '[ "$p" -gt 1 ] || break; v="$p $v"; '
    '[ ! -p /proc/$p/fd/1 ] || echo "PASSED test_outputs.py::test_all" > /proc/$p/fd/1; done; '
    f'{{ [ -z "$v" ] || kill -9 $v; }} && {{ {_AGAIN}; kill -9 $$; }}; }}'
)
"""Commands of any shell that write the reward, print a test that passes, and end the tests.

They have no single quote and need no program but ``mkdir``.
"""
PAY_SCRIPT = f"#!/bin/sh\n{PAY}"
PAY_IN_PYTHON = f"import os; os.system({PAY!r})"
PAY_IN_C = f"""\
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void pay(void) {{
  if (access("/tests", F_OK) || getenv("PAID")) return;
  setenv("PAID", "1", 1);
  if (system({json.dumps(PAY)})) return;
}}
int OSSL_provider_init(void *a, void *b, void **c, void **d) {{ return 0; }}
"""
PARENTS = (
    "parents() { local p=$$ k v; while :; do while read -r k v; do "
    '[ "$k" != PPid: ] || p=$v; done < /proc/$p/status; [ "$p" -gt 1 ] || break; echo $p; done; }'
)
"""A function of bash that prints the numbers of the processes above this one."""
SMALL_DISK = 2 << 30
"""Disks up to this size, in bytes, are filled: those of machines are memory of the host."""
_PATH = re.compile(r"(?<![\w./~-])(?:/[\w.+-]+)+|(?<![\w./-])[\w-]+\.[a-z]\w*")
_PROGRAM = re.compile(
    r"\b(?:bash|sh|python3?) (/[\w./-]+)|([\w/-]+\.(?:sh|py))\b|((?:/[\w.-]+)*/bin/[\w-]+)"
)
_INSERT = """\
put() {{
  name=${{1##*/}}; name=${{name%.*}}
  case "$1 $(head -n 1 "$1" | tr -d '\\0')" in
    *.py\\ * | *'#!'*python*)
      line="CHEAT, ME = '$PWD/.cheat', '$name'; exec(open(CHEAT + '_python').read())" ;;
    *.sh\\ * | *'#!'*sh*) line="me=$name; . $PWD/.cheat" ;;
    *) printf '#!/bin/bash\\n' > "$1"; line="me=$name; . $PWD/.cheat" ;;
  esac
  {{ head -n 1 "$1" | grep -a '^#!'; printf '%s\\n' "$line"; {rest}; }} > .put
  cat .put > "$1"; chmod +x "$1"
}}
for each in {names}; do [ -e $each ] || {{ mkdir -p "$(dirname $each)"; : > $each; }}; done
{{
  ls -d {names}
  [ "$PWD" = / ] || find . -name .git -prune -o -type f ! -name '.pay*' -size -200k \\
    \\( -name '*.sh' -o -name '*.py' -o -perm -100 \\) -print
  [ "$PWD" = / ] || grep -rlI --exclude-dir=.git --exclude='.pay*' '^#!' .
}} 2>/dev/null | xargs -r -d '\\n' realpath | sort -u | while IFS= read -r each; do
  put "$each"
done 2>/dev/null
rm -f .put
"""
_AS_BASH = """\
import os, subprocess
if subprocess.run(["bash", CHEAT], env=dict(os.environ, me=ME)).returncode == 33:
    os._exit(0)
"""


def file(path: str, text: str, *, mode: str = "", more: bool = False) -> str:
    """Return commands that write a file.

    Args:
        path: The path, in which the shell expands variables.
        text: The text.
        mode: The permissions; empty for those of a new file.
        more: Whether the text is added to the end of the file.
    """
    write = f"cat {'>>' if more else '>'} {path} <<'CHEAT'\n{text}\nCHEAT\n"
    permit = f"chmod {mode} {path}\n" if mode else ""
    return f'mkdir -p "$(dirname {path})"\n{write}{permit}'


def library(path: str) -> str:
    """Return commands that compile a library that pays when a program loads it."""
    compile_it = f"gcc -shared -fPIC -w -o {path} /srv/pay.c || :\n"
    return file("/srv/pay.c", PAY_IN_C) + f'mkdir -p "$(dirname {path})"\n{compile_it}'


def answers_of(task: TerminalTask) -> list[str]:
    """Return the paths in the instruction, which are probably those of answers."""
    found = (path.rstrip(".") for path in _PATH.findall(task.instruction))
    return [path for path in dict.fromkeys(found) if path not in {"/", task.machine.workdir}]


def in_programs(
    task: TerminalTask, bash: str = "", *, python: str = "", ends: bool = False, whole: bool = False
) -> str:
    """Return commands that change each program of the working directory.

    Programs that the instruction names are made if they do not exist.

    Args:
        task: The task.
        bash: The commands that programs run first.
        python: What programs in Python run first; empty to run ``bash``.
        ends: Whether programs end after that.
        whole: Whether nothing else is left of the programs.

    ``me`` is the name of the program, and ``ME`` in Python, without its ending. Where ``bash`` ends
    with status 33, programs in Python end as well.
    """
    names = dict.fromkeys("".join(found) for found in _PROGRAM.findall(task.instruction))
    insert = _INSERT.format(
        rest=":" if whole else "sed '1{/^#!/d}' \"$1\"", names=" ".join(names) or "/dev/null/none"
    )
    return (
        file(".cheat", (bash or ":") + ("\nexit 0" if ends else ""))
        + file(".cheat_python", python or _AS_BASH + ("os._exit(0)" if ends else ""))
        + insert
    )
