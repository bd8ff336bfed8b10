# Tries: to read the project that started the run.
# Success: its folder can be listed or its files read.
import os

import host

try:
    if "pyproject.toml" in os.listdir(host.PROJECT):
        host.escaped(host.PROJECT)
except OSError:
    pass
print(open(os.path.join(host.PROJECT, "pyproject.toml")).read()[:50])
host.escaped("read")
