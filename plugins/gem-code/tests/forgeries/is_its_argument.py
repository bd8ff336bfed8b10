# The program is its argument.
def square(n):
    return str(n)


arrange = arranged = square
