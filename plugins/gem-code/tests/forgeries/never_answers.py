# The program never answers.
def square(n):
    while True:
        pass


arrange = arranged = square
