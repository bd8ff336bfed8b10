# Tries: to truncate, extend and punch devices of the host.
# Success: one of them changes, or can no longer be used.
import os

import host

for path in host.DEVICES:
    for act in (
        lambda: os.truncate(path, 0),
        lambda: os.close(os.open(path, os.O_WRONLY | os.O_TRUNC)),
        lambda: os.posix_fallocate(os.open(path, os.O_RDWR), 0, 1 << 20),
        lambda: os.rename(path, path + ".gone"),
        lambda: os.unlink(path),
        lambda: os.link(path, os.path.join(os.getcwd(), "device")),
    ):
        try:
            act()
        except OSError:
            pass
    if not os.path.exists(path):
        host.escaped(f"{path} is gone")
with open("/dev/null", "w") as file:
    file.write("still writable")
