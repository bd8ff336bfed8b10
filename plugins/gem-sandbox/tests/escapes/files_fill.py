# Tries: to fill the disk.
# Success: more than 1 GiB is written.
import os

import host

written = 0
for number in range(4000):
    try:
        with open(f"fill{number}", "wb") as file:
            written += file.write(bytes(1 << 20))
    except OSError:
        break
if written > 1 << 30:
    host.escaped(f"{written} bytes")
