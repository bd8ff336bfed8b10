# The program ends iterations.
def square(n):
    raise StopIteration


arrange = arranged = square
