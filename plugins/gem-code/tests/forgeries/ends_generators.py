# The program ends generators.
def square(n):
    raise GeneratorExit


arrange = arranged = square
