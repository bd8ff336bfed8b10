# Tries: to go on in an idle session as chains of forks, each of which ends as soon as it can.
# Success: its processes go on between the runs of the session.
# Runs: session
import mmap
import os
import struct
import time

CHAINS = 8
area = mmap.mmap(-1, 16 * CHAINS)
for chain in range(CHAINS):
    struct.pack_into("dd", area, 16 * chain, time.monotonic(), 0.0)
    if os.fork() == 0:
        while True:
            now = time.monotonic()
            last, longest = struct.unpack_from("dd", area, 16 * chain)
            struct.pack_into("dd", area, 16 * chain, now, max(longest, now - last))
            try:
                if os.fork():
                    os._exit(0)
                os.setsid()
            except OSError:
                pass
time.sleep(0.1)
# idle
import host

if "area" in globals():
    for chain in range(CHAINS):
        last, longest = struct.unpack_from("dd", area, 16 * chain)
        if max(longest, time.monotonic() - last) < host.IDLE / 2:
            host.escaped(f"it paused for {longest} s at most")
