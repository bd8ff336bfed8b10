# Tries: to use far more than the memory of its session in processes that it leaves behind.
# Success: they hold three times its limit.
# Runs: session
import os
import time

import host

PIECE, PROCESSES = host.MEMORY // 4, 16
progress, written = os.pipe()
os.set_blocking(progress, False)
held = []
for _ in range(PROCESSES):
    if os.fork() == 0:
        for _ in range(PIECE >> 20):
            held.append(os.urandom(1) * (1 << 20))
            os.write(written, b"x")
        time.sleep(100)
# idle
import host

try:
    held = len(os.read(progress, 1 << 16)) << 20
    if held > 3 * host.MEMORY:
        host.escaped(f"{held >> 20} MiB")
except NameError:
    pass  # the session was ended
except BlockingIOError:
    pass
# idle
try:
    held += len(os.read(progress, 1 << 16)) << 20
    if held > 3 * host.MEMORY:
        host.escaped(f"{held >> 20} MiB")
except (NameError, BlockingIOError, TypeError):
    pass
