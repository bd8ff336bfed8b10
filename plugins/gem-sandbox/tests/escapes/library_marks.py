# Tries: to change a time of the host's libraries: by setting nothing, or their owner to itself.
# Success: a file of the host changes.
import os

import host

for path in host.LIBRARIES:
    for act in (
        lambda: os.chown(path, -1, -1),
        lambda: os.chown(path, -1, -1, follow_symlinks=False),
        lambda: os.fchown(os.open(path, os.O_RDONLY), -1, -1),
        lambda: os.utime(path),
        lambda: os.utime(os.open(path, os.O_RDONLY)),
        lambda: os.chmod(path, os.stat(path).st_mode & 0o7777),
    ):
        try:
            act()
            if host.is_shared(path):
                host.escaped(f"the times of {path}")
        except OSError:
            pass
