# Tries: to forge a result: garbage and false messages to all inherited descriptors.
# Success: the result of this run, or of the next one, is false.
import json
import os
import struct

body = json.dumps(
    {"execution": {"exit_status": 0, "limit": None, "duration": 0, "stdout": "", "stderr": ""}}
).encode()
for number in range(3, 256):
    try:
        os.set_blocking(number, False)
        for data in (struct.pack("!I", len(body)) + body, b"0\n", b"\0" * 4096, b"\xff" * 4096):
            os.write(number, data)
    except OSError:
        pass
os._exit(9)
