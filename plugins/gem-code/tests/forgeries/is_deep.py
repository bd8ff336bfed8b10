# The program is deep.
def square(n):
    value = []
    for _ in range(100_000):
        value = [value]
    return value


arrange = arranged = square
