# The program fails an assertion.
def square(n):
    raise AssertionError("passed")


arrange = arranged = square
