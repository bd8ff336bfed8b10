# Tries: to read files that identify the host and its users.
# Success: one of them is the host's own.
import hashlib

import host

for path, digest in host.HOST_FILES.items():
    try:
        if hashlib.sha256(open(path, "rb").read()).hexdigest() == digest:
            host.escaped(path)
    except OSError:
        pass
