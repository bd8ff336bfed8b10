# The program closes everything.
import os

os.closerange(0, 256)


def square(n):
    return True


arrange = arranged = square
