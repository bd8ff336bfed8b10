# The program is infinite.
def square(n):
    return float("inf")


arrange = arranged = square
