# The program never ends.
while True:
    pass
