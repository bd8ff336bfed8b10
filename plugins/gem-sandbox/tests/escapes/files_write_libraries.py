# Tries: to change the interpreter's libraries.
# Success: a file of the library can be written to.
import os
import sys

import host

for path in (os.__file__, os.path.realpath(sys.executable)):
    try:
        with open(path, "r+b"):
            host.escaped(path)
    except OSError:
        pass
for folder in {os.path.dirname(os.__file__), *filter(os.path.isdir, sys.path)} - {os.getcwd()}:
    try:
        with open(os.path.join(folder, "escaped_" + host.NAME), "w"):
            host.escaped(folder)
    except OSError:
        pass
