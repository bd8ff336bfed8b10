# Tries: to use all memory.
# Success: it has four times its limit.
import host

held = []
while True:
    held.append(bytearray(b"x" * (1 << 24)))
    if len(held) << 24 > 4 * host.MEMORY:
        host.escaped(f"{len(held) << 24} bytes")
        break
