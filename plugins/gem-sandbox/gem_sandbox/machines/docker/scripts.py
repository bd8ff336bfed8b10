"""What runs in a container besides its commands: ``bash`` with builtin commands only.

Every process that the engine starts in a container is the same short command, which reads from its
standard input what it has to do; so none of it is in a list of processes. What it reports is on the
streams of the command, after a mark that the command does not know.
"""

import shlex
from collections.abc import Iterator, Sequence

__all__ = [
    "DONE",
    "ENTRY",
    "FIRST",
    "end_processes",
    "job",
    "list_processes",
    "remove",
    "send_signal",
    "type_text",
]

_BASH = ("/bin/bash", "--noprofile", "--norc", "-c")
FIRST = (*_BASH, "while read -r _; do :; done")
"""The first process: it ends, and the container with it, when its standard input ends."""
ENTRY = (*_BASH, 'IFS= read -rd "" s; eval "$s"')
"""The beginning of every other process."""
DONE = b"\0done"
"""What a script writes at its end."""
_DONE = "\nprintf '\\0done'\n"
_PIECE = 8192
_TICKS = 100
"""In which the kernel says when a process was started, in a second."""
_QUIET = "exec 2>/dev/null\n"

_JOB = """\
trap : INT
exec {wiring}
exec 2>/dev/null
count() {{
  local name value file
  killed=0
  for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
    [ -r "$file" ] || continue
    while read -r name value; do [ "$name" = oom_kill ] && killed=$value; done <"$file"
  done
}}
count; before=$killed
while IFS=: read -r name _ id _; do
  [ "$id" = "$UID" ] && {{ export USER="${{USER-$name}}" LOGNAME="${{LOGNAME-$name}}"; break; }}
done </etc/passwd
cd -- {cwd} || {{ printf '{mark}x%s\\0' "there is no folder "{cwd} >&8; exit 126; }}
unset OLDPWD
read -r up _ </proc/uptime
(printf '{mark}b%s %s %s\\0' "$BASHPID" $$ $up >&8; exec {inner} 8>&- 9>&-; exec {argv})
code=$?
count
for to in {reports}; do printf '{mark}e%s %s\\0' $code $((killed - before)) >&$to; done
exit $code
"""
_RUN = {"wiring": "8>&1 9>&2", "inner": "2>&9", "reports": "8 9"}
"""Standard input, output and error are the job's."""
_SHELL = {"wiring": "3<&0 0<> <(:) 8>&1", "inner": "2>&1 4>&1", "reports": "8"}
"""Standard input is the script of a shell, and its standard input an empty pipe that stays open."""

_SCAN = """\
scan() {
  local file stat pid
  parent=() start=()
  for file in /proc/[0-9]*/stat; do
    stat=; IFS= read -rd '' stat <"$file"
    [ "$stat" ] || continue
    pid=${file#/proc/}; pid=${pid%/stat}
    set -- ${stat##*) }
    case $1 in Z|X) ;; *) parent[pid]=$2 start[pid]=${20} ;; esac
  done
}
"""
_SIGNAL_DESCENDANTS = """\
for round in {{1..50}}; do
  scan
  found= rest=({pid})
  while [ ${{#rest[@]}} -gt 0 ]; do
    above=${{rest[0]}} rest=("${{rest[@]:1}}")
    for one in "${{!parent[@]}}"; do
      [ ${{parent[one]}} = $above ] || continue
      rest+=($one)
      [ ${{start[one]}} -ge {oldest} ] && kill -{number} $one && found=1
    done
  done
  [ "$found" ] && [ {number} = 9 ] || break
done
"""
_LIST = """\
for file in /proc/[0-9]*/cmdline; do
  pid=${file#/proc/}; pid=${pid%/cmdline} line= word=
  case $pid in 1|$$) continue ;; esac
  while IFS= read -rd '' word; do line+="$word "; done <"$file"
  line+=$word
  [ "$line" ] && printf '%s %s\\0' $pid "${line:0:4096}"
done
"""
_END = """\
for round in {1..200}; do
  kill -9 -1
  scan
  unset 'parent[1]' 'parent[$$]'
  [ ${#parent[@]} = 0 ] && break
done
"""


def job(argv: Sequence[str], *, cwd: str, mark: str, is_shell: bool) -> bytes:
    """Return the script that starts a job and reports how it begins and ends.

    Args:
        argv: The program and its arguments.
        cwd: Its directory.
        mark: What precedes reports, as ``printf`` takes it.
        is_shell: Whether standard input is the script of a shell, and reports are on its output.
    """
    wiring = _SHELL if is_shell else _RUN
    text = _JOB.format(argv=shlex.join(argv), cwd=shlex.quote(cwd), mark=mark, **wiring)
    return text.encode("utf-8", "surrogateescape")


def list_processes() -> bytes:
    """Return the script that writes the process id and command line of each process."""
    return f"{_QUIET}{_LIST}{_DONE}".encode()


def send_signal(pid: int, group: int, number: int, since: float | None) -> bytes:
    """Return the script that sends a signal.

    Args:
        pid: The process whose descendants get it.
        group: The process group that gets it if ``since`` is None.
        number: The signal.
        since: For the descendants that were started later: seconds of the machine's uptime.
    """
    if since is None:
        return f"{_QUIET}kill -{number} -- -{group}{_DONE}".encode()
    oldest = int(since * _TICKS) - 1  # as the kernel has rounded
    found = _SIGNAL_DESCENDANTS.format(pid=pid, number=number, oldest=oldest)
    return f"{_QUIET}{_SCAN}{found}{_DONE}".encode()


def end_processes() -> bytes:
    """Return the script that ends all processes but the first."""
    return f"{_QUIET}{_SCAN}{_END}{_DONE}".encode()


def remove(paths: Sequence[str]) -> bytes:
    """Return the script that removes files and folders."""
    names = shlex.join(paths).encode("utf-8", "surrogateescape")
    return b"rm -rf -- " + names + b" && " + _DONE.strip().encode()


def type_text(pid: int, data: bytes) -> Iterator[bytes]:
    """Yield the scripts that write to the standard input of a process, one after another."""
    for at in range(0, len(data), _PIECE):
        text = "".join(f"\\0{byte:03o}" for byte in data[at : at + _PIECE])
        yield f"{_QUIET}printf %b '{text}' >/proc/{pid}/fd/0{_DONE}".encode()
