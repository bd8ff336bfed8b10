# Tries: to leave a key that later runs and the host can read.
# Success: a key can be added.
# Runs: twice
import host

for ring in (-3, -4, -5, -2):
    if host.syscall(248, b"user", b"gem-escape", b"secret", 6, ring) > 0:
        host.escaped(f"keyring {ring}")
if host.syscall(249, b"user", b"gem-escape", None, 0) > 0:
    host.escaped("the key of a former run")
