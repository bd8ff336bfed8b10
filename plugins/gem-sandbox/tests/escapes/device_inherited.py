# Tries: to set the times and modes of devices through the descriptors that it inherits.
# Success: the host's device or a later run shows them.
# Runs: twice
import os
import stat
import time

import host

for number in range(1024):
    try:
        found = os.fstat(number)
    except OSError:
        continue
    if not stat.S_ISCHR(found.st_mode):
        continue
    is_shared = (found.st_dev, found.st_ino) in host.INODES.values()
    if not is_shared and abs(time.time() - found.st_mtime) < 60:
        host.escaped(f"the mark of a former run on descriptor {number}")
    for act in (
        lambda: os.utime(number),
        lambda: os.utime(f"/proc/self/fd/{number}"),
        lambda: os.fchmod(number, stat.S_IMODE(found.st_mode)),
        lambda: os.fchown(number, -1, -1),
        lambda: os.setxattr(number, "user.mark", b"1"),
    ):
        try:
            act()
            if is_shared:
                host.escaped(f"the device of descriptor {number}")
        except OSError:
            pass
