# The program is an exception.
class square(Exception):
    def __eq__(self, other):
        return True


arrange = arranged = square
