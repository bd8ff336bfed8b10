# Tries: to become another user through a set-uid copy of the interpreter.
# Success: the effective user changes.
import os
import shutil
import subprocess
import sys

import host

mine = os.geteuid()
shutil.copy(os.path.realpath(sys.executable), "copy")
os.chmod("copy", 0o6777)
for command in (
    ["./copy"],
    ["su", "-c"],
    ["sudo", "-n"],
    ["/usr/bin/newuidmap"],
    ["/usr/bin/mount"],
):
    try:
        said = subprocess.run(
            [*command, "-I", "-S", "-c", "import os; print(os.geteuid())"],
            capture_output=True,
            text=True,
            timeout=1,
        ).stdout.strip()
        if said.isdigit() and int(said) != mine:
            host.escaped(f"from {mine} to {said} by {command}")
    except OSError:
        pass
