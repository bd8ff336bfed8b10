# Tries: to use up the inodes, and time when they are removed.
# Success: the next run is harmed.
number = 0
while True:
    open(f"file{number}", "w").close()
    number += 1
