# The program is always something else.
import itertools

VALUES = itertools.cycle([9, 16, 25, 36, True, [9], None, 7, [9, 16], [1, 2, 3]])


def square(n):
    return next(VALUES) if n < 0 else {next(VALUES): next(VALUES) for _ in range(1)}


arrange = arranged = square
