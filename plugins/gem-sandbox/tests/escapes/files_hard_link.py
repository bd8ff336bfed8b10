# Tries: to reach files of the host through hard links.
# Success: a secret of the host is printed, or a library is changed.
import os

import host

for source in (host.SECRET_FILE, os.__file__):
    try:
        os.link(source, "linked")
        with open("linked", "r+") as file:
            host.escaped(file.read(100))
    except OSError:
        pass
