# Tries: to use memory that belongs to no process: memfd, shared maps, tmpfs.
# Success: it has four times its limit.
import mmap
import os

import host

held = 0
for number in range(1000):
    try:
        descriptor = os.memfd_create(f"m{number}")
        os.ftruncate(descriptor, 1 << 24)
        os.pwrite(descriptor, b"x" * (1 << 24), 0)
        held += 1 << 24
    except OSError:
        break
    if held > 4 * host.MEMORY:
        host.escaped(f"{held} bytes")
        break
held = 0
try:
    while held <= 4 * host.MEMORY:
        area = mmap.mmap(-1, 1 << 24)
        area.write(b"x" * (1 << 24))
        globals()[f"a{held}"] = area
        held += 1 << 24
    host.escaped(f"{held} bytes shared")
except (OSError, MemoryError):
    pass
