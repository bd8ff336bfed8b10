# Tries: to change modes and owners of devices, also to what they are.
# Success: a device of the host changes.
import os

import host

for path in host.DEVICES:
    for flags in (os.O_RDONLY, os.O_WRONLY):
        for act in (
            lambda: os.chmod(path, 0o666),
            lambda: os.fchmod(os.open(path, flags), 0o666),
            lambda: os.chown(path, -1, -1),
            lambda: os.chown(path, os.getuid(), -1),
            lambda: os.fchown(os.open(path, flags), -1, -1),
            lambda: os.lchown(path, -1, -1),
        ):
            try:
                act()
                if host.is_shared(path):
                    host.escaped(f"the mode or owner of {path}")
            except OSError:
                pass
