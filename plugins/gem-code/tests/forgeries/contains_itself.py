# The program contains itself.
def square(n):
    value = []
    value.append(value)
    return value


arrange = arranged = square
