# The program interrupts.
def square(n):
    raise KeyboardInterrupt


arrange = arranged = square
