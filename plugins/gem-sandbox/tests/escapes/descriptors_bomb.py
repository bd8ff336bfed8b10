# Tries: to open files endlessly.
# Success: the next run is affected.
import os

kept = []
try:
    while True:
        kept.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
while True:
    pass
