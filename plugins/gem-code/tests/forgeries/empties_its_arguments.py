# The program empties its arguments.
def square(n):
    return 1


def arranged(numbers):
    numbers.clear()
    return []


arrange = arranged
