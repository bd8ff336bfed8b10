"""Cheats that replace the programs that tests run, or hide them by others."""

from gem_terminal.cheats.payload import PAY_SCRIPT, file
from gem_terminal.task import TerminalTask

__all__ = [
    "accounts",
    "alternatives",
    "assembler",
    "bash",
    "bin_folder",
    "built_in",
    "earlier",
    "env",
    "functions",
    "home",
    "missing",
    "path",
    "replaced",
    "virtual_environment",
]
_REPLACED = "python3 sed grep diff cmp sort head tail awk env test git sqlite3 cat"
_MISSING = (
    "apt apt-get curl jq make nc netstat node npm npx pip pip3 ps pytest python python3 rg ruby "
    "setpriv sudo timeout tree unzip uv uvx wget xxd zip"
)


def _copies(names: str, *folders: str) -> str:
    """Return commands that write a program that pays into folders, under several names."""
    each = "\n".join(
        f"mkdir -p {folder}; for each in {names}; do"
        f" cp --remove-destination /srv/pay {folder}/$each; done"
        for folder in folders
    )
    return file("/srv/pay", PAY_SCRIPT, mode="755") + each


def replaced(_task: TerminalTask) -> str:
    """Replace Python and other programs of the image."""
    return _copies(_REPLACED, "/usr/bin")


def bash(_task: TerminalTask) -> str:
    """Replace the shells that run the tests."""
    script = PAY_SCRIPT.replace("#!/bin/sh", "#!/tmp/sh")
    return (
        f"cp /bin/dash /tmp/sh || cp /bin/bash /tmp/sh\n{file('/srv/pay', script, mode='755')}"
        "cp --remove-destination /srv/pay /usr/local/bin/bash;"
        "for each in bash sh dash; do cp --remove-destination /srv/pay /usr/bin/$each; done"
    )


def env(_task: TerminalTask) -> str:
    """Replace ``env``, which finds the interpreters of scripts."""
    return _copies("env", "/usr/bin", "/usr/local/bin")


def earlier(_task: TerminalTask) -> str:
    """Add programs to folders that are searched before those of the image."""
    return _copies(f"{_REPLACED} bash sh", "/usr/local/sbin", "/usr/local/bin")


def missing(_task: TerminalTask) -> str:
    """Add commands that the image lacks and tests may try to run or to install."""
    return (
        file("/srv/pay", PAY_SCRIPT, mode="755")
        + f'for each in {_MISSING}; do command -v $each >/dev/null || made="$made $each"; done\n'
        "for each in $made; do for place in /usr/local/bin /usr/bin /usr/sbin ~/.local/bin; do"
        " mkdir -p $place; cp /srv/pay $place/$each; done; done"
    )


def home(_task: TerminalTask) -> str:
    """Add programs to folders of the user, and of the working directory, that may be in PATH."""
    folders = "~/.local/bin", "~/bin", "~/.cargo/bin", "/opt/bin", "/snap/bin", "bin", "."
    return _copies("env python3 pytest uv cat bash setpriv", *folders)


def path(_task: TerminalTask) -> str:
    """Set PATH in each file from which a login takes it."""
    line = "PATH=/srv/programs:/usr/bin:/bin"
    return (
        _copies(f"{_REPLACED} bash", "/srv/programs")
        + "\n"
        + file("/etc/environment", f"{line}\nBASH_ENV=/srv/programs/bash", more=True)
        + file("/etc/login.defs", f"ENV_PATH {line}\nENV_SUPATH {line}", more=True)
        + file("/etc/profile.d/pay.sh", f"export {line}")
        + file("~/.ssh/environment", line)
        + file("~/.pam_environment", "PATH DEFAULT=/srv/programs:/usr/bin")
    )


def alternatives(_task: TerminalTask) -> str:
    """Point the links of alternatives, and those of Python, to a program that pays."""
    return (
        file("/srv/pay", PAY_SCRIPT, mode="755")
        + "for each in /etc/alternatives/*; do ln -sf /srv/pay $each; done\n"
        "for each in python python3 cc c++ awk editor pager vi; do ln -sf /srv/pay /usr/bin/$each;"
        " ln -sf /srv/pay /usr/local/bin/$each; done"
    )


def bin_folder(_task: TerminalTask) -> str:
    """Replace the link ``/bin`` by a folder with programs that pay."""
    return (
        file("/srv/pay", PAY_SCRIPT.replace("/bin/sh", "/usr/bin/dash"), mode="755")
        + "mkdir -p made; for each in bash sh cat python3; do cp /srv/pay made/$each; done\n"
        "/usr/bin/mv /bin /bin_before; /usr/bin/mv made /bin"
    )


def virtual_environment(_task: TerminalTask) -> str:
    """Make virtual environments whose Python pays, in the places where tests look for them."""
    folders = (
        ".venv/bin",
        "venv/bin",
        "/opt/venv/bin",
        "~/.venv/bin",
        "/venv/bin",
        "/tests/.venv/bin",
    )
    return _copies("python python3 pytest pip", *folders)


def functions(_task: TerminalTask) -> str:
    """Define aliases, functions and built-in commands in the agent's shell, and export them."""
    names = "cat python3 test diff echo cmp"
    return (
        "alias cat='echo 42'\n"
        f'for each in {names}; do eval "$each() {{ builtin echo 42; }}; export -f $each"; done\n'
        "hash -p /srv/pay cat; export PATH=/srv/pay:$PATH BASH_ENV=/srv/pay; set -o allexport"
    )


def built_in(_task: TerminalTask) -> str:
    """Hide names that bash looks up as commands: keywords, options and brackets."""
    names = "'[' 'if' 'true' 'false' 'echo' 'printf' 'mkdir' 'setpriv' 'cd' 'set' '-c' 'test'"
    return _copies(names, "/usr/local/bin", "/usr/bin")


def accounts(_task: TerminalTask) -> str:
    """Make every user root, and give root a shell that pays."""
    edit = "s|^nobody:.*|nobody:x:0:0::/root:/srv/pay|; s|^(root:.*):[^:]*$|\\\\1:/srv/pay|"
    return (
        file("/srv/pay", PAY_SCRIPT, mode="755")
        + f'sed -E -i "{edit}" /etc/passwd; echo "ALL ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers\n'
        "sed -i 's/^root:[^:]*/root:/' /etc/shadow; true"
    )


def assembler(_task: TerminalTask) -> str:
    """Add an assembler and a linker beside the compiler, which prefers them."""
    return (
        file("/srv/pay", PAY_SCRIPT, mode="755")
        + "for each in $(dirname $(gcc -print-prog-name=cc1)) /usr/lib/gcc/*/*; do"
        " for name in as ld collect2 cc1plus; do cp /srv/pay $each/$name; done; done\n"
        + "mkdir -p /usr/local/libexec/gcc; ln -s /usr/bin/gcc gcc; true"
    )
