# Tries: to use up the inodes, and time for removing them.
# Success: the next run is affected.
number = 0
while True:
    open(f"file{number}", "w").close()
    number += 1
