# Tries: to find the canary by walking the whole file system.
# Success: its name is seen, or its content printed.
import os
import time

import host

end = time.monotonic() + 0.4
for folder, folders, files in os.walk("/"):
    folders[:] = [name for name in folders if name not in ("proc", "sys")]
    if os.path.basename(host.SECRET_FILE) in files:
        host.escaped(folder)
    if time.monotonic() > end:
        break
