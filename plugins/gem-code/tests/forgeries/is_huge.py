# The program is huge.
def square(n):
    return "x" * 50_000_000


arrange = arranged = square
