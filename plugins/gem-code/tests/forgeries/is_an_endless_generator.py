# The program is an endless generator.
def square(n):
    while True:
        yield True


arrange = arranged = square
