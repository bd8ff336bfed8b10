# The program is not a number.
def square(n):
    return float("nan")


arrange = arranged = square
