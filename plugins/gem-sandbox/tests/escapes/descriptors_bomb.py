# Tries: to open files for ever.
# Success: the next run is harmed.
import os

kept = []
try:
    while True:
        kept.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
while True:
    pass
