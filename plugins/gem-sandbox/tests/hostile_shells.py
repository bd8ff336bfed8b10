"""What commands may do to the shell that runs them, on machines of every kind."""

from gem_workers.machine import Machine

__all__ = ["HARMLESS", "STUCK", "check_shell_goes_on"]

HARMLESS = (
    "printf 'x\\0y\\0' >&10; printf '0\\0/\\0' >&10; echo said",
    "printf 'x\\0y\\0' >&4",
    "head -c 3000000 /dev/zero >&10",
    "exec 4>&-",
    "exec 10>&-",
    "exec 3<&-",
    "kill -9 $$",
    "printf() { echo fake; }; eval() { echo fake; }; __status() { sleep 1000; }; false",
    "shopt -s expand_aliases; alias printf='echo no' eval='echo no' builtin='echo no'",
    "enable -n printf",
    "PWD=nowhere",
    "unset PWD",
    "PWD=/$(head -c 100000 /dev/zero | tr '\\0' x)",
    "readonly PWD",
    "trap 'echo debug' DEBUG",
    "trap 'exit 9' ERR; false",
    "set -e; false",
    "set -eu; unset PWD",
    "set -o posix; set -e",
    "set -x; set -v",
    "PROMPT_COMMAND='exit 1'; PS4='$(exit)'",
    "LC_ALL=C; mkdir -p $'/tmp/\\377\\n'; cd $'/tmp/\\377\\n'",
    "(sleep 1000; :) & exit 5",
    "yes & sleep 0.1",
    "rm -rf /app; exit",
    "rm -rf /app; echo > /app; exit",
    "rm -rf /app; ln -s app /app; exit",
)
"""After these, the next command runs."""
STUCK = (
    "read -r -u 255 a; read -r -u 255 b",
    "builtin() { :; }",
    "shopt -s extdebug; trap false DEBUG",
    "set -n",
    "kill -STOP $$",
    "trap 'sleep 1000' EXIT; exit",
)
"""After these, the shell never reports: the command runs on until it is interrupted."""


def check_shell_goes_on(machine: Machine, command: str, *, is_stuck: bool, patience: float) -> None:
    """Run a hostile command; see that it does no harm to the commands after it.

    Args:
        machine: The machine, whose directory is ``/app``.
        command: The command.
        is_stuck: Whether it must be interrupted.
        patience: Seconds that a shell needs to answer.
    """
    shell = machine.shell()
    found = shell.send(command, timeout=patience if is_stuck else 60.0)
    assert found.running == is_stuck, found
    if is_stuck:
        assert not shell.interrupt(timeout=patience).running
    after = shell.send("\\builtin cd /; echo alive >&2", timeout=60.0, output_limit=1 << 26)
    assert not after.running, after
    assert "alive" in after.text
    assert after.directory == "/" or command.startswith("readonly")
    assert machine.run("echo well", cwd="/").stdout == "well\n"
