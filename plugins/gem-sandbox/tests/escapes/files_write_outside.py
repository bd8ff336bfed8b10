# Tries: to write to folders of the host that all users may write to.
# Success: a file appears there.
import os

import host

for folder in (host.OUTSIDE, "/var/tmp", "/run", "/", "/etc", os.path.dirname(host.PROJECT)):
    try:
        with open(os.path.join(folder, "escaped-" + host.NAME), "w") as file:
            file.write("out")
    except OSError:
        pass
