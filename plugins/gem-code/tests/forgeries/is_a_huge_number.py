# The program is a huge number.
def square(n):
    return 1 << 10_000_000


arrange = arranged = square
