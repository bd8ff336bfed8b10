# The program has everything.
import itertools


def square(n):
    return itertools.count()


arrange = arranged = square
